"""Refinement of solutions of sparse systems with factors of float64 by SciPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._limbs.planes import Kind
from mdqr._precision import Precision
from mdqr.linalg import LinAlgError
from mdqr.sparse._rows import Rows

_SLOWEST = 0.05  # what a step that is trusted leaves of an error
_MOST_STEPS = 100
_PROBES = 3


class Refined(NamedTuple):
    """Solutions ``(n, p)``, errors, steps, and the factor by which a step reduces errors."""

    x: MDArray
    errors: np.ndarray
    steps: int
    contraction: float


class Factor:
    """Approximate solutions by SciPy's LU factors in float64.

    Raises
    ------
    LinAlgError
        If the matrix is singular.
    """

    def __init__(self, name: str, a: Any, rows: Rows) -> None:
        from scipy.sparse.linalg import splu

        kind = rows.values.dtype
        try:
            self._lu = splu(a.tocsc().astype(kind))
        except RuntimeError as error:
            raise LinAlgError(f"{name}: {error}") from None
        self._a = a.tocsr().astype(kind)
        self.contraction = max(map(self._left, range(_PROBES)))

    def _left(self, seed: int) -> float:
        """Return the factor by which a step reduces a vector of signs."""
        v = np.random.default_rng(seed).choice([-1.0, 1.0], self._a.shape[1])
        with np.errstate(all="ignore"):
            found = abs(v - self.solve(self._a @ v)).max(initial=0)
        return float(found) if np.isfinite(found) else np.inf

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return approximate solutions; real factors take complex sides by parts."""
        if b.dtype.kind == "c" and self._a.dtype.kind != "c":
            return np.asarray(self._lu.solve(b.real.copy()) + 1j * self._lu.solve(b.imag.copy()))
        return np.asarray(self._lu.solve(b.astype(self._a.dtype)))


def _field(x: MDArray) -> type:
    return complex if x.is_complex else float


def refined(name: str, factor: Factor, rows: Rows, b: MDArray, precision: Precision) -> Refined:
    """Solve ``a x = b``, which may have more limbs than x, by steps ``x += M (b - a x)``.

    The residual is computed in twice the limbs.

    With ``M a = I - E`` the error of x is ``(I - E)^-1 M r``, which is M r up to the norm of E.
    Columns of residuals are scaled by powers of two, so that nothing underflows in float64.
    """
    eps, kind = precision.eps, Kind(b.precision.limbs, b.is_complex)
    x = mdqr.zeros((rows.shape[1], b.shape[1]), precision=precision, dtype=_field(b))
    contraction, before = factor.contraction, None
    for steps in range(_MOST_STEPS + 1):
        r = MDArray._wrap(rows.residual(b.limbs, x.limbs, kind=kind), b.precision, b.is_complex)
        scale = np.ldexp(1.0, np.frexp(abs(r).to_numpy().max(axis=0, initial=0))[1])
        change = mdqr.array(factor.solve((r / scale).to_numpy()), precision="d") * scale
        size, sizes = abs(change).to_numpy(), abs(x).to_numpy().max(axis=0, initial=0)
        largest = size.max(axis=0, initial=0)
        if not np.isfinite(largest).all():
            contraction = np.inf
        elif before is not None:
            counted = before > 1e3 * eps * sizes  # above the rounding errors of x
            ratios = largest[counted] / before[counted]
            contraction = max(contraction, float(ratios.max(initial=0)))
        if not contraction <= _SLOWEST:
            raise LinAlgError(
                f"{name}: the matrix is too ill-conditioned for factors of float64: a step of "
                f"refinement leaves {contraction:.2g} of an error"
            )
        if steps and (largest <= eps * sizes).all():
            break
        x, before = x + change, largest
    errors = 4 * size + 4 * contraction * (largest + (rows.most + 8) * eps * sizes)
    return Refined(x, errors, steps, contraction)
