"""Least squares whose rows and columns come and go."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from mdqr._errors import PrecisionWarning, all_advised
from mdqr._limbs.planes import Block
from mdqr._precision import Precision
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update import cost, operands
from mdqr.linalg._update import fit as fits
from mdqr.linalg._update.arithmetic.engine import fast_path, settle
from mdqr.linalg._update.arithmetic.matrices import inserted, joined, removed
from mdqr.linalg._update.fit import Fit
from mdqr.linalg._update.loss import (
    digits_of,
    lost_digits,
    require_distance,
    warn_of_loss,
)
from mdqr.linalg._update.operands import (
    Numbers,
    like,
    matrix_operand,
    range_of,
    require_count,
    require_finite,
    require_given,
)


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
        Keep the m by n factor Q too, for twice the work and the memory of the data. With the data,
        rows then leave without a loss of digits beyond that of the rows themselves; without,
        ``Q^H b`` loses as many as R does without Q.
    keep_data : bool, optional
        Keep a and b. They are needed to insert columns and for `repair`, and where removals have
        lost half of the digits the problem is refactored. False drops them.
    precision : Precision or str, optional
        The precision of the work and of the answers; by default the highest of the operands.

    Raises
    ------
    ValueError
        If the shapes do not fit, or there is a batch.
    numpy.linalg.LinAlgError
        If `a` or `b` is not finite.

    See Also
    --------
    lstsq : One solution, refined, with error bounds.

    Notes
    -----
    After k changes the factors are those of a matrix within ``20 n k eps max norm(A_j)`` of the
    data, over the matrices so far; without Q a removal of rows keeps
    ``norm(R^H R - A^H A)`` below ``20 n eps max norm(A_j)^2``. With data, each change is a
    refactorisation where the operation count says that this is cheaper.

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
        precision: Precision | str | None = None,
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
        self._fit = fits.start(engine, data, shape[1], keep_q=keep_q, keep_data=keep_data)

    def __repr__(self) -> str:
        return f"<UpdatableLstsq of shape {self.shape}>"

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix as it is now."""
        return self._fit.m, self._fit.n

    @property
    def lost_digits(self) -> float:
        """The digits that removals of rows have lost since the last refactorisation or repair.

        What they lost adds up. Where many rows have come and gone without data, the errors of all
        changes bound it: twice the digits that R, relative to the longest columns so far, has for a
        condition, and those of the number of changes.
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

    @fast_path
    def insert_rows(self, u: Any, b: Any, k: int | None = None) -> None:
        """Add observations.

        Parameters
        ----------
        u : array_like
            One row ``(n,)`` or rows ``(p, n)``, rounded to the work; not `MDArray` where the data
            are float arrays.
        b : array_like
            Their right-hand sides: a number, ``(p,)``, ``(k,)`` or ``(p, k)``, as b was.
        k : int, optional
            The row before which they are inserted; by default they come last.

        Raises
        ------
        ValueError
            If the shapes do not fit.
        numpy.linalg.LinAlgError
            If something is not finite.
        """
        name = "UpdatableLstsq.insert_rows"
        new = rows_of(self._numbers, name, u, b, self._fit.n, self._fit.right, vector=self._vector)
        m, n = self.shape
        place = m if k is None else operands.position(name, k, m, end=True)
        checks = Checks()
        require_finite(checks, name, self._fit.engine, "[u b]", new)
        fit, p = replace(self._fit), int(new.shape[-2])
        data = inserted(fit.engine, fit.data, new, place, -2)
        size = fits.size(fit, p, place)
        if data is not None and fits.prefers_refactor(
            fit, cost.rows_work(fit.engine, size), m + p, n
        ):
            fits.refactor(fit, data)
        else:
            fits.insert_rows(fit, new, place)
        fit.data = data
        settle(fit.engine, checks)
        self._fit = fit

    @fast_path
    def delete_rows(
        self, k: int | None = None, p: int = 1, *, u: Any = None, b: Any = None
    ) -> None:
        """Take observations away.

        Parameters
        ----------
        k : int, optional
            The first of them. It may be left out where only R is kept.
        p : int, optional
            How many.
        u, b : array_like, optional
            The rows and their right-hand sides, as in `insert_rows`: needed where the data are not
            kept, with Q only `b`; not to be given otherwise.

        Raises
        ------
        ValueError
            If the rows are not known, the shapes do not fit, or fewer than n rows would stay where
            the data are not kept.
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
            old, place = leaving_rows(self._numbers, fit, name, (k, p, u, b), vector=self._vector)
            require_finite(checks, name, engine, "[u b]", old)
            state = fits.delete_rows(fit, old, place, checks, None)
            require_distance(name, checks, state)
            lost = lost_digits(state, settle(engine, checks, *state.removals), fit.lost)
            fit.lost = fits.bounded_loss(fit, lost)
            warn_of_loss(name, engine, fit.lost, stacklevel=6)
            self._fit = fit
            return
        if u is not None or b is not None:
            raise ValueError(f"{name}: the data are kept: give k and p, not the rows")
        place, count = operands.range_of(name, k, p, fit.m)
        data = removed(engine, fit.data, place, count, -2)
        if fits.prefers_refactor_without(fit, count, place):
            self._refactor(data)
            return
        old = fit.data[..., place : place + count, :]
        try:
            state = fits.delete_rows(fit, old, place, checks, fit.data[..., fit.n :])
            values = settle(engine, checks, *state.removals)
            fit.lost = lost_digits(state, values, fit.lost)
        except np.linalg.LinAlgError:
            # R is singular, and does not know what leaves.
            fit.lost = math.inf
        if fit.lost >= digits_of(engine) / 2:
            self._refactor(data)
            return
        fit.data = data
        self._fit = fit

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
            If there are no such columns.
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

    def solve(self) -> Any:
        """Return the least-squares solution, ``(n,)`` or ``(n, k)``.

        Returns
        -------
        MDArray or array
            The solution from the factors, without refinement: its error is a small multiple of
            ``eps`` times the condition number (squared times the relative residual). Entries of b
            beside others that are larger by up to ``2**(1934 - 53 p)``, of p doubles, take part
            with all their digits; that is ``1e454`` for od.

        Raises
        ------
        numpy.linalg.LinAlgError
            If m < n, the matrix is singular to working precision, so that no digit would be right,
            or the solution overflows.

        Warns
        -----
        PrecisionWarning
            If entries of b were further apart since the last refactorisation.
        """
        name, fit, checks = "UpdatableLstsq.solve", self._fit, Checks()
        self._require_rows(name)
        x = fits.solve(fit, name, checks)
        _warn_if_cut(name, *checks.settle(fit.cut))
        found = fit.engine.from_block(x)
        return self._numbers.wrap(found[..., 0] if self._vector else found)

    def residual_norm(self) -> Any:
        """Return the norms of the residuals ``b - A x``, 0-d or ``(k,)``.

        Returns
        -------
        MDArray or array
            Measured on the data where they are kept. Otherwise from the sum of squares that the
            changes have carried along: right to about ``eps`` times the largest one so far. Beside
            far larger entries of b they have the digits that the solution has.

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
            x = fits.solve(fit, name, checks)
            found = fits.norms(fit, fits.residual(fit, fit.data, x))
        _warn_if_cut(name, *checks.settle(fit.cut))
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
            self._refactor(fit.data)
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

    def _refactor(self, data: Block) -> None:
        """Factor the data."""
        fit = replace(self._fit, data=data)
        fits.refactor(fit, data)
        settle(fit.engine, Checks())
        self._fit = fit


def _warn_if_cut(function: str, cut: np.ndarray) -> None:
    """Warn, for a method, of entries of b that were too far apart."""
    if cut:
        warnings.warn(
            f"{function}: entries of b are so far apart that small ones may have lost digits, or "
            "are taken for zero; solve for them alone",
            PrecisionWarning,
            stacklevel=4,
        )


UpdatableLstsq.__module__ = "mdqr.linalg"


def rows_of(
    numbers: Numbers, function: str, u: Any, b: Any, n: int, right: int, *, vector: bool
) -> Block:
    """Return rows ``(p, n + right)`` of the data.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    require_given(function, u=u, b=b)
    found = like(numbers, function, "u", u)
    new = matrix_operand(function, numbers.engine, "u", found, (), columns=n)
    return joined(
        numbers.engine, [new, sides_of(numbers, function, b, new, right, vector=vector)], -1
    )


def sides_of(
    numbers: Numbers, function: str, b: Any, rows: Block, right: int, *, vector: bool
) -> Block:
    """Return right-hand sides ``(p, right)`` for `rows` ``(..., p, n)``.

    Raises
    ------
    ValueError
        If the shape does not fit.
    """
    engine, p = numbers.engine, int(rows.shape[-2])
    found = like(numbers, function, "b", b)
    shape = engine.shape(found)
    wanted = (p,) if vector else (p, right)
    single = () if vector else (right,)
    if shape != wanted and not (p == 1 and shape == single):
        also = f" or {single}" if p == 1 else ""
        raise ValueError(f"{function}: b must have shape {wanted}{also} for {p} rows; got {shape}")
    if shape == single:
        found = found[..., None] if vector else found[..., None, :]
    return found[..., None] if vector else found


def leaving_rows(
    numbers: Numbers, fit: Fit, function: str, rows: tuple[Any, Any, Any, Any], *, vector: bool
) -> tuple[Block, int]:
    """Return rows of the data that leave, and the place of the first, where no data are kept.

    `rows` are the arguments k, p, u and b, which is a vector or not.

    Raises
    ------
    ValueError
        If the rows are not known, or fewer than n would stay.
    """
    k, p, u, b = rows
    if b is None or (u is None and not fit.keep_q):
        raise ValueError(f"{function}: the data are not kept: give the rows that leave, u= and b=")
    if fit.keep_q and (k is None or u is not None):
        raise ValueError(f"{function}: Q is kept and knows the rows by their place: give k, p, b=")
    if u is None:
        place, count = range_of(function, k, p, fit.m)
        blank = fit.engine.zeros(fit.r, count, fit.n)
        right = sides_of(numbers, function, b, blank, fit.right, vector=vector)
        old = joined(fit.engine, [blank, right], -1)
    else:
        old = rows_of(numbers, function, u, b, fit.n, fit.right, vector=vector)
        count = int(old.shape[-2])
        require_count(function, p, count)
        place = 0 if k is None else range_of(function, k, count, fit.m)[0]
    left = fit.m - count
    if left < fit.n:
        raise ValueError(
            f"{function}: {left} rows would stay, fewer than the {fit.n} columns; that needs the "
            "data: keep_data=True"
        )
    return old, place
