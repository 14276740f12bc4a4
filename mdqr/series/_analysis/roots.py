"""Roots of polynomials by Aberth's iteration, with disks that contain them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray

_MOST_STEPS = 200


class Roots(NamedTuple):
    """Approximate roots and radii.

    Attributes
    ----------
    values : MDArray
        Complex, ``(n,)``, by increasing modulus.
    radii : numpy.ndarray
        float64 ``(n,)``: disks about the values contain all roots together, and one each where
        they do not meet.
    """

    values: MDArray
    radii: np.ndarray


def roots(coefficients: MDArray) -> Roots:
    """Return the roots of ``c_0 + c_1 z + ... + c_n z^n``.

    Parameters
    ----------
    coefficients : MDArray
        ``(n + 1,)``, real or complex; c_n is not zero.

    Returns
    -------
    Roots
        The roots and their radii ``n |p(z)| / |p'(z)|``, the rounding errors of p included.

    Notes
    -----
    Aberth's iteration (O. Aberth 1973) in the precision of the coefficients, from the roots in
    float64; the radii are Laguerre's.
    """
    p = coefficients.to_device("cpu").astype(dtype=complex)
    n = p.shape[0] - 1
    if n < 1:
        return Roots(p[:0], np.zeros(0))
    if n == 1:
        z = -p[:1] / p[1:]
        return Roots(z, 16 * z.precision.eps * abs(z).to_numpy())
    z = mdqr.array(_first(p), precision=p.precision)
    own = np.eye(n, dtype=bool)
    for _ in range(_MOST_STEPS):
        near = _correction(p, z)
        distance = z[:, None] - z[None, :]
        distance[own] = 1.0
        others = 1 / distance
        others[own] = 0.0
        newton = near.value / _nonzero(near.slope)
        dz = newton / _nonzero(1 - newton * others.sum(axis=1))
        done = near.size <= near.noise
        z = mdqr.where(done, z, z - dz)
        if (done | (abs(dz).to_numpy() <= 4 * p.precision.eps * abs(z).to_numpy())).all():
            break
    z = z[np.argsort(abs(z).to_numpy(), kind="stable")]
    near = _correction(p, z)
    with np.errstate(divide="ignore", invalid="ignore"):
        radii = n * (near.size + near.noise) / abs(near.slope).to_numpy()
    return Roots(z, np.nan_to_num(radii * (1 + 2.0**-30), nan=np.inf))


class _Near(NamedTuple):
    """p and p' at points, times one number; the modulus of p, and of its rounding errors."""

    value: MDArray
    slope: MDArray
    size: np.ndarray
    noise: np.ndarray


def _correction(p: MDArray, z: MDArray) -> _Near:
    """Evaluate p and p'; beyond the unit circle through the reversed polynomial r in 1/z.

    There ``p(z) = z^n r(w)`` and ``p'(z) = z^n (n w r(w) - w^2 r'(w))`` with ``w = 1/z``.
    """
    n = p.shape[0] - 1
    far = abs(z).to_numpy() > 1
    w = mdqr.where(far, 1 / _nonzero(z), z)
    inside, outside = _at(p, w), _at(p[::-1], w)
    value = mdqr.where(far, outside[0], inside[0])
    slope = mdqr.where(far, n * w * outside[0] - w * w * outside[1], inside[1])
    sizes, at = abs(p).to_numpy(), abs(w).to_numpy()
    sums = np.where(far, np.polyval(sizes, at), np.polyval(sizes[::-1], at))
    noise = 8.0 * (n + 1) * p.precision.eps * sums
    return _Near(value, slope, abs(value).to_numpy(), noise)


def _at(p: MDArray, z: MDArray) -> tuple[MDArray, MDArray]:
    """Return the polynomial and its derivative, by Horner's scheme."""
    value, slope = z * 0 + p[-1], z * 0
    for k in range(p.shape[0] - 2, -1, -1):
        slope = slope * z + value
        value = value * z + p[k]
    return value, slope


def _nonzero(x: MDArray) -> MDArray:
    return mdqr.where(x == 0, x.precision.tiny, x)


def _first(p: MDArray) -> np.ndarray:
    """Return start values: the roots in float64, no two equal.

    Of the reversed polynomial where its leading coefficient is the larger one.
    """
    n = p.shape[0] - 1
    turned = bool(abs(p[0]) > abs(p[-1]))
    ordered = p if turned else p[::-1]
    with np.errstate(all="ignore"):
        found = np.roots((ordered / ordered[0]).to_numpy())
        found = np.concatenate([found, np.zeros(n - len(found))])
        found = 1 / found if turned else found
    finite = np.isfinite(found)
    # Roots beyond float64's sight are far out, or at 0.
    far = 2.0**60 * (1.0 + np.abs(found[finite]).max(initial=0.0))
    found = np.where(finite, found, far)
    turn = np.exp(1j * np.arange(n))
    return np.asarray(found + 1e-12 * (1e-3 + np.abs(found)) * turn)
