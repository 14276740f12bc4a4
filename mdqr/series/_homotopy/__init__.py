"""Homotopies of polynomial systems: starts, paths, ends and certificates."""
