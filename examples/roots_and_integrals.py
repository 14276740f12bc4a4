"""SciPy with MDArrays: a root and an integral to 60 digits, by its support of the array API."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

from scipy.integrate import tanhsinh
from scipy.optimize.elementwise import find_root

import mdqr

xp = mdqr.array_api(mdqr.qd)

ends = xp.asarray(1.0), xp.asarray(2.0)
found = find_root(lambda x: x * x * x - 2, ends, tolerances={"xrtol": 1e-62, "frtol": 0})
print("the cube root of 2:", found.x)

ends = xp.asarray(-xp.inf), xp.asarray(xp.inf)
area = tanhsinh(lambda x: xp.exp(-x * x), *ends, rtol=1e-61, atol=0)
print("the area under exp(-x^2):", area.integral)
