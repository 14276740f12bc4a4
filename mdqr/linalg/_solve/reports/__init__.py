"""What is said of solutions: bounds, digits, statistics, and what errors of the data do."""
