"""Factors of symmetric and Hermitian matrices that need not be definite."""
