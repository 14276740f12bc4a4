"""Approximate inverses with proven bounds: of matrices, or of R of their QR factorisations."""
