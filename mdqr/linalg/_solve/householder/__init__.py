"""Solutions by QR in the precision of the work, refined."""
