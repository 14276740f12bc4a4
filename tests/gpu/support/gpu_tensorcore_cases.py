"""Operands and errors of the tensor-core tests on the device."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_presence import why_absent

# One skip a file, as gpu_cases.py has it for the others.
if why_absent() is not None:
    pytest.skip(str(why_absent()), allow_module_level=True)


# Panels by kernels of ours.
FAST = ("caqr", "cholesky")


def columns(cupy, x, dtype=np.float32):
    return cupy.asarray(np.asarray(x, dtype=dtype, order="F"))


def errors(cupy, a, q, r):
    """Return the largest error of a column, relative, and the 2-norm of Q^T Q - I, in float64."""
    a, q, r = (cupy.asarray(x, dtype=np.float64) for x in (a, q, r))
    scale = cupy.linalg.norm(a, axis=0)
    back = (cupy.linalg.norm(a - q @ r, axis=0) / cupy.where(scale > 0, scale, 1)).max()
    gram = q.T @ q - cupy.eye(q.shape[1])
    if len(gram) <= 1000:
        return float(back), float(abs(cupy.linalg.eigvalsh(gram)).max())
    # Thirty steps of the power method: within some per cent, in a hundredth of the time.
    x = cupy.asarray(np.random.default_rng(0).standard_normal((len(gram), 4)))
    for _ in range(30):
        x = gram @ (x / cupy.linalg.norm(x, axis=0))
    return float(back), 1.1 * float(cupy.linalg.norm(x, axis=0).max())
