"""Factorisations, triangular systems, condition numbers, certificates."""
