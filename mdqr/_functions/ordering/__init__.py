"""Sorting, searching and sets by exact comparison."""
