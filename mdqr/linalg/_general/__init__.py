"""Eigenvalues of matrices that are not Hermitian, on the host."""
