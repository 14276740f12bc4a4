"""Componentwise bounds: magnitudes of the pseudo-inverse times those of what is left.

For unknowns with the residuals f of ``b - r - A x`` and g of ``-A^H W r`` the error is
``A^+ f + (A^H W A)^-1 g``, so that ``|A^+| |f| + |(A^H W A)^-1| |g|`` bounds each component,
however small beside the others, where zeros of A keep rows and unknowns apart (N. J. Higham 2002,
section 20.1). Magnitudes are float64.
"""

from __future__ import annotations

from functools import cached_property, partial, reduce
from typing import NamedTuple

import numpy as np

from mdqr import _limbs
from mdqr._backend.protocol import Backend, Block
from mdqr.linalg import _scaling
from mdqr.linalg._augmented import System
from mdqr.linalg._bounds import UNDERFLOW
from mdqr.linalg._extended import Extension, Step
from mdqr.linalg._householder import set_unit_diagonal

# The lowest bit of zero: above all that can occur.
NONE = 2**40
_BIAS, _MANTISSA = 1075, 52


def magnitudes(block: Block, is_complex: bool) -> Block:
    """Return the moduli of the leading limbs as a real block of one limb."""
    xp = _limbs.namespace(block)
    return xp.hypot(block[0, :1], block[1, :1]) if is_complex else abs(block[:1])


def product(backend: Backend, a: Block, b: Block) -> Block:
    """Return the product of magnitudes."""
    return backend.matmul(a, b, limbs=1, is_complex=False)


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
    return _scaling.largest(xp.where(bits == 0, -NONE, -low), 0, -NONE) * -1


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

    def errors(self, eps: float, factor: int) -> Block:
        """Bound the errors of the sums: `factor` times ``eps**2``, and what underflows."""
        return factor * eps**2 * self.size + UNDERFLOW * self.count


def left(
    after: Block,
    before: Block,
    near: Block,
    far: Block,
    unit: Block,
    low: Block | None,
    eps: float,
) -> Block:
    """Bound the exact residuals after a step.

    Parameters
    ----------
    after, before : Block
        The computed ones after and before the step.
    near, far : Block
        Bounds of the errors of their sums, `far` in units of ``2**unit``.
    unit : Block
        See above.
    low : Block or None
        Exponents of which the residuals before the step are multiples, if that is known.
    eps : float
        That of the residuals.

    Returns
    -------
    Block
        The bound.
    """
    xp = _limbs.namespace(after)
    wrong = eps * before + xp.ldexp(far, unit)
    if low is not None:
        # A multiple of 2**low that is smaller than that is zero.
        least = xp.ldexp(xp.ones(low.shape), xp.minimum(low, 1000))
        wrong = xp.where(before + wrong < least, 0.0, wrong)
    return after * (1 + eps) + near + wrong


class Inverse:
    """Bounds of the magnitudes of the inverses that carry residuals to the unknowns.

    Parameters
    ----------
    system : System
        The factored problem.
    eps : float
        That of the work.
    """

    def __init__(self, system: System, eps: float) -> None:
        self.system, self.eps = system, eps
        field, xp = system.is_complex, system.backend.xp
        batch = _limbs.value_shape(system.a, field)[:-2]
        one = xp.zeros((*((2,) if field else ()), 1, *batch, system.columns, system.columns))
        set_unit_diagonal(one, field)
        self._inverse_r = system.triangle.solve(one)
        self._r = magnitudes(self._inverse_r, field)

    @cached_property
    def growth(self) -> Block:
        """Bound of the relative errors of the rows of R^-1: ``8 n eps |R^-1| |R|``, (1, n, n)."""
        system = self.system
        r = magnitudes(system.factors.form_r(system.columns), system.is_complex)
        return 8.0 * max(system.columns, 1) * self.eps * product(system.backend, self._r, r)

    @cached_property
    def of_rows(self) -> Block:
        """Bound of ``|A^+|`` of the matrix with weighted rows, ``(1, ..., n, m)``."""
        system, field = self.system, self.system.is_complex
        q = system._unsorted(system.factors.form_q(system.columns))
        turned = q.swapaxes(-1, -2)
        # Leading limbs: their products err by a few places of float64 of the sums of magnitudes.
        first = (slice(None), slice(1)) if field else (slice(1),)
        signed = system.backend.matmul(
            self._inverse_r[first], turned[first], conj_b=field, limbs=1, is_complex=field
        )
        sums = product(system.backend, self._r, magnitudes(turned, field))
        return self._grown(magnitudes(signed, field) + 2.0**-46 * sums)

    @cached_property
    def of_gradients(self) -> Block:
        """Bound of ``|(A^H W A)^-1|``, ``(1, ..., n, n)``."""
        return self._grown(
            product(self.system.backend, self._r, self._grown(self._r).swapaxes(-1, -2))
        )

    def _grown(self, x: Block) -> Block:
        # The growth is below 1/2: a geometric series.
        return x + 2.0 * product(self.system.backend, self.growth, x)

    def bound(self, f: Block, g: Block | None) -> Block:
        """Bound the error of unknowns by the magnitudes of residuals, ``(1, ..., m | n, k)``."""
        system = self.system
        if system.root is not None:
            f = f * magnitudes(system.root, system.is_complex)
        with np.errstate(all="ignore"):
            rest = product(system.backend, self.of_rows, f)
            if g is not None:
                rest = rest + product(system.backend, self.of_gradients, g)
            sound = _scaling.largest(self.growth, (-2, -1), 0.0, keepdims=True) < 0.5
        xp = system.backend.xp
        return xp.where(sound & ~xp.isnan(rest), rest, xp.inf)[0]


def bound_components(
    system: System, b: Block, step: Step, eps: float, extension: Extension, *, lossless: bool
) -> Block:
    """Bound the distance of the exact solution from that of a step, the rounding of x aside.

    Parameters
    ----------
    system : System
        The factored problem.
    b : Block
        Its right-hand sides.
    step : Step
        The last step.
    eps : float
        That of the work.
    extension : Extension
        The arithmetic of x and r.
    lossless : bool
        Whether scaling lost nothing of the system and of `b` to underflow.

    Returns
    -------
    Block
        Bounds of the components, float64 ``(..., n, k)``.
    """
    xp, field = system.backend.xp, system.is_complex
    size, low = partial(magnitudes, is_complex=field), partial(lowest_bits, is_complex=field)
    sums = partial(Sums.of, system.backend, lossless=lossless)
    inverse, powers = Inverse(system, eps), step.powers[..., None, :]
    a, terms, known = size(system.a), [(1, step.f)], [size(b)]
    lows = [_of_products(low(system.a), _lowest(step.x, field)), low(b)]
    if not system.is_square:
        unit = step.unit[..., None, :]
        terms.append((-1, step.dr))
        known.append(xp.ldexp(size(step.r[0]), unit))
        lows.append(_lowest(step.r, field) + unit)
    wide = extension.precision
    f = left(
        size(system.backend.residual(terms, system.a, step.dx, **system.options(wide.limbs))),
        size(step.f),
        sums(a, size(step.dx), size(step.f), size(step.dr)).errors(wide.eps, system.columns + 8),
        sums(a, size(step.x[0]), *known).errors(
            wide.eps, 0 if extension.exact else system.columns + 8
        ),
        -powers,
        reduce(xp.minimum, lows) - powers if lossless else None,
        wide.eps,
    )
    g = None
    if step.g is not None:
        turned, lowest = a.swapaxes(-1, -2), low(system.a).swapaxes(-1, -2)
        if system.weight is not None:
            turned = turned * size(system.weight).swapaxes(-1, -2)
            lowest = lowest + low(system.weight).swapaxes(-1, -2)
        factor = 2 * (int(a.shape[-2]) + 8)
        g = left(
            size(extension.gradient([(1, step.g)], [step.dr])),
            size(step.g),
            sums(turned, size(step.dr), size(step.g)).errors(wide.eps, factor),
            sums(turned, size(step.r[0])).errors(
                wide.eps, 0 if extension.exact and system.weight is None else factor
            ),
            unit - powers,
            _of_products(lowest, _lowest(step.r, field)) + unit - powers if lossless else None,
            wide.eps,
        )
    return xp.ldexp(inverse.bound(f, g), powers)


def _lowest(blocks: list[Block], is_complex: bool) -> Block:
    """Return the lowest bits of sums of blocks."""
    xp = _limbs.namespace(blocks[0])
    return reduce(xp.minimum, [lowest_bits(block, is_complex) for block in blocks])


def _of_products(a: Block, x: Block) -> Block:
    """Return exponents of which all products of rows of a and columns of x are multiples."""
    rows, columns = _scaling.largest(-a, -1, -NONE), _scaling.largest(-x, -2, -NONE)
    return -(rows[..., :, None] + columns[..., None, :])
