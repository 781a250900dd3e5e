"""What runs, in order. Wiring only: the work is done in the domain packages."""
