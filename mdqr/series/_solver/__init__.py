"""Series that solve systems, their digits, and paths."""
