"""Solutions of equations of matrices, refined in limbs."""
