"""Polynomial systems: what is read, exact coefficients, shared products."""
