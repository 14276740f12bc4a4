"""Componentwise bounds: magnitudes of the pseudo-inverse times those of what is left.

For unknowns with the residuals f of ``b - r - A x`` and g of ``-A^H W r`` the error is
``A^+ f + (A^H W A)^-1 g``, so that ``|A^+| |f| + |(A^H W A)^-1| |g|`` bounds each component,
however small relative to the others, where zeros of A keep rows and unknowns apart (N. J. Higham
2002, section 20.1).

The pseudo-inverse is approximate. With ``Y = R^-1 Q^H`` and ``N = R^-1 R^-H`` for rows with
weights, and ``D = Y - N A^H``, the error e of unknowns whose residuals are f and g is ``e = Y f - N
g - D rho + (I - Y A) e``, where rho, the error of r, is ``(I - A A^+) f + (A^+)^H g``. So ``|e|``
is at most ``b + |I - Y A| |e|`` with b the sum of the bounds of the first three (as S. M. Rump 2013
bounds solutions by approximate inverses).
"""

from __future__ import annotations

from functools import partial, reduce
from math import prod
from typing import NamedTuple

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs import planes as _limbs
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.wide_range import product
from mdqr.linalg._shared.operands import square_of
from mdqr.linalg._solve.householder.augmented import Extension, Step
from mdqr.linalg._solve.structure import Joined
from mdqr.linalg._solve.system import LOST, UNDERFLOW, System

# Multiply-adds of the products that measure an inverse: a second or two.
_MOST_MEASURED = 2**21
# Of a series: what small components get from large ones by so many steps is bounded closely.
_TERMS = 24
# Below this squares may vanish.
_TINY = 2.0**-500
# The lowest bit of zero: above all that can occur.
_NONE = 2**40
_BIAS, _MANTISSA, _LEAST = 1075, 52, -1074


def magnitudes(block: Block, is_complex: bool) -> Block:
    """Return the moduli of the leading limbs as a real block of one limb."""
    xp = planes.namespace(block)
    return xp.hypot(block[0, :1], block[1, :1]) if is_complex else abs(block[:1])


class Inverse:
    """An approximate pseudo-inverse of a factored system, for bounds of the errors of unknowns.

    Entries that join unknowns and rows which have nothing to do with each other are set to zero.
    I - Y A and D are computed where that is affordable; else their bounds are those of the
    factorisation, which need ``contraction_limit`` below 1/2.

    Parameters
    ----------
    system : System
        The factored problem.
    joined : Joined
        Its blocks.
    eps : float
        That of the work.
    limit : Block
        The contraction limit, of the batch shape.
    """

    @np.errstate(all="ignore")
    def __init__(self, system: System, joined: Joined, eps: float, limit: Block) -> None:
        self.system, self.eps, self.limit = system, eps, limit[..., None, None]
        field, xp = system.kind.is_complex, system.backend.xp
        shape = planes.value_shape(system.a, field)
        self._one = system.identity()
        self._inverse_r = system.triangle.solve(self._one)
        self._r = magnitudes(self._inverse_r, field)
        self._together, self._joined = joined.unknowns[None], joined.rows[None]
        q = system.form_q()
        y = system.backend.matmul(
            self._inverse_r, q.swapaxes(-1, -2), conj_b=field, kind=system.kind
        )
        self._y = xp.where(self._joined, y, 0.0)
        self._rows = magnitudes(self._y, field)
        affordable = prod(shape) * system.columns <= _MOST_MEASURED
        self._h, self._d = self._measured(q) if affordable else self._estimated()

    @np.errstate(all="ignore")
    def bound(self, f: Block, g: Block | None) -> Block:
        """Bound the error of unknowns by the magnitudes of residuals, ``(1, ..., m | n, k)``."""
        system, times, xp = (
            self.system,
            partial(product, self.system.backend),
            self.system.backend.xp,
        )
        if system.root is not None:
            f = f * magnitudes(system.root, system.kind.is_complex)
        rest = times(self._rows, f)
        if g is not None:
            turned = self._r.swapaxes(-1, -2)
            part = times(times(self._r, turned) * self._together, g)
            # Of a condition above 2^512 entries of the product may be beyond the largest double.
            rest = rest + xp.where(xp.isfinite(part), part, times(self._r, times(turned, g)))
            joined, tiny = self._joined * 1.0, xp.where(f < _TINY, f, 0.0)
            # Squares of what is tiny vanish: moduli are added instead.
            rho = times(joined, f**2) ** 0.5 + times(joined, tiny)
            rho = rho + times(
                self._together * scaling.norms(self._rows, -1, keepdims=True).swapaxes(-1, -2), g
            )
            rest = rest + self._d * rho
        return self._closed(rest)[0]

    def _closed(self, b: Block) -> Block:
        """Return a bound of every e that is at most ``b + H e``.

        With the sum s of ``H**t b`` for t below T, and all norms those of the maximum, e is at most
        ``s + H 1 norm(H)**(T - 1) norm(b) / (1 - norm(H))``; and it is at most ``s / (1 - c)`` with
        c the largest component of ``H s / s``, if the spectral radius of H is below 1. That is not
        larger than the same for another vector that is positive (L. Collatz 1942).
        """
        xp, times = self.system.backend.xp, partial(product, self.system.backend)
        one = xp.ones((*b.shape[:-1], 1))
        given = total = xp.concatenate([b, one], axis=-1)
        for _ in range(_TERMS):
            total = given + times(self._h, total)
        ratio = times(self._h, total) / xp.where(total > 0, total, 1.0)
        ratio = scaling.largest(ratio, -2, 0.0, keepdims=True)
        sound = ratio[..., -1:] < 0.98
        ratio, total = ratio[..., :-1], total[..., :-1]
        scaled = xp.where(sound & (ratio < 0.75), total / (1.0 - ratio), xp.inf)
        rows = self._h.sum(axis=-1, keepdims=True)
        norm = scaling.largest(rows, -2, 0.0, keepdims=True)
        tail = scaling.largest(b, -2, 0.0, keepdims=True) * norm**_TERMS / (1.0 - norm)
        found = xp.minimum(scaled, xp.where(norm < 0.5, total + rows * tail, xp.inf))
        return xp.where(xp.isnan(found), xp.inf, found) * (1 + 2.0**-30)

    def _measured(self, q: Block) -> tuple[Block, Block]:
        """Return bounds of I - Y A and of the lengths of the rows of D, computed."""
        system, field, times = (
            self.system,
            self.system.kind.is_complex,
            partial(product, self.system.backend),
        )
        (m, n), eps = system.a.shape[-2:], self.eps
        a, y = system.a, self._y
        if system.root is not None:
            a = system.binary("multiply", system.root, a)
            y = system.binary("multiply", y, system.root.swapaxes(-1, -2))
        size, further = magnitudes(a, field), (m + 8) * (square_of(eps) + UNDERFLOW)
        rounded = 0.0 if system.root is None else 4.0 * eps
        h = magnitudes(
            system.backend.residual([(1, self._one)], y, system.a, kind=system.kind), field
        )
        h = h * (1 + eps) + (further + rounded) * times(self._rows, size)
        h = h + further * magnitudes(self._one, field)
        left = magnitudes(
            system.backend.residual([(1, q)], a, self._inverse_r, kind=system.kind), field
        )
        left = left * (1 + eps) + (further + rounded) * (
            times(size, self._r) + magnitudes(q, field)
        )
        d = times(self._r, scaling.norms(left.swapaxes(-1, -2), -1, keepdims=True) + (n + 8) * eps)
        return h * self._together, d

    def _estimated(self) -> tuple[Block, Block]:
        """Return bounds of the same from the backward errors of the factorisation.

        With ``A + E = Q R``, columns of E below ``4 n eps`` of those of R, I - Y A is
        ``R^-1 Q^H E`` and D is ``R^-1 R^-H E^H``, up to terms of second order. ``Q^H E`` is not a
        triangle: lengths of rows of ``R^-1`` count, not moduli of their entries.
        """
        system, xp = self.system, self.system.backend.xp
        r = magnitudes(system.factors.form_r(system.columns), system.kind.is_complex)
        lengths = scaling.norms(self._r, -1, keepdims=True)
        columns = scaling.norms(r, -2, keepdims=True)
        growth = 4.0 * max(system.columns, 1) * self.eps * lengths * columns
        growth = xp.where(self._together, xp.where(self.limit < 0.5, growth, xp.inf), 0.0)
        return growth, product(system.backend, growth, lengths)


@np.errstate(all="ignore")
def bound_components(
    system: System,
    inverse: Inverse,
    b: Block,
    step: Step,
    extension: Extension,
    lost: Block | None,
) -> Block:
    """Bound the distance of the exact solution from that of a step, the rounding of x aside.

    Parameters
    ----------
    system : System
        The factored problem.
    inverse : Inverse
        Its approximate inverse.
    b : Block
        Its right-hand sides.
    step : Step
        The last step.
    extension : Extension
        The arithmetic of x and r.
    lost : Block or None
        What the scaling of `b` lost to underflow.

    Returns
    -------
    Block
        Bounds of the components, float64 ``(..., n, k)``.
    """
    f = _error_of_f(system, b, step, extension, lost)
    g = None if step.g is None else _error_of_g(system, step, extension, lost)
    return scaling.scaled_bound(inverse.bound(f, g), step.powers[..., None, :])


def _error_of_f(
    system: System, b: Block, step: Step, extension: Extension, lost: Block | None
) -> Block:
    """Bound what the step leaves of ``b - r - A x``, in its units."""
    xp, field, wide = system.backend.xp, system.kind.is_complex, extension.precision
    size, low = partial(magnitudes, is_complex=field), partial(lowest_bits, is_complex=field)
    lossless = lost is None and system.lost is None
    sums = partial(Sums.of, system.backend, lossless=lossless)
    powers, zero = step.powers[..., None, :], xp.zeros_like(step.powers)[..., None, :]
    unit, factor = step.unit[..., None, :], system.columns + 8
    a, terms, known = size(system.a), [(1, step.f)], [size(b)]
    lows = [of_products(low(system.a), _lowest(step.x, field)), low(b)]
    if not system.is_square:
        terms.append((-1, step.dr))
        known.append(xp.ldexp(size(step.r[0]), unit))
        lows.append(_lowest(step.r, field) + unit)
    f = Evaluated(
        size(step.f),
        sums(a, size(step.x[0]), *known),
        zero,
        reduce(xp.minimum, lows) if lossless else None,
        zero + step.least[0] if extension.exact else None,
    ).error(powers, wide.eps, factor)
    after = system.backend.residual(terms, system.a, step.dx, kind=extension.kind)
    near = sums(a, size(step.dx), size(step.f), size(step.dr))
    f = f + size(after) * (1 + wide.eps) + near.error(wide.eps, factor)
    if lost is not None:
        f = f + scaling.scaled_bound(lost, LOST - powers)
    if system.lost is not None:
        f = f + scaling.scaled_bound(
            product(system.backend, system.lost, size(step.x[0])), LOST - powers
        )
    return f


def _error_of_g(system: System, step: Step, extension: Extension, lost: Block | None) -> Block:
    """Bound what the step leaves of ``-A^H W r``, in its units."""
    xp, field, wide = system.backend.xp, system.kind.is_complex, extension.precision
    size, low = partial(magnitudes, is_complex=field), partial(lowest_bits, is_complex=field)
    lossless = lost is None and system.lost is None
    sums = partial(Sums.of, system.backend, lossless=lossless)
    powers, unit = step.powers[..., None, :], step.unit[..., None, :]
    transposed, lowest = (of(system.a).swapaxes(-1, -2) for of in (size, low))
    if system.weight is not None:
        transposed = transposed * size(system.weight).swapaxes(-1, -2)
        lowest = lowest + low(system.weight).swapaxes(-1, -2)
    g, factor = step.g, 2 * (int(system.a.shape[-2]) + 8)
    assert g is not None
    after = system.gradient([(1, g)], step.dr, extension.kind)
    error = Evaluated(
        size(g),
        sums(transposed, size(step.r[0])),
        unit,
        of_products(lowest, _lowest(step.r, field)) + unit if lossless else None,
        step.least[1] + xp.zeros_like(unit) if extension.exact and system.weight is None else None,
    ).error(powers, wide.eps, factor)
    near = sums(transposed, size(step.dr), size(g))
    error = error + size(after) * (1 + wide.eps) + near.error(wide.eps, factor)
    if system.lost is not None:
        sizes = product(system.backend, system.lost.swapaxes(-1, -2), size(step.r[0]))
        error = error + scaling.scaled_bound(sizes, LOST + unit - powers)
    return error


class Sums(NamedTuple):
    """Sums of magnitudes, which rounding is relative to, and their numbers of nonzero terms."""

    size: Block
    count: Block

    @classmethod
    def of(cls, backend: Backend, a: Block, x: Block, *others: Block, lossless: bool) -> Sums:
        """Return those of ``a x`` and others; unless `lossless`, zeros may be lost terms."""
        size, least = product(backend, a, x), 0.0 if lossless else -1.0
        count = product(backend, (a > least) * 1.0, (x > least) * 1.0)
        for other in others:
            size, count = size + other, count + (other > least)
        return cls(size, count)

    def error(self, eps: float, factor: int) -> Block:
        """Bound what rounding, `factor` times ``eps**2``, and underflow change."""
        return factor * square_of(eps) * self.size + UNDERFLOW * self.count


class Evaluated(NamedTuple):
    """A computed residual: its magnitudes, in units of a step, and the sums behind it.

    `sums` are in units of ``2**unit``. The exact residual is a multiple of ``2**lowest``, if that
    is known; if the sums are exact, what is less than a double can hold in units of ``2**least``
    may be lost, else `least` is None.
    """

    size: Block
    sums: Sums
    unit: Block
    lowest: Block | None
    least: Block | None

    def error(self, powers: Block, eps: float, factor: int) -> Block:
        """Bound the error of the residual in units of ``2**powers``."""
        xp, known, lowest = _limbs.namespace(self.size), eps * self.size, self.lowest
        if self.least is not None:
            lost = scaling.scaled_bound(UNDERFLOW * self.sums.count, self.least - powers)
            if lowest is not None:
                lost = xp.where(lowest >= self.least + _LEAST, 0.0, lost)
            return known + lost
        error = known + scaling.scaled_bound(self.sums.error(eps, factor), self.unit - powers)
        if lowest is None:
            return error
        # A multiple of 2**lowest that is smaller than that is zero.
        multiple = xp.ldexp(xp.ones(lowest.shape), xp.minimum(lowest - powers, 1000))
        return xp.where(self.size + error < multiple, 0.0, error)


def lowest_bits(block: Block, is_complex: bool) -> Block:
    """Return the exponents of the lowest bits of values, int64; those of zeros are huge."""
    xp = _limbs.namespace(block)
    planes = block.reshape(-1, *_limbs.value_shape(block, is_complex))
    bits = abs(planes).view(xp.int64)
    biased, fraction = bits >> _MANTISSA, bits & ((1 << _MANTISSA) - 1)
    whole = xp.where(biased > 0, fraction | (1 << _MANTISSA), fraction)
    # Powers of two are exact in float64.
    trailing = xp.frexp((whole & -whole).astype(xp.float64))[1] - 1
    low = xp.maximum(biased, 1) - _BIAS + trailing
    return -scaling.largest(xp.where(bits == 0, -_NONE, -low), 0, -_NONE)


def _lowest(blocks: list[Block], is_complex: bool) -> Block:
    """Return the lowest bits of sums of blocks."""
    xp = _limbs.namespace(blocks[0])
    return reduce(xp.minimum, [lowest_bits(block, is_complex) for block in blocks])


def of_products(a: Block, x: Block) -> Block:
    """Return exponents of which all products of rows of a and columns of x are multiples."""
    rows, columns = scaling.largest(-a, -1, -_NONE), scaling.largest(-x, -2, -_NONE)
    return -(rows[..., :, None] + columns[..., None, :])
