"""The solvers of linear systems and least-squares problems, one in a file."""
