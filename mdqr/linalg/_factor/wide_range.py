"""Substitution where values lie further apart than the exponents of doubles reach."""

from __future__ import annotations

import numpy as np

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr._progress import Reporter
from mdqr.linalg._shared.checks import Checks

# Of what underflows a row loses fewer units than two to this power, however long it is.
_SPARE = 40


def pieces(backend: Backend, b: Block, checks: Checks, *, kind: Kind) -> list[Block]:
    """Return blocks whose sum is `b`, the largest entries of each column first; settles `checks`.

    The entries of a column of one piece are so near to each other that, scaled near 1, products
    keep their digits: one piece, `b` itself, unless entries are far apart.
    """
    limbs, is_complex = kind
    xp, bits = backend.xp, scaling.magnitude_bits(b, is_complex)
    exponent = scaling.exponents_or_absent(bits)
    near = scaling.largest(exponent, -2, scaling.ABSENT, keepdims=True)
    place = xp.where(bits > 0, (near - exponent) // reach(limbs), 0)
    (last,) = checks.settle(scaling.largest(place, None, 0))
    return [xp.where(place == i, b, 0.0) for i in range(int(last) + 1)] if last else [b]


def extremes(a: Block, y: Block, is_complex: bool) -> tuple[Block, Block, Block]:
    """Return what `may_underflow` decides by: largest and least of y, least term on a diagonal.

    `y` is a solution, not empty, of ``a y = b`` with `a` and `b` scaled as in `Triangle`.
    """
    size = scaling.leading(y, is_complex)
    on_diagonal = scaling.leading(diagonal(a), is_complex)[..., :, None]
    with np.errstate(all="ignore"):
        return size.max(), size.min(), (size * on_diagonal).min()


def may_underflow(largest: np.ndarray, least: np.ndarray, term: np.ndarray, *, limbs: int) -> bool:
    """Return whether underflow may count in a solution: not where no term on the diagonal is small.

    A cheap check, which takes zeros for underflow, and what is not finite.
    """
    bound = max(float(largest), 1.0) * 2.0 ** -reach(limbs)
    return not (float(least) >= bound and float(term) >= bound and float(largest) < np.inf)


def lost_columns(
    backend: Backend,
    a: Block,
    y: Block,
    entries: Block,
    b: Block,
    *,
    kind: Kind,
    lower: bool,
) -> Block:
    """Return in which columns of `y` underflow may count, a bool array ``(..., k)``.

    It does not where the terms of a row are large, nor where all of them are exactly zero; that
    is seen in the `entries` of the triangle and in `b` as they were before they were scaled.
    """
    limbs, is_complex = kind
    xp = backend.xp
    size, on_diagonal = scaling.leading(y, is_complex), diagonal(scaling.leading(a, is_complex))
    part = (xp.tril if lower else xp.triu)(scaling.magnitude_bits(entries, is_complex))
    with np.errstate(all="ignore"):
        terms, held = (
            product(backend, x[None], z[None])[0]
            for x, z in (
                (scaling.leading(a, is_complex), size),
                ((part > 0) * 1.0, (size != 0) * 1.0),
            )
        )
        least = _least(size, limbs) * xp.maximum(on_diagonal, 1.0)[..., :, None]
        empty = (held == 0) & (scaling.magnitude_bits(b, is_complex) == 0)
        sound = empty | ((terms >= least) & (least < np.inf))
    return ~sound.all(axis=-2)


def _least(size: Block, limbs: int) -> Block:
    """Return the least size of a row whose last digits are above what underflows in it."""
    largest = scaling.largest(size, -2, 1.0, keepdims=True)
    with np.errstate(all="ignore"):
        return planes.namespace(size).maximum(largest, 1.0) * 2.0 ** -reach(limbs)


def reach(limbs: int) -> int:
    """Return how many powers of two below 1 a value of so many limbs keeps its digits."""
    return 1074 - _SPARE - 53 * limbs


def product(backend: Backend, a: Block, b: Block) -> Block:
    """Return the product of real blocks of one limb, such as magnitudes."""
    return backend.matmul(a, b, kind=Kind(1, False))


def substitute(
    backend: Backend,
    a: Block,
    b: Block,
    *,
    kind: Kind,
    lower: bool,
    conjugate: bool,
    unit_diagonal: bool,
    report: Reporter | None,
) -> tuple[Block, Block]:
    """Solve ``a x = b`` for a triangle as it came, row by row.

    Each component has an exponent of its own, and each row is scaled by its largest term: what
    underflows is too small to count. Takes a few calls of kernels a row.

    Returns
    -------
    Block
        The components times powers of two, near 1.
    Block
        The exponents of these powers, int64 ``(..., n, k)``, which may be beyond those of doubles.
    """
    limbs, is_complex = kind
    xp, order = backend.xp, int(a.shape[-1])
    shape = (*b.shape[kind.lead : -2], b.shape[-1], order)
    of_a, of_b = (
        scaling.exponents_or_absent(scaling.magnitude_bits(x, is_complex)) for x in (a, b)
    )
    found = kind.zeros(xp, shape)
    powers = xp.full(shape, scaling.ABSENT, dtype=np.int64)
    for done, i in enumerate(range(order) if lower else reversed(range(order))):
        known = slice(0, i) if lower else slice(i + 1, order)
        terms = of_a[..., i, None, known] + powers[..., known]
        most = xp.maximum(scaling.largest(terms, -1, scaling.ABSENT), of_b[..., i, :])
        most = xp.where(most > scaling.ABSENT // 2, most, 0)
        value = backend.ldexp(b[..., i, :], -most, is_complex=is_complex)
        if done:
            down = powers[..., known] - most[..., None]
            row = backend.ldexp(a[..., i, None, known], down, is_complex=is_complex)
            value = backend.matmul(
                row[..., None, :],
                found[..., known, None],
                conj_a=conjugate,
                c=planes.widen(value, is_complex, limbs)[..., None, None],
                subtract=True,
                kind=kind,
            )[..., 0, 0]
        if not unit_diagonal:
            pivot = of_a[..., i, i, None]
            divisor = backend.ldexp(a[..., i, i, None], -pivot, is_complex=is_complex)
            divisor = planes.conjugate(divisor) if conjugate else divisor
            value, most = backend.binary("divide", value, divisor, kind=kind), most - pivot
        bits = scaling.magnitude_bits(value, is_complex)
        up = scaling.exponents_of(bits)
        value = backend.ldexp(value, -up, is_complex=is_complex)
        found[..., i] = planes.widen(value, is_complex, limbs)
        powers[..., i] = xp.where(bits > 0, most + up, scaling.ABSENT)
        if report is not None:
            report("substitute", done + 1, order)
    return found.swapaxes(-1, -2), powers.swapaxes(-1, -2)
