"""Errors of the data: what users know of them, and how far they move a solution."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr._backend.blocks import broadcast_shapes, from_native, to_native
from mdqr._core.promotion import to_block, together
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._solve.answer import Scaled
from mdqr.linalg._solve.refine.approximate_inverse import ApproximateInverse, U
from mdqr.linalg._solve.refine.rounds import approximate_inverse
from mdqr.linalg._solve.system import System

# Conditions up to which products in float64 bound what they leave closely.
_FLOAT64 = 2.0**30
_NAMES = ("a", "b", "weights")
_KEYS = tuple(f"{name}_{kind}" for name in _NAMES for kind in ("atol", "rtol"))


class Errors(NamedTuple):
    """Entries err by at most ``atol + rtol * abs(entry)``: float64, broadcast to the entries."""

    atol: Block | float
    rtol: Block | float

    def of(self, xp: Any, sizes: Block, powers: Block) -> Block:
        """Return the bounds for entries of these sizes, which were multiplied by ``2**powers``."""
        atol = xp.broadcast_to(xp.asarray(self.atol), sizes.shape)
        return xp.ldexp(atol, powers) + self.rtol * sizes


class DataErrors(NamedTuple):
    """The errors of the data; those of weights are columns ``(..., m, 1)``."""

    a: Errors
    b: Errors
    weights: Errors


def check_data_error(given: Any, *, weighted: bool) -> None:
    """Raise where `data_error` is no mapping of its keys."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise TypeError(
            "lstsq: data_error must be a dict that says of what the errors are and whether they "
            'are absolute or relative, as in {"a_rtol": 1e-9, "b_atol": sigma}; '
            f"got {type(given).__name__}"
        )
    for key in given:
        if key not in _KEYS:
            raise ValueError(f"lstsq: data_error has the keys {', '.join(_KEYS)}; got {key!r}")
        if key.startswith("weights") and not weighted:
            raise ValueError(f"lstsq: data_error has {key!r}, and there are no weights")


def data_errors(
    given: Mapping[str, Any] | None,
    units: tuple[float, float],
    inputs: Inputs,
    is_vector: bool,
    checks: Checks,
) -> DataErrors:
    """Return the errors of the data.

    Parameters
    ----------
    given : mapping or None
        What `lstsq` got. Matrices of which it says nothing are rounded to their precision, weights
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
    for place, (name, shape) in enumerate(zip(_NAMES, shapes, strict=True)):
        keys = f"{name}_atol", f"{name}_rtol"
        if not any(key in given for key in keys):
            continue
        is_column = name == "weights" or (name == "b" and is_vector)
        values = [_bounds(key, given.get(key, 0.0), shape, inputs, checks) for key in keys]
        found[place] = Errors(*[v[..., None] if is_column and v.ndim else v for v in values])
    return DataErrors(*found)


@np.errstate(all="ignore")
def relative_error(a: Block, errors: Errors, is_complex: bool) -> float:
    """Return the largest error of an entry, relative to the largest one of its column.

    Columns of a matrix ``(..., m, n)`` for m >= n, else rows: NaN where something is not finite.
    """
    xp = planes.namespace(a)
    sizes = xp.abs(to_native(xp, a, is_complex))
    axis = -2 if sizes.shape[-2] >= sizes.shape[-1] else -1
    found = scaling.largest(errors.of(xp, sizes, 0), axis, 0.0)
    relative = xp.where(found > 0, found / scaling.largest(sizes, axis, 0.0), 0.0)
    return float(fetch(scaling.largest(relative, None, 0.0))[0])


def require_certain_zeros(errors: DataErrors, positive: Block, checks: Checks) -> None:
    """Demand that weights which are zero have no absolute error: their rows are left out."""
    xp, atol = planes.namespace(positive), errors.weights.atol
    if isinstance(atol, float) and not atol:
        return

    def refuse() -> NoReturn:
        raise ValueError(
            "lstsq: data_error: weights_atol is positive where a weight is 0, and such rows are "
            "left out; give them a positive weight"
        )

    certain = xp.broadcast_to(xp.asarray(atol), (*positive.shape, 1))[..., 0] == 0
    checks.require((certain | positive).all(), refuse)


@cache
def _rounded(a: float, b: float) -> DataErrors:
    """Return errors of entries by these parts of them; weights are exact."""
    return DataErrors(*[Errors(0.0, unit) for unit in (a, b, 0.0)])


def _bounds(key: str, value: Any, shape: tuple[int, ...], inputs: Inputs, checks: Checks) -> Block:
    """Return the values of a key: where the matrices are, and no view of what was given."""
    block, field = to_block(value, inputs.work.limbs)
    if field:
        raise ValueError(f"lstsq: data_error: {key} must be real; got complex values")
    own = planes.value_shape(block, False)
    try:
        fits = broadcast_shapes(own, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        name = key.partition("_")[0]
        raise ValueError(
            f"lstsq: data_error: {key} must be a number or broadcast to the shape {shape} of "
            f"{name}; got {own}"
        )
    a = inputs.blocks[0]
    block = together([(a, inputs.is_complex), (block, False)], (a, value))[1][0]
    found = block[0, ...].copy()
    xp = planes.namespace(found)

    def refuse() -> NoReturn:
        raise ValueError(f"lstsq: data_error: {key} must be finite and not negative")

    checks.require((xp.isfinite(found) & (found >= 0)).all(), refuse)
    return found


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
    a = _sizes(system, system.a)
    of_a = errors.a.of(xp, a, by_row + by_column)
    x = xp.ldexp(x, -system.powers[..., :, None] - unit)
    r_sizes = xp.ldexp(_sizes(system, r.block), r.exponents[..., None, :] - unit)
    change = of_a @ x + errors.b.of(xp, _sizes(system, b.block), by_row - unit)
    weight: Block | float = 1.0
    of_weights: Block | float = 0.0
    if system.weight is not None:
        weight = _sizes(system, system.weight)
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
    found = xp.where(rate < 1.0, found, xp.inf)
    return xp.ldexp(found, system.powers[..., :, None] + unit)


def _sizes(system: System, block: Block) -> Block:
    """Return the moduli of leading limbs."""
    xp = system.backend.xp
    return xp.abs(to_native(xp, block, system.kind.is_complex))


def _inverses(system: System) -> tuple[Block, Block]:
    """Return the moduli of ``C A^H W`` and C, or a little more: from float64 where that serves."""
    xp, kind = system.backend.xp, system.kind
    a, root = to_native(xp, system.a, kind.is_complex), 1.0
    if system.root is not None:
        root = to_native(xp, system.root, kind.is_complex)
        a = root * a
    found = _inverse_of(system, a) if a.size else None
    if found is None:
        inverse = system.triangle.solve(system.identity())
        q = system.form_q().swapaxes(-1, -2)
        rows, normal = (
            _sizes(system, system.backend.matmul(inverse, right, conj_b=kind.is_complex, kind=kind))
            for right in (q, inverse.swapaxes(-1, -2))
        )
    else:
        rows, normal = _of_float64(found, a)
    return rows * xp.abs(root).swapaxes(-1, -2) if system.root is not None else rows, normal


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
    adjoint, b = x.swapaxes(-1, -2).conj(), a @ x
    b_adjoint = b.swapaxes(-1, -2).conj()
    sizes = abs(b_adjoint)
    # With b of orthonormal columns x b^H is A^+; they are nearly so, and b is rounded.
    off = unit * (sizes_a @ sizes_x + abs(b))
    left = sizes @ off
    left = abs(one - b_adjoint @ b) + left + left.swapaxes(-1, -2)
    rows = abs(x @ b_adjoint) + sizes_x @ (left @ sizes + off.swapaxes(-1, -2))
    return rows, abs(x @ adjoint) + sizes_x @ ((left + unit * one) @ abs(adjoint))
