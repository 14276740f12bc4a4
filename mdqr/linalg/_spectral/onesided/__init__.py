"""Orthogonal vectors of a matrix by rotations of its rows: one-sided Jacobi."""
