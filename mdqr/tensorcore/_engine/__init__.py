"""Engines of the algorithms: NumPy or CuPy, cuBLAS and kernels."""
