"""Sums of products to twice the working limbs, as pairs of blocks ``high + low``.

`Backend.residual` computes as if in twice the limbs, and rounds once. A second call, with what the
first has rounded among its terms, returns the rest: so the sum is known to about
``eps**2`` of its terms in every precision, also in the highest, which has no wider one.

The error of each call is at most ``eps |result| + (K + 8) eps**2 terms``, for K products. The
result of the second is at most ``eps |high|`` and the error of the first, so that the error of the
pair is at most ``3 (K + 10) eps**2 terms``. The low part of a factor is at most eps of the
high part, else its product has a larger error. All pairs made here are normalised.
"""

from __future__ import annotations

from typing import NamedTuple

from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind


class Pair(NamedTuple):
    """The unevaluated sum of two blocks, the first one much the larger."""

    high: Block
    low: Block


def negated(x: Pair, kind: Kind) -> Pair:
    """Return ``-x``."""
    return Pair(*(planes.negate(part, kind.is_complex) for part in x))


def joined(backend: Backend, kind: Kind, *blocks: Block) -> Pair:
    """Return the sum of blocks, which need not be normalised together; the low part is rounded."""
    high = rounded_sum(backend, kind, *blocks)
    rest = planes.negate(high, kind.is_complex)
    return Pair(high, rounded_sum(backend, kind, *blocks, rest))


def rounded_sum(backend: Backend, kind: Kind, *blocks: Block) -> Block:
    """Return the sum of blocks, correctly rounded to the limbs of `kind`."""
    terms = backend.xp.concatenate(blocks, axis=int(kind.is_complex))
    return backend.unary("renormalize", terms, kind=kind)


def less_product(
    backend: Backend, kind: Kind, c: Block | None, a: Block, x: Pair, *, adjoint: bool = False
) -> Pair:
    """Return ``c - a x``, with `adjoint` for the conjugate transpose of `a`.

    The low part of x is None for zeros.
    """
    a = a.swapaxes(-1, -2) if adjoint else a
    terms = [] if c is None else [(1, c)]
    high = backend.residual(terms, a, x.high, conj_a=adjoint, kind=kind)
    low = backend.residual([*terms, (-1, high)], a, x.high, conj_a=adjoint, kind=kind)
    if x.low is not None:
        low = backend.residual([(1, low)], a, x.low, conj_a=adjoint, kind=kind)
    # Where `c - a x` is small, what the low part of x adds is no longer small beside the high part.
    return joined(backend, kind, high, low)


def times_rows(backend: Backend, kind: Kind, weight: Block, x: Pair) -> Pair:
    """Return the rows of `x`, each times a real number: `weight` is ``(m,)``."""
    factor = planes.complexify(weight) if kind.is_complex else weight
    rows = Pair(*(part[..., :, None, :] for part in x))
    found = less_product(backend, kind, None, factor[..., :, None, None], rows)
    return negated(Pair(*(part[..., :, 0, :] for part in found)), kind)
