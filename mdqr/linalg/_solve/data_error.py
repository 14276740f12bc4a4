"""Bounds of the change of a solution by errors of the data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr._backend.blocks import from_native, native_abs, to_native, turned
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._inverse.approximate_inverse import ApproximateInverse, U
from mdqr.linalg._inverse.rounds import approximate_inverse
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.data_error import Errors, operand_errors
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._solve.near_inverse import LEAST, near_inverse, sum_of_powers
from mdqr.linalg._solve.system import Scaled, System
from mdqr.linalg._solve.wide import Wide

# Conditions up to which products in float64 bound what they leave closely.
_FLOAT64 = 2.0**30
# For the rounding of float64.
_UP = 1 + 2.0**-30
_LEAST = 2.0**-1074
NAMES = ("a", "b", "weights")


class DataErrors(NamedTuple):
    """The errors of the data; those of weights are columns ``(..., m, 1)``."""

    a: Errors
    b: Errors
    weights: Errors


def data_errors(
    function: str,
    given: Mapping[str, Any] | None,
    units: tuple[float, float],
    inputs: Inputs,
    is_vector: bool,
    checks: Checks,
) -> DataErrors:
    """Return the errors of the data.

    Parameters
    ----------
    function : str
        The public function, for messages.
    given : mapping or None
        What it got. Matrices of which it says nothing are rounded to their precision, weights
        are exact.
    units : tuple of float
        Half a unit of the last place of the entries of a and b, relative to them.
    inputs : Inputs
        The operands, of one batch shape and b as columns.
    is_vector : bool
        Whether b came as a vector.
    checks : Checks
        Get what is demanded of values.
    """
    if given is None:
        return _rounded(*units)
    found = list(_rounded(*units))
    a, b = inputs.shape(0), inputs.shape(1)
    shapes = (a, b[-2:-1] if is_vector else b, a[:-1])
    for place, (name, shape) in enumerate(zip(NAMES, shapes, strict=True)):
        is_column = name == "weights" or (name == "b" and is_vector)
        unit = found[place].rtol
        errors = operand_errors(function, given, name, shape, unit, inputs, checks)
        found[place] = Errors(*[_column(v) if is_column else v for v in errors])
    return DataErrors(*found)


def _column(bounds: Block | float) -> Block | float:
    """Return the bounds of a vector's entries as a column; one for all as it is."""
    return bounds if isinstance(bounds, float) or not bounds.ndim else bounds[..., None]


@np.errstate(all="ignore")
def relative_error(a: Block, errors: Errors, is_complex: bool) -> float:
    """Return the largest error of an entry, relative to the largest one of its column.

    Columns of a matrix ``(..., m, n)`` for m >= n, else rows: NaN where something is not finite.
    """
    xp = planes.namespace(a)
    sizes = native_abs(a, is_complex)
    axis = -2 if sizes.shape[-2] >= sizes.shape[-1] else -1
    found = scaling.largest(errors.of(xp, sizes, 0), axis, 0.0)
    relative = xp.where(found > 0, found / scaling.largest(sizes, axis, 0.0), 0.0)
    return float(fetch(scaling.largest(relative, None, 0.0))[0])


def require_certain_zeros(
    function: str, errors: DataErrors, positive: Block, checks: Checks
) -> None:
    """Demand that weights which are zero have no absolute error: their rows are left out."""
    xp, atol = planes.namespace(positive), errors.weights.atol
    if isinstance(atol, float) and not atol:
        return

    def refuse() -> NoReturn:
        raise ValueError(
            f"{function}: data_error: weights_atol is positive where a weight is 0, and such rows "
            "are left out; give them a positive weight"
        )

    certain = xp.broadcast_to(xp.asarray(atol), (*positive.shape, 1))[..., 0] == 0
    checks.require((certain | positive).all(), refuse)


@cache
def _rounded(a: float, b: float) -> DataErrors:
    """Return errors of entries by these parts of them; weights are exact."""
    return DataErrors(*[Errors(0.0, unit) for unit in (a, b, 0.0)])


@np.errstate(all="ignore")
def solution_error(
    system: System, moved: Block, held: Block | None, errors: DataErrors, is_vector: bool
) -> np.ndarray:
    """Return what `moved` says, infinite where it is NaN, on the host.

    Unknowns that are zero by structure stay so where errors leave zeros of the data as they are.
    """
    xp = system.backend.xp
    exact_zeros = all(isinstance(e.atol, float) and not e.atol for e in errors)
    if held is not None and exact_zeros:
        moved = xp.where(held | ~xp.isfinite(moved), moved, 0.0)
    (found,) = system.checks.settle(moved[..., 0] if is_vector else moved)
    return np.where(np.isnan(found), np.inf, found)


@np.errstate(all="ignore")
def moved(system: System, b: Scaled, r: Scaled, x: Block, errors: DataErrors) -> Block:
    """Return by how much errors of the data may move a solution.

    With ``g = db - dA x``, ``F = A^+ dA`` and ``C = (A^H W A)^-1``, ``P = I - A A^+`` and ``T =
    P dA``, changes of A and b move x by

        (I + D T^H W T)^-1 ((I + F)^-1 A^+ g + D dA^H W (r + P g)),  D = (I + F)^-1 C (I + F)^-H

    of which the bound has the worst signs, for ``T^H W T`` the lengths of columns of dA. Square
    systems have no r and no P. Changes of W add ``dW r`` to ``W g``, and make C larger. Infinite
    where errors may make columns dependent.

    Parameters
    ----------
    system : System
        The problem.
    b, r : Scaled
        Its right-hand sides and residuals, in the rows of the system.
    x : Block
        The moduli of the solution, float64 ``(..., n, k)``.
    errors : DataErrors
        The errors, in the units of the data.
    """
    xp = system.backend.xp
    unit = b.exponents[..., None, :]
    by_row = 0 if system.rows is None else system.rows[..., :, None]
    by_column = system.powers[..., None, :]
    a = system.size(system.a)
    of_a = errors.a.of(xp, a, by_row + by_column)
    x = xp.ldexp(x, -system.powers[..., :, None] - unit)
    r_sizes = xp.ldexp(system.size(r.block), r.exponents[..., None, :] - unit)
    b_sizes = system.size(b.block)
    of_b = errors.b.of(xp, b_sizes, by_row - unit)
    some = _columns(of_b) | (_has_any(of_a) & _columns(b_sizes))
    change = of_a @ x + of_b
    weight: Block | float = 1.0
    rate: Block | None = None
    if system.weight is not None:
        weight = system.size(system.weight)
        of_weights = errors.weights.of(xp, weight, -2 * by_row)
        of_weights = xp.where(weight > 0, of_weights / weight, 0.0)
        some = some | (_has_any(of_weights) & _columns(b_sizes))
        change = change + of_weights * r_sizes
        rate = scaling.largest(of_weights, (-2, -1), 0.0, keepdims=True)
    change = _with_underflow(xp, change, some)
    rows, normal = _inverses(system)
    sums = sum_of_powers(xp, rows @ of_a)
    found = rows @ change
    found = found + sums @ found
    if not system.is_square:
        left = (of_a, change, r_sizes)
        found = _with_residuals(system, found, left, weight, normal, sums)
    if rate is not None:
        found = xp.where(rate < 1.0, found / (1.0 - rate) ** 2, xp.inf)
    found = _with_underflow(xp, found * _UP, some)
    found = xp.ldexp(found, system.powers[..., :, None] + unit)
    return _with_underflow(xp, found, some, lost=_LEAST)


def _with_residuals(
    system: System,
    found: Block,
    left: tuple[Block, Block, Block],
    weight: Block | float,
    normal: Block,
    sums: Block,
) -> Block:
    """Add to |u| the effect of residuals, and of errors outside the range of A, on a solution.

    `left` has the moduli of dA, g and r, `normal` of ``(A^H W A)^-1``, and `sums` of the powers
    of ``A^+ dA``.
    """
    xp, (of_a, change, r_sizes) = system.backend.xp, left
    adjoint, transposed, root = of_a.swapaxes(-1, -2), sums.swapaxes(-1, -2), weight**0.5
    lengths = scaling.norms(root * of_a, -2, keepdims=True)

    def by_d(v: Block) -> Block:
        v = normal @ (v + transposed @ v)
        return v + sums @ v

    # (I + D T^H T)^-1 = I - D T^H (I + T D T^H)^-1 T, where the inverse has a norm of at most 1,
    # and (I + D T^H T)^-1 D T^H = D T^H (I + T D T^H)^-1.
    far = by_d(lengths.swapaxes(-1, -2))

    def whole(v: Block) -> Block:
        return v + far * (lengths @ v)

    total = whole(found)
    for w, size in ((r_sizes, r_sizes), (change, change + system.size(system.a) @ found)):
        by_entries = whole(by_d(adjoint @ (weight * size) + LEAST * _columns(size)))
        total = total + xp.minimum(by_entries, far * scaling.norms(root * w, -2, keepdims=True))
    return total


def _columns(sizes: Block) -> Block:
    """Return the mask of columns that are not zero."""
    return (sizes > 0).any(axis=-2, keepdims=True)


def _has_any(errors: Block) -> Block:
    """Return the mask of matrices that have errors."""
    return (errors > 0).any(axis=(-2, -1), keepdims=True)


def _with_underflow(xp: Any, found: Block, some: Block, lost: float = LEAST) -> Block:
    """Add what underflow may take from sums of products, to columns that `some` errors move."""
    return xp.where(some, found + lost, found)


@np.errstate(all="ignore")
def moved_shortest(system: Wide, b: Scaled, x: Block, errors: DataErrors) -> Block:
    """Return by how much errors of the data may move a minimum-norm solution of moduli x.

    With ``g = db - dA x``, ``F = dA A^+``, ``C = (A A^H)^-1``, ``P = I - A^+ A``, ``T = P dA^H``
    and ``x = A^H y`` it is moved by

        A^+ (I + F)^-1 (g - dA h) + h,  h = T w - T D T^H (I + T D T^H)^-1 T w,
        w = (I + F)^-H (y + C (I + F)^-1 g),  D = (I + F)^-H C (I + F)^-1

    of which the bound has the worst signs, where the inverse with T has a norm of at most 1;
    infinite where the errors may make rows dependent. P projects: the modulus of an entry is at
    most the geometric mean of those on the diagonal, in its row and in its column.
    """
    xp, kind, near = system.backend.xp, system.kind, system.powers[..., :, None]
    up = system.tall.powers if system.rows is None else system.tall.powers - system.rows
    c, down = system.backend.balance_columns(b.block, up, is_complex=kind.is_complex)
    up, unit = system.tall.powers[..., :, None], (b.exponents - down)[..., None, :]
    shift = near + unit
    of_a = errors.a.of(xp, system.size(system.a), up - system.powers[..., None, :])
    c_sizes = system.size(c)
    of_c = errors.b.of(xp, c_sizes, up - unit)
    some = _columns(of_c) | (_has_any(of_a) & _columns(c_sizes))
    adjoint = planes.adjoint(system.a, kind.is_complex)
    inverse = near_inverse(system.tall, adjoint, system.powers)
    y, basis, diagonal = inverse.normal_times(c), inverse.size_b, inverse.beside(system.powers)
    rows, normal = inverse.pseudo_inverse().swapaxes(-1, -2), inverse.normal()
    change = of_a @ xp.ldexp(x, 2 * near - shift) + of_c
    change = _with_underflow(xp, change, some)
    sums = sum_of_powers(xp, of_a @ xp.ldexp(rows, system.squared))
    adjoint, transposed = of_a.swapaxes(-1, -2), sums.swapaxes(-1, -2)
    lengths = scaling.norms(xp.ldexp(of_a, system.powers[..., None, :]), -1, keepdims=True)

    def by_d(v: Block) -> Block:
        v = normal @ (v + sums @ v)
        return v + transposed @ v

    def across(v: Block) -> Block:
        turned = adjoint @ v
        lowered = xp.ldexp(turned, near)
        image = xp.ldexp(basis, near).swapaxes(-1, -2) @ lowered
        found = turned + basis @ (image + inverse.sums @ image)
        beside = xp.ldexp(diagonal, -near) * (diagonal * lowered).sum(axis=-2, keepdims=True)
        return xp.minimum(found, beside)

    y = y + transposed @ y + by_d(change)
    length = lengths.swapaxes(-1, -2) @ y
    h = across(y) + across(by_d(lengths)) * length
    change = change + xp.minimum(of_a @ xp.ldexp(h, system.squared), lengths * length)
    moved = rows @ (change + sums @ change) + h
    moved = _with_underflow(xp, moved * _UP, some)
    return _with_underflow(xp, xp.ldexp(moved, shift), some, lost=_LEAST)


def _inverses(system: System) -> tuple[Block, Block]:
    """Return the moduli of ``C A^H W`` and C, or a little more: from float64 where that serves."""
    xp, kind = system.backend.xp, system.kind
    a, root = to_native(xp, system.a, kind.is_complex), 1.0
    if system.root is not None:
        root = to_native(xp, system.root, kind.is_complex)
        a = root * a
    found = _inverse_of(system, a) if a.size else None
    rows, normal = _of_factors(system) if found is None else _of_float64(found, a)
    return rows * xp.abs(root).swapaxes(-1, -2) if system.root is not None else rows, normal


def _of_factors(system: System) -> tuple[Block, Block]:
    """Return the moduli of ``A^+`` and ``(A^H A)^-1`` from an inverse of R."""
    found = near_inverse(system, system.weighted_matrix)
    return found.pseudo_inverse(), found.normal()


def _inverse_of(system: System, a: Block) -> ApproximateInverse | None:
    """Return an approximate inverse in float64, of which float64 products tell enough."""
    block = from_native(system.backend.xp, a, system.kind.is_complex)
    made = approximate_inverse(system.backend, block, system.checks, kind=system.kind, most=1)
    good = made is not None and made[1].all() and (made[0].condition <= _FLOAT64).all()
    return made[0] if made is not None and good else None


def _of_float64(found: ApproximateInverse, a: Block) -> tuple[Block, Block]:
    """Return the moduli of ``A^+`` and ``(A^H A)^-1`` with what an approximate inverse leaves.

    That is bounded entry by entry: what is zero where blocks of a have nothing in common stays so.
    """
    xp, x = found.backend.xp, found.native
    unit = (sum(a.shape[-2:]) + 8) * (4 if a.dtype.kind == "c" else 1) * U
    one, sizes_x, sizes_a = xp.eye(a.shape[-1]), abs(x), abs(a)
    if found.is_square:
        left = abs(one - x @ a) + unit * (sizes_x @ sizes_a)
        rows = sizes_x + sum_of_powers(xp, left) @ sizes_x + LEAST
        return rows, rows @ rows.swapaxes(-1, -2)
    adjoint, b = turned(x), a @ x
    b_adjoint = turned(b)
    sizes = abs(b_adjoint)
    # With b of orthonormal columns x b^H is A^+; they are nearly so, and b is rounded.
    off = unit * (sizes_a @ sizes_x + abs(b))
    left = sizes @ off
    left = abs(one - b_adjoint @ b) + left + left.swapaxes(-1, -2)
    left = sum_of_powers(xp, left + off.swapaxes(-1, -2) @ off)
    turned_off = off.swapaxes(-1, -2)
    rows = abs(x @ b_adjoint) + sizes_x @ (left @ (sizes + turned_off) + turned_off) + LEAST
    return rows, abs(x @ adjoint) + sizes_x @ ((left + unit * one) @ abs(adjoint)) + LEAST
