"""Functions of matrices, and matrix equations."""
