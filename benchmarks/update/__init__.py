"""Updates of factorisations, compared with fresh ones."""
