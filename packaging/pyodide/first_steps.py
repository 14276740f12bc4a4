"""First steps of a newcomer, in one process: Pyodide has no other."""

import mdqr

i = mdqr.arange(1, 21, precision=mdqr.od)
a = 1 / (i[:, None] + i - 1)
x, _, _, info = mdqr.linalg.lstsq(a, a.sum(axis=1))
assert abs(x - 1).max() < 1e-99
assert info.data_digits.min() > 98
print(f"mdqr {mdqr.__version__} in octo-double: {info.data_digits.min():.0f} digits")
