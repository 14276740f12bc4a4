"""Scales: degrees, and logarithms."""
