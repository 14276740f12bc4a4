"""Benchmarks: ``python -m benchmarks GROUP`` from the root of the tree."""
