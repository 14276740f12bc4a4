"""Verified bounds of Schur decompositions, by residuals in twice the limbs."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import Precision
from mdqr.linalg._factor.backward_error import FactorErrors, FactorInfo
from mdqr.linalg._shared.data_error import Errors
from mdqr.linalg._shared.operands import precision_for, square_of
from mdqr.linalg._spectral.disks import SLACK

# What underflow takes from entries of matrices of at most about 1, and from powers of two.
_LEAST, _SUBNORMAL = 2.0**-1040, 2.0**-1070


class _Form(NamedTuple):
    backend: Backend
    kind: Kind
    a: Block
    t: Block
    z: Block
    errors: Errors
    q: Block | None = None


class ErrorsOfForm(_Form):
    """Bounds for matrices ``(batch, n, n)`` and their factors as they were returned.

    ``a = q t z^H``; q is z unless it is given.
    """

    def info(self, precision: Precision, shape: tuple[int, ...]) -> FactorInfo:
        """Return the info, of this shape."""
        return FactorInfo(precision, lambda: FactorErrors(*(x.reshape(shape) for x in self.bounds)))

    @cached_property
    def bounds(self) -> FactorErrors:
        """Bounds of the error, of the departure, norms of a, and of the errors of entries.

        With ``R = A Z - Q T`` and ``G = I - Z^H Z``: ``A - Q T Z^H = A (I - Z Z^H) + R Z^H``, where
        ``I - Z Z^H`` has the norm of G, and Z at most ``sqrt(1 + norm(G))``.
        """
        with np.errstate(all="ignore"):
            return self._bounds()

    def _bounds(self) -> FactorErrors:
        backend, kind, field = self.backend, self.kind, self.kind.is_complex
        n, eps = int(self.a.shape[-1]), precision_for(kind.limbs).eps
        top = scaling.top_exponents(self.a, field)
        a, t = (
            planes.widen(backend.ldexp(x, -top[:, None, None], is_complex=field), field, kind.limbs)
            for x in (self.a, self.t)
        )
        z = planes.widen(self.z, field, kind.limbs)
        q = z if self.q is None else planes.widen(self.q, field, kind.limbs)
        wide, tall = (
            np.concatenate([a, q], axis=-1),
            np.concatenate([planes.negate(z, field), t], axis=-2),
        )
        r = backend.residual([], wide, tall, kind=kind)
        one = kind.identity(np, z.shape[kind.lead :])
        transposed = z.swapaxes(-1, -2)
        g = backend.residual([(1, one)], transposed, z, kind=kind, conj_a=field)
        of_a, of_z, of_q, of_t, of_r, of_g = (native_abs(x, field) for x in (a, z, q, t, r, g))
        few = (4 * n + 40) * square_of(eps)
        of_r = (1 + eps) * of_r + few * (of_a @ of_z + of_q @ of_t) + _LEAST
        of_g = (1 + eps) * of_g + few * (of_z.swapaxes(-1, -2) @ of_z + 1) + _LEAST
        size, rest, departure = (_norm(x) for x in (of_a, of_r, of_g))
        error = size * departure + rest * np.sqrt(1 + departure)
        data = _norm(self.errors.of(np, of_a, -top[:, None, None]) + _LEAST)
        # The norm is the one from below.
        size = np.ldexp(size, top) / SLACK**2
        error, data = (SLACK * np.ldexp(x, top) + _SUBNORMAL for x in (error, data))
        return FactorErrors(error, departure, size, data)


def _norm(x: np.ndarray) -> np.ndarray:
    """Return Frobenius norms of matrices that are not negative, rounded up."""
    return np.asarray(SLACK * np.hypot.reduce(np.hypot.reduce(x, axis=-1), axis=-1))
