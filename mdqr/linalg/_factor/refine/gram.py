"""R alone, as the Cholesky factor of an exact Gram matrix in twice the precision.

R is kept in twice the limbs, too. Its float64 Cholesky factor, with an approximate inverse X, is
corrected by ``F = X^H E X``, ``E = A^H A - R^H R``: R gains ``striu(F) + diag(F) / 2`` times R.

With ``S = R^-H (A^H A - R^H R) R^-1``, ``P = A R^-1`` has ``P^H P = I + S``. If L is the upper
Cholesky factor of ``I + S``, ``A = Q (L R)`` with a Q that is orthonormal, so that
``norm(a_j - Q r_j) <= norm(L - I) norm(r_j)``, and ``norm(L - I) <= norm(S)`` where that is at most
1/4, in the Frobenius norm.
"""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr._progress import Reporter
from mdqr.linalg._factor.refine.products import (
    Patterns,
    block_of,
    eps_of,
    formed,
    held,
    square_of_norm,
    times,
    with_adjoint,
)
from mdqr.linalg._products.exact.plan import MOST_TERMS
from mdqr.linalg._shared.checks import fetch

BOUND = 20.0  # in n eps
_U = 2.0**-53
_UP = 1.0 + 2.0**-20  # for roundings of the bounds themselves
_MOST_SWEEPS = 40
# What a sweep has to leave: with less, factors by reflections take less time.
_GAIN = 2.0**-12
# Further sweeps are not worth their time.
_ENOUGH = 2.0
# What may be left of I by the inverse, and of I by Q; the bound above ends at 1/4.
_MOST_STALE, _MOST_LEFT = 0.25, 0.25
# Squares below the range of doubles are lost.
_LOST = 2.0**-500


class Factor(NamedTuple):
    """R, and a bound of S for R before its rounding to eps, with eps added."""

    r: Block
    left: float


class _Measured(NamedTuple):
    """F in float64, the leading limbs of R, and a bound of S."""

    f: Block
    r: Block
    left: float


def factor(
    backend: Backend, a: Block, *, kind: Kind, report: Reporter | None = None
) -> Block | None:
    """Return R of one matrix ``(m, n)``, m >= n, by sweeps of products.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    a : Block
        The matrix, finite, with columns scaled near 1.
    kind : Kind
        That of R, of at most half of the limbs of od.
    report : callable, optional
        As in `mdqr.linalg._factor.refine.factor.factor`.

    Returns
    -------
    Block or None
        R with a positive diagonal, ``norm(a_j - Q r_j) <= 20 n eps norm(a_j)`` for an orthonormal
        Q; None where that cannot be shown, as beyond a condition of 1e6.
    """
    if 2 * kind.limbs > PRECISIONS[-1].limbs:
        return None
    wide: dict[str, Any] = {"kind": wide_kind(kind), "conj_a": True, "shape": "gram"}
    found = formed(backend, a.swapaxes(-1, -2), a, **wide)
    if found is None:
        return None
    runs = -(-int(a.shape[-2]) // MOST_TERMS)
    known = factor_of(backend, found, kind=kind, runs=runs, report=report)
    return None if known is None else known.r


def wide_kind(kind: Kind) -> Kind:
    """Return the kind of the Gram matrix for R of a kind."""
    return Kind(2 * kind.limbs, kind.is_complex)


def factor_of(
    backend: Backend, gram: Block, *, kind: Kind, runs: int = 1, report: Reporter | None = None
) -> Factor | None:
    """Return R from the upper part of the Gram matrix, formed in so many runs; see `factor`."""
    n, eps = int(gram.shape[-1]), eps_of(kind)
    with np.errstate(all="ignore"):
        sweeps = _sweeps_of(backend, gram, wide_kind(kind), runs)
        if sweeps is None:
            return None
        r, best, before = sweeps.start(), None, inf
        for done in range(1, _MOST_SWEEPS + 1):
            found = sweeps.measured(r)
            left = inf if found is None else _UP * (found.left + eps)
            is_last = not left <= _GAIN * before or left <= _ENOUGH * eps
            if left < before:
                best, before = r, left
            if report is not None:
                report("refine", done, done if is_last else None)
            if is_last or found is None:
                break
            r = sweeps.corrected(r, found)
    if best is None or not before <= min(BOUND * n * eps, _MOST_LEFT):
        return None
    if kind.is_complex:
        planes.diagonal(best)[1] = 0.0
    return Factor(backend.unary("renormalize", best, kind=kind), before)


def _sweeps_of(backend: Backend, gram: Block, wide: Kind, runs: int) -> _Sweeps | None:
    """Return what corrects the factor of a Gram matrix; None without a float64 factor."""
    patterns = Patterns.of(backend, int(gram.shape[-1]), wide.is_complex)
    whole = with_adjoint(backend, patterns.half_upper(backend, gram.copy(), wide), wide)
    first = to_native(backend.xp, whole, wide.is_complex)
    try:
        lower = backend.xp.linalg.cholesky(first)
    except np.linalg.LinAlgError:
        return None
    r = backend.xp.ascontiguousarray(lower.conj().swapaxes(-1, -2))
    return _Sweeps(backend, wide, patterns, gram, r, backend.invert_triangle(r), runs)


class _Sweeps:
    """Sweeps for one Gram matrix, summed in so many runs of terms."""

    def __init__(
        self,
        backend: Backend,
        kind: Kind,
        patterns: Patterns,
        gram: Block,
        first: Block,
        inverse: Block,
        runs: int,
    ) -> None:
        self.backend, self.kind, self.patterns, self.gram = backend, kind, patterns, gram
        self.first, self.inverse, self.order = first, inverse, int(gram.shape[-1])
        self.low = Kind(1, kind.is_complex)
        # Of products of float64 matrices and of products of all bits, by the sums of moduli.
        self.unit = 4.0 * (self.order + 20) * (4 if kind.is_complex else 1) * _U
        self.fine = (3.5 + 2.0 * runs) * 3.5 * eps_of(kind)

    def start(self) -> Block:
        """Return the factor of float64."""
        block = block_of(self.first, self.low)
        return planes.widen(block, self.kind.is_complex, self.kind.limbs)

    def measured(self, r: Block) -> _Measured | None:
        """Return F and a bound of S; None where entries are not finite."""
        backend, low, x = self.backend, self.low, self.inverse
        options: dict[str, Any] = {"kind": self.kind, "conj_a": True, "shape": "gram"}
        e = formed(backend, r.swapaxes(-1, -2), r, c=self.gram, **options)
        if e is None:
            return None
        e = self.patterns.half_upper(backend, held(backend, e, low), low)
        e = with_adjoint(backend, e, low)
        first = to_native(backend.xp, r, low.is_complex)
        f = times(backend, e, x, kind=low, shape="triangular")
        f = times(backend, x.swapaxes(-1, -2), f, kind=low, conj_a=True)
        one = self.patterns.identity(low)
        stale = times(backend, x, first, kind=low, c=one, shape="triangles")
        squares = backend.xp.zeros(5)
        for place, each in enumerate((e, f, stale, x, first)):
            square_of_norm(backend, each, low, squares[place, ...])
        norms = (float(square) ** 0.5 + _LOST for square in fetch(squares)[0])
        return _Measured(f, first, self._left(*norms))

    def _left(self, e: float, f: float, stale: float, x: float, r: float) -> float:
        """Bound S by Frobenius norms: of E, F, ``I - X R``, X and R.

        Errors of E and of the Gram matrix are at most `fine` times the products of the lengths of
        two columns, of R and A; for A^H A they have the trace of ``R^H R`` and E.
        """
        stale += self.unit * x * r
        wide = r * r + self.order**0.5 * e
        if not (stale <= _MOST_STALE and wide <= 2.0 * r * r):
            return inf
        rounding = self.unit * x * x * e + self.fine * x * x * (r * r + 2.0 * wide)
        return (f + rounding) / (1.0 - stale) ** 2

    def corrected(self, r: Block, found: _Measured) -> Block:
        """Return R with a correction to first order."""
        backend, low = self.backend, self.low
        t = self.patterns.half_upper(backend, found.f, low)
        change = block_of(times(backend, t, found.r, kind=low, shape="triangles"), low)
        return backend.binary("add", r, change, kind=self.kind)
