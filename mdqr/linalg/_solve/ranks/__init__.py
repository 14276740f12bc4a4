"""Numerical ranks: estimated, where a problem may be deficient, and chosen by the caller."""
