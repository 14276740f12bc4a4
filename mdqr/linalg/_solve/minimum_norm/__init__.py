"""Shortest solutions of systems with fewer rows than columns."""
