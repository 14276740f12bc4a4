"""The result of `gauss`: nodes and weights, and what is proven of them."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._precision import Precision
from mdqr._stability import experimental
from mdqr._typing import Floats
from mdqr.linalg._shared.digits import digits_within
from mdqr.linalg._shared.info import Info, WithInfo


@experimental
class QuadratureInfo(Info):
    """Proven error bounds of the nodes and weights of a rule; see `mdqr.linalg.Info`.

    Attributes
    ----------
    error_bound, digits : numpy.ndarray
        Of the nodes, float64 ``(n,)``.
    weight_error_bound : numpy.ndarray
        Bounds of the absolute errors of the weights, float64 ``(n,)``.
    weight_digits : numpy.ndarray
        Correct decimal digits of the weights.
    """

    _more = ("weight_error_bound", "weight_digits")

    def __init__(
        self,
        precision: Precision,
        nodes: np.ndarray,
        weights: np.ndarray,
        errors: tuple[np.ndarray, np.ndarray],
        iterations: int,
    ) -> None:
        super().__init__(precision, abs(nodes), errors[0], iterations=iterations)
        self._lazy |= {"weights": weights, "weight_error_bound": errors[1]}

    @cached_property
    def weight_error_bound(self) -> Floats:
        """See the attributes of the class."""
        return np.asarray(self._made("weight_error_bound"))

    @cached_property
    def weight_digits(self) -> Floats:
        """See the attributes of the class."""
        assert self.precision is not None
        with np.errstate(all="ignore"):
            relative = self.weight_error_bound / self._made("weights")
        return digits_within(relative, float(self.precision.digits))


class _Fields(NamedTuple):
    nodes: MDArray
    weights: MDArray


@experimental
class QuadratureRule(WithInfo, _Fields):
    """Nodes and weights: ``(weights * f(nodes)).sum()`` is the integral of a weight times f.

    Attributes
    ----------
    nodes : MDArray
        ``(n,)``, in ascending order.
    weights : MDArray
        ``(n,)``, positive.
    info : QuadratureInfo
        Error bounds and digits of both.
    """

    info: QuadratureInfo


for _kind in (QuadratureInfo, QuadratureRule):
    _kind.__module__ = "mdqr.quadrature"
