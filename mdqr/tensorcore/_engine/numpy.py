"""Low-precision products on a CPU: operands are rounded exactly, sums are float64's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from mdqr._backend.float_panels import NO_FLOOR
from mdqr.tensorcore._engine import numpy_panels, numpy_reflector
from mdqr.tensorcore._engine.formats import Format, pairs
from mdqr.tensorcore._engine.numpy_panels import Floats
from mdqr.tensorcore._engine.protocol import PROBES, Loaded, Operand, Report, headroom
from mdqr.tensorcore._engine.rounding import rounded


class NumpyEngine:
    """The algorithms on NumPy arrays: an emulation, for tests and for want of a GPU.

    What is exact: the operands of every product, bit for bit those of the hardware, with its
    overflow and underflow. Sums are formed in float64 and rounded to float32 once: the rounding
    errors of float32 sums of equal terms have one sign, and grow with the number of terms. Tensor
    cores add groups of products in float32, so that results agree within
    ``k * 2**-23 * (abs(p).T @ abs(x))`` for sums of k products, not bit for bit.
    """

    xp: ModuleType = np

    def __init__(self) -> None:
        self._not_finite = self._breakdown = self._lossy = False

    def load(self, a: np.ndarray, *, scaled: bool) -> Loaded:
        """Return a float32 copy of `a` with scaled columns."""
        self._not_finite |= not np.isfinite(a).all()
        exponents = np.zeros(a.shape[1], dtype=np.int64)
        if scaled:
            most = np.abs(a).max(axis=0, initial=0.0)
            _, found = np.frexp(most)
            exponents = np.where((most > 0) & np.isfinite(most), found + headroom(len(a)), 0)
        with np.errstate(over="ignore", under="ignore"):
            work = np.ldexp(a.astype(np.float64), -exponents).astype(np.float32, order="F")
        return Loaded(work, exponents.astype(np.int64))

    def exponents(self, a: np.ndarray) -> np.ndarray:
        """Return exponents such that the columns of a finite `a` are below two to them."""
        # Without the absolute values, which would be as large as `a`.
        largest = np.maximum(a.max(axis=0), -a.min(axis=0))
        return np.frexp(largest)[1].astype(np.int32)

    def matrix(self, rows: int, columns: int, *, zero: bool = False) -> Floats:
        """Return a new matrix."""
        return (np.zeros if zero else np.empty)((rows, columns), dtype=np.float32, order="F")

    def memory(self, rows: int, columns: int, form: Format) -> Operand:
        """Return memory for an operand."""
        if not form.kernel:
            return Operand((), form)
        return Operand(tuple(self.matrix(rows, columns) for _ in range(form.terms)), form)

    def round(self, x: Floats, out: Operand) -> Operand:
        """Round `x` into the first rows and columns of `out`."""
        if not out.form.kernel:
            return Operand((x,), out.form)
        result = out.corner(*x.shape)
        for term, value in zip(result.terms, rounded(x, out.form), strict=True):
            term[:] = value
        return result

    def inner(self, p: Operand, x: Operand, out: Floats, rows: int = 0) -> None:
        """Set `out` to ``p.T @ x``; `rows` are those that tensor cores sum at once."""
        self.add(out, Operand(tuple(term.T for term in p.terms), p.form), x, 1, overwrite=True)

    def doubles(
        self,
        c: np.ndarray,
        a: np.ndarray,
        x: np.ndarray,
        *,
        transposed: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """Set `c` to ``alpha * a @ x + beta * c`` in float64."""
        product = alpha * ((a.T if transposed else a) @ x)
        c[...] = product if beta == 0.0 else product + beta * c

    def squares(self, x: Floats) -> np.ndarray:
        """Return the squares of the lengths of the columns, in float64."""
        return np.square(x, dtype=np.float64).sum(axis=0)

    def departures(self, q: Floats) -> np.ndarray:
        """Return the squares of the rows of ``(q.T @ q - I) @ signs``, in float64."""
        x, wide = signs(q.shape[1]), q.astype(np.float64)
        return np.square(wide.T @ (wide @ x) - x).sum(axis=1)

    def inverses(self, r: np.ndarray, order: int) -> np.ndarray:
        """Return the inverses of the blocks of the diagonal of `r`, ``(blocks, order, order)``."""
        starts = range(0, len(r), order)
        return np.linalg.inv([r[i : i + order, i : i + order] for i in starts])

    def add(self, c: Floats, p: Operand, x: Operand, sign: int, *, overwrite: bool = False) -> None:
        """Add ``sign * p @ x`` to `c`, the smallest products first."""
        total = np.zeros(c.shape) if overwrite else c.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            for i, j, exponent in pairs(p.form):
                product = numpy_panels.product(p.terms[i], x.terms[j])
                total += sign * 2.0**exponent * product
            c[...] = total

    def caqr(self, a: Floats, r: Floats, low: Operand | None = None) -> None:
        """Factor up to 128 columns by trees of Gram-Schmidt blocks."""
        with np.errstate(all="ignore"):
            numpy_panels.caqr(a, r)
        self._fill(low, a)

    def cholesky(
        self, a: Floats, r: Floats, low: Operand | None = None, *, floor: int = NO_FLOOR
    ) -> None:
        """Factor up to 128 columns by CholeskyQR in float64."""
        with np.errstate(all="ignore"):
            self._lossy |= not numpy_panels.cholesky(a, r, floor)
        self._fill(low, a)

    def geqrf(self, a: Floats, r: Floats, low: Operand | None = None) -> None:
        """Factor by LAPACK's Householder QR."""
        numpy_panels.geqrf(a, r)
        self._fill(low, a)

    def _fill(self, low: Operand | None, q: Floats) -> None:
        if low is not None:
            self.round(q, low)

    def orthonormal(self, a: Floats, r: Floats, *, done: bool) -> None:
        """Factor up to 128 columns by CholeskyQR, until Q is orthonormal."""
        with np.errstate(all="ignore"):
            self._breakdown |= not numpy_reflector.orthonormal(a, r, done)

    def reflector(self, q: Floats, k: Floats, signs: Floats) -> None:
        """Turn up to 128 orthonormal columns into Y, K and signs."""
        with np.errstate(all="ignore"):
            numpy_reflector.reflector(q, k, signs)

    def report(self, *values: Any) -> tuple[Report, tuple[Any, ...]]:
        """Return what was noted."""
        return Report(self._not_finite, self._breakdown, self._lossy), values


def signs(rows: int) -> np.ndarray:
    """Return random signs ``(rows, PROBES)``: those of kernels/cuda/tensorcore/vectors.cu."""
    with np.errstate(over="ignore"):
        z = (np.arange(rows, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    bits = z[:, None] >> np.arange(PROBES, dtype=np.uint64) & np.uint64(1)
    return np.where(bits == 1, 1.0, -1.0)
