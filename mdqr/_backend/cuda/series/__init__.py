"""Products of power series."""
