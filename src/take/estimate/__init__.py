"""What a run will take, said before it begins: time, memory and disk of each stage."""
