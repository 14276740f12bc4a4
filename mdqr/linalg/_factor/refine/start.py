"""Factors to start from: those of float64, of the matrix or of what is left of it, and R^-1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.condition import GOLDEN
from mdqr.linalg._factor.refine.products import (
    Patterns,
    cut,
    held,
    limbs_for,
    square_of_norm,
    times,
)
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._products.exact.parts import slices
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import precision_for

_U = 2.0**-53  # the unit roundoff of float64
_FARTHEST = 2.0**-12  # how far from a factorisation a start may be
_NEAR = 2.0**-15  # the most that `I - Q^H Q` may be before a correction
# Of a condition times eps of the work: beyond, there is no room for corrections.
_ROOM = 2.0**-12
_BLOCK = 256  # the order of triangles that are inverted by substitution


class Start(NamedTuple):
    """Q of float64, R of as many limbs as it takes and its inverse, and what they are worth.

    `size` is the Frobenius norm of the inverse.
    """

    q: Block
    r: Block
    inverse: Block
    size: float
    condition: float
    distance: float


def start_of(
    backend: Backend, a: Block, kind: Kind, rounds: int, patterns: Patterns
) -> Start | None:
    """Return factors that a sweep can correct; None where the work has no room for them.

    Or where it takes more factorisations in float64 than `rounds`.
    """
    xp, field = backend.xp, kind.is_complex
    eps = precision_for(kind.limbs).eps
    b = to_native(xp, a, field)
    r: Block | None = None
    grown = 1.0
    for left_rounds in reversed(range(rounds)):
        found = _by_cholesky(backend, b, patterns)
        sizes = _sizes(backend, found) if found is not None else None
        # On a device what is no Cholesky factor is returned, too; F shows it.
        if found is None or sizes is None or not sizes.f <= _NEAR:
            found = _by_library(backend, b)
            sizes = _sizes(backend, found)
        worst = sizes.condition
        if not np.isfinite(worst):
            return None
        grown *= max(worst, 1.0)
        limbs = min(limbs_for(grown / _U), kind.limbs)
        wide = Kind(precision_for(limbs).limbs, field)
        last = from_native(xp, found.r, field)
        if r is not None:
            last = patterns.upper(backend, backend.matmul(last, r, kind=wide))
            last = cut(last, field, limbs)
        # Of Q corrected to first order, and for rounding errors.
        distance = max(worst * _U * b.shape[-1] ** 0.5, 4.0 * sizes.f**2)
        if distance <= _FARTHEST:
            q, inverse, size = from_native(xp, found.q, field), found.inverse, sizes.inverse
            if r is None:
                inverse = from_native(xp, inverse, field)
            else:
                inverse = _inverse(backend, planes.first_limbs(last, field, wide.limbs), wide)
                size = _norm(backend, inverse, wide)
            return Start(q, last, inverse, size, grown, distance)
        r = last
        if not (grown * eps <= _ROOM and left_rounds):
            return None
        wide = Kind(precision_for(limbs_for(grown / _FARTHEST)).limbs, field)
        less = _over(backend, r, planes.first_limbs(a, field, wide.limbs), wide)
        b = to_native(xp, less, field)
    return None


class _Floats(NamedTuple):
    """Q, R and its inverse in float64, and ``I - Q^H Q`` before a correction, or None."""

    q: Block
    r: Block
    inverse: Block
    f: Block | None


class _Sizes(NamedTuple):
    """The condition of R, from below, and Frobenius norms of its inverse and of F."""

    condition: float
    inverse: float
    f: float


def _by_cholesky(backend: Backend, b: Block, patterns: Patterns) -> _Floats | None:
    """Return Q and R by a Cholesky factor and a correction; None if the columns are too near.

    ``I - Q^H Q`` is about the square of the condition times the unit roundoff, and its square after
    a correction to first order. Like CholeskyQR2 (Y. Yamamoto, Y. Nakatsukasa, Y. Yanagisawa,
    T. Fukaya 2015) all but the factor of the Gram matrix is products.
    """
    kind = Kind(1, b.dtype.kind == "c")
    gram = times(backend, b.swapaxes(-1, -2), b, kind=kind, shape="gram", conj_a=True)
    try:
        # Of the transpose, which is the conjugate, a lower triangle is read and found.
        r = backend.xp.linalg.cholesky(gram.swapaxes(-1, -2)).swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        return None
    x = backend.invert_triangle(r)
    q = times(backend, b, x, kind=kind, shape="triangular")
    one = patterns.identity(kind)
    f = times(backend, q.swapaxes(-1, -2), q, kind=kind, c=one, shape="gram", conj_a=True)
    f = patterns.half_upper(backend, f, kind)
    # Q + Q F, (I - F) R and its inverse, to first order.
    q = q + times(backend, q, f, kind=kind, shape="triangular")
    x = x + times(backend, x, f, kind=kind, shape="triangles")
    return _Floats(q, times(backend, f, r, kind=kind, c=r, shape="triangles"), x, f)


def _by_library(backend: Backend, b: Block) -> _Floats:
    """Return Q and R, with a positive diagonal that is not lost beside its column."""
    xp = backend.xp
    q, r = xp.linalg.qr(b)
    diagonal, sizes = planes.diagonal(r), xp.abs(r).max(axis=-2)
    size = xp.abs(diagonal)
    turn = xp.where(size > 0, diagonal, 1.0) / xp.where(size > 0, size, 1.0)
    r = xp.triu(turn.conj()[:, None] * r)
    planes.diagonal(r)[...] = xp.maximum(size, _U * xp.maximum(sizes, _U))
    return _Floats(q * turn, r, backend.invert_triangle(r), None)


def _sizes(backend: Backend, found: _Floats) -> _Sizes:
    """Return norms; for the condition by a step of power iteration, from an irregular vector."""
    xp, kind = backend.xp, Kind(1, found.r.dtype.kind == "c")
    rows = np.arange(1.0, found.r.shape[-1] + 1.0)
    v = xp.asarray((rows * rows * GOLDEN) % 1.0 - 0.5)
    vectors = []
    for x in (found.r, found.inverse):
        y = x @ v
        vectors += [y.view(np.float64), (y.conj() @ x).view(np.float64)]
    squares = xp.zeros(2)
    square_of_norm(backend, found.inverse, kind, squares[0, ...])
    if found.f is not None:
        square_of_norm(backend, found.f, kind, squares[1, ...])
    squares, *vectors = fetch(squares, *vectors)
    y, z, inverse_y, inverse_z = map(np.linalg.norm, vectors)
    inverse, f = map(float, np.sqrt(squares))
    return _Sizes(float(z / y * (inverse_z / inverse_y)), inverse, f)


def _norm(backend: Backend, x: Block, kind: Kind) -> float:
    """Return the Frobenius norm of the leading limbs."""
    square = backend.xp.zeros(1)
    square_of_norm(backend, held(backend, x, kind), kind, square[0, ...])
    return float(fetch(square)[0][0]) ** 0.5


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
    return planes.adjoint(_triangle(backend, r, kind).solve(planes.adjoint(x, field), "C"), field)


def _triangle(backend: Backend, r: Block, kind: Kind) -> Triangle:
    held = planes.first_limbs(r, kind.is_complex, kind.limbs)
    return Triangle(backend, held, kind=kind, function="qr", checks=Checks(ignore=True))
