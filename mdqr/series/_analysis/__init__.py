"""What series tell: roots, Pade approximants, singularities."""
