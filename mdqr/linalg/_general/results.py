"""The results of `eig`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._pickles import State, pickled
from mdqr._precision import Precision
from mdqr._typing import Floats
from mdqr.linalg._shared.info import Info, Lazy

_FIELDS = ("eigenvalues", "eigenvectors", "left_eigenvectors", "info")


class EigInfo(Info):
    """Verified bounds of eigenvalues and eigenvectors; arrays of the shape of the eigenvalues.

    Attributes
    ----------
    error_bound : numpy.ndarray
        float64: the exact eigenvalues can be numbered so that each is that near to its value.
    multiplicity : numpy.ndarray
        int64: 1 where no other eigenvalue is as near as that. Otherwise it is the number of
        eigenvalues of which the value is one: they are multiple, or too close for the precision.
    condition : numpy.ndarray
        float64, estimated: a change of the matrix by E moves a simple eigenvalue by at most about
        ``condition * norm(E)``.
    vector_error_bound : numpy.ndarray
        float64: how far the eigenvectors that were asked for, right, left or both, are from exact
        ones of length 1. Infinite where `multiplicity` is not 1, or nothing is proven, and NaN if
        none were asked for.
    digits : numpy.ndarray
        float64: correct decimal digits of each eigenvalue, for the entries as stored.
    data_error_bound : numpy.ndarray
        float64: as `error_bound`, for the eigenvalues of every matrix, or pair, whose entries are
        within their errors. These are `data_error`, or half a unit in the last place of the
        precision in which the entries were given.
    data_digits : numpy.ndarray
        float64: correct decimal digits of each eigenvalue for all such matrices.
    bound_kind : str
        "proven".
    """

    multiplicity: np.ndarray
    _more = ("multiplicity", "vector_error_bound")

    def __init__(
        self,
        precision: Precision,
        sizes: Lazy,
        error_bound: Lazy,
        data_error_bound: Lazy,
        *,
        condition: Lazy,
        multiplicity: np.ndarray,
        vector_error_bound: Lazy,
    ) -> None:
        super().__init__(precision, sizes, error_bound, data_error_bound, condition=condition)
        self.multiplicity = multiplicity
        self._lazy["vector_error_bound"] = vector_error_bound

    @cached_property
    def vector_error_bound(self) -> Floats:
        """See the attributes of the class."""
        return np.asarray(self._made("vector_error_bound"))


EigInfo.__module__ = "mdqr.linalg"


@pickled
class EigResult(tuple[Any, ...]):
    """Eigenvalues and eigenvectors, ``a @ eigenvectors = eigenvectors * eigenvalues``.

    As a tuple the same as in NumPy and SciPy: the eigenvalues, and the left and right eigenvectors
    that were asked for, in this order.

    Attributes
    ----------
    eigenvalues : MDArray
        Complex, ``(..., n)``, by increasing real part; of equal ones, the larger imaginary part is
        first.
    eigenvectors : MDArray or None
        Columns of length 1 whose entry of the largest modulus is positive: ``(..., n, n)``.
    left_eigenvectors : MDArray or None
        The same of the conjugate transpose: ``left^H a = w left^H``.
    info : EigInfo
        Conditions, error bounds and digits, for the entries as stored and for their errors.
    """

    eigenvalues: MDArray
    eigenvectors: MDArray | None
    left_eigenvectors: MDArray | None
    info: EigInfo

    def __new__(
        cls,
        eigenvalues: MDArray,
        eigenvectors: MDArray | None,
        left_eigenvectors: MDArray | None,
        info: EigInfo,
    ) -> EigResult:
        vectors = [v for v in (left_eigenvectors, eigenvectors) if v is not None]
        self = super().__new__(cls, (eigenvalues, *vectors))
        self.eigenvalues, self.info = eigenvalues, info
        self.eigenvectors, self.left_eigenvectors = eigenvectors, left_eigenvectors
        return self

    def _state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def _restored(cls, state: State) -> EigResult:
        state.checked("info", EigInfo)
        return cls(**{name: state[name] for name in _FIELDS})

    def __repr__(self) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name in _FIELDS]
        return f"EigResult({', '.join(parts)})"


EigResult.__module__ = "mdqr.linalg"
