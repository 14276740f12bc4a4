"""Truncated power series: products, functions, and the public class."""
