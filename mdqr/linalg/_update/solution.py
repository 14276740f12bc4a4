"""The solution of a least-squares problem that changes, and what is known of it."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr._backend.blocks import from_native, native_abs, to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.condition import condition, irregular, require_digits
from mdqr.linalg._factor.triangular import Triangle
from mdqr.linalg._shared.checks import Checks, where_not_finite
from mdqr.linalg._shared.digits import digits_within
from mdqr.linalg._shared.operands import square_of
from mdqr.linalg._shared.statistics import Statistics
from mdqr.linalg._shared.stored import Measured
from mdqr.linalg._update.arithmetic.matrices import adjoint_multiply, constants
from mdqr.linalg._update.fit import CONDITION_STEPS, Fit, squares_of, triangle
from mdqr.linalg._update.loss import digits_of, rounding_level
from mdqr.linalg._update.operands import Numbers

# A condition below this is that of the leading limbs.
_CLEAR = 1e12
_SMALLEST = 2.0**-1073
_DOUBLE = 2.0**-52
# Half the smallest float32.
_HALF_OF_SINGLE = 2.0**-150
# Of scaled problems, near 1: far below all errors that are counted, far above what underflows.
_FLOOR = 2.0**-1000
# Corrections before a residual is summed up: rows of 1 / eps to the power of so many count nothing.
_CORRECTIONS = 2
_PROBES = 4
# One of the vectors has 1 / (4 sqrt(n)) of any direction, but for one in some hundred sets.
_MARGIN = 4.0


class Solved(NamedTuple):
    """A solution, and R with columns multiplied by ``2**-powers``."""

    x: Block
    triangle: Triangle
    r: Block
    powers: Block


def solve(fit: Fit, function: str, checks: Checks, *, regular: bool = False) -> Solved:
    """Solve, once all checks hold; `regular` if R is known to be."""
    engine = fit.engine
    found, r, alpha = triangle(fit, function, checks)
    if not regular and not _is_regular(fit, r, checks):
        require_digits(checks, function, condition_of(found), fit.n, engine.eps)
    b = engine.to_block(fit.r[..., : fit.n, fit.n :])
    undo = alpha, engine.backend.xp.zeros(b.shape[-1], dtype=np.int64)
    x = found.solve(b, checks=checks, entries=lambda: r, undo=undo)
    if _is_single(fit):
        with np.errstate(over="ignore"):
            single = engine.to_block(engine.from_block(x))
        checks.require(
            engine.backend.xp.isfinite(single).all(),
            partial(_raise_single_overflow, function, single, engine.kind.is_complex),
        )
    return Solved(x, found, r, alpha)


def _raise_single_overflow(function: str, block: Block, is_complex: bool) -> NoReturn:
    where = where_not_finite("the solution", block, is_complex)
    raise np.linalg.LinAlgError(f"{function}: {where} is beyond the largest float32")


def _is_single(fit: Fit) -> bool:
    """Return whether solutions are rounded to single precision."""
    return bool(fit.engine.eps > _DOUBLE)


def condition_of(triangle: Triangle) -> Block:
    """Return the estimated condition of R, 0-d."""
    return scaling.largest(condition(triangle, CONDITION_STEPS).value, None, 1.0)


def _is_regular(fit: Fit, r: Block, checks: Checks) -> bool:
    """Return whether the leading limbs of R show that its condition leaves digits."""
    engine, xp, field = fit.engine, fit.engine.backend.xp, fit.engine.kind.is_complex
    first = to_native(xp, planes.first_limbs(r, field, 1), field)
    with np.errstate(all="ignore"):
        norms = [scaling.norms(x, (-2, -1)) for x in (first, engine.inverse(first))]
        (found,) = checks.settle(norms[0] * norms[1])
    return bool(found < min(_CLEAR, 1.0 / (max(fit.n, 1) * engine.eps)))


def inverse_of(triangle: Triangle) -> Block:
    """Return the inverse of R, in its precision."""
    one = triangle.kind._replace(limbs=1).identity(triangle.backend.xp, (triangle.order,) * 2)
    return triangle.solve(one)


class _Fitted(NamedTuple):
    """The data with columns of A multiplied by ``2**-powers``, of b by ``2**-unit``; x and b - A x.

    `left` is that of x as it is rounded.
    """

    a: Block
    b: Block
    z: Block
    unit: Block
    left: Block


def _fitted(fit: Fit, data: Block, solved: Solved) -> _Fitted:
    engine, n, field = fit.engine, fit.n, fit.engine.kind.is_complex
    backend = engine.backend
    a, b = engine.to_block(data[..., :n]), engine.to_block(data[..., n:])
    unit = scaling.column_exponents(b, field)
    a = backend.ldexp(a, -solved.powers[None, :], is_complex=field)
    b = backend.ldexp(b, -unit[None, :], is_complex=field)
    z = _scaled_solution(fit, solved, unit)
    return _Fitted(a, b, z, unit, engine.residual(b, a, z))


def _least_squares(fit: Fit, solved: Solved, known: _Fitted) -> tuple[Block, Block]:
    """Return the sums of squares of the residuals of the solution itself, and their exponents.

    Of a heavy row the residual of the rounded x is eps times its length, which may be far above all
    others; each correction leaves eps times the condition of that.
    """
    engine, r, left = fit.engine, solved.triangle, known.left
    transposed = known.a.swapaxes(-1, -2)
    for _ in range(_CORRECTIONS):
        y = r.solve(engine.residual(None, transposed, left, conj_a=True), "C")
        step = planes.negate(r.solve(y), engine.kind.is_complex)
        left = engine.residual(left, known.a, step)
    squares, beta = squares_of(engine, engine.from_block(left))
    return squares, beta + known.unit


def least_squares(fit: Fit, data: Block, solved: Solved) -> tuple[Block, Block]:
    """Return the sums of squares of the residuals in units of ``4**beta``, and beta."""
    with np.errstate(all="ignore"):
        return _least_squares(fit, solved, _fitted(fit, data, solved))


class UpdatableLstsqInfo(Statistics[Any]):
    """Quality and statistics of the solution of an `UpdatableLstsq`, as it was when asked.

    Attributes
    ----------
    condition : float
        Estimated 2-norm condition number of the matrix with columns scaled by powers of two.
    error_bound : numpy.ndarray
        Bound of the absolute error (of complex x: of its modulus) of each component of what `solve`
        returns; float64 of x's shape. The exact solution is that of the rows as they came, rounded
        to the working precision.
    digits : numpy.ndarray
        Correct decimal digits of each component, float64 of x's shape; none for a zero unless b is
        zero.
    bound_kind : str
        "estimated". With data, from the residual of x, measured in twice the precision, and a
        measured distance of R from the data. Without data, from the number of changes, the digits
        that removals lost, and R.
    precision : Precision or None
        The precision of x; None for float32.
    data_error_bound, data_digits : numpy.ndarray
        NaN: the effect of errors of earlier rows on x is unknown.

    Notes
    -----
    Without data `residual_std`, `r_squared`, `standard_errors` and `covariance` are NaN where the
    residuals after removals of rows are not larger than what rounding has made of earlier ones.
    """

    _more = ("_most",)

    def __init__(self, fit: Fit, numbers: Numbers, solved: Solved, *, is_vector: bool) -> None:
        self._fit, self._numbers, self._solved, self._vector = fit, numbers, solved, is_vector
        self._most = digits_of(fit.engine)
        data = fit.data
        estimate = condition_of(solved.triangle)
        if data is None:
            found = _without_data(fit, solved)
        else:
            found = _with_data(fit, data, solved, estimate)
        self._residuals = found.squares
        bound, relative = _in_units(found, fit, solved, numbers)
        worst, bound, relative = Checks().settle(estimate, bound, relative)
        inputs = numbers.inputs
        full = digits_of(fit.engine) if inputs is None else float(inputs.precision.digits)
        digits = digits_within(relative, full)
        self.condition, self.bound_kind = float(worst), "estimated"
        self.method = self.iterations = None
        self.precision = numbers.result_precision
        bound.flags.writeable = digits.flags.writeable = False
        self.error_bound, self.digits = (x[..., 0] if is_vector else x for x in (bound, digits))

    def __repr__(self) -> str:
        worst = float(np.min(self.digits, initial=self._most))
        return f"<UpdatableLstsqInfo condition={self.condition:.2g} digits>={worst:.1f}>"

    @cached_property
    def _measured(self) -> Measured:
        fit, solved, numbers = self._fit, self._solved, self._numbers
        engine, xp = fit.engine, fit.engine.backend.xp

        def wrap(block: Block, is_complex: bool) -> Any:
            return (
                numbers.wrap(engine.from_block(block)) if is_complex else numbers.wrap_real(block)
            )

        return Measured(
            engine.backend,
            engine.kind,
            partial(inverse_of, solved.triangle),
            -solved.powers,
            _known_squares(fit, self._residuals),
            xp.asarray([float(fit.m - fit.n)]),
            partial(total, fit, solved.r, self._residuals),
            wrap,
            self._vector,
        )


UpdatableLstsqInfo.__module__ = "mdqr.linalg"


class _Found(NamedTuple):
    """Bounds for x in scaled units, float64 ``(n, k)``, and sums of squares of residuals.

    `x` are the moduli of the solution, with rows multiplied by the powers of `Solved` and columns
    by ``2**-unit``.
    """

    bound: Block
    x: Block
    unit: Block
    squares: tuple[Block, Block]


def _moduli(fit: Fit, block: Block) -> Block:
    return native_abs(block, fit.engine.kind.is_complex)


def _norms(x: Block) -> Block:
    return scaling.norms(x, -2)


def _scaled_solution(fit: Fit, solved: Solved, unit: Block) -> Block:
    shift = solved.powers[:, None] - unit[None, :]
    engine = fit.engine
    return engine.backend.ldexp(solved.x, shift, is_complex=engine.kind.is_complex)


@np.errstate(all="ignore")
def _with_data(fit: Fit, data: Block, solved: Solved, worst: Block) -> _Found:
    """Bound the errors by the residual of x.

    With ``A^H A = R^H (I + F) R``, ``norm(F) <= alpha``, the error is ``R^-1 (I + F)^-1 R^-H g``,
    ``g = A^H (b - A x)``: g, and what the products leave uncertain of it, go through the inverse.
    """
    engine, n, r = fit.engine, fit.n, solved.triangle
    xp, eps = engine.backend.xp, engine.eps
    known = _fitted(fit, data, solved)
    a, b, z, unit, left = known
    y = r.solve(engine.residual(None, a.swapaxes(-1, -2), left, conj_a=True), "C")
    a_size, z_size, left_size = (_moduli(fit, x) for x in (a, z, left))
    inverse, r_size = _moduli(fit, inverse_of(r)), _moduli(fit, solved.r)
    # Errors of the residual, of its products with A, and of the substitutions.
    terms = _norms(_moduli(fit, b) + a_size @ z_size)
    lost = 2.0 * eps * _norms(left_size) + square_of(eps) * (n + 8) * terms + _FLOOR * (fit.m + 1)
    gradient = square_of(eps) * (fit.m + 8) * (a_size.swapaxes(-1, -2) @ left_size) + _FLOOR
    gradient = gradient + 2.0 * eps * (r_size.swapaxes(-1, -2) @ _moduli(fit, y))
    alpha = _distance(fit, solved, a) + rounding_level(engine, n) * worst
    step = _moduli(fit, r.solve(y))
    rest = alpha * _norms(_moduli(fit, y)) + (1.0 + alpha) * lost
    rest = (rest + _norms(inverse.swapaxes(-1, -2) @ gradient)) / (1.0 - alpha)
    rows = scaling.norms(inverse, -1, keepdims=True)
    bound = step + rounding_level(engine, n) * (inverse @ (r_size @ step)) + rows * rest
    bound = xp.where(alpha < 0.5, bound, xp.inf)
    bound = xp.where(_norms(_moduli(fit, b)) > 0, bound, 0.0)
    return _Found(bound, z_size, unit, _least_squares(fit, solved, known))


def _distance(fit: Fit, solved: Solved, a: Block) -> Block:
    """Return about ``norm(R^-H A^H A R^-1 - I)``, `a` with scaled columns, from a few vectors."""
    engine, kind, r = fit.engine, fit.engine.kind, solved.triangle
    backend, xp, field = engine.backend, engine.backend.xp, kind.is_complex
    start = irregular(xp, fit.n, _PROBES)
    vectors = from_native(xp, start.astype(xp.complex128) if field else start, field)
    image = backend.matmul(a, r.solve(vectors), kind=kind)
    back = backend.matmul(a.swapaxes(-1, -2), image, conj_a=field, kind=kind)
    wide = planes.widen(vectors, field, kind.limbs)
    moved = _moduli(fit, backend.binary("subtract", r.solve(back, "C"), wide, kind=kind))
    ratio = _norms(moved) / xp.maximum(_norms(abs(start)), _FLOOR)
    return _MARGIN * fit.n**0.5 * scaling.largest(ratio, None, 0.0)


@np.errstate(all="ignore")
def _without_data(fit: Fit, solved: Solved) -> _Found:
    """Bound the errors by those that changes make, in two ways.

    Each change has an error of few eps of the columns and of b, and removals have magnified that: x
    belongs to data with such errors. And ``R^H R``, ``R^H c`` are right to few eps of what they
    were at most, whatever has been removed since. R and ``Q^H b`` are held in the units of the
    data, where each change of all rows loses what is below the smallest number: an error of far
    columns, and of far b.
    """
    engine, n, xp = fit.engine, fit.n, fit.engine.backend.xp
    longest, most = fit.peak[:n] - solved.powers, fit.peak[n:]
    unit = xp.where(most > scaling.ABSENT, most, 0)
    z = _moduli(fit, _scaled_solution(fit, solved, unit))
    inverse, r_size = _moduli(fit, inverse_of(solved.triangle)), _moduli(fit, solved.r)
    rows = scaling.norms(inverse, -1)
    norms = _norms(r_size)
    top = xp.where(most > scaling.ABSENT, n**0.5 + 1.0, 0.0)
    error = rounding_level(engine, n) * (fit.changes + 1)
    beta = xp.where(fit.squares[0] > 0, fit.beta - unit, 0)
    left = xp.ldexp(xp.where(fit.squares[0] > 0, fit.squares[0], 0.0) ** 0.5, beta)

    def through(x: Block) -> Block:
        """Return ``|R^-1| |R^-H| x``."""
        return (inverse @ (inverse.swapaxes(-1, -2) @ x))[:, None]

    least = _HALF_OF_SINGLE if _is_single(fit) else _SMALLEST
    least = least * engine.kind.limbs * (n + 8.0) * (fit.steps + 1)
    # In scaled units, as all here; the moduli of two parts of complex numbers are less than twice.
    lost, lost_b = (2.0 * xp.ldexp(least * xp.ones(len(e)), -e) for e in (solved.powers, unit))
    relative = 10.0**fit.lost
    columns, sides = relative * (error * norms + lost), relative * (error * top + lost_b)
    alpha = (columns * rows).sum()
    near = rows[:, None] * (columns @ z + sides)
    near = near + through(columns) * (left + error**0.5 * top)
    near = xp.where(alpha < 0.5, near / (1.0 - alpha) ** 2, xp.inf)
    high = n**0.5 * xp.ldexp(xp.ones(n), longest)
    error = error + scaling.largest(lost / high, None, 0.0)
    error = error + scaling.largest(xp.where(top > 0, lost_b / top, 0.0), None, 0.0)
    beyond = error * (high * rows).sum() ** 2
    far = error * through(high) * (high @ z + top)
    far = xp.where(beyond < 0.5, far / (1.0 - beyond), xp.inf)
    squares = xp.where(fit.squares[0] > 0, fit.squares, 0.0)
    return _Found(xp.minimum(near, far), z, unit, (squares, fit.beta))


@np.errstate(all="ignore")
def _in_units(found: _Found, fit: Fit, solved: Solved, numbers: Numbers) -> tuple[Block, Block]:
    """Return bounds of the absolute errors of x, and relative to x."""
    xp, inputs = fit.engine.backend.xp, numbers.inputs
    # The moduli and sums are those of float64.
    bound = found.bound * (1.0 + 2.0**-30)
    shift = found.unit[None, :] - solved.powers[:, None]
    if inputs is not None and inputs.precision < inputs.work:
        bound = bound + 0.5 * inputs.precision.eps * found.x
    # Limbs below the smallest double.
    tiny = _moduli(fit, solved.x) < 2.0 ** (53 * fit.engine.kind.limbs - 1020)
    lost = xp.where(tiny & (bound > 0), 2.0 * fit.engine.kind.limbs, 0.0) * _SMALLEST
    if _is_single(fit):
        # Each part of a complex x is rounded; the factor counts both.
        lost = lost + xp.where(bound > 0, 2.0 * _HALF_OF_SINGLE, 0.0)
        bound = bound + 0.5 * fit.engine.eps * found.x
    relative = (bound + xp.ldexp(lost, -shift)) / xp.where(found.x > 0, found.x, 1.0)
    relative = xp.where(bound > 0, xp.where(found.x > 0, relative, xp.inf), 0.0)
    # Of the exact x, which may be smaller.
    relative = xp.where(relative < 1.0, relative / (1.0 - relative), xp.inf)
    bound = xp.ldexp(bound, shift) + lost + xp.where(bound > 0, _SMALLEST, 0.0)
    return xp.where(xp.isnan(bound), xp.inf, bound), relative


def total(fit: Fit, r: Block, residuals: tuple[Block, Block]) -> tuple[Block, Block, Block]:
    """Return the sums of squares of b, about its mean where a column of a is constant.

    Its part along that column is taken out of ``Q^H b``; columns of R may be scaled.
    """
    engine, n, xp = fit.engine, fit.n, fit.engine.backend.xp
    field = engine.kind.is_complex
    data = fit.data
    known = fit.constants if data is None else constants(engine, data[..., :n])
    c, unit = fit.r[..., :n, n:], xp.where(fit.peak[n:] > scaling.ABSENT, fit.peak[n:], 0)
    block = engine.backend.ldexp(engine.to_block(c), -unit[None, :], is_complex=field)
    c = engine.from_block(block)
    size = squares_of(engine, c)
    if known is not None:
        (flags,) = Checks().settle(known.same & (engine.magnitudes(known.first)[0] > 0))
        if flags.any():
            j = int(flags.argmax())
            column = engine.from_block(r[..., j : j + 1])
            products = (adjoint_multiply(engine, column, x) for x in (c, column))
            along, length = (engine.to_block(x) for x in products)
            coefficient = engine.backend.binary("divide", along, length, kind=engine.kind)
            c = engine.multiply(column, engine.from_block(coefficient), c=c, subtract=True)
    total = _joined(fit, squares_of(engine, c), residuals, unit)
    least = _level(fit) ** 2 * _joined(fit, size, residuals, unit)[0]
    return total, unit, least


@np.errstate(all="ignore")
def _known_squares(fit: Fit, residuals: tuple[Block, Block]) -> tuple[Block, Block]:
    """Return the sums of squares of residuals, NaN where removals left rounding errors alone.

    Removals subtract products of the largest residuals so far, which have errors of few eps of the
    largest b so far. The data know better.
    """
    squares, beta = residuals
    if fit.data is None and fit.lost > 0:
        xp = fit.engine.backend.xp
        least = _level(fit) * xp.ldexp(xp.ones(beta.shape), fit.peak[fit.n :] - beta)
        unknown = (squares[0] <= least) & (fit.peak[fit.n :] > scaling.ABSENT)
        squares = xp.where(unknown, xp.nan, squares)
    return squares, beta


def _level(fit: Fit) -> float:
    """Return the size of the errors of all changes, relative to the largest numbers so far."""
    level = rounding_level(fit.engine, max(fit.n, fit.m))
    return level * (fit.changes + 1) * 10.0**fit.lost


def _joined(
    fit: Fit, known: tuple[Block, Block], residuals: tuple[Block, Block], unit: Block
) -> Block:
    """Return sums of squares with those of residuals, in units of ``4**unit``."""
    backend = fit.engine.backend
    first = backend.ldexp(known[0], 2 * known[1])
    second = backend.ldexp(residuals[0], 2 * (residuals[1] - unit))
    return backend.binary("add", first, second, kind=fit.engine.kind.real)
