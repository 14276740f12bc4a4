"""Generalized Schur forms of pairs of matrices."""
