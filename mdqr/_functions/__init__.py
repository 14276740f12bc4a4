"""The functions of arrays under the names of NumPy."""
