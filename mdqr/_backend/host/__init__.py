"""The kernels of the CPU."""
