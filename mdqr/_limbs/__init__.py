"""Limb planes of values: views, rounding, exact integers, devices."""
