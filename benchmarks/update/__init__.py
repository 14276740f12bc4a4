"""Updates of factorisations beside fresh ones."""
