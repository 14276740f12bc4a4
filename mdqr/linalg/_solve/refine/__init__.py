"""Solutions by approximate inverses, refined to working precision."""
