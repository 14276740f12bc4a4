"""Cholesky factors by correction of float64 factors, in sweeps of products.

A float64 factor C of A, with an approximate inverse X, is corrected by ``F = X^H E X``, ``E = A -
C^H C``: C gains ``striu(F) + diag(F) / 2`` times C. Each sweep adds 53 bits less the bits
of the condition. The remainder is ``S = C^-H (A - C^H C) C^-1``.
"""

from __future__ import annotations

from functools import partial
from math import inf, log2
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend.blocks import to_native
from mdqr._backend.places import Here
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine import blocks
from mdqr.linalg._factor.refine.course import Change, Factors, factors_of
from mdqr.linalg._factor.refine.pace import Digits
from mdqr.linalg._factor.refine.products import (
    ENTRIES,
    LOST,
    SCALE,
    Difference,
    Patterns,
    bits_of_entries,
    block_of,
    eps_of,
    exact_bits,
    exact_product,
    held,
    on_grid,
    square_of_norm,
    times,
    unseen,
    with_adjoint,
)
from mdqr.linalg._products.exact.parts import Shape
from mdqr.linalg._products.exact.plan import MOST_TERMS
from mdqr.linalg._products.exact.product import is_within_range
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import fetch

_U = 2.0**-53
# The most of ``I - R X``.
_MOST_STALE = 0.25
# Bits below eps of differences that are as good as exact, for the square of a condition, and beyond
# those that count of products with what is left of a factor.
_BELOW, _SPARE = 64, 16


def factor(backend: Backend, a: Block, kind: Kind, bound: float) -> Block | None:
    """Return the upper triangular C of one matrix ``(n, n)`` whose diagonal is near 1.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    a : Block
        The matrix, of which the upper triangle is read.
    kind : Kind
        The kind of C.
    bound : float
        The largest ``abs(A - C^H C)``, in units of ``abs(C^H) abs(C)``.

    Returns
    -------
    Block or None
        C, within the bound in every entry; None where that cannot be shown, as for matrices that
        are not definite to float64, and many with zeros.
    """
    n = int(a.shape[-1])
    if n > MOST_TERMS:
        return None
    width = tuning.cholesky_block(backend, n, kind=kind)
    with np.errstate(all="ignore"):
        if width < n:
            return _by_blocks(backend, a, kind, bound, width)
        sweeps = Sweeps.of(backend, a, kind, 0)
        found = factors_of(backend, sweeps, bound, min(bound, (n + 8) * eps_of(kind)))
    return None if found is None else found[0]


def error_of(n: int) -> float:
    """Return the bound of ``abs(A - C^H C)``, in eps ``abs(C^H) abs(C)``."""
    return 1.5 * n + 160


def roundings(runs: int) -> float:
    """Return what rounding a Gram matrix of so many runs costs S, in eps and squared conditions."""
    return (3.5 + 2.0 * runs) * 3.5


def _by_blocks(backend: Backend, a: Block, kind: Kind, bound: float, width: int) -> Block | None:
    """Return `factor` by blocks of so many rows."""
    a = planes.first_limbs(a, kind.is_complex, kind.limbs)
    task = task_of(kind, int(a.shape[-1]), width)._replace(bound=bound)
    found = blocks.factor(task, [Here(backend)], [a])
    return None if found is None else found[0]


def task_of(kind: Kind, order: int, width: int) -> blocks.Task:
    """Return the task of a factor by blocks that are factored as smaller matrices are."""

    def bound(n: int) -> float:
        return error_of(n) * eps_of(kind)

    def find(backend: Backend, a: Block, first: int) -> Block | None:
        return factor(backend, a, kind, bound(int(a.shape[-1])))

    return blocks.Task(kind, order, width, find, bound, bound(order))


class Changed(NamedTuple):
    """The change of R, squares of norms, words of E."""

    changes: Factors
    squares: Block
    words: Block


class Sweeps:
    """Sweeps for one positive definite matrix, `gram`, of which the upper triangle counts.

    It is a sum of so many `runs` of terms, each with rounding errors; of none if it is given.
    """

    def __init__(
        self,
        backend: Backend,
        kind: Kind,
        gram: Block,
        first: Block,
        inverse: Block,
        runs: int,
    ) -> None:
        self.backend, self.kind, self.gram = backend, kind, gram
        self.first, self.inverse, self.order = first, inverse, int(gram.shape[-1])
        self.shape: Shape = "cholesky"
        self.low = Kind(1, kind.is_complex)
        # Of products of float64 matrices and of products of all bits, by the sums of moduli.
        self.unit = 4.0 * (self.order + 20) * (4 if kind.is_complex else 1) * _U
        self.fine = roundings(runs) * eps_of(kind)
        self.bits = bits_of_entries(kind)  # of E
        # And by those of entries.
        self.entries = 0.0
        self.is_exact = False

    @classmethod
    def of(cls, backend: Backend, gram: Block, kind: Kind, runs: int) -> Sweeps:
        """Return sweeps from the float64 factor; they find NaN without one."""
        xp, first = backend.xp, held(backend, gram, Kind(1, kind.is_complex))
        r = backend.cholesky_floats(first)
        # Products take finite numbers.
        finite = xp.where(xp.isfinite(r), r, 0.0)
        return cls(backend, kind, gram, finite, backend.invert_triangle(r), runs)

    @classmethod
    def near(cls, backend: Backend, gram: Block, c: Block, kind: Kind, runs: int) -> Sweeps:
        """Return sweeps for a factor that is known."""
        first = held(backend, c, Kind(1, kind.is_complex))
        return cls(backend, kind, gram, first, backend.invert_triangle(first), runs)

    def count_entries(self) -> None:
        """Bound errors of E and of a Gram matrix of one run by their entries; it is waited for.

        Both were formed of the bits of `bits_of_entries`, and rounded: each entry loses eps, in E
        also eps of ``R^H R``, besides the bits that are cut off.
        """
        backend, real, eps = self.backend, Kind(1, False), eps_of(self.kind)
        sizes = abs(held(backend, self.gram, self.low))
        upper, patterns = abs(self.inverse), Patterns.of(backend, self.order, False)
        sizes = with_adjoint(backend, patterns.half_upper(backend, sizes, real), real)
        found = times(backend, sizes, upper, kind=real, shape="triangular")
        found = times(backend, upper.T, found, kind=real, shape="cholesky")
        square = backend.xp.zeros(1)
        square_of_norm(backend, found, real, square[0, ...])
        # Of the upper part.
        self.entries = 4.0 * eps * (2.0 * float(fetch(square)[0][0])) ** 0.5
        self.fine = 4.0 * eps * 2.0**-ENTRIES

    def take_bits(self, bits: int, runs: int) -> None:
        """Take the Gram matrix as formed of so many bits, and form E of as many."""
        self.bits, self.fine = bits, roundings(runs) * 2.0**-bits

    def condition(self) -> float:
        """Return the Frobenius norms of the float64 factor and its inverse, multiplied.

        It is waited for, and NaN without a factor.
        """
        squares = self.backend.xp.zeros(2)
        for place, x in enumerate((self.first, self.inverse)):
            square_of_norm(self.backend, x, self.low, squares[place, ...])
        return float(np.sqrt(np.prod(fetch(squares)[0])))

    def take_exactly(self) -> None:
        """Take the Gram matrix as exact: E has errors relative to itself."""
        self.is_exact, self.fine = True, 4.0 * eps_of(self.kind) * 2.0**-_BELOW

    @property
    def operands(self) -> list[Block]:
        """All that sweeps of a given matrix depend on besides the kind."""
        return [self.gram, self.first, self.inverse]

    def again(self, backend: Backend, *operands: Block) -> Sweeps:
        """Return the same for other operands."""
        gram, first, inverse = operands
        return Sweeps(backend, self.kind, gram, first, inverse, runs=0)

    def start(self) -> Factors:
        """Return the factor of float64."""
        block = block_of(self.first, self.low)
        return (planes.widen(block, self.kind.is_complex, self.kind.limbs),)

    def changed(self, r: Block) -> Changed:
        """Return the correction of R by all bits that its entries take; S can be bounded."""
        if self.is_exact:
            rest = self._whole_difference(r)
        else:
            rest = self.difference((r,), Digits(self.bits, self.kind))
        change, squares = self._corrections(rest, is_bounded=True)
        return Changed((change,), squares, rest.words)

    def difference(self, factors: Factors, digits: Digits) -> Difference:
        """Return E, of so many digits."""
        backend, field, (bits, high) = self.backend, self.kind.is_complex, digits
        gram, r = (planes.first_limbs(x, field, high.limbs) for x in (self.gram, *factors))
        options: dict[str, Any] = {"kind": high, "conj_a": True, "shape": self.shape, "bits": bits}
        e, words = unseen(backend, r.swapaxes(-1, -2), r, c=gram, **options)
        e = held(backend, e, self.low)
        if field:
            planes.diagonal(e).imag = 0.0
        return Difference(e, (to_native(backend.xp, r, field),), words)

    def _whole_difference(self, r: Block) -> Difference:
        """Return E with errors of eps E, and far below eps.

        R is the sum of numbers whose products limbs hold, and of a rest ``D``: ``A - H^H H``, of
        which most cancels, has no errors, and of ``H^H D + D^H R`` few bits count.
        """
        backend, kind, n = self.backend, self.kind, self.order
        bits = exact_bits(n * (1 + kind.is_complex), kind) - 1
        head = on_grid(backend, r, bits, kind)
        options: dict[str, Any] = {"kind": kind, "conj_a": True, "shape": self.shape}
        e = exact_product(backend, head.swapaxes(-1, -2), head, c=self.gram, **options)
        if e is None:  # not finite: no bound, instead of that of fewer bits
            e = backend.xp.full_like(self.gram, np.nan)
        rest = backend.binary("subtract", r, head, kind=kind)
        bits_below = _BELOW - int(log2(eps_of(kind))) - bits
        options |= {"bits": bits_below + _SPARE, "shape": "upper"}
        e, words = unseen(backend, head.swapaxes(-1, -2), rest, c=e, **options)
        e, more = unseen(backend, rest.swapaxes(-1, -2), r, c=e, **options)
        e, factor = held(backend, e, self.low), held(backend, r, self.low)
        if kind.is_complex:
            planes.diagonal(e).imag = 0.0
        return Difference(e, (factor,), backend.xp.maximum(words, more))

    def change(self, rest: Difference) -> Change:
        """Return the change of R."""
        change, squares = self._corrections(rest, is_bounded=False)
        return Change((change,), squares[1:2])

    def _corrections(self, rest: Difference, *, is_bounded: bool) -> list[Block]:
        # A bound of S is worth its products only where it counts.
        work = partial(_corrections, is_bounded=is_bounded)
        key = "sweep of Cholesky", self.kind.is_complex, is_bounded
        return self.backend.recorded(key, (rest.e, self.inverse, *rest.factors), work)

    def bound(self, found: Changed) -> float:
        """Return a bound of S, infinite where numbers are out of range; it is waited for."""
        norms = self._norms(found)
        return inf if norms is None else self._left(*norms)

    def bound_behind(self, found: Changed) -> float:
        """Return a bound of S for R with its change, not rounded: ``R + T R``, ``T + T^H = F``.

        ``(I + T)^H (I + T) = I + F + T^H T``; F differs from S by roundings and ``I - R X``.
        """
        norms = self._norms(found)
        left = inf if norms is None else self._left(*norms)
        if norms is None or not left <= _MOST_STALE:
            return inf
        e, f, stale, x, r = norms
        stale, t = stale + self.unit * x * r, 0.5 * f
        turned = self.unit * t * x * r / (1.0 - stale)
        rest = left * stale * (2.0 + stale) + self._rounding(e, x, r)
        rest += t * t + turned * (2.0 + 2.0 * t + turned)
        return rest / (1.0 - t - turned) ** 2

    def _norms(self, found: Changed) -> list[float] | None:
        squares, words = fetch(found.squares, found.words)
        if not is_within_range(words):
            return None
        e, f, *others = (float(square) ** 0.5 + LOST for square in squares)
        return [e / SCALE, f / SCALE, *others]

    def _left(self, e: float, f: float, stale: float, x: float, r: float) -> float:
        """Bound S by Frobenius norms: of E, F, ``I - R X``, X and R.

        Errors of E and of the Gram matrix are at most `fine` times the products of the lengths of
        two columns, of R and A; for A^H A they have the trace of ``R^H R`` and E.
        """
        stale += self.unit * x * r
        wide = r * r + self.order**0.5 * e
        if not (stale <= _MOST_STALE and wide <= 2.0 * r * r):
            return inf
        return (f + self._rounding(e, x, r) + self.entries) / (1.0 - stale) ** 2

    def _rounding(self, e: float, x: float, r: float) -> float:
        """Bound roundings of F, E and the Gram matrix, without `entries`."""
        wide = r * r + self.order**0.5 * e
        return self.unit * x * x * e + self.fine * x * x * (r * r + 2.0 * wide)

    def corrected(self, factors: Factors, changes: Factors) -> Factors:
        """Return R with a correction to first order."""
        (r,), (change,) = factors, changes
        return (self.backend.binary("add", r, block_of(change, self.low), kind=self.kind),)


def _corrections(
    backend: Backend, e: Block, x: Block, r: Block, *, is_bounded: bool
) -> list[Block]:
    """Return the change of R and squares of norms, from E, of which the upper part is given.

    The norms are of E and F, at most twice as large, times `SCALE`, of ``I - R X``, X and R;
    without a bound of S only the second one is finite, of F itself.
    """
    low = Kind(1, r.dtype.kind == "c")
    patterns = Patterns.of(backend, len(r), low.is_complex)
    e = with_adjoint(backend, patterns.half_upper(backend, e.copy(), low), low)
    f = times(backend, e, x, kind=low, shape="triangular")
    # Entries below the diagonal are not wanted.
    f = times(backend, x.swapaxes(-1, -2), f, kind=low, conj_a=True, shape="cholesky")
    t = patterns.half_upper(backend, f, low)
    squares = backend.xp.full(5, np.inf)
    # norm(F)^2 is at most 4 norm(T)^2.
    square_of_norm(backend, t, low, squares[1, ...], 2.0 * (SCALE if is_bounded else 1.0))
    if is_bounded:
        square_of_norm(backend, e, low, squares[0, ...], SCALE)
        one = patterns.identity(low)
        stale = times(backend, r, x, kind=low, c=one, shape="triangles")
        for place, each in ((2, stale), (3, x), (4, r)):
            square_of_norm(backend, each, low, squares[place, ...])
    return [times(backend, t, r, kind=low, shape="triangles"), squares]
