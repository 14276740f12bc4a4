"""Solutions by QR in working precision, refined."""
