"""The info of solutions by a chosen numerical rank."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.filled import ones, zeros
from mdqr._functions.matrices import eye
from mdqr._functions.sequences import concatenate, stack
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._factor.qr import qr
from mdqr.linalg._factor.substitution import solve_triangular
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._shared.stored import Measured
from mdqr.linalg._solve import singular_values
from mdqr.linalg._solve.info import LstsqInfo


class Ranked(NamedTuple):
    """One matrix: how its solution was found, and the parts of its pseudoinverse.

    `triangle` is R of the columns that count, of the scaled rows. Where the solution is the
    shortest, `others` are the coordinates of the other columns in these, else None.
    """

    rank: int
    pivots: np.ndarray
    distance: float
    bound: np.ndarray
    triangle: MDArray
    others: MDArray | None
    condition: float
    method: str
    bound_kind: str
    iterations: int
    history: np.ndarray

    def root(self, n: int) -> MDArray:
        """Return G ``(n, n)``, of which ``G G^H`` is ``X X^H``, X the pseudoinverse of the rows."""
        r, rank = self.triangle, self.rank
        found = zeros((n, n), precision=r.precision, dtype=r.dtype, device=r.device)
        if not rank:
            return found
        one = eye(rank, precision=r.precision, device=r.device)
        inverse, places = solve_triangular(r, one), self.pivots[:rank]
        if self.others is not None:
            tall = concatenate([one, self.others], axis=1).mT.conj().astype(r.precision)
            q, s = qr(tall)
            inverse, places = q @ solve_triangular(s, inverse, trans="C"), self.pivots
        found[places, :rank] = inverse
        return found


class Fitted(NamedTuple):
    """The problem: nothing of it is a view of what users have.

    `rows` are the rows of a times the roots of weights, times ``2**-top``. `weights` ``(..., m)``
    are None for ones; `constant` is true if a column of a is constant in rows of positive weight,
    and `counted` the number of these.
    """

    inputs: Inputs
    rows: MDArray
    top: np.ndarray
    b: MDArray
    weights: MDArray | None
    constant: np.ndarray
    counted: np.ndarray
    is_vector: bool


class RankInfo(LstsqInfo):
    """Quality and statistics of a solution by numerical rank: `lstsq` with `rtol`; see `LstsqInfo`.

    The statistics belong to the matrix without the discarded part: degrees of freedom are rows
    less the rank, and covariances ``residual_std**2 A_r^+ A_r^+^H``.

    Attributes
    ----------
    method : str
        As in `LstsqInfo`, of the solution for the columns that count.
    iterations : int
        The most refinement steps of a problem.
    pivots : numpy.ndarray
        The columns of `a`, int64 ``(..., n)``: the first `rank` of them count.
    distance : float or numpy.ndarray
        Length, in the Frobenius norm of (weighted) rows, of the components of the other columns
        outside of these, which are discarded: rounding errors of `a` where the rank is exactly
        that.
    condition : float or numpy.ndarray
        Estimated condition of the columns that count, scaled by powers of two.
    error_bound : numpy.ndarray
        Bound of the absolute error of each component of x, as the solution for the matrix without
        the discarded part; float64 of x's shape.
    digits : numpy.ndarray
        Correct decimal digits of each component, from `error_bound`.
    bound_kind : str
        As in `LstsqInfo`; "proven" if all bounds are that x is made of.
    data_error_bound, data_digits : numpy.ndarray
        NaN: the rank is chosen, and the data determine nothing but a solution of that rank.
    history : numpy.ndarray
        As in `LstsqInfo`, of the solution for the columns that count.
    """

    _more = ("pivots", "distance", "singular_values")

    def __init__(
        self, fitted: Fitted, parts: list[Ranked], digits: np.ndarray, residuals: MDArray
    ) -> None:
        self.precision = fitted.inputs.precision
        self._fitted, self._parts, self._residuals = fitted, parts, residuals.copy()
        n, k = fitted.rows.shape[-1], fitted.b.shape[-1]
        self.pivots = self._joined("pivots", n, dtype=np.int64)
        self.distance, self.condition = self._joined("distance"), self._joined("condition")
        self.method, self.bound_kind = self._word("method"), self._word("bound_kind")
        self.iterations = max((part.iterations for part in parts), default=0)
        bound = self._joined("bound", n, k)
        self.error_bound, self.digits = (
            x[..., 0] if fitted.is_vector else x for x in (bound, digits)
        )
        self.data_error_bound = np.full(self.error_bound.shape, np.nan)
        self.data_digits = self.data_error_bound.copy()
        self.history = max((part.history for part in parts), key=len, default=np.zeros(0))

    def _joined(self, name: str, *shape: int, dtype: type = float) -> Any:
        batch = self._fitted.rows.shape[:-2]
        values: np.ndarray = np.array([getattr(part, name) for part in self._parts], dtype=dtype)
        return values.reshape((*batch, *shape)) if batch or shape else values.item()

    def _word(self, name: str) -> Any:
        words = [getattr(part, name) for part in self._parts]
        if len(set(words)) > 1:
            return np.array(words).reshape(self._fitted.rows.shape[:-2])
        return words[0] if words else None

    def __repr__(self) -> str:
        worst = np.min(
            self.digits, initial=float(self.precision.digits if self.precision else np.inf)
        )
        return (
            f"<RankInfo method={self.method!r} iterations={self.iterations} "
            f"condition={np.max(self.condition, initial=1.0):.2g} "
            f"distance={np.max(self.distance, initial=0.0):.2g} digits>={worst:.1f}>"
        )

    @cached_property
    def singular_values(self) -> MDArray:
        """As in `LstsqInfo`: all values, also below `rtol`."""
        rows, inputs = self._fitted.rows, self._fitted.inputs
        top = inputs.backend.xp.asarray(self._fitted.top)
        return singular_values.of_rows(rows.limbs, top, inputs)

    @cached_property
    def _measured(self) -> Measured:
        fitted, inputs = self._fitted, self._fitted.inputs
        xp, rank = inputs.backend.xp, self._joined("rank")
        squares = planes.widen(self._residuals.limbs, False, inputs.work.limbs)
        top = xp.asarray(fitted.top)[..., None]
        return Measured(
            inputs.backend,
            inputs.kind,
            self._root,
            xp.broadcast_to(-top, (*top.shape[:-1], fitted.rows.shape[-1])),
            (squares, xp.zeros(squares.shape[1:], dtype=np.int64)),
            xp.asarray(np.asarray(fitted.counted - rank, dtype=float)[..., None]),
            self._total,
            inputs.wrap,
            fitted.is_vector,
        )

    def _root(self) -> Block:
        rows, kind = self._fitted.rows, self._fitted.inputs.kind
        n = rows.shape[-1]
        shape = (*rows.shape[:-2], n, n)
        if not self._parts:
            return kind.zeros(self._fitted.inputs.backend.xp, shape)
        return stack([part.root(n) for part in self._parts]).reshape(shape).limbs

    def _total(self) -> tuple[Block, Block, Block]:
        """Return the sums of squares of b as `Measured` has them."""
        fitted, inputs = self._fitted, self._fitted.inputs
        backend, field, b = inputs.backend, inputs.is_complex, fitted.b
        unit = scaling.column_exponents(b.limbs, field)
        block = backend.ldexp(b.limbs, -unit[..., None, :], is_complex=field)
        near = MDArray._wrap(block, inputs.work, field)
        weights, half = self._scaled_weights()
        mean = (weights * near).sum(axis=-2, keepdims=True) / weights.sum(axis=-2, keepdims=True)
        constant = backend.xp.asarray(fitted.constant)[..., None, None]
        total, whole = (
            (weights * abs(x) ** 2).sum(axis=-2).limbs for x in (near - mean * constant, near)
        )
        least = (b.shape[-2] * inputs.work.eps) ** 2 * whole[0]
        return total, unit + half[..., None], least

    def _scaled_weights(self) -> tuple[MDArray, Block]:
        """Return columns of weights of at most 1, and the halves of the exponents taken out."""
        fitted, inputs = self._fitted, self._fitted.inputs
        xp, given = inputs.backend.xp, fitted.weights
        if given is None:
            one = ones((fitted.b.shape[-2], 1), precision=inputs.work, device=fitted.b.device)
            return one, xp.zeros(fitted.b.shape[:-2], dtype=np.int64)
        half = (scaling.top_exponents(given.limbs, False, -1) + 1) // 2
        block = inputs.backend.ldexp(given.limbs, -2 * half[..., None])
        return MDArray._wrap(block, inputs.work, False)[..., None], half


RankInfo.__module__ = "mdqr.linalg"
