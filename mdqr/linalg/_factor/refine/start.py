"""Factors to start from: those of float64, of the matrix or of what is left of it, and R^-1."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.refine.products import adjoint, cut, half_upper, limbs_for, norm, times
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._products.exact.parts import Shape, slices
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import precision_for

_U = 2.0**-53  # the unit roundoff of float64
_FARTHEST = 2.0**-12  # how far from a factorisation a start may be
_NEAR = 2.0**-15  # the most that `I - Q^H Q` may be before a correction
# Of a condition times eps of the work: beyond, there is no room for corrections.
_ROOM = 2.0**-12
# Steps of power iteration, from an irregular vector.
_POWER_STEPS, _GOLDEN = 4, 0.6180339887498949
_BLOCK = 256  # the order of triangles that are inverted by substitution


class Start(NamedTuple):
    """Q of float64, R of as many limbs as it takes and its inverse, and what they are worth."""

    q: Block
    r: Block
    inverse: Block
    condition: float
    distance: float


def start_of(backend: Backend, a: Block, kind: Kind, rounds: int) -> Start | None:
    """Return factors that a sweep can correct; None where the work has no room for them.

    Or where it takes more factorisations in float64 than `rounds`.
    """
    xp, field = backend.xp, kind.is_complex
    eps = precision_for(kind.limbs).eps
    b = planes.first_limbs(a, field, 1)
    r: Block | None = None
    grown = 1.0
    for left_rounds in reversed(range(rounds)):
        q, last, inverse, left = _by_cholesky(backend, b, field) or _by_library(backend, b, field)
        norms = (_spectral_norm(xp, to_native(xp, x, field)) for x in (last, inverse))
        worst = float(np.prod(fetch(*norms)))
        if not np.isfinite(worst):
            return None
        grown *= max(worst, 1.0)
        limbs = min(limbs_for(grown / _U), kind.limbs)
        wide = Kind(precision_for(limbs).limbs, field)
        r = last if r is None else cut(backend.matmul(last, r, kind=wide), field, limbs)
        distance = max(worst * _U * last.shape[-1] ** 0.5, left)
        if distance <= _FARTHEST:
            if r is not last:
                inverse = _inverse(backend, planes.first_limbs(r, field, wide.limbs), wide)
            return Start(q, r, inverse, grown, distance)
        if not (grown * eps <= _ROOM and left_rounds):
            return None
        wide = Kind(precision_for(limbs_for(grown / _FARTHEST)).limbs, field)
        less = _over(backend, r, planes.first_limbs(a, field, wide.limbs), wide)
        b = planes.first_limbs(less, field, 1)
    return None


class _Floats(NamedTuple):
    """Q, R and its inverse, blocks of one limb, and by how much Q is not orthogonal."""

    q: Block
    r: Block
    inverse: Block
    left: float


def _by_cholesky(backend: Backend, b: Block, is_complex: bool) -> _Floats | None:
    """Return Q and R by a Cholesky factor and a correction; None if the columns are too near.

    ``I - Q^H Q`` is about the square of the condition times the unit roundoff, and its square after
    a correction to first order. Like CholeskyQR2 (Y. Yamamoto, Y. Nakatsukasa, Y. Yanagisawa,
    T. Fukaya 2015) all but the factor of the Gram matrix is products.
    """
    xp, kind = backend.xp, Kind(1, is_complex)

    def upper_times(x: Block, y: Block, c: Block | None, shape: Shape) -> Block:
        return times(backend, x, y, kind=kind, c=c, shape=shape, conj_a=shape == "gram")

    gram = xp.triu(to_native(xp, upper_times(b.swapaxes(-1, -2), b, None, "gram"), is_complex))
    try:
        r = xp.linalg.cholesky(gram.conj().swapaxes(-1, -2)).conj().swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        return None
    x = from_native(xp, backend.invert_triangle(r), is_complex)
    r = from_native(xp, r, is_complex)
    q = upper_times(b, x, None, "triangular")
    one = kind.identity(xp, r.shape[-2:])
    f = half_upper(backend, upper_times(q.swapaxes(-1, -2), q, one, "gram"), is_complex)
    (size,) = map(float, fetch(norm(f, is_complex)))
    if not size <= _NEAR:
        return None
    # Q + Q F, (I - F) R and its inverse, to first order.
    q = backend.binary("add", q, upper_times(q, f, None, "triangular"), kind=kind)
    x = backend.binary("add", x, xp.triu(upper_times(x, f, None, "triangles")), kind=kind)
    r = xp.triu(upper_times(f, r, r, "triangles"))
    return _Floats(q, r, x, 4.0 * size**2)


def _by_library(backend: Backend, b: Block, is_complex: bool) -> _Floats:
    """Return Q and R, with a positive diagonal that is not lost beside its column."""
    xp = backend.xp
    q, r = xp.linalg.qr(to_native(xp, b, is_complex))
    r = xp.triu(r)
    diagonal, sizes = planes.diagonal(r), xp.abs(r).max(axis=-2)
    size = xp.abs(diagonal)
    turn = xp.where(size > 0, diagonal, 1.0) / xp.where(size > 0, size, 1.0)
    r = turn.conj()[:, None] * r
    planes.diagonal(r)[...] = xp.maximum(size, _U * xp.maximum(sizes, _U))
    inverse = backend.invert_triangle(r)
    q, r, inverse = (from_native(xp, x, is_complex) for x in (q * turn, r, inverse))
    return _Floats(q, r, inverse, 0.0)


def _spectral_norm(xp: ModuleType, x: Block) -> Block:
    """Return the 2-norm by some steps of power iteration, 0-d."""
    rows = xp.arange(1.0, x.shape[-1] + 1.0)
    v = (rows * rows * _GOLDEN) % 1.0 - 0.5
    for _ in range(_POWER_STEPS):
        v = ((x @ v).conj() @ x).conj()
        v = v * xp.vdot(v, v).real ** -0.5
    y = x @ v
    return xp.vdot(y, y).real ** 0.5


def _inverse(backend: Backend, r: Block, kind: Kind) -> Block:
    """Return the inverse of an upper triangle: of blocks by substitution, then by halves."""
    order, xp = int(r.shape[-1]), backend.xp
    most = min(order, _BLOCK)
    parts = slices(order, most)
    blocks = kind.identity(xp, (len(parts), most, most))
    for block, part in enumerate(parts):
        width = part.stop - part.start
        blocks[..., block, :width, :width] = r[..., part, part]
    solved = _triangle(backend, blocks, kind).solve(kind.identity(xp, blocks.shape[kind.lead :]))
    x = kind.zeros(xp, (order, order))
    for block, part in enumerate(parts):
        width = part.stop - part.start
        x[..., part, part] = solved[..., block, :width, :width]
    _join_inverses(backend, r, x, parts, kind)
    return x


def _join_inverses(
    backend: Backend, r: Block, x: Block, parts: Sequence[slice], kind: Kind
) -> None:
    """Set what lies between the inverses of blocks on the diagonal."""
    half = len(parts) // 2
    if half == 0:
        return
    for some in (parts[:half], parts[half:]):
        _join_inverses(backend, r, x, some, kind)
    middle = parts[half].start
    first, second = slice(parts[0].start, middle), slice(middle, parts[-1].stop)
    between = exact.matmul(backend, r[..., first, second], x[..., second, second], kind=kind)
    x[..., first, second] = exact.matmul(
        backend, x[..., first, first], between, c=x[..., first, second], subtract=True, kind=kind
    )


def _over(backend: Backend, r: Block, x: Block, kind: Kind) -> Block:
    """Return ``x R^-1``."""
    field = kind.is_complex
    return adjoint(_triangle(backend, r, kind).solve(adjoint(x, field), "C"), field)


def _triangle(backend: Backend, r: Block, kind: Kind) -> Triangle:
    held = planes.first_limbs(r, kind.is_complex, kind.limbs)
    return Triangle(backend, held, kind=kind, function="qr", checks=Checks(ignore=True))
