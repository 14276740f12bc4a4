"""Views and copies of arrays in other shapes and orders."""
