"""The results of the factorisations."""

from __future__ import annotations

from typing import NamedTuple

from mdqr._io.format import summary
from mdqr._limbs.planes import Block
from mdqr._pickles import pickled_fields
from mdqr._typing import NumberArray
from mdqr.linalg._shared.info import Info, WithInfo


@pickled_fields
class Factors(NamedTuple):
    """The factors as they were computed, for a refinement to start from.

    The matrix is about ``Q @ R * 2.0**exponents``. Those of a float32 matrix share memory with the
    factors in its scale.

    Attributes
    ----------
    Q : ndarray
        float32, ``(m, k)`` with ``k = min(m, n)``, column by column in memory; a complete one is
        ``(m, m)``.
    R : ndarray
        float32, ``(k, n)`` or ``(m, n)``, upper triangular, its columns of norm at most about 1.
    exponents : ndarray
        int64, ``(n,)``: powers of two that the columns were divided by.
    """

    Q: Block
    R: Block
    exponents: Block


class QRInfo(Info):
    """Facts of a factorisation; see `mdqr.linalg.Info`.

    Bounds of errors are NaN: they take products in a higher precision, which cost more than the
    factorisation.

    Attributes
    ----------
    method, compute : str
        As asked for; "householder" also where "rgs" with every panel broke down.
    panel : str
        How columns were factored by 128: "cholesky", or what took its place: "caqr", or "geqrf".
    passes : int
        How often Q was made: more than once if it was orthogonalised again.
    zero_columns : int
        Columns that are linearly dependent on those before them to working precision: zeros on the
        diagonal of R. Those of Q are zero, or, by reflections ("householder" and "geqrf") or if it
        was orthogonalised again, directions orthogonal to others.
    orthogonality : float or None
        Estimate of the Frobenius norm of ``Q.T @ Q - I`` if Q was orthogonalised again.
    factors : Factors or None
        The factors before the scales of the columns were undone, if `keep_factors` was set.
    """

    _more = ("compute", "panel", "passes", "zero_columns", "orthogonality", "factors")

    def __init__(
        self,
        method: str,
        compute: str,
        panel: str,
        passes: int,
        zero_columns: int,
        orthogonality: float | None,
        factors: Factors | None,
    ) -> None:
        super().__init__(method=method)
        self.compute, self.panel, self.passes = compute, panel, passes
        self.zero_columns, self.orthogonality, self.factors = zero_columns, orthogonality, factors

    def _shown(self) -> str:
        names = ("method", "compute", "panel", "passes", "zero_columns", "orthogonality")
        return " ".join(f"{name}={getattr(self, name)!r}" for name in names)


class _Pair(NamedTuple):
    Q: NumberArray
    R: NumberArray


class QRResult(WithInfo, _Pair):
    """The factors of a matrix; unpacks as NumPy's.

    Attributes
    ----------
    Q : ndarray
        ``(m, k)`` with ``k = min(m, n)``, of the type of the matrix; a complete one is ``(m, m)``.
    R : ndarray
        ``(k, n)``, or ``(m, n)``: upper triangular with a diagonal that is not negative.
    info : QRInfo
        How it was made.
    """

    info: QRInfo

    def __repr__(self) -> str:
        return summary(self)
