"""Products and norms of matrices."""
