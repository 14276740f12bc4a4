"""Values with proven errors, through the caller's function, and what they prove."""
