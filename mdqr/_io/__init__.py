"""Text and files."""
