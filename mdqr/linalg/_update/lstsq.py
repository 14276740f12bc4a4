"""Least squares whose rows and columns come and go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mdqr._errors import all_advised, warn_of_precision
from mdqr._limbs.planes import Block
from mdqr._pickles import State, pickled
from mdqr._precision import Precision
from mdqr._typing import PrecisionLike
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import cost, operands, solution
from mdqr.linalg._update import fit as fits
from mdqr.linalg._update.arithmetic.engine import attempted, fast_path, settle
from mdqr.linalg._update.arithmetic.matrices import joined, removed
from mdqr.linalg._update.fit import Fit
from mdqr.linalg._update.loss import lost_digits, require_distance, warn_of_loss
from mdqr.linalg._update.operands import require_finite
from mdqr.linalg._update.problems import merge, stored
from mdqr.linalg._update.problems.observations import (
    Leaving,
    are_neighbours,
    leaving_rows,
    may_wait,
    mergeable,
    places_of,
    rows_of,
)
from mdqr.linalg._update.solution import UpdatableLstsqInfo

# Rows that come last wait until there are so many: their window has much more work than its call.
_MOST_WAITING = 64


@pickled
@all_advised
class UpdatableLstsq:
    """A least-squares problem ``min norm(b - A x)`` that changes by rows and columns.

    Keeps R, ``Q^H b`` and the sum of squares of the residuals, and changes them by Householder
    windows: observations can be streamed, variables added and dropped.

    Parameters
    ----------
    a : array_like
        The matrix ``(m, n)``, real or complex. Float arrays of NumPy or CuPy stay floats of
        their width, and so do the solutions.
    b : array_like
        ``(m,)``, or several right-hand sides ``(m, k)``.
    keep_q : bool, optional
        Keep the m by n factor Q too, for twice the time and the memory of the data. With the data,
        rows then leave without a loss of digits beyond the loss by the rows themselves; without,
        ``Q^H b`` loses as many as R does without Q.
    keep_data : bool, optional
        Keep a and b. They are needed to insert columns and for `repair`, and where removals have
        lost half of the digits the problem is refactored; `info` measures errors with them. False
        drops them.
    precision : Precision or str, optional
        The working precision, and the precision of the answers; by default the highest of the
        operands.

    Raises
    ------
    ValueError
        If the shapes do not fit, or the operands are a batch.
    numpy.linalg.LinAlgError
        If `a` or `b` is not finite, or R is beyond the largest double.

    See Also
    --------
    lstsq : One solution, refined, with error bounds.

    Notes
    -----
    After k changes the factors belong to a matrix within ``20 n k eps max norm(A_j)`` of the
    data, over the matrices so far; without Q a removal of rows keeps
    ``norm(R^H R - A^H A)`` below ``20 n eps max norm(A_j)^2``. With data, each change is a
    refactorisation if this is cheaper by the operation count. `info` counts the correct digits of
    the solution.

    Examples
    --------
    >>> import mdqr
    >>> t = mdqr.arange(1, 6, precision=mdqr.qd)
    >>> fit = mdqr.linalg.UpdatableLstsq(mdqr.vander(t, 2), 3 * t + 1)
    >>> fit.insert_rows([6.0, 1.0], 21.0)
    >>> fit.shape, fit.solve().to_numpy().round(3).tolist()
    ((6, 2), [3.286, 0.333])
    >>> fit.delete_rows(5)
    >>> fit.solve().to_numpy().round(12).tolist()
    [3.0, 1.0]
    """

    def __init__(
        self,
        a: Any,
        b: Any,
        *,
        keep_q: bool = False,
        keep_data: bool = True,
        precision: PrecisionLike | None = None,
    ) -> None:
        operands.require_given("UpdatableLstsq", a=a, b=b)
        numbers, (left, sides) = operands.convert(precision, a, b)
        engine = numbers.engine
        shape, right = engine.shape(left), engine.shape(sides)
        if len(shape) != 2 or len(right) not in (1, 2) or right[0] != shape[0]:
            raise ValueError(
                f"UpdatableLstsq: a must be (m, n) and b (m,) or (m, k); got {shape} and {right}"
            )
        self._numbers = numbers.without_data()
        self._vector = len(right) == 1
        data = joined(engine, [left, sides[..., None] if self._vector else sides], -1)
        self._held = fits.start(engine, data, shape[1], keep_q=keep_q, keep_data=keep_data)
        self._waiting: tuple[Block, ...] = ()
        self._late = 0
        self._described: tuple[Fit, UpdatableLstsqInfo] | None = None

    @classmethod
    def _of(cls, numbers: operands.Numbers, fit: Fit, *, is_vector: bool) -> UpdatableLstsq:
        """Return the problem of a fit."""
        self = object.__new__(cls)
        self._numbers, self._vector, self._fit = numbers, is_vector, fit
        self._described = None
        return self

    def __copy__(self) -> UpdatableLstsq:
        copied = object.__new__(type(self))
        copied.__dict__ |= self.__dict__ | {"_described": None}
        return copied

    def _state(self) -> dict[str, Any]:
        return stored.state(self._numbers, self._held, self._waiting) | {"vector": self._vector}

    @classmethod
    def _restored(cls, state: State) -> UpdatableLstsq:
        self = object.__new__(cls)
        self._numbers, self._held, self._waiting = stored.restored(state)
        self._late = sum(int(rows.shape[-2]) for rows in self._waiting)
        self._vector, self._described = state.checked("vector", bool), None
        if self._vector and self._held.right != 1:
            raise ValueError("this pickle is damaged: a vector is one right-hand side")
        return self

    @property
    def _fit(self) -> Fit:
        """The factors of all rows; those that wait are worked in first."""
        if self._waiting:
            self._work_in(self._waiting)
        return self._held

    @_fit.setter
    def _fit(self, fit: Fit) -> None:
        self._held, self._waiting, self._late = fit, (), 0

    def _work_in(self, rows: tuple[Block, ...]) -> None:
        """Work rows that come last into the factors; nothing is changed if that fails."""
        engine, held = self._held.engine, self._held
        self._fit = attempted(engine, fits.with_rows, held, joined(engine, list(rows), -2), held.m)

    def __sizeof__(self) -> int:
        held = [self._held.r, self._held.q, self._held.data, *self._waiting]
        return object.__sizeof__(self) + sum(int(x.nbytes) for x in held if x is not None)

    def __repr__(self) -> str:
        return f"<UpdatableLstsq of shape {self.shape}>"

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix as it is now."""
        return self._held.m + self._late, self._held.n

    @property
    def lost_digits(self) -> float:
        """The digits that removals of rows have lost since the last refactorisation or repair.

        What they lost adds up. Where many rows have come and gone without data, the errors of all
        changes bound it: twice the digits of the condition of R, relative to the longest columns
        so far, and the digits of the number of changes.
        """
        return self._fit.lost

    @property
    def R(self) -> Any:
        """The factor R, ``(min(m, n), n)``, with a real diagonal that is not negative."""
        return self._numbers.copied(self._fit.r[..., : self._fit.n])

    @property
    def Q(self) -> Any:
        """The factor Q, ``(m, min(m, n))``; None unless it is kept."""
        return None if self._fit.q is None else self._numbers.copied(self._fit.q)

    def insert_rows(self, u: Any, b: Any, k: int | None = None) -> None:
        """Add observations.

        Rows that come last wait for each other, or for the first question, and are worked in
        together. Their cost does not depend on the number of rows held, unless Q is kept.

        Parameters
        ----------
        u : array_like
            One row ``(n,)`` or rows ``(p, n)``, rounded to the working precision; not `MDArray`
            where the data are float arrays.
        b : array_like
            Their right-hand sides: a number, ``(p,)``, ``(k,)`` or ``(p, k)``, as b was.
        k : int, optional
            The row before which they are inserted; by default they come last.

        Raises
        ------
        ValueError
            If the shapes do not fit.
        numpy.linalg.LinAlgError
            If something is not finite, or R would be beyond the largest double; nothing is changed
            then.
        """
        name, held, m = "UpdatableLstsq.insert_rows", self._held, self.shape[0]
        new = rows_of(self._numbers, name, u, b, held.n, held.right, vector=self._vector)
        place = m if k is None else operands.position(name, k, m, end=True)
        checks = Checks()
        require_finite(checks, name, held.engine, "[u b]", new)
        (waits,) = checks.settle(may_wait(held, new, first=not self._late))
        waiting, late = (*self._waiting, new), self._late + int(new.shape[-2])
        if late == self._late:
            return
        if place < m:
            self._fit = attempted(held.engine, fits.with_rows, self._fit, new, place)
        elif late >= _MOST_WAITING or not waits:
            self._work_in(waiting)
        else:
            self._waiting, self._late = waiting, late

    @fast_path
    def delete_rows(self, k: Any = None, p: int = 1, *, u: Any = None, b: Any = None) -> None:
        """Take observations away.

        Parameters
        ----------
        k : int, slice or array_like, optional
            The first of them; or all of them as `numpy.delete` takes them, each row once:
            integers, negative ones from the end, a slice, or a mask of m bools. It may be left out
            where only R is kept.
        p : int, optional
            How many from an integer `k` on.
        u, b : array_like, optional
            The rows and their right-hand sides in the order of `k`, as in `insert_rows`: needed
            where the data are not kept, with Q only `b`; not to be given otherwise.

        Raises
        ------
        ValueError
            If the rows are not known or named twice, an integer `k` names no row, the shapes do not
            fit, or fewer than n rows would stay where the data are not kept.
        IndexError
            If an array `k` has entries that are not integers, or name no row.
        numpy.linalg.LinAlgError
            If this and earlier removals have lost all digits and the data are not kept; nothing is
            changed then.

        Warns
        -----
        PrecisionWarning
            If they have lost half of the digits and the data are not kept.
        """
        name, fit, engine = "UpdatableLstsq.delete_rows", replace(self._fit), self._fit.engine
        checks = Checks()
        if fit.data is None:
            leaving = Leaving(k, p, u, b)
            old, places = leaving_rows(self._numbers, fit, name, leaving, vector=self._vector)
            require_finite(checks, name, engine, "[u b]", old)
        elif u is not None or b is not None:
            raise ValueError(f"{name}: the data are kept: give k and p, not the rows")
        else:
            places = places_of(name, k, p, fit.m)
        count = places.size
        if not count:
            return
        if not are_neighbours(places):
            fit, places = fits.ordered(fit, places), np.arange(fit.m - count, fit.m)
        place = int(places[0])
        if fit.data is None:
            state = fits.delete_rows(fit, old, place, checks, None)
            require_distance(name, checks, state)
            lost = lost_digits(state, settle(engine, checks, *state.removals), fit.lost)
            fit.lost = fits.bounded_loss(fit, lost)
            warn_of_loss(name, engine, fit.lost, self._numbers.precision)
            self._fit = fit
        else:
            self._fit = fits.without_rows(fit, fit.data, place, count)

    @fast_path
    def insert_cols(self, u: Any, k: int | None = None, rcond: float | None = None) -> None:
        """Add variables; this needs the data.

        Parameters
        ----------
        u : array_like
            One column ``(m,)`` or columns ``(m, p)``.
        k : int, optional
            The column before which they are inserted; by default they come last.
        rcond : float, optional
            The smallest reciprocal condition of the columns with a new one, each of norm one; by
            default eps.

        Raises
        ------
        ValueError
            If the data are not kept, or the shapes do not fit.
        numpy.linalg.LinAlgError
            If a column depends on the others, or something is not finite.
        """
        name = "UpdatableLstsq.insert_cols"
        fit, engine = self._fit, self._fit.engine
        if fit.data is None:
            raise ValueError(f"{name}: inserting columns needs the data: keep_data=True")
        operands.require_given(name, u=u)
        new = operands.like(self._numbers, name, "u", u)
        new = operands.matrix_operand(name, engine, "u", new, (), rows=fit.m)
        place = fit.n if k is None else operands.position(name, k, fit.n, end=True)
        limit = operands.least_condition(name, rcond)
        self._fit = fits.with_columns(fit, new, place, name, limit)

    @fast_path
    def delete_cols(self, k: int, p: int = 1) -> None:
        """Drop variables.

        Parameters
        ----------
        k : int
            The first of them.
        p : int, optional
            How many.

        Raises
        ------
        ValueError
            If a column does not exist.
        """
        fit, engine = replace(self._fit), self._fit.engine
        m, n = self.shape
        checks = Checks()
        place, count = operands.range_of("UpdatableLstsq.delete_cols", k, p, n)
        data = removed(engine, fit.data, place, count)
        work = cost.deletion_work(engine, fits.size(fit, count, place))
        if data is not None and fits.prefers_refactor(fit, work, m, n - count):
            fits.refactor(fit, data)
        else:
            fits.delete_columns(fit, place, count)
        settle(engine, checks)
        fit.data = data
        self._fit = fit

    def merge(self, other: UpdatableLstsq) -> None:
        """Add the observations of another problem with the same unknowns, behind those held.

        Problems that were streamed apart, on other threads or machines, become one: R and
        ``Q^H b`` of `other` are rows that come, at most n of them, however many it has seen.

        Parameters
        ----------
        other : UpdatableLstsq
            Of as many columns and right-hand sides, on the same device, in the same precision; in
            a lower one if it keeps its data. It must keep its data if this one does, and its data
            or Q if this one keeps Q. It stays as it is.

        Raises
        ------
        TypeError
            If `other` is not an UpdatableLstsq.
        ValueError
            If it does not fit, or does not keep what is needed.

        Notes
        -----
        The result is a fit of the rows of both. The order of merges changes it by rounding errors.
        Rows of both are different ones, so that the larger of both errors counts, and the merge as
        one change more. A tree of merges loses digits by its depth, not by the number of its
        leaves. Errors and `lost_digits` are added where rows were removed from one.

        Examples
        --------
        >>> import mdqr
        >>> t = mdqr.arange(1, 9, precision=mdqr.qd)
        >>> a, b = mdqr.vander(t, 2), 3 * t + 1
        >>> left, right = (mdqr.linalg.UpdatableLstsq(a[s], b[s]) for s in (slice(4), slice(4, 8)))
        >>> left.merge(right)
        >>> left.shape, left.solve().to_numpy().round(12).tolist()
        ((8, 2), [3.0, 1.0])
        """
        if not isinstance(other, UpdatableLstsq):
            raise TypeError(
                f"UpdatableLstsq.merge: other must be an UpdatableLstsq; got {type(other).__name__}"
            )
        fit = self._fit
        more = mergeable(self._numbers, fit, (other._numbers, other._fit))
        self._fit = attempted(fit.engine, merge.merged, fit, more)

    @property
    def info(self) -> UpdatableLstsqInfo:
        """Digits, error bounds, condition and statistics of the solution.

        Computed when it is asked for: ``n^3`` operations, and ``m n`` where the data are kept.
        Raises what `solve` raises.
        """
        fit, checks = self._fit, Checks()
        if self._described is None or self._described[0] is not fit:
            self._require_rows("UpdatableLstsq.info")
            solved = solution.solve(fit, "UpdatableLstsq.info", checks)
            checks.settle()
            found = UpdatableLstsqInfo(fit, self._numbers, solved, is_vector=self._vector)
            self._described = fit, found
        return self._described[1]

    def solve(self) -> Any:
        """Return the least-squares solution, ``(n,)`` or ``(n, k)``.

        Returns
        -------
        MDArray or array
            The solution from the factors, without refinement: its error is a small multiple of
            ``eps`` times the condition number (squared times the relative residual). Entries of b
            next to others that are larger by up to ``2**(1934 - 53 p)``, of p doubles, take part
            with all their digits; that is ``1e454`` for od.

        Raises
        ------
        numpy.linalg.LinAlgError
            If m < n, the matrix is singular to working precision, so that no digit would be right,
            or the solution overflows: single precision beyond the largest float32.

        Warns
        -----
        PrecisionWarning
            If entries of b were further apart since the last refactorisation.
        """
        name, fit, checks = "UpdatableLstsq.solve", self._fit, Checks()
        self._require_rows(name)
        x = solution.solve(fit, name, checks).x
        _warn_if_cut(name, self._numbers.precision, *checks.settle(fit.cut))
        found = fit.engine.from_block(x)
        return self._numbers.wrap(found[..., 0] if self._vector else found)

    def residual_norm(self) -> Any:
        """Return the norms of the residuals ``b - A x``, 0-d or ``(k,)``.

        Returns
        -------
        MDArray or array
            Measured on the data where they are kept. Otherwise from the sum of squares that the
            changes have carried along: accurate to about ``eps`` times the largest one so far.
            Beside far larger entries of b they have the digits that the solution has.

        Raises
        ------
        numpy.linalg.LinAlgError
            If m < n, or the matrix is singular to working precision.

        Warns
        -----
        PrecisionWarning
            As `solve` warns.
        """
        name, fit, checks = "UpdatableLstsq.residual_norm", self._fit, Checks()
        self._require_rows(name)
        if fit.data is None:
            fits.triangle(fit, name, checks)
            found = fits.residual_norm(fit)
        else:
            solved = solution.solve(fit, name, checks)
            squares, beta = solution.least_squares(fit, fit.data, solved)
            found = fits.residual_norm(replace(fit, squares=squares, beta=beta))
        _warn_if_cut(name, self._numbers.precision, *checks.settle(fit.cut))
        return self._numbers.wrap_real(found[..., 0] if self._vector else found)

    def repair(self) -> None:
        """Take the errors of all changes out of the factors; this needs the data.

        One sweep of corrections by products, as `mdqr.linalg.repair`.

        Raises
        ------
        ValueError
            If the data are not kept.
        numpy.linalg.LinAlgError
            If R is singular, or too far from the data.
        """
        name, fit, checks = "UpdatableLstsq.repair", replace(self._fit), Checks()
        if fit.data is None:
            raise ValueError(f"{name}: a repair needs the data: keep_data=True")
        if fit.m < fit.n or fits.has_wide_sides(fit, fit.data):
            self._fit = fits.refactored(fit, fit.data)
            return
        fits.repair(fit, fit.data, checks)
        checks.settle()
        self._fit = fit

    def _require_rows(self, function: str) -> None:
        """Demand as many rows as columns."""
        if self._fit.m < self._fit.n:
            raise np.linalg.LinAlgError(
                f"{function}: fewer rows than columns, shape {self.shape}: "
                "no unique solution exists"
            )


def _warn_if_cut(function: str, precision: Precision | None, cut: np.ndarray) -> None:
    """Warn, for a method, of entries of b that were too far apart."""
    if cut:
        warn_of_precision(
            f"linalg.{function}",
            "entries of b are so far apart that small ones may have lost digits, or are taken for "
            "zero; solve for them alone",
            precision=precision,
        )


UpdatableLstsq.__module__ = "mdqr.linalg"
