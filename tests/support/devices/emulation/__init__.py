"""CUDA's threads on the CPU: the kernels of the device, compiled and run by the host."""
