"""Invariant subspaces of scaled matrices: LAPACK and products, or the QR algorithm."""
