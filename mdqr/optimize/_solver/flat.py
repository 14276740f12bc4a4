"""Jacobians that do not determine the parameters, and which ones they do not."""

from __future__ import annotations

import numpy as np

from mdqr.optimize._model.points import norms_of

_FLAT_GRADIENT = 1e-7
_DEPENDENT = 1e-11
# Singular values whose directions are known in float64, and what they may gain of the sum.
_RESOLVED, _GAIN = 1e-12, 1e-5
_NO_EFFECT = 2.0**-40  # of a parameter that changes by its size, on the sum of squares
_TOLD = 0.05  # of the largest component of the direction that has no effect


def is_flat(a: np.ndarray, r: np.ndarray, weighted: np.ndarray) -> bool:
    """Return True if the gradient is zero as at a minimum, within the digits of a descent.

    Parameters
    ----------
    a : numpy.ndarray
        The Jacobian by the parameters that are free, in units of their sizes, ``(m, n)``.
    r, weighted : numpy.ndarray
        Residuals, and with the weights of a loss, ``(m,)``.
    """
    if not np.isfinite(a).all():
        return False
    total, norms = float(r @ r), norms_of(a)
    flat = np.maximum(_FLAT_GRADIENT * norms * np.sqrt(total), _NO_EFFECT * total)
    if not np.all(np.abs(a.T @ weighted) <= flat):
        return False
    # Columns that nearly depend on others have small gradients also far from the minimum.
    some = (norms * np.sqrt(total) > _NO_EFFECT * total) & a.any(axis=0)
    if not some.any():
        # Far from any minimum no parameter may have an effect.
        return total == 0
    u, s, _ = np.linalg.svd(a[:, some] / norms[some], full_matrices=False)
    gains = (u.T @ weighted)[s > _RESOLVED * s[0]]
    return bool(gains @ gains <= _GAIN * total)


def dependent(a: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the parameters whose effects on the residuals cannot be told apart.

    One alone has no effect; none are returned where the columns of the Jacobian are independent.
    """
    norms = np.where((a == 0).all(axis=0), 0.0, norms_of(a))
    effects = norms * sizes
    zero = effects <= _DEPENDENT * float(np.max(effects, initial=0.0))
    if not np.isfinite(norms).all():
        return np.flatnonzero(~np.isfinite(norms))
    if zero.any():
        return np.flatnonzero(zero)[:1]
    _, s, vh = np.linalg.svd(a / norms)
    if len(s) == vh.shape[0] and s[-1] > _DEPENDENT * s[0]:
        return np.zeros(0, dtype=int)
    return _told(vh[-1])


def undetermined(a: np.ndarray, doubt: np.ndarray) -> np.ndarray:
    """Return the parameters that a Jacobian with errors of its columns may not determine.

    Parameters without an effect; else the ones of the direction with the least effect.

    Parameters
    ----------
    a : numpy.ndarray
        The Jacobian, ``(m, n)``.
    doubt : numpy.ndarray
        Norms of the errors of its columns, ``(n,)``.
    """
    norms = np.where((a == 0).all(axis=0), 0.0, norms_of(a))
    lost = norms <= 4.0 * doubt
    if lost.any() or not np.isfinite(norms).all():
        return np.flatnonzero(lost | ~np.isfinite(norms))
    return _told(np.linalg.svd(a / norms)[2][-1])


def _told(direction: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.abs(direction) > _TOLD * np.max(np.abs(direction)))
