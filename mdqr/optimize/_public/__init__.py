"""The public functions and their results."""
