"""Updating of QR factorisations."""
