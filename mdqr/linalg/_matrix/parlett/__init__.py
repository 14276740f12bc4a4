"""Functions of triangular matrices, known by their values alone."""
