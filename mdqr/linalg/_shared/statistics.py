"""Statistics of a fit: what its residuals and the inverse of R say of the solution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Generic, TypeVar

from mdqr._errors import all_advised
from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._pickles import State
from mdqr.linalg._shared.info import Info
from mdqr.linalg._shared.stored import Measured, measured, stored

_Array = TypeVar("_Array")  # MDArray, or also arrays of floats
_S = TypeVar("_S", bound="Statistics[Any]")


@all_advised
class Statistics(Info, ABC, Generic[_Array]):
    """Standard errors, covariances and their like.

    Attributes have one number for each column of b; methods take options, or invert R.
    """

    def _state(self) -> dict[str, Any]:
        return super()._state() | {"measured": stored(self._measured)}

    @classmethod
    def _restored(cls: type[_S], state: State) -> _S:
        self = super()._restored(state)
        self.__dict__["_measured"] = measured(
            State(state.checked("measured", dict)), self.precision
        )
        return self

    @cached_property
    @abstractmethod
    def _measured(self) -> Measured:
        """The quantities from which they are computed, at the first request."""

    @property
    def residual_std(self) -> _Array:
        """Residual standard deviation: the root of residuals over degrees of freedom.

        0-d for a vector b, else ``(..., k)``; NaN where m <= n leaves no degrees of freedom.
        """
        known = self._measured
        std = known.backend.ldexp(self._scaled_std, known.squares[1])
        return known.wrap(std[..., 0] if known.is_vector else std, False)

    @property
    def r_squared(self) -> _Array:
        """Coefficient of determination, ``1 - residuals / total``; shaped as `residual_std`.

        The total is taken about the (weighted) mean of b if a column of a is constant in the rows
        of positive weight, else about zero. NaN where b does not vary about it.
        """
        known, backend = self._measured, self._measured.backend
        total, exponents, least = known.total()
        ratio = self._real("divide", known.squares[0], total)
        ratio = backend.ldexp(ratio, 2 * (known.squares[1] - exponents))
        ratio[0] = backend.xp.where(total[0] > least, ratio[0], backend.xp.nan)
        one = backend.xp.ones((1, *ratio.shape[1:]))
        found = self._real("subtract", one, ratio)
        return known.wrap(found[..., 0] if known.is_vector else found, False)

    def standard_errors(self) -> _Array:
        """Return the standard error of each component of x.

        Returns
        -------
        MDArray or array
            `residual_std` times the roots of the diagonal of ``(A^H W A)^-1``; x's shape.
        """
        known, kind = self._measured, self._measured.kind
        backend, (inverse, exponents) = known.backend, self._inverse
        squares = self._product(inverse[..., None, :])[..., 0, 0]
        squares = squares[0] if kind.is_complex else squares
        roots = backend.unary("sqrt", squares, kind=kind.real)
        errors = self._real("multiply", roots[..., :, None], self._scaled_std[..., None, :])
        errors = backend.ldexp(errors, self._shift + exponents[..., :, None])
        return known.wrap(errors[..., 0] if known.is_vector else errors, False)

    def covariance(self, *, scaled: bool = True) -> _Array:
        """Return the covariance matrix of x.

        Parameters
        ----------
        scaled : bool, default: True
            Whether to multiply by the variance of the residuals. Without it the covariances are
            those for weights that are one over known variances.

        Returns
        -------
        MDArray or array
            ``residual_std**2 (A^H W A)^-1``: ``(..., n, n)`` for a vector b, else
            ``(..., k, n, n)``. Unscaled ``(A^H W A)^-1``, ``(..., n, n)``.
        """
        known, kind = self._measured, self._measured.kind
        backend, (inverse, exponents) = known.backend, self._inverse
        product = _hermitian(self._product(inverse), kind.is_complex)
        if not scaled:
            shift = known.powers + exponents
            shift = shift[..., :, None] + shift[..., None, :]
            found = backend.ldexp(product, shift, is_complex=kind.is_complex)
            return known.wrap(found, kind.is_complex)
        variance = self._real("multiply", self._scaled_std, self._scaled_std)[..., None, None]
        if kind.is_complex:
            variance = planes.complexify(variance)
        shift = (self._shift + exponents[..., :, None]).swapaxes(-1, -2)
        covariance = backend.binary("multiply", product[..., None, :, :], variance, kind=kind)
        shift = shift[..., :, None] + shift[..., None, :]
        covariance = backend.ldexp(covariance, shift, is_complex=kind.is_complex)
        return known.wrap(
            covariance[..., 0, :, :] if known.is_vector else covariance, kind.is_complex
        )

    @property
    def _shift(self) -> Block:
        """The exponents of what is in scaled unknowns times residuals, ``(..., n, k)``."""
        known = self._measured
        return known.squares[1][..., None, :] + known.powers[..., :, None]

    @cached_property
    def _inverse(self) -> tuple[Block, Block]:
        """The inverse of the scaled R, its rows near 1, and their exponents.

        Squares of the rows themselves may be beyond the range.
        """
        known = self._measured
        transposed, field = known.inverse().swapaxes(-1, -2), known.kind.is_complex
        near, powers = known.backend.balance_columns(transposed, None, is_complex=field)
        return near.swapaxes(-1, -2), -powers

    @cached_property
    def _scaled_std(self) -> Block:
        """The residual standard deviation in the units of `Measured.squares`, ``(..., k)``."""
        known, xp = self._measured, self._measured.backend.xp
        freedom = xp.where(known.freedom > 0, known.freedom, xp.nan)[None]
        mean = self._real("divide", known.squares[0], freedom)
        return known.backend.unary("sqrt", mean, kind=known.kind.real)

    def _product(self, rows: Block) -> Block:
        """Return ``rows rows^H``."""
        kind = self._measured.kind
        return self._measured.backend.matmul(
            rows, rows.swapaxes(-1, -2), conj_b=kind.is_complex, kind=kind
        )

    def _real(self, op: str, x: Block, y: Block) -> Block:
        known = self._measured
        return known.backend.binary(op, x, y, kind=known.kind.real)


def _hermitian(block: Block, is_complex: bool) -> Block:
    """Return matrices with their upper triangle below the diagonal too, which is real.

    Sums of products of more than one limb may round differently on the other side.
    """
    xp = planes.namespace(block)
    upper = xp.triu(block)
    lower = xp.triu(block, 1).swapaxes(-1, -2)
    if is_complex:
        lower = planes.conjugate(lower)
        for limb in upper[1]:
            planes.diagonal(limb)[...] = 0.0
    return upper + lower
