"""Solutions at many values of the parameters."""
