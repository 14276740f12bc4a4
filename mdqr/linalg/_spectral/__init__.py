"""Singular values, and what follows from them."""
