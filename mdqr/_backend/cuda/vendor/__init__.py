"""Calls of the vendor's libraries."""
