"""Determinants: exact ones, those of LU factors, and bounds of their errors."""
