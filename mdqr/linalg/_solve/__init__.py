"""Linear systems and least squares by factorisation and refinement."""
