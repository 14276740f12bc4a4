"""Bounds of the change of a solution by errors of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
from mdqr.linalg._shared.operands import Inputs, precision_for
from mdqr.linalg._solve.system import Scaled, System, triangle_of
from mdqr.linalg._solve.wide import Wide

# Conditions up to which products in float64 bound what they leave closely.
_FLOAT64 = 2.0**30
# For the rounding of float64; and departures from orthogonality that need no more limbs.
_UP, _SMALL = 1 + 2.0**-30, 2.0**-10
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

    With ``C = (A^H W A)^-1`` of the changed A, changes of A and b move x by ``C A^H W g + C dA^H W
    (r + P g)``, ``g = db - dA x``, P a projection; changes of W add ``dW r`` to ``W g``. The bound
    is that of the worst signs, with |g| for |P g| and ``1 / (1 - rate)`` for what the changes make
    of ``A^+``, and infinite where they may make columns dependent.

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
    change = of_a @ x + errors.b.of(xp, system.size(b.block), by_row - unit)
    weight: Block | float = 1.0
    of_weights: Block | float = 0.0
    if system.weight is not None:
        weight = system.size(system.weight)
        of_weights = errors.weights.of(xp, weight, -2 * by_row)
        of_weights = xp.where(weight > 0, of_weights / weight, 0.0)
        change = change + of_weights * r_sizes
        of_weights = scaling.largest(of_weights, (-2, -1), 0.0)
    rows, normal = _inverses(system)
    by_fit = rows @ change
    by_residual = normal @ (of_a.swapaxes(-1, -2) @ (weight * (r_sizes + change)))
    rate = scaling.largest((rows @ of_a).sum(axis=-1), -1, 0.0)
    rate = (rate + of_weights)[..., None, None]
    found = (by_fit + by_residual / (1.0 - rate)) / (1.0 - rate)
    found = xp.where(rate < 1.0, found * _UP, xp.inf)
    return xp.ldexp(found, system.powers[..., :, None] + unit)


@np.errstate(all="ignore")
def moved_shortest(system: Wide, b: Scaled, x: Block, errors: DataErrors) -> Block:
    """Return by how much errors of the data may move a minimum-norm solution of moduli x.

    ``|A^+| (|g| + |dA| |h|) + |h|`` with ``|g| = |dA| |x| + |db|``, ``P = I - A^+ A``, ``C =
    (A A^H)^-1``, ``|h| = |P| |dA^H| (|y| + |dy|)``, and ``|dy| = |C| (|g| + |dA| |dA^H| |y|) +
    |A^+^H| |dA^H| |y|``, but for what changes make of ``A^+``; infinite where the errors may
    make rows dependent. P projects: the modulus of an entry is at most the geometric mean of
    those on the diagonal, in its row and in its column.
    """
    xp, kind, near = system.backend.xp, system.kind, system.powers[..., :, None]
    up = system.tall.powers if system.rows is None else system.tall.powers - system.rows
    c, down = system.backend.balance_columns(b.block, up, is_complex=kind.is_complex)
    up, unit = system.tall.powers[..., :, None], (b.exponents - down)[..., None, :]
    shift = near + unit
    of_a = errors.a.of(xp, system.size(system.a), up - system.powers[..., None, :])
    of_c = errors.b.of(xp, system.size(c), up - unit)
    y = system.size(system.tall.triangle.solve(system.tall.triangle.solve(c, "C")))
    inverse, held = system.inverses()
    basis, diagonal = system.size(held), system.beside(held)
    pseudo = system.backend.matmul(held, inverse.swapaxes(-1, -2), conj_b=True, kind=kind)
    rows = system.size(pseudo)
    change = of_a @ xp.ldexp(x, 2 * near - shift) + of_c
    normal = system.size(
        system.backend.matmul(inverse, inverse.swapaxes(-1, -2), conj_b=True, kind=kind)
    )
    turned = of_a.swapaxes(-1, -2) @ y
    held_x = xp.ldexp(turned, system.squared)
    y = y + normal @ (change + of_a @ held_x) + rows.swapaxes(-1, -2) @ held_x
    turned = of_a.swapaxes(-1, -2) @ y
    lowered = xp.ldexp(turned, near)
    across = turned + basis @ (xp.ldexp(basis, near).swapaxes(-1, -2) @ lowered)
    beside = xp.ldexp(diagonal, -near) * (diagonal * lowered).sum(axis=-2, keepdims=True)
    across = xp.minimum(across, beside)
    change = change + of_a @ xp.ldexp(across, system.squared)
    rate = scaling.largest((of_a @ xp.ldexp(rows, system.squared)).sum(axis=-1), -1, 0.0)
    rate = rate[..., None, None]
    moved = (rows @ change + across) / (1.0 - rate)
    return xp.ldexp(xp.where(rate < 1.0, moved * _UP, xp.inf), shift)


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
    """Return the moduli of ``A^+`` and ``(A^H A)^-1`` with what the inverse of R leaves.

    With X near ``R^-1``, ``B = A X`` and ``I - B^H B`` of norm g < 1 is ``A^+ = X (I + L) B^H`` and
    ``(A^H A)^-1 = X (I + L) X^H``, L the sum of powers of ``I - B^H B``. More limbs where those of
    the work leave a large g; infinite or NaN where no precision leaves less than 1.
    """
    field, xp = system.kind.is_complex, system.backend.xp
    kind, factors = system.kind, system.factors
    # Entries of the product with the roots are rounded.
    of_root = 0.0 if system.root is None else 8 * precision_for(kind.limbs).eps
    while True:
        triangle = triangle_of(factors, system.caller, Checks(ignore=True), system.line)
        x = triangle.solve(system.identity())
        a = planes.widen(system.weighted_matrix, field, kind.limbs)
        b = system.backend.matmul(a, x, kind=kind)
        b_adjoint, x_adjoint = planes.adjoint(b, field), planes.adjoint(x, field)
        unit = (8 * sum(a.shape[-2:]) + 64) * precision_for(kind.limbs).eps
        size_x, size_b = system.size(x), system.size(b)
        off = (unit + of_root) * (system.size(a) @ size_x) + unit * size_b
        one = kind.identity(xp, b.shape[kind.lead : -2] + x.shape[-2:])
        left = system.size(system.backend.matmul(b_adjoint, b, c=one, subtract=True, kind=kind))
        turned_b = (size_b + off).swapaxes(-1, -2)
        left = left + unit * (turned_b @ size_b + xp.eye(x.shape[-1]))
        left = left + turned_b @ off + off.swapaxes(-1, -2) @ size_b
        lengths = left.sum(axis=-1, keepdims=True)
        norm = scaling.largest(lengths, (-2, -1), 0.0, keepdims=True)
        more = precision_for(kind.limbs).next
        if more.limbs == kind.limbs or fetch((norm < _SMALL).all())[0]:
            break
        kind = kind._replace(limbs=more.limbs)
        factors = replace(system, kind=kind, a=a, root=None, report=None).factors
    powers = left + lengths * scaling.largest(left, -2, 0.0, keepdims=True) / (1.0 - norm)
    powers = xp.where(norm < 1.0, powers, xp.inf)
    rows = system.size(system.backend.matmul(x, b_adjoint, kind=kind))
    rows = rows + size_x @ (powers @ turned_b + off.swapaxes(-1, -2) + unit * turned_b)
    normal = system.size(system.backend.matmul(x, x_adjoint, kind=kind))
    normal = normal + size_x @ (powers + unit * xp.eye(x.shape[-1])) @ size_x.swapaxes(-1, -2)
    return rows, normal


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
        rows = sizes_x + (abs(one - x @ a) + unit * (sizes_x @ sizes_a)) @ sizes_x
        return rows, rows @ rows.swapaxes(-1, -2)
    adjoint, b = turned(x), a @ x
    b_adjoint = turned(b)
    sizes = abs(b_adjoint)
    # With b of orthonormal columns x b^H is A^+; they are nearly so, and b is rounded.
    off = unit * (sizes_a @ sizes_x + abs(b))
    left = sizes @ off
    left = abs(one - b_adjoint @ b) + left + left.swapaxes(-1, -2)
    rows = abs(x @ b_adjoint) + sizes_x @ (left @ sizes + off.swapaxes(-1, -2))
    return rows, abs(x @ adjoint) + sizes_x @ ((left + unit * one) @ abs(adjoint))
