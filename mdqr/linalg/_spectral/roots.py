"""Roots of polynomials, and companion matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.filled import zeros
from mdqr._functions.sequences import concatenate
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._precision import Precision
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import Inputs, gather
from mdqr.linalg._spectral.aberth import found_roots


class RootsResult(NamedTuple):
    """Roots of a polynomial of degree n, and disks that contain the exact ones.

    Attributes
    ----------
    roots : MDArray
        Complex, ``(n,)``, by decreasing modulus.
    radii : numpy.ndarray
        float64 ``(n,)``: the exact roots can be numbered so that each is that near to its value.
    counts : numpy.ndarray
        int64 ``(n,)``: 1 where the disk has one root, otherwise of how many roots the value stands
        for one, in as many disks that meet: a multiple root, or some that rounding makes one.
    """

    roots: MDArray
    radii: np.ndarray
    counts: np.ndarray


RootsResult.__module__ = "mdqr.linalg"


def roots(p: Any, *, precision: Precision | str | None = None) -> RootsResult:
    """Return the roots of a polynomial, and disks that contain them.

    Parameters
    ----------
    p : array_like
        The coefficients ``(n + 1,)``, that of the highest power first, as `numpy.roots` takes
        them: leading zeros lower the degree, trailing ones are roots that are exactly zero.
    precision : Precision or str, optional
        The precision of the roots; by default that of `p`.

    Returns
    -------
    RootsResult
        The fields `roots`, always complex, `radii` and `counts`. `mdqr.roots` returns the roots
        alone.

    Raises
    ------
    ValueError
        If `p` does not have one axis.
    numpy.linalg.LinAlgError
        If a coefficient is not finite, or a root is beyond the largest double.

    See Also
    --------
    eigvals : Eigenvalues, as those of `companion`.

    Notes
    -----
    The coefficients count as exact. The radii are proven, rounding errors included: about ``eps``
    of a root times its condition, ``eps**(1/k)`` of a root of multiplicity k, for which `counts` is
    k. Where disks prove it, roots of real polynomials have an imaginary part that is exactly zero,
    or are exactly conjugate.

    Aberth's iteration from the Newton polygon, in twice the limbs where there are as many; radii by
    disks of a matrix that has the roots as eigenvalues. The work is done on the host. References in
    docs/explanation/sources.md.

    Examples
    --------
    >>> import mdqr
    >>> found = mdqr.linalg.roots(mdqr.array([1, 0, -2], precision=mdqr.qd))
    >>> found.roots[0].real.to_strings(digits=40).item()
    '1.414213562373095048801688724209698078570'
    >>> bool(found.radii.max() < 1e-63), found.counts.tolist()
    (True, [1, 1])
    >>> mdqr.linalg.roots(mdqr.array([1, -3, 3, -1], precision=mdqr.qd)).counts.tolist()
    [3, 3, 3]
    """
    inputs, checks = gather(p, precision=precision), Checks()
    if len(inputs.shape(0)) != 1:
        raise ValueError(f"roots: p must have one axis; got shape {inputs.shape(0)}")
    checks.require_finite("roots", "p", inputs.blocks[0][..., None], inputs.is_complex)
    checks.settle()
    given = _whole(inputs, 0)
    device, given = given.device, given.to_device("cpu")
    held = np.flatnonzero(given != 0)
    first, last = (int(held[0]), int(held[-1])) if held.size else (0, 0)
    found = found_roots(given[first : last + 1][::-1], inputs.precision)
    zero = given.shape[0] - 1 - last if held.size else 0
    values = concatenate([found.values, found.values._like(_zeros(inputs, zero))])
    # Zeros are exact: no disk of another root reaches them.
    radii, counts = found.disks
    checks.require_in_range("roots", "the roots", values._block[..., None], True)
    return RootsResult(
        values.to_device(device),
        np.concatenate([radii, np.zeros(zero)]),
        np.concatenate([counts, np.full(zero, zero)]),
    )


def _whole(inputs: Inputs, index: int) -> MDArray:
    """Return an operand with all limbs of the work."""
    block = planes.widen(inputs.blocks[index], inputs.is_complex, inputs.work.limbs)
    return MDArray._wrap(block, inputs.work, inputs.is_complex)


def _zeros(inputs: Inputs, count: int) -> planes.Block:
    return Kind(inputs.precision.limbs, True).zeros(np, (count,))


def companion(a: Any, *, precision: Precision | str | None = None) -> MDArray:
    """Return the companion matrix of a polynomial; as `scipy.linalg.companion`.

    Parameters
    ----------
    a : array_like
        Coefficients ``(..., n + 1)``, that of the highest power first, which is not zero; n is at
        least 1.
    precision : Precision or str, optional
        The precision of the matrix; by default that of `a`.

    Returns
    -------
    MDArray
        Matrices ``(..., n, n)``: the first row is ``-a[1:] / a[0]``, below the diagonal are ones.

    Raises
    ------
    ValueError
        If there are less than two coefficients, or the first one is zero.

    Notes
    -----
    Quotients are rounded: its eigenvalues are roots of a polynomial close to that of `a`.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.companion(mdqr.array([1, -10, 31, -30], precision=mdqr.qd)).to_numpy().tolist()
    [[10.0, -31.0, 30.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    inputs = gather(a, precision=precision)
    given = _whole(inputs, 0)
    n = given.shape[-1] - 1 if given.ndim else 0
    if n < 1:
        raise ValueError(f"companion: a must have two coefficients; got shape {given.shape}")
    if (given[..., 0] == 0).any():
        raise ValueError("companion: the first coefficient must not be zero")
    row = -given[..., 1:] / given[..., :1]
    found = zeros((*row.shape, n), precision=row.precision, dtype=row.dtype, device=row.device)
    found[..., 0, :] = row
    k = np.arange(n - 1)
    found[..., k + 1, k] = 1.0
    return found.astype(inputs.precision)
