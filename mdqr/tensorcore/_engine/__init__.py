"""What the algorithms compute with: NumPy or CuPy, cuBLAS and kernels."""
