"""Polynomial systems: what is read, exact coefficients, shared products, values at points."""
