"""Moments, quantiles, and running and local combinations of values."""
