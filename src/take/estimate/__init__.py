"""What a run will take, said before it begins: time, memory and disk of each stage."""

from take.estimate.command import estimate_run as estimate_run
