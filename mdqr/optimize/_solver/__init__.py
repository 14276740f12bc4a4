"""From a starting point to a minimum with error bounds."""
