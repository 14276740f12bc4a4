"""The array class and NumPy's protocols."""
