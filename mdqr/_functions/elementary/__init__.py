"""Elementary functions, one kernel call each.

The kernels have about 40 bits more than the result, so that the error is hardly more than that of
rounding; how, and the bounds that are proven, is in docs/explanation/elementary-functions.md.
"""
