"""x to all digits from sums over rows, and the bound of its error.

Of scaled problems: ``A^H A = R^H (I + F) R`` with ``norm(F) <= alpha``, measured by a few vectors,
so that for any z the solution is ``z + R^-1 (I + F)^-1 R^-H g``, ``g = A^H (b - A z)``. g is summed
to twice the limbs. With ``y = R^-H g`` and ``d = R^-1 y`` as computed, the error of ``z + d`` is at
most, in component i with e_i^H R^-1 of norm rho_i,

    rho_i (alpha norm(y) + (1 + alpha) dr + norm(abs(R^-H) dg)) / (1 - alpha) + c eps (abs(R^-1)
    abs(R) abs(d))_i + 2 eps**2 abs(x_i),

dr the norm of the errors of the residuals, dg the errors of products with them, of their sums and
of the first substitution. Of the errors of R only alpha depends: R may come from any
tree of chunks, in a lower precision or of rounded weights.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import from_native, native_abs, to_native
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind
from mdqr.distributed._sums import FLOOR, Errors, Point, Sums
from mdqr.linalg._factor.condition import irregular
from mdqr.linalg._products.exact.residual import residual
from mdqr.linalg._shared import pairs
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import square_of
from mdqr.linalg._shared.pairs import Pair
from mdqr.linalg._update import solution
from mdqr.linalg._update.fit import Fit
from mdqr.linalg._update.loss import rounding_level
from mdqr.linalg._update.solution import Solved

# Below this condition an inverse in float64 is near enough for bounds.
_CLEAR = 1e8
_POWERS = 4
_PROBES = 4
# One of the vectors has 1 / (4 sqrt(n)) of any direction, but for one in some hundred sets.
_MARGIN = 4.0
# Moduli and sums are those of float64.
_UP = 1.0 + 2.0**-20


class Problem(NamedTuple):
    """R of all rows as it is used: scaled, with its inverse as moduli, and the probes.

    `rows` bound the norms of the rows of the inverse, `inverse_size` bounds its own, and `left`
    ``norm(I - R V)`` for V as it was computed. `r_columns` are the norms of the columns of R.
    `alpha` is a proven one, or None. Moduli of matrices stay in the memory of R.
    """

    fit: Fit
    solved: Solved
    unit: np.ndarray
    inverse: Block
    rows: np.ndarray
    inverse_size: float
    left: float
    r_size: Block
    r_columns: np.ndarray
    probes: Block
    start: Block
    condition: float
    alpha: float | None = None

    @property
    def kind(self) -> Kind:
        """The kind of the working precision."""
        return self.fit.engine.kind

    @property
    def units(self) -> Block:
        """`unit` in the memory of R."""
        return self.fit.engine.backend.xp.asarray(self.unit)

    @property
    def is_known(self) -> bool:
        """True for a proven `alpha` and an inverse that `_UP` covers."""
        return self.alpha is not None and self.alpha < 0.5 and self.left < 2.0**-22

    def scaled(self, x: Block) -> Block:
        """Return unknowns of the scaled problem."""
        shift = self.solved.powers[:, None] - self.units[None, :]
        return self.fit.engine.backend.ldexp(x, shift, is_complex=self.kind.is_complex)

    def unscaled(self, x: Block) -> Block:
        """Return unknowns of the problem as it was given."""
        shift = self.units[None, :] - self.solved.powers[:, None]
        return self.fit.engine.backend.ldexp(x, shift, is_complex=self.kind.is_complex)

    def known(self, alpha: float) -> Problem:
        """Return the same with a proven `alpha`, which vectors need not measure."""
        return self._replace(alpha=alpha)

    def point(self, x: Pair, errors: Errors) -> Point:
        """Return the input of a pass at x."""
        powers, (high, low) = host_block(self.solved.powers), map(host_block, x)
        at = Pair(high, low if low.any() else None)
        return Point(at, host_block(self.probes), powers, self.unit, errors)


class Step(NamedTuple):
    """x after a pass, with the change, the bounds of errors before and after, and alpha."""

    x: Pair
    change: np.ndarray
    bound: np.ndarray
    y: Block
    alpha: float
    is_proven: bool


def problem_of(fit: Fit, function: str, *, measured: bool = True) -> Problem:
    """Return R, as it is used; `measured` if vectors are to measure its distance.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it is singular to the working precision.
    """
    checks, kind = Checks(), fit.engine.kind
    # R by products exists for conditions alone that leave digits.
    solved = solution.solve(fit, function, checks, regular=not measured)
    checks.settle()
    peak = host_block(fit.peak)[fit.n :]
    unit = np.where(peak > scaling.ABSENT, peak, 0)
    start = irregular(np, fit.n, _PROBES)
    xp, field = fit.engine.backend.xp, kind.is_complex
    native = xp.asarray(start.astype(np.complex128) if field else start)
    with np.errstate(all="ignore"):
        block, condition = _inverse_of(fit, solved, native)
        sizes = [native_abs(x, field) for x in (block, solved.r)]
        one = kind._replace(limbs=1).identity(xp, (fit.n, fit.n))
        rest = _rest(fit, one, solved.r, block, sizes[1] @ sizes[0])
        inverse, r_size = sizes
        columns = scaling.norms(r_size, -2)
        rows, left, columns = fetch(
            scaling.norms(inverse, -1) * _UP, scaling.norms(rest, (-2, -1)), columns
        )
    vectors = planes.widen(from_native(xp, native, field), field, kind.limbs)
    known = inverse, rows, float(scaling.norms(rows, -1)) * _UP, float(left), r_size, columns
    probes = solved.triangle.solve(vectors) if measured else vectors[..., :0]
    return Problem(fit, solved, unit, *known, probes, vectors, condition)


def _inverse_of(fit: Fit, solved: Solved, starts: Block) -> tuple[Block, float]:
    """Return an inverse of R, of one limb where that will do, and about the condition."""
    engine, xp, field = fit.engine, fit.engine.backend.xp, fit.engine.kind.is_complex
    first = to_native(xp, planes.first_limbs(solved.r, field, 1), field)
    near = engine.inverse(first)
    norms = [scaling.norms(x, (-2, -1)) for x in (first, near)]
    largest, *sizes = fetch(norms[0] * norms[1], *(_norm_of(x, starts) for x in (first, near)))
    if largest < _CLEAR:
        return from_native(xp, near, field), max(1.0, float(sizes[0] * sizes[1]))
    condition = fetch(solution.condition_of(solved.triangle))[0]
    return solution.inverse_of(solved.triangle), float(condition)


def _norm_of(x: Block, vectors: Block) -> Block:
    """Return about the 2-norm of floats, by powers of ``x^H x``."""
    for _ in range(_POWERS):
        # Near 1, as columns of R are: no square leaves the range.
        vectors = vectors / (abs(vectors) ** 2).sum(axis=-2) ** 0.5
        vectors = x.conj().swapaxes(-1, -2) @ (x @ vectors)
    return scaling.largest(scaling.norms(vectors, -2), None, 0.0) ** 0.5


def _rest(
    fit: Fit, c: Block, r: Block, x: Block, products: Block, *, adjoint: bool = False
) -> Block:
    """Bound the moduli of ``c - r x``, with `adjoint` of ``c - r^H x``, from above."""
    backend, kind = fit.engine.backend, fit.engine.kind
    field, square = kind.is_complex, square_of(fit.engine.eps)
    r = r.swapaxes(-1, -2) if adjoint else r
    c = planes.widen(c, field, kind.limbs)
    if adjoint:
        rest = backend.residual([(1, c)], r, x, conj_a=True, kind=kind)
    else:
        rest = residual(backend, c, r, x, kind=kind)
    size, most = (native_abs(block, field) for block in (rest, c))
    # Of complex numbers each part has the error of a sum of twice as many products.
    return (size + 4.0 * (2 * fit.n + 8) * square * (products + most) + FLOOR) * _UP


@np.errstate(all="ignore")
def step(problem: Problem, x: Pair, sums: Sums) -> Step:
    """Return x corrected by the sums of a pass at x."""
    fit, kind, r = problem.fit, problem.kind, problem.solved.triangle
    backend, field, eps = fit.engine.backend, kind.is_complex, fit.engine.eps
    gradient = pairs.joined(backend, kind, *map(backend.xp.asarray, sums.gradient))
    y = r.solve(gradient.high, "C")
    d = r.solve(y)
    alpha = _distance(problem, sums) if problem.alpha is None else problem.alpha
    y_size, d_size, g_size, x_size = (
        native_abs(block, field) for block in (y, d, gradient.high, x.high)
    )
    dr, dg = _uncertain(problem, sums)
    # What both substitutions leave, measured.
    of_r, r_size = partial(_rest, fit), problem.r_size
    above = of_r(gradient.high, problem.solved.r, y, r_size.T @ y_size, adjoint=True)
    left = of_r(y, problem.solved.r, d, r_size @ d_size)
    turned = problem.inverse.T @ (backend.xp.asarray(dg) + 2.0 * eps * g_size + above)
    y_size, d_size, x_size, left, turned = fetch(y_size, d_size, x_size, left, turned)
    rest = alpha * scaling.norms(y_size, -2) + (1.0 + alpha) * dr
    rest = (rest + _UP * scaling.norms(turned, -2)) / (1.0 - alpha)
    bound = problem.rows[:, None] * (rest + scaling.norms(left, -2))
    bound = (bound + 2.0 * square_of(eps) * (x_size + d_size)) * _UP
    bound = np.where(alpha < 0.5, bound, np.inf)
    # Zeros are solved by zeros.
    bound = np.where(sums.moduli.terms == 0.0, 0.0, bound)
    found = pairs.joined(backend, kind, *x, d)
    return Step(found, d_size, bound, y, alpha, problem.is_known)


def _uncertain(problem: Problem, sums: Sums) -> tuple[np.ndarray, np.ndarray]:
    """Return the norms of the errors of residuals, and the errors of products with them.

    Three sums make a pair, each with errors of ``(K + 8) eps**2`` of its terms, twice that for
    complex ones: see `mdqr.linalg._shared.pairs`. Weights are a further factor.
    """
    square, n = square_of(problem.fit.engine.eps), problem.fit.n
    terms = 8.0 * (n + 20.0) * square * sums.moduli.terms
    residuals = terms + FLOOR * (sums.rows + 1.0)
    products = 8.0 * (sums.longest + 40.0) + 8.0 * sums.parts
    return residuals, products * square * sums.moduli.size + FLOOR * (sums.rows + 1.0)


def _distance(problem: Problem, sums: Sums) -> float:
    """Return about ``norm(R^-H A^H A R^-1 - I)`` from a few vectors, and what rounding hides."""
    fit, kind, r = problem.fit, problem.kind, problem.solved.triangle
    backend = fit.engine.backend
    back = r.solve(backend.xp.asarray(sums.image), "C")
    moved = backend.binary("subtract", back, problem.start, kind=kind)
    sizes = [
        scaling.norms(host_block(native_abs(block, kind.is_complex)), -2)
        for block in (moved, problem.start)
    ]
    ratio = np.max(sizes[0] / np.maximum(sizes[1], FLOOR), initial=0.0)
    level = rounding_level(fit.engine, fit.n + sums.longest + sums.parts)
    return float(_MARGIN * fit.n**0.5 * ratio + level * problem.condition)


@np.errstate(all="ignore")
def data_bound(problem: Problem, sums: Sums, alpha: float) -> np.ndarray:
    """Bound how far errors of the data move the solution, ``(n, k)`` of the scaled problem.

    With dA and db the errors, ``B = A R^-1`` and ``eta >= norm(dA R^-1)``, the solution becomes
    ``x + R^-1 C^+ (r + db - dA x)``, ``C = B + dA R^-1``, with singular values within eta of those
    of B. ``C^+ = (C^H C)^-1 C^H``, and ``B^H r`` vanishes.
    """
    rows, k = problem.rows, len(problem.unit)
    eta = float((rows * sums.moduli.columns).sum())
    least, most = max(1.0 - alpha, 0.0) ** 0.5 - eta, (1.0 + alpha) ** 0.5 + eta
    if not least > 0.0:
        return np.full((len(rows), k), np.inf)
    xp = problem.fit.engine.backend.xp
    turned = host_block(problem.inverse.T @ xp.asarray(sums.moduli.turned))
    turned = scaling.norms(turned, -2)
    found: np.ndarray = rows[:, None] * ((turned + most * sums.moduli.moved) / least**2)
    return found * _UP
