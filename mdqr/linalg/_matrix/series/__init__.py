"""Functions of matrices by polynomials."""
