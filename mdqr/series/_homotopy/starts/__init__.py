"""Systems with known solutions, from which paths start."""
