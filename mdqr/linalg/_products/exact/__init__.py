"""Products of matrices through residues: exact integers, rounded once."""
