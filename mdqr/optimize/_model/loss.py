"""Loss functions: summands other than the squares of residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mdqr
from mdqr._array.array import MDArray

Rho = Callable[[MDArray], tuple[MDArray, MDArray, MDArray]]


class Loss(NamedTuple):
    """A loss ``c**2 rho((r / c)**2)`` of each residual r; `rho` is None for squares.

    `rho` returns the values, first and second derivatives; c is `scale`.
    """

    name: str
    rho: Rho | None
    scale: Any

    def cost(self, r: MDArray, unit: float) -> MDArray:
        """Return the sum over the residuals, for squares their sum; r is in multiples of `unit`."""
        if self.rho is None:
            return (r * r).sum()
        c = self.scale * unit
        return (self.rho((r / c) ** 2)[0] * (c * c)).sum()

    def weights(self, r: MDArray, unit: float) -> tuple[MDArray, MDArray | None]:
        """Return residuals times weights, whose products with J are the gradient; and curvatures.

        The Hessian is ``J^T diag(curvature) J + sum_i weighted_i r_i''``; None for ones.
        """
        if self.rho is None:
            return r, None
        z = (r / (self.scale * unit)) ** 2
        _, first, second = self.rho(z)
        return first * r, first + 2 * second * z


def _soft_l1(z: MDArray) -> tuple[MDArray, MDArray, MDArray]:
    t = 1 + z
    root = mdqr.sqrt(t)
    return 2 * (z / (1 + root)), 1 / root, -1 / (2 * t * root)


def _huber(z: MDArray) -> tuple[MDArray, MDArray, MDArray]:
    inside = z <= 1
    far = mdqr.where(inside, mdqr.ones_like(z), z)
    root = mdqr.sqrt(far)
    zero = mdqr.zeros_like(z)
    return (
        mdqr.where(inside, z, 2 * root - 1),
        mdqr.where(inside, mdqr.ones_like(z), 1 / root),
        mdqr.where(inside, zero, -1 / (2 * far * root)),
    )


def _cauchy(z: MDArray) -> tuple[MDArray, MDArray, MDArray]:
    t = 1 + z
    return mdqr.log1p(z), 1 / t, -1 / t**2


def _arctan(z: MDArray) -> tuple[MDArray, MDArray, MDArray]:
    t = 1 + z**2
    return mdqr.arctan(z), 1 / t, -2 * z / t**2


_LOSSES: dict[str, Rho | None] = {
    "linear": None,
    "soft_l1": _soft_l1,
    "huber": _huber,
    "cauchy": _cauchy,
    "arctan": _arctan,
}


def loss_of(name: str, loss: Any, f_scale: Any) -> Loss:
    """Return SciPy's loss of a name.

    Raises
    ------
    ValueError
        If no loss has the name, or `f_scale` is not positive.
    """
    if not isinstance(loss, str) or loss not in _LOSSES:
        raise ValueError(
            f"{name}: `loss` must be one of {', '.join(map(repr, _LOSSES))}; got {loss!r}"
        )
    if isinstance(f_scale, str) or not f_scale > 0:
        raise ValueError(f"{name}: `f_scale` must be positive; got {f_scale!r}")
    return Loss(loss, _LOSSES[loss], f_scale)
