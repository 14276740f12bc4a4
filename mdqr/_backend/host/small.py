"""Small systems on the CPU: one call of the extension a batch."""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from mdqr._backend.blocks import batched, matrix_shape
from mdqr._backend.small_systems import SmallSolution
from mdqr._limbs.kind import Kind

Block = NDArray[np.float64]


def solve(
    kernels: ModuleType, a: Block, b: Block, kind: Kind, *, has_residual: bool
) -> SmallSolution:
    """Solve square systems, or least-squares problems if there is a residual."""
    is_complex = kind.is_complex
    shape, m, k = matrix_shape([a, b], is_complex)
    n = a.shape[-1]
    x, error = kind.empty(np, (*shape, n, k)), np.empty((*shape, n, k))
    condition, steps, status = np.empty(shape), np.empty(shape, np.int64), np.empty(shape, np.int64)
    residual = kind.empty(np, (*shape, m, k)) if has_residual else None
    plain = [values.reshape(-1) for values in (condition, steps, status)]
    blocks = [block for block in (x, residual, a, b) if block is not None]
    entry = kernels.lstsq_small if has_residual else kernels.solve_small
    entry(
        error.reshape(-1, n, k), *plain, *(batched(v, shape, 2, is_complex) for v in blocks), *kind
    )
    return SmallSolution(x, error, condition, steps, status, residual)
