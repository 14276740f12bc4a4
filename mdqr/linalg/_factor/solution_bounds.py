"""Proven bounds of the errors of solutions by triangular factors, by residuals in twice the limbs.

The matrix is A, ``abs(A - F) <= G``, with F a triangle or the product of two. For the error e of
x, ``F e = (b - F x) + (F - A) (x + e)``, so that ``abs(e) <= H (r + G abs(x)) + H G abs(e)`` with
``r = abs(b - F x)`` and any H that bounds ``abs(F^-1)``. Of a triangle T with approximate inverse X
and ``E = I - X T``, that is ``(I - abs(E))^-1 abs(X)``, by substitution. All rounding errors are in
the moduli, in float64. Rows and columns are multiplied by powers of two before.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend import for_block
from mdqr._backend.blocks import native_abs
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr.linalg._factor.triangular import substitute
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.operands import (
    Inputs,
    broadcast_batch,
    data_precision,
    entry_unit,
    precision_for,
    square_of,
)

# More than float64 rounds off in moduli, and in their products and sums.
_SLACK = 1.0 + 2.0**-30
# More than what underflows in products of entries near 1; what powers of two take from a value;
# and what they take from a bound at the end.
_LEAST, _LOST, _END = 2.0**-1000, 2.0**-1072, 2.0**-1070
# Bounds that contain themselves are put in so often.
_AGAIN = 4


class Factor(NamedTuple):
    """A triangle ``(..., n, n)``, zero in the other one, of which the diagonal may be exact."""

    block: Block
    lower: bool
    unit_diagonal: bool = False


def turned(factor: Factor, letter: str, is_complex: bool) -> Factor:
    """Return a factor, its transpose ("T") or its conjugate transpose ("C")."""
    if letter == "N":
        return factor
    block = factor.block.swapaxes(-1, -2)
    if letter == "C" and is_complex:
        block = planes.conjugate(block)
    return Factor(block, not factor.lower, factor.unit_diagonal)


def factor_eps(inputs: Inputs, factors: Any) -> float:
    """Return eps of the precision of factors, four times as much if they are complex."""
    precision = data_precision(factors, inputs.work)
    eps = max(precision.eps, 2.0 * entry_unit(factors, precision))
    return eps * (4.0 if inputs.is_complex else 1.0)


class Errors(NamedTuple):
    """Relative distances of the matrix from the product of its factors, and of data from the truth.

    `product` is a multiple of ``abs(L) abs(U)`` that bounds the errors of a factorisation; of data
    within the errors of their entries nothing is known where `a` is None.
    """

    product: float = 0.0
    a: float | None = None
    b: float = 0.0


def solution_info(
    inputs: Inputs,
    factors: list[Factor],
    b: Block,
    x: Block,
    errors: Errors,
    *,
    order: Block | None = None,
    is_vector: bool = False,
) -> Info:
    """Return the info of solutions of ``F x = b``; all operands are copied.

    Parameters
    ----------
    inputs : Inputs
        The operands, for the precisions.
    factors : list of Factor
        One triangle, or two whose product is F.
    b, x : Block
        Right-hand sides and solutions ``(..., n, k)``.
    errors : Errors
        Errors of the matrix and of `b`.
    order : Block, optional
        The order ``(..., n)`` in which users get the rows of x.
    is_vector : bool, optional
        Whether users see x without its last axis.
    """
    field, answer = inputs.is_complex, inputs.precision
    limbs = max(inputs.work.limbs, 2)
    held = planes.narrow(x, field, min(answer.limbs, planes.limb_count(x, field)))
    _, blocks = broadcast_batch("", [held, b, *(each.block for each in factors)], field)
    batch = planes.value_shape(blocks[0], field)[:-2]
    x, b, *triangles = (_flat(host_block(block).copy(), field, limbs) for block in blocks)
    factors = [each._replace(block=block) for each, block in zip(factors, triangles, strict=True)]
    rows = None if order is None else np.asarray(host_block(order))

    def shown(values: np.ndarray) -> np.ndarray:
        values = values.reshape(*batch, *values.shape[-2:])
        if rows is not None:
            values = np.take_along_axis(values, rows[..., None], axis=-2)
        return values[..., 0] if is_vector else values

    @cache
    def system() -> _System:
        return _System.of(factors, b, x, Kind(limbs, field), errors, inputs.work)

    def condition() -> np.ndarray:
        values = system().condition()
        return values.reshape(batch) if batch else values.reshape(())[()]

    return Info(
        answer,
        lambda: shown(native_abs(x, field)),
        lambda: shown(system().bound()),
        None if errors.a is None else lambda: shown(system().bound(errors.a, errors.b)),
        condition=condition,
    )


def _flat(block: Block, is_complex: bool, limbs: int) -> Block:
    """Return matrices with one batch dimension and all limbs."""
    wide = planes.widen(block, is_complex, limbs)
    front = planes.lead(is_complex)
    return wide.reshape(*wide.shape[:front], -1, *wide.shape[-2:])


class _Scaled(NamedTuple):
    """A block times powers of two, upper bounds of its moduli, and of what it lost by that."""

    block: Block
    sizes: np.ndarray
    lost: np.ndarray

    @classmethod
    def of(cls, given: Block, powers: np.ndarray, is_complex: bool) -> _Scaled:
        backend = for_block(given)
        block = backend.ldexp(given, powers, is_complex=is_complex)
        back = backend.ldexp(block, -powers, is_complex=is_complex)
        inexact = (back != given).any(axis=(0, 1) if is_complex else 0)
        return cls(block, native_abs(block, is_complex) * _SLACK, np.where(inexact, _LOST, 0.0))


class _Inverse(NamedTuple):
    """An approximate inverse, a bound of the moduli of the exact one, and of the difference."""

    block: Block
    sizes: np.ndarray
    most: np.ndarray
    error: np.ndarray


class _System(NamedTuple):
    """A scaled system ``F y = c`` and bounds; `down` are the powers of x over y."""

    inverse: np.ndarray  # of moduli of the inverse of F
    matrix: np.ndarray  # of moduli of the product of the moduli of the factors, less exact ones
    product: np.ndarray  # of the matrix less F
    rest: np.ndarray  # of moduli of the residual
    y: np.ndarray
    c: np.ndarray
    down: np.ndarray
    lower: bool | None

    @classmethod
    @np.errstate(all="ignore")
    def of(
        cls,
        factors: list[Factor],
        b: Block,
        x: Block,
        kind: Kind,
        errors: Errors,
        work: Precision,
    ) -> _System:
        """Scale, invert and measure."""
        field, one = kind.is_complex, len(factors) == 1
        columns = -scaling.top_exponents(factors[-1].block, field, -2)
        if one:
            columned = for_block(b).ldexp(factors[0].block, columns[..., None, :], is_complex=field)
            rows = -scaling.top_exponents(columned, field, -1)
            parts = [
                _Scaled.of(factors[0].block, rows[..., :, None] + columns[..., None, :], field)
            ]
        else:
            rows = -scaling.top_exponents(factors[0].block, field, -1)
            powers = (rows[..., :, None], columns[..., None, :])
            parts = [_Scaled.of(f.block, p, field) for f, p in zip(factors, powers, strict=True)]
        unit = _units(b, rows, field)
        c = _Scaled.of(b, rows[..., :, None] + unit[..., None, :], field)
        down = columns[..., :, None] - unit[..., None, :]
        y = _Scaled.of(x, -down, field)
        rest, matrix, product = _measured(parts, c, y, kind)
        if not one:
            product = product + _factor_errors(parts, rows, columns, errors.product, work, field)
        exact = np.zeros_like(matrix)
        if factors[0].unit_diagonal and one:
            exact = matrix * np.eye(matrix.shape[-1])
        inverse = _inverse_of(parts, factors, kind)
        lower = factors[0].lower if one else None
        return cls(inverse, matrix - exact, product, rest, y.sizes + y.lost, c.sizes, down, lower)

    @np.errstate(all="ignore")
    def condition(self) -> np.ndarray:
        """Return the largest row sum of ``H abs(F)``, at least 1."""
        found = _times(self.inverse, self.matrix).sum(axis=-1).max(axis=-1, initial=1.0)
        return np.nan_to_num(found, nan=np.inf, posinf=np.inf)

    @np.errstate(all="ignore")
    def bound(self, a: float | None = None, b: float = 0.0) -> np.ndarray:
        """Return bounds of the errors of x, for data with relative errors of `a` and `b`."""
        changed = self.product + (0.0 if a is None else _scaled_by(a, self.matrix))
        rest = self.rest + _times(changed, self.y) + _scaled_by(b, self.c)
        start = _times(self.inverse, rest)
        again = _times(self.inverse, changed)
        if self.lower is None:
            error = _contained(again, start)
        else:
            error = _substituted(again, start, lower=self.lower)
        found = np.ldexp(error * _SLACK, self.down) * _SLACK + _END
        found = np.where(error == 0, 0.0, found)
        return np.nan_to_num(found, nan=np.inf, posinf=np.inf)


def _units(b: Block, rows: np.ndarray, is_complex: bool) -> np.ndarray:
    """Return the powers that bring the largest entry of each column of ``2**rows b`` near 1."""
    bits = scaling.magnitude_bits(b, is_complex)
    found = scaling.largest(
        np.where(bits > 0, scaling.exponents_of(bits) + rows[..., :, None], scaling.ABSENT),
        -2,
        scaling.ABSENT,
    )
    return np.where(found > scaling.ABSENT, -found, 0)


def _scaled_by(unit: float, sizes: np.ndarray) -> np.ndarray:
    """Return errors of entries, zero for zeros."""
    if unit == 0:
        return np.zeros_like(sizes)
    return np.where(sizes != 0, sizes * (unit * _SLACK) + _LOST, 0.0)


def _times(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return an upper bound of the product of matrices that are not negative, 0 where it is.

    Values beyond the range are infinite or NaN, here as everywhere, and infinite in the end.
    """
    found = (p @ q) * _SLACK + _LEAST
    return np.where((p != 0) * 1.0 @ ((q != 0) * 1.0) > 0, found, 0.0)


def _measured(
    parts: list[_Scaled], c: _Scaled, y: _Scaled, kind: Kind
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return bounds of moduli: of ``c - F y``, of F, and of what F is off by scaling and rounding.

    Of two factors the product is held as a rounded one and its residual.
    """
    backend, field = for_block(c.block), kind.is_complex
    few, square = 8 * c.block.shape[-2] + 64, square_of(precision_for(kind.limbs).eps)
    sizes = parts[0].sizes
    matrix, right, off = parts[0].block, y.block, parts[0].lost
    if len(parts) == 2:
        first, second = parts
        sizes = _times(first.sizes, second.sizes)
        near = backend.matmul(first.block, second.block, kind=kind)
        rest = backend.residual(
            [(-1, near)], planes.negate(first.block, field), second.block, kind=kind
        )
        matrix = np.concatenate([near, rest], axis=-1)
        right = np.concatenate([y.block, y.block], axis=-2)
        off = np.where(sizes != 0, few * square * sizes + _LEAST, 0.0)
        off = off + _times(first.lost, second.sizes) + _times(first.sizes, second.lost)
        off = off + _times(first.lost, second.lost)
    found = backend.residual([(1, c.block)], matrix, right, kind=kind)
    terms = _times(sizes, y.sizes) + c.sizes
    error = _rounded(found, terms, kind, few)
    error = error + c.lost + _times(sizes, y.lost)
    return error, sizes, off


def _rounded(found: Block, terms: np.ndarray, kind: Kind, few: int) -> np.ndarray:
    """Return upper bounds of the moduli of an exact residual, 0 where all its terms are."""
    eps = precision_for(kind.limbs).eps
    size = native_abs(found, kind.is_complex) * (1 + 2 * eps) + few * square_of(eps) * terms
    return np.where(terms != 0, size * _SLACK + _LEAST, 0.0)


def _factor_errors(
    parts: list[_Scaled],
    rows: np.ndarray,
    columns: np.ndarray,
    grown: float,
    work: Precision,
    is_complex: bool,
) -> np.ndarray:
    """Bound the errors of a factorisation: rounding, and what is below the smallest double.

    Entries of factors lose it in the units of the data, and elimination as much of the largest one.
    """
    first, second = parts
    least = _LOST * work.limbs * (2.0 if is_complex else 1.0)
    ones = np.ones_like(second.sizes)
    of_first = np.ldexp(least * ones, rows[..., :, None])
    of_second = np.ldexp(least * ones, columns[..., None, :])
    lost = _times(first.sizes, of_second) + _times(of_first, second.sizes)
    return grown * _times(first.sizes, second.sizes) * _SLACK + lost + _LEAST


def _inverse_of(parts: list[_Scaled], factors: list[Factor], kind: Kind) -> np.ndarray:
    """Return a bound of the moduli of the inverse of the product, of one factor or two."""
    found = [
        _triangle_inverse(part, each.lower, kind) for part, each in zip(parts, factors, strict=True)
    ]
    if len(found) == 1:
        return found[0].most
    first, second = found
    backend, n = for_block(first.block), first.block.shape[-1]
    near = backend.matmul(second.block, first.block, kind=kind)
    sizes = native_abs(near, kind.is_complex) * _SLACK
    rounding = (8 * n + 64) * precision_for(kind.limbs).eps
    rounding = rounding * _times(second.sizes, first.sizes) + _LEAST
    lost = _times(second.error, first.most) + _times(second.sizes, first.error)
    return np.asarray((sizes + rounding + lost) * _SLACK)


def _triangle_inverse(part: _Scaled, lower: bool, kind: Kind) -> _Inverse:
    """Return the inverse of a triangle, its entries off by what they lost."""
    backend, block, n = for_block(part.block), part.block, part.block.shape[-1]
    one = kind.identity(np, (*block.shape[kind.lead : -2], n, n))
    x = substitute(backend, block, one, kind=kind, lower=lower)
    sizes = native_abs(x, kind.is_complex) * _SLACK
    found = backend.residual([(1, one)], x, block, kind=kind)
    terms = _times(sizes, part.sizes) + np.eye(n)
    rest = _rounded(found, terms, kind, 8 * n + 64) + _times(sizes, part.lost)
    rest = (np.tril if lower else np.triu)(rest)
    most = _substituted(rest, sizes, lower=lower)
    return _Inverse(x, sizes, most, _times(rest, most))


def _substituted(k: np.ndarray, v: np.ndarray, *, lower: bool) -> np.ndarray:
    """Return upper bounds of ``(I - k)^-1 v`` for triangles k, all not negative."""
    n, found = k.shape[-1], v.copy()
    diagonal = np.diagonal(k, axis1=-2, axis2=-1)
    factor = np.where(diagonal < 0.5, 1.0 / (1.0 - np.minimum(diagonal, 0.5)), np.inf) * _SLACK
    for i in range(n) if lower else reversed(range(n)):
        known = slice(0, i) if lower else slice(i + 1, n)
        row = _times(k[..., i : i + 1, known], found[..., known, :])[..., 0, :]
        total = v[..., i, :] + row
        found[..., i, :] = np.where(total != 0, total * factor[..., i, None], total)
    return found


def _contained(k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return upper bounds of ``(I - k)^-1 v``, infinite unless k is seen to be a contraction.

    With ``k u <= theta u``, ``theta < 1``, and ``v <= t u``, it is at most ``t u / (1 - theta)``.
    """
    u = np.ones((*k.shape[:-1], 1))
    for _ in range(_AGAIN):
        u = 1.0 + _times(k, u)
    theta = (_times(k, u) / u).max(axis=-2, keepdims=True, initial=0.0) * _SLACK
    t = (v / u).max(axis=-2, keepdims=True, initial=0.0) * _SLACK
    error = np.where(theta < 0.99, t / (1.0 - np.minimum(theta, 0.99)), np.inf) * u * _SLACK
    error = np.where(np.isnan(error), np.inf, error)
    for _ in range(_AGAIN):
        error = np.minimum(error, np.where(error < np.inf, (v + _times(k, error)) * _SLACK, error))
    return np.asarray(error)
