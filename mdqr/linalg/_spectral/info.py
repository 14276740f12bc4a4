"""Reports of `svd` and `eigh` on their values and vectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mdqr._precision import Precision
from mdqr.linalg._shared.info import Info


class Proven(NamedTuple):
    """Bounds for data as stored, bounds for all data within their errors, and conditions."""

    values: np.ndarray
    vectors: np.ndarray
    data: np.ndarray
    condition: np.ndarray


class SpectralInfo(Info):
    """Error bounds of eigenvalues or singular values, and of their vectors; see `Info`.

    They are computed when the first one is asked for, by residuals in twice the limbs. All arrays
    have the shape of the values.

    Attributes
    ----------
    condition : numpy.ndarray
        float64, estimated: changes of entries by that part of themselves change a value by at most
        about ``condition`` times as much, relative to it.
    error_bound : numpy.ndarray
        float64: the exact values, in order, are that near.
    vector_error_bound : numpy.ndarray
        float64: how far a vector is from an exact one of length 1 (with `b`: of length 1 in the
        product with `b`, in that norm); of singular values each of the two. Infinite where another
        value is not shown to be further away than both may err: such vectors are not determined
        one by one.
    """

    _more = ("vector_error_bound",)

    def __init__(
        self, precision: Precision, sizes: Callable[[], np.ndarray], made: Callable[[], Proven]
    ) -> None:
        self._proven: Callable[[], Proven] | Proven = made
        super().__init__(
            precision,
            sizes,
            lambda: self._of("values"),
            lambda: self._of("data"),
            condition=lambda: self._of("condition"),
        )
        self._lazy["vector_error_bound"] = lambda: self._of("vectors")

    def _of(self, name: str) -> np.ndarray:
        if not isinstance(self._proven, Proven):
            self._proven = self._proven()
        return np.asarray(getattr(self._proven, name))

    @cached_property
    def vector_error_bound(self) -> np.ndarray:
        """See the attributes of the class."""
        return np.asarray(self._made("vector_error_bound"))


SpectralInfo.__module__ = "mdqr.linalg"
