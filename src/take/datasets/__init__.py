"""Kedro datasets: the project's artifacts and what flows into them."""
