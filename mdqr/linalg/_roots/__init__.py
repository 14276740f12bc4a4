"""Roots of polynomials and disks that contain them, in Python integers."""
