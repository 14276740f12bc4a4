"""The kernel calls of `mdqr._backend.protocol` on NVIDIA GPUs.

`kernels` compiles and launches; one module a family of calls packs the arguments of its kernels;
`backend` puts them together.
"""
