"""Mutants of bounds: each is made 2**10 times too small, and a test has to notice."""
