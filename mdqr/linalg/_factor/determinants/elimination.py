"""Determinants by LU factors of more limbs than the answer has, with proven bounds.

With ``P A + E = L U``, ``abs(E) <= c eps abs(L) abs(U)`` in every entry, the determinant of L U is
that of A but for

* ``prod(r_i + e_i) - prod(r_i)``, r and e the norms of the rows of A and E, since determinants are
  linear in each row, and that with some rows of E instead of those of A is at most the product of
  the norms of its rows (Hadamard);
* ``prod(1 + m_i) - 1`` relative to it, m the norms of the rows of ``A^-1 E``: the same for
  ``I + A^-1 E``.

The determinant of a matrix of doubles is an integer times a known power of two: once the bound is
below half of that power, the nearest multiple is exact. Zeros are shown to be zeros in this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr._precision import PRECISIONS
from mdqr._progress import Reporter
from mdqr.linalg._factor import lu
from mdqr.linalg._factor.determinants import correction, inverse
from mdqr.linalg._factor.determinants.inverse import Inverse, eps_of
from mdqr.linalg._factor.triangular import substitute
from mdqr.linalg._shared.checks import fetch

_UP, _FLOOR = 1.0 + 2.0**-30, 2.0**-960
# Of logarithms to base 2: more than their rounding errors.
_LOG_UP = 2.0**-20
# What corrections leave out may add so much to the rounding errors of the product of the pivots.
_PART = 2.0**-5
# Products of ``2**8`` values near 1 are within ``2**-128`` and ``2**128``.
_STEPS = 8


@dataclass
class Scaled:
    """Determinants ``2**exponent value`` of a batch, and bounds of their absolute errors.

    The moduli of the values are between 2**-0.5 and 2**0.5, or 0. The errors are below
    ``2**error``: -infinity where a determinant is exact.
    """

    value: Block
    exponent: Block
    error: Block

    def replace(self, places: Block, other: Scaled, kind: Kind) -> Scaled:
        """Return this with other determinants at some places, in their kind."""
        value = planes.widen(self.value, kind.is_complex, kind.limbs).copy()
        exponent, error = self.exponent.copy(), self.error.copy()
        value[..., places], exponent[places], error[places] = (
            other.value,
            other.exponent,
            other.error,
        )
        return Scaled(value, exponent, error)

    @property
    def is_complex(self) -> bool:
        """True if the values have imaginary planes."""
        return self.value.ndim == 3

    @cached_property
    def sizes(self) -> Block:
        """The logarithms of the moduli of the determinants to base 2, -infinity of zeros."""
        xp = planes.namespace(self.error)
        with np.errstate(divide="ignore"):
            return xp.log2(native_abs(self.value, self.is_complex)) + self.exponent

    @cached_property
    def relative(self) -> Block:
        """Bounds of the errors relative to the determinants: log2, infinity where one is zero.

        That is, to the determinants themselves, which may be smaller than what was found.
        """
        xp = planes.namespace(self.error)
        with np.errstate(all="ignore"):
            ratio = self.error - self.sizes
            found = ratio - xp.log2(1.0 - xp.exp2(ratio))
        found = xp.where(ratio < -1.0, found, xp.inf)
        return xp.where(self.error == -xp.inf, -xp.inf, found)


def with_all_digits(
    known: Elimination,
    a: Block,
    units: Block,
    target: float,
    report: Reporter | None = None,
) -> tuple[Scaled, Kind]:
    """Return determinants of matrices ``(batch, n, n)`` with rows and columns near 1, and a kind.

    `known` are their factors. The determinants are multiples of ``2**units``. Those whose relative
    errors are not shown to be below ``2**target`` are found with more limbs, and at last corrected.
    """
    kind, xp = known.kind, known.xp
    found = _attempted(known, units, target)
    for limbs in [p.limbs for p in PRECISIONS if p.limbs > kind.limbs]:
        (places,) = np.nonzero(fetch(found.relative > target)[0])
        if not places.size:
            break
        kind, chosen = kind._replace(limbs=limbs), xp.asarray(places.tolist())
        again = Elimination(known.backend, a[..., chosen, :, :], kind, report)
        found = found.replace(chosen, _attempted(again, units[chosen], target), kind)
    return found, kind


def _attempted(known: Elimination, units: Block, target: float) -> Scaled:
    """Return determinants, with more work where the cheap bounds do not show `target`."""
    found = rounded(known, known.found, units)
    steps = [known.by_inverse] + [known.corrected] * (known.kind.limbs == PRECISIONS[-1].limbs)
    for step in steps:
        (short,) = fetch((found.relative > target).any())
        if not short:
            break
        better = rounded(known, step(), units)
        use = better.error < found.error
        found = Scaled(
            planes.select(use, better.value, found.value),
            known.xp.where(use, better.exponent, found.exponent),
            known.xp.where(use, better.error, found.error),
        )
    return found


@np.errstate(all="ignore")
def rounded(known: Elimination, found: Scaled, units: Block) -> Scaled:
    """Return determinants as exact multiples of ``2**units`` where the bounds leave one."""
    backend, kind, xp = known.backend, known.kind, known.xp
    sure = found.error < units - (1.0 + _LOG_UP)
    if not fetch(sure.any())[0]:
        return found
    shift = xp.where(sure, found.exponent - units, 0)
    whole = backend.ldexp(found.value, xp.minimum(shift, 1000), is_complex=kind.is_complex)
    if kind.is_complex:
        whole = xp.stack([backend.unary("rint", part, kind=kind.real) for part in whole])
    else:
        whole = backend.unary("rint", whole, kind=kind)
    value, exponent = near_one(backend, whole, kind)
    zero = scaling.magnitude_bits(value, kind.is_complex) == 0
    exponent = xp.where(zero, 0, exponent + units)
    return Scaled(
        planes.select(sure, value, found.value),
        xp.where(sure, exponent, found.exponent),
        xp.where(sure, -xp.inf, found.error),
    )


class Elimination:
    """LU factors of matrices ``(batch, n, n)`` with rows and columns near 1, and what they show."""

    def __init__(
        self, backend: Backend, a: Block, kind: Kind, report: Reporter | None = None
    ) -> None:
        self.backend, self.kind, self.xp, self.order = backend, kind, backend.xp, int(a.shape[-1])
        self.factors = lu.factor(backend, a, kind, report)
        self._given = a

    @cached_property
    def places(self) -> Block:
        """The rows of A in the order that the interchanges bring them to."""
        return self.factors.order(self.order)

    @cached_property
    def a(self) -> Block:
        """The matrices with their rows as they were interchanged, in the limbs that they have."""
        return lu.permuted(self._given, self.places)

    @cached_property
    def _moduli(self) -> tuple[Block, Block]:
        """Return the moduli of L and U."""
        xp = self.xp
        size = native_abs(self.factors.lu, self.kind.is_complex)
        return xp.tril(size, -1) + xp.eye(self.order), xp.triu(size)

    def grown(self, columns: Block) -> Block:
        """Return ``abs(L) abs(U) x`` for vectors ``(batch, n)``."""
        lower, upper = self._moduli
        return (lower @ (upper @ columns[..., None]))[..., 0] * _UP

    @cached_property
    def rows(self) -> tuple[Block, Block]:
        """The norms of the rows of A, and bounds of the 1-norms of those of ``P A - L U``.

        The constant is that of `lu_factor`; the last term is for what underflows, of entries near
        1: products of limbs, quotients times entries of U, and limbs lost when A was scaled.
        """
        xp, n, field = self.xp, self.order, self.kind.is_complex
        size = native_abs(self.a, field)
        norms = xp.sqrt((size * size).sum(axis=-1)) * _UP
        constant = (4.0 if field else 1.0) * (n + 8.0 * np.log2(max(n, 1)) + 56.0)
        most = scaling.largest(self._moduli[1], (-2, -1), 0.0)[..., None]
        lost = constant * eps_of(self.kind) * self.grown(xp.ones(norms.shape))
        return norms, lost + _FLOOR * n * (1.0 + most)

    @cached_property
    @np.errstate(all="ignore")
    def found(self) -> Scaled:
        """The products of the pivots, with the bounds that are relative to the rows of A."""
        xp, kind = self.xp, self.kind
        value, exponent = product(self.backend, diagonal(self.factors.lu), kind)
        odd = ((self.factors.swaps != xp.arange(self.order)).sum(axis=-1) & 1) == 1
        value = planes.select(odd, planes.negate(value, kind.is_complex), value)
        norms, lost = self.rows
        error = xp.log2(xp.expm1(xp.log1p(lost / norms).sum(axis=-1))) + self.hadamard
        return self._with_rounding(Scaled(value, exponent, error))

    @cached_property
    @np.errstate(all="ignore")
    def hadamard(self) -> Block:
        """The product of the norms of the rows of A, as a logarithm to base 2."""
        return self.xp.log2(self.rows[0]).sum(axis=-1) + _LOG_UP

    @cached_property
    def _rounding(self) -> float:
        """The relative errors of the product of the pivots."""
        return ((4 if self.kind.is_complex else 2) * self.order + 8) * eps_of(self.kind)

    def _with_rounding(self, found: Scaled) -> Scaled:
        """Add the rounding errors of the product of the pivots; NaN of a bound is not a bound."""
        xp = self.xp
        rounding = found.sizes + float(np.log2(self._rounding))
        error = xp.logaddexp2(found.error, rounding) + _LOG_UP
        zero = (self.rows[0] == 0).any(axis=-1)
        error = xp.where(xp.isnan(error), xp.inf, error)
        return Scaled(found.value, found.exponent, xp.where(zero, -xp.inf, error))

    @cached_property
    def inverse(self) -> Inverse:
        """An approximate inverse of A with rows interchanged, of the fewest limbs that prove it."""
        found = inverse.in_float64(self.backend, self.a, self.kind.is_complex)
        for limbs in (p.limbs for p in PRECISIONS[1:] if p.limbs <= self.kind.limbs):
            (places,) = np.nonzero(fetch(found.spread == self.xp.inf)[0])
            if not places.size:
                break
            found = self.solved_inverse(found, self.xp.asarray(places.tolist()), limbs)
        return found

    def solved_inverse(self, found: Inverse, places: Block, limbs: int) -> Inverse:
        """Return inverses with those by L and U, of so many limbs, at some places of the batch."""
        xp, kind, n = self.xp, Kind(limbs, self.kind.is_complex), self.order
        field = kind.is_complex
        factors = planes.first_limbs(self.factors.lu, field, limbs)[..., places, :, :]
        one = kind.identity(xp, (n, n))[..., None, :, :]
        one = xp.ascontiguousarray(xp.broadcast_to(one, kind.planes((int(places.size), n, n))))
        x = _solved(self.backend, factors, one, kind)
        other = inverse.of(self.backend, self.a[..., places, :, :], x, kind, eps_of(kind))
        return found.replaced(places, other, field)

    @np.errstate(all="ignore")
    def by_inverse(self) -> Scaled:
        """Return the products of the pivots with the bounds that are relative to them."""
        xp = self.xp
        eta = xp.expm1(xp.log1p(self.inverse.rows(self.rows[1])).sum(axis=-1))
        relative = xp.where(eta < 0.5, eta / (1.0 - eta), xp.inf)
        sizes = self.found.sizes
        found = self.found
        return self._with_rounding(Scaled(found.value, found.exponent, xp.log2(relative) + sizes))

    @np.errstate(all="ignore")
    def corrected(self) -> Scaled:
        """Return the products of the pivots times ``1 + trace(A^-1 (P A - L U))``.

        One plus the trace is above 0.8, and so its errors grow by less than 1.25 relative to it.
        """
        backend, kind, xp = self.backend, self.kind, self.xp
        change = correction.trace(self, self.inverse, self._rounding * _PART)
        one = ones(xp, kind, change.error.shape)
        factor = backend.binary("add", one, change.value, kind=kind)
        value = backend.binary("multiply", self.found.value, factor, kind=kind)
        value, more = near_one(backend, value, kind)
        relative = (1.25 * change.error + change.minors) * _UP + 8.0 * eps_of(kind)
        found = Scaled(value, self.found.exponent + more, self.found.error)
        return self._with_rounding(Scaled(value, found.exponent, xp.log2(relative) + found.sizes))


def _solved(backend: Backend, factors: Block, b: Block, kind: Kind) -> Block:
    """Return ``U^-1 L^-1 b``."""
    y = substitute(backend, factors, b, kind=kind, lower=True, unit_diagonal=True)
    return substitute(backend, factors, y, kind=kind, lower=False)


def product(backend: Backend, x: Block, kind: Kind) -> tuple[Block, Block]:
    """Return products along the last axis, by pairs, near 1, and their exponents."""
    if not x.shape[-1]:
        shape = x.shape[kind.lead : -1]
        return ones(backend.xp, kind, shape), backend.xp.zeros(shape, dtype=np.int64)
    x, exponents = near_one(backend, x, kind)
    total, steps = exponents.sum(axis=-1), (int(x.shape[-1]) - 1).bit_length()
    for step in range(1, steps + 1):
        half = int(x.shape[-1]) // 2
        pairs = backend.binary("multiply", x[..., :half], x[..., half : 2 * half], kind=kind)
        x = backend.xp.concatenate([pairs, x[..., 2 * half :]], axis=-1)
        if step % _STEPS == 0 or step == steps:
            x, exponents = near_one(backend, x, kind)
            total = total + exponents.sum(axis=-1)
    return x[..., 0], total


def ones(xp: Any, kind: Kind, shape: tuple[int, ...]) -> Block:
    """Return a block of ones."""
    block = kind.zeros(xp, shape)
    (block[0] if kind.is_complex else block)[0] = 1.0
    return block


def near_one(backend: Backend, x: Block, kind: Kind) -> tuple[Block, Block]:
    """Return values times ``2**-exponent``, of moduli from 2**-0.5 to 2**0.5, and the exponents."""
    xp = backend.xp
    exponents = scaling.exponents_of(scaling.magnitude_bits(x, kind.is_complex))
    x = backend.ldexp(x, -exponents, is_complex=kind.is_complex)
    size = native_abs(x, kind.is_complex)
    down = xp.where(size > 0, (size < 0.5**0.5).astype(np.int64), 0)
    return backend.ldexp(x, down, is_complex=kind.is_complex), exponents - down
