"""`xtrellis vocabulary`, and what `train` does with one."""
