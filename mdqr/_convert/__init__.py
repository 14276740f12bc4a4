"""Numbers of any kind to limbs, and limbs to numbers and text."""
