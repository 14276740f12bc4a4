"""Analysis of series: roots, Pade approximants, singularities."""
