"""Panels of float32 and float64 on a GPU."""
