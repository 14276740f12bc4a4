"""Products on a GPU."""
