"""The function of a fit: its values, derivatives, rounding errors, bounds and loss."""
