"""Solutions by approximate inverses, refined to the precision of the work."""
