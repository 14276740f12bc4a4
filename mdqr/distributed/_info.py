"""Quality and statistics of a solution whose rows lie in chunks."""

from __future__ import annotations

from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import native_abs
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, first_limbs, lead, negate
from mdqr._stability import experimental
from mdqr.distributed._rows import Form
from mdqr.linalg._shared import pairs
from mdqr.linalg._shared.digits import digits_within
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._shared.pairs import Pair
from mdqr.linalg._shared.statistics import Statistics
from mdqr.linalg._shared.stored import Measured
from mdqr.linalg._update import solution
from mdqr.linalg._update.fit import Fit
from mdqr.linalg._update.solution import Solved

_SMALLEST = 2.0**-1073


class Found(NamedTuple):
    """A solution in the units of the data, as a pair, and absolute bounds of its errors.

    `moved` bounds what errors of the data change; None if unknown. `squares` are the sums of
    squares of the residuals, and exponents.
    """

    x: Pair
    bound: np.ndarray
    moved: np.ndarray | None
    squares: tuple[Block, Block]
    condition: float
    is_proven: bool = False


class Course(NamedTuple):
    """The method, rows of all chunks, depth of the tree, passes, changes of x and seconds."""

    method: str
    counts: tuple[int, ...]
    depth: int
    passes: int
    history: np.ndarray
    seconds: tuple[float, ...]


class Answer(NamedTuple):
    """The rounded solution, a block, with its moduli, its bound, and which limbs are certain."""

    x: Block
    size: np.ndarray
    bound: np.ndarray
    unique: np.ndarray


def rounded(found: Found, fit: Fit, form: Form) -> Answer:
    """Return the solution in the precision of the answer."""
    backend, field = fit.engine.backend, form.is_complex
    kind = form.kind._replace(limbs=form.precision.limbs)
    x = pairs.rounded_sum(backend, kind, *found.x)
    cut = pairs.rounded_sum(backend, form.kind, *found.x, negate(x, field))
    size, cut_size = (host_block(native_abs(block, field)) for block in (x, cut))
    bound = found.bound + cut_size * (1.0 + 2.0**-40)
    # Limbs of two parts may lie below the smallest double.
    lost = 4.0 * form.work.limbs * _SMALLEST
    bound = np.where((found.bound > 0) | (cut_size > 0), bound + lost, 0.0)
    bound = np.where(np.isnan(bound), np.inf, bound)
    return Answer(x, size, bound, _unique(found, x, fit, form))


def _unique(found: Found, x: Block, fit: Fit, form: Form) -> np.ndarray:
    """Return True if all numbers within the bound have the limbs of x."""
    backend, field = fit.engine.backend, form.is_complex
    kind = form.kind._replace(limbs=form.precision.limbs)
    wide = backend.xp.asarray(np.where(np.isfinite(found.bound), found.bound, 0.0))[None]
    wide = wide + _SMALLEST
    wide = backend.xp.stack([wide, wide]) if field else wide
    same = np.isfinite(found.bound)
    for shift in (wide, -wide):
        near = pairs.rounded_sum(backend, kind, *found.x, shift)
        same &= host_block((near == x).all(axis=tuple(range(lead(field)))))
    return same


@experimental
class DistributedLstsqInfo(Statistics[MDArray]):
    """Quality and statistics of a solution of `mdqr.distributed.lstsq`; it holds no rows.

    Attributes
    ----------
    method : str
        "tsqr" or "products".
    condition : float
        Estimated 2-norm condition number of the (weighted) matrix with columns scaled by powers of
        two.
    error_bound : numpy.ndarray
        Bound of the absolute error (of complex x: of its modulus) of each component of x for the
        rows as stored; float64 of x's shape.
    digits : numpy.ndarray
        Correct decimal digits of each component, float64 of x's shape.
    bound_kind : str
        "proven" for R by products; else "estimated": the distance of R from the rows is measured by
        a few vectors.
    data_error_bound, data_digits : numpy.ndarray
        As in `mdqr.linalg.LstsqInfo`, bounded in the norm; NaN after one pass.
    R : MDArray
        The triangular factor of the (weighted) matrix, ``(n, n)``; by products with at most the
        digits of qd.
    rows, chunks : tuple of int
        The numbers of rows of all chunks; how many chunks.
    depth : int
        The levels of the tree of R.
    passes : int
        How often the rows were read for this answer.
    seconds : tuple of float
        The time of each pass.
    unique_rounding : numpy.ndarray
        Bool of x's shape: whether no other limbs lie within the bound, so that every chunking of
        the rows must give these.
    history : numpy.ndarray
        Largest relative change of x in each pass after the first.
    """

    _more = ("R", "rows", "chunks", "depth", "passes", "seconds", "unique_rounding")

    def __init__(
        self, answer: Answer, found: Found, fit: Fit, solved: Solved, form: Form, course: Course
    ) -> None:
        self._kept = fit, solved, found.squares, form
        self.precision = form.precision
        self.method = course.method
        self.bound_kind = "proven" if found.is_proven else "estimated"
        self.condition, self.iterations = found.condition, course.passes - 1
        self.rows, self.chunks, self.depth = course.counts, len(course.counts), course.depth
        self.passes, self.seconds = course.passes, course.seconds
        bounds = [answer.bound, np.full(answer.bound.shape, np.nan)]
        known = found.moved is not None
        if known:
            bounds[1] = answer.bound + found.moved
        with np.errstate(all="ignore"):
            relative = [np.where(x == 0, 0.0, x / answer.size) for x in bounds]
        digits = digits_within(relative[0], float(form.precision.digits))
        data = digits_within(relative[1], digits) if known else bounds[1]
        shown = [*bounds, digits, data, answer.unique]
        if form.is_vector:
            shown = [x[..., 0] for x in shown]
        self.error_bound, self.data_error_bound, self.digits, self.data_digits = shown[:4]
        self.unique_rounding, self.history = shown[4], course.history
        self._lazy = {"error_bound": shown[0], "data_error_bound": shown[1] if known else None}

    def __repr__(self) -> str:
        worst = np.min(self.digits, initial=float(self.precision.digits if self.precision else 0))
        return (
            f"<DistributedLstsqInfo rows={sum(self.rows)} chunks={self.chunks} "
            f"passes={self.passes} condition={self.condition:.2g} digits>={worst:.1f}>"
        )

    @cached_property
    def R(self) -> MDArray:
        """See the attributes of the class."""
        fit, _, _, form = self._kept
        inputs = Inputs(form.precision, form.work, form.is_complex, [])
        block = first_limbs(fit.r[..., : fit.n], form.is_complex, form.work.limbs)
        return inputs.wrap(fit.engine.backend.xp.array(block, order="C"))

    @cached_property
    def _measured(self) -> Measured:
        fit, solved, squares, form = self._kept
        engine = fit.engine
        inputs = Inputs(form.precision, form.work, form.is_complex, [])
        return Measured(
            engine.backend,
            engine.kind,
            partial(solution.inverse_of, solved.triangle),
            -solved.powers,
            squares,
            engine.backend.xp.asarray([float(fit.m - fit.n)]),
            partial(solution.total, fit, solved.r, squares),
            inputs.wrap,
            form.is_vector,
        )


DistributedLstsqInfo.__module__ = "mdqr.distributed"


def described(
    found: Found, fit: Fit, solved: Solved, form: Form, course: Course
) -> tuple[DistributedLstsqInfo, Block]:
    """Return the report on a solution, and the solution in the precision of the answer."""
    answer = rounded(found, fit, form)
    return DistributedLstsqInfo(answer, found, fit, solved, form, course), answer.x
