"""Factorisations and triangular systems on a GPU."""
