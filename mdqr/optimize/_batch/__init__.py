"""Many fits of one model at once: every step is one call for all of them."""
