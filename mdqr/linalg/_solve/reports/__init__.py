"""Reports on solutions: bounds, digits, statistics, and the effect of errors of the data."""
