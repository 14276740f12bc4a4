"""Sums of products over chosen axes."""
