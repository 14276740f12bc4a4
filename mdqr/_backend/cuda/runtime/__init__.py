"""Modules of kernels, their launches and recordings."""
