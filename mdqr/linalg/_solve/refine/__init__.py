"""Solutions by approximate inverses in float64, refined to the precision of the work."""
