"""The first-order change of a determinant by the errors of LU factors, from a short inverse.

Let A be a matrix with its rows interchanged, R = A - L U the error of its factors, and X near
``A^-1``, ``(X A)^-1 = I + H``. With ``M = A^-1 R`` is ``det(A) = det(L U) / det(I - M)``, and what
minors of M of order two and more add to ``1 - trace(M)`` is below ``exp(s) - 1 - s``, s the sum of
the norms of its rows (Hadamard). Of ``trace(M) = trace(X R) + trace(H X R)`` the second term is at
most ``norm(H) s``, and the first needs no R: only the diagonals of ``X A`` and of ``(X L) U``. One
product of full length remains, ``X L``, and X is short.

That is near ``U^-1``: its lower triangle W, with the diagonal less Y, which is that of ``U^-1`` in
float64, is small, so that as many limbs as those of the factors hold it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from mdqr._backend.blocks import from_native, native_abs, to_native
from mdqr._backend.exact import ExactProducts
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._factor.determinants.inverse import Inverse, eps_of, of_rows
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.checks import fetch
from mdqr.linalg._shared.operands import square_of

if TYPE_CHECKING:
    from mdqr.linalg._factor.determinants.elimination import Elimination

_UP, _FLOOR = 1.0 + 2.0**-30, 2.0**-960
# Bits that integers keep below those of the limbs.
_MORE_BITS = 40
# Integers of both operands with so many bits leave room for the sums: kernels take about 1000.
_MOST_BITS = 480


class Trace(NamedTuple):
    """The trace of ``A^-1 R`` ``(batch,)`` in the limbs of the factors, and what is known of it.

    It has an error of less than `error`, and what one plus it leaves out is below `minors` relative
    to that; both are infinite where nothing is shown.
    """

    value: Block
    error: Block
    minors: Block


@np.errstate(all="ignore")
def trace(known: Elimination, inverse: Inverse, limit: float) -> Trace:
    """Return the trace of ``A^-1 R``; infinite bounds where its error cannot come below `limit`.

    The inverse gets more limbs where it takes them. The rest of the derivation: ``t = trace(M)`` is
    at most s in modulus, and minors d at most ``s**2 exp(s) / 2``. For s < 0.1 ``1 / (1 - t + d)``
    is ``1 + t`` within ``1.8 s**2``. What is returned for t has an error of less than 0.05, so that
    this is below ``2.2 s**2`` relative to it plus 1.
    """
    kind, xp = known.kind, known.xp
    limbs = planes.limb_count(inverse.block, kind.is_complex)
    more = (p.limbs for p in PRECISIONS if limbs < p.limbs <= kind.limbs)
    steps = [partial(known.solved_inverse, limbs=count) for count in more]
    if limbs == 1:
        steps.insert(0, partial(improved, known))
    while True:
        s = inverse.rows(known.rows[1]).sum(axis=-1) * _UP
        usable = (inverse.spread * s < limit) & (s < 0.1)
        hopeless = ~(s < 0.1) & (inverse.spread < 0.1)
        (places,) = np.nonzero(fetch(~(usable | hopeless))[0])
        if not (places.size and steps):
            break
        inverse = steps.pop(0)(inverse, xp.asarray(places.tolist()))
    if not fetch(usable.any())[0]:
        nothing = xp.full(s.shape, xp.inf)
        return Trace(kind.zeros(xp, s.shape), nothing, nothing)
    value, error = _of_product(known, inverse.block)
    error = (error + inverse.spread * s) * _UP
    usable = usable & (error < 0.05)
    return Trace(
        planes.select(usable, value, xp.zeros_like(value)),
        xp.where(usable, error, xp.inf),
        xp.where(usable, 2.2 * s * s, xp.inf),
    )


@np.errstate(all="ignore")
def improved(known: Elimination, inverse: Inverse, places: Block) -> Inverse:
    """Return X + G X of two limbs for X of one, ``G = I - X A``, at some places of the batch.

    With ``G = F + D``, F in float64, and ``F X`` with an error E, ``I - (X + F X + E) A = F G + D -
    E A``; rounded to two limbs that is. D is half a unit of F, and of X A what `_rest` bounds and
    limbs of A beyond two are.
    """
    backend, xp, n, is_complex = known.backend, known.xp, known.order, known.kind.is_complex
    a, first = known.a[..., places, :, :], inverse.block[..., places, :, :]
    pair = Kind(2, is_complex)
    unit = pair.zeros(xp, a.shape[-3:-1])
    (unit[0] if is_complex else unit)[0] = 1.0
    short = planes.first_limbs(a, is_complex, min(2, planes.limb_count(a, is_complex)))
    left, cut = _rest(backend, unit, first, short, pair, _MORE_BITS)
    f, x = (to_native(xp, block, is_complex) for block in (left, first))
    terms = (planes.widen(y, is_complex, 2) for y in (first, from_native(xp, f @ x, is_complex)))
    block = backend.binary("add", *terms, kind=pair)
    size, own, off = native_abs(block, is_complex), native_abs(a, is_complex), abs(f)
    before = abs(x)

    def times(matrix: Block, columns: Block) -> Block:
        return (matrix @ columns[..., None])[..., 0] * _UP

    ones = xp.ones(off.shape[:-1])
    wide = times(own, ones)
    lost = 2.0**-52 * times(off, ones) + n * cut + 2.0**-100 * times(before, wide)
    factor = 4.0 if is_complex else 1.0
    rows = times(off, times(off, ones) + lost) + lost
    rows = rows + factor * (n + 8) * 2.0**-52 * times(off, times(before, wide))
    rows = rows + 2.0**-100 * times(size, wide) + _FLOOR * n
    return inverse.replaced(places, of_rows(rows, size, block, size @ own), is_complex)


def _rest(
    backend: Backend, c: Block, a: Block, b: Block, kind: Kind, more: int
) -> tuple[Block, Block]:
    """Return ``diag(c) - a @ b`` rounded once, and a bound of what else its entries miss, by rows.

    That of products through residues, of integers with `more` bits than limbs have: terms times
    twice a unit of the integers, of which a row and a column have powers of two of less than twice
    their largest entries. Residuals as if in twice the limbs, which diagonals always are, have
    errors of ``(n + 64) eps**2 abs(a) abs(b)``.
    """
    xp, field, n = backend.xp, kind.is_complex, int(b.shape[-2])
    tops = [scaling.largest(native_abs(x, field), axis, 0.0) for x, axis in ((a, -1), (b, -2))]
    most = (4.0 if field else 1.0) * n * tops[0] * scaling.largest(tops[1], -1, 0.0, keepdims=True)
    bits = 53 * kind.limbs + more
    if n >= tuning.order_of_residues(backend) and bits <= _MOST_BITS:
        out = kind.empty(xp, (*c.shape[kind.lead :], n))
        parts = [tuple(x[..., i, :, :] for x in (a, b, out)) for i in range(int(out.shape[-3]))]
        if all(
            exact.multiply(
                cast(ExactProducts, backend), x, y, kind=kind, subtract=True, out=target,
                bits=bits, scaled=False,
            )
            for x, y, target in parts
        ):  # fmt: skip
            terms = [(1, c[..., None, None])]
            diagonals = backend.residual(terms, _rows(a), _columns(b), kind=kind)
            planes.diagonal(out)[...] = diagonals[..., 0, 0]
            return out, most * 2.0 ** (5 - bits) + _FLOOR * n
    square = kind.zeros(xp, (*c.shape[kind.lead :], n))
    planes.diagonal(square)[...] = c
    rest = backend.residual([(1, square)], a, b, kind=kind)
    return rest, most * (n + 64.0) * eps_of(kind) ** 2 + _FLOOR * n


def _rows(block: Block) -> Block:
    """Return the rows of matrices as matrices ``(..., n, 1, n)``."""
    return block[..., :, None, :]


def _columns(block: Block) -> Block:
    """Return the columns of matrices as matrices ``(..., n, n, 1)``."""
    return planes.namespace(block).ascontiguousarray(block.swapaxes(-1, -2))[..., None]


@np.errstate(all="ignore")
def _of_product(known: Elimination, x: Block) -> tuple[Block, Block]:
    """Return the trace of ``X R`` and a bound of its error.

    It is the sum of all ``(A_i X_i - 1) - (U_ii Y_ii - 1) + U_i W_i``, of rows of the left and
    columns of the right matrices. Of W only the lower triangle counts.
    """
    backend, kind, xp, n = known.backend, known.kind, known.xp, known.order
    field, a = kind.is_complex, known.a
    lower, upper = known.factors.lu.copy(), known.factors.lu.copy()
    xp.copyto(lower, 0.0, where=xp.tri(n, dtype=bool).T)
    planes.clear_below(upper)
    planes.set_unit_diagonal(lower, field)
    y = from_native(xp, 1.0 / to_native(xp, planes.diagonal(upper), field), field)
    x_size, a_size, u_size = (native_abs(block, field) for block in (x, a, upper))
    (grown,) = fetch((scaling.largest(x_size, -1, 0.0) * u_size.sum(axis=-2)).sum(axis=-1))
    # So many bits that what they cut off is a small part of eps.
    more = math.frexp(float(scaling.largest(n * grown, None, 1.0)))[1] + _MORE_BITS // 2
    w, cut = _rest(backend, planes.widen(y, field, kind.limbs), x, lower, kind, more)
    ones = kind.zeros(xp, (*a.shape[-3:-1], 1, 1))
    (ones[0] if field else ones)[0] = 1.0
    terms = backend.matmul(_rows(upper), _columns(w), kind=kind)
    diagonals = planes.diagonal(upper)[..., None, None], y[..., None, None]
    for sign, (left, right) in (1, (_rows(a), _columns(planes.negate(x, field)))), (-1, diagonals):
        terms = backend.residual([(1, terms), (-sign, ones)], left, right, kind=kind)
    terms = terms[..., 0, 0]
    value = backend.reduce("sum", terms, kind=kind)
    y_size, t_size = (native_abs(block, field) for block in (y, terms))
    u_columns = u_size.swapaxes(-1, -2)
    w_size = xp.tril(native_abs(w, field)) * u_columns
    eps, factor = eps_of(kind), 4.0 if field else 1.0
    products = (x_size * a_size.swapaxes(-1, -2)).sum((-2, -1))
    products = products + (y_size * planes.diagonal(u_size)).sum(axis=-1)
    error = factor * (n + 8.0 * np.log2(max(n, 2)) + 57.0) * eps * w_size.sum((-2, -1))
    error = error + (cut * u_columns.sum(axis=-1)).sum(axis=-1)
    error = error + factor * (2.0 * n + 64.0) * square_of(eps) * products
    error = error + factor * (n + 10.0) * eps * t_size.sum(axis=-1)
    most = [scaling.largest(size, (-2, -1), 0.0) for size in (x_size, u_size)]
    return value, error * _UP + _FLOOR * n**2 * (1.0 + most[0]) * (1.0 + most[1])
