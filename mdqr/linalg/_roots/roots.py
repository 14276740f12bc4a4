"""Roots of polynomials, and companion matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import DataPrecisionWarning, place_of_least, warn_of_precision
from mdqr._functions.filled import zeros
from mdqr._limbs import planes
from mdqr._limbs.device import host_block
from mdqr._precision import Precision
from mdqr._progress import Progress, Report, with_report
from mdqr._typing import PrecisionLike
from mdqr.linalg._roots.values import Given, found_roots
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.data_error import (
    Errors,
    check_data_error,
    may_be_rounded,
    operand_errors,
)
from mdqr.linalg._shared.info import Info, WithInfo
from mdqr.linalg._shared.operands import Inputs, data_precision, entry_unit, gather

# Fewer digits that hold for all data within their errors are worth a warning.
_FEW = 2.0


class _Fields(NamedTuple):
    roots: MDArray
    error_bound: np.ndarray
    multiplicity: np.ndarray


class RootsResult(WithInfo, _Fields):
    """Roots of a polynomial of degree n, and disks that contain the exact ones; three fields.

    Attributes
    ----------
    roots : MDArray
        Complex, ``(n,)``, by decreasing modulus.
    error_bound : numpy.ndarray
        float64 ``(n,)``: the exact roots can be numbered so that each is that near to its value.
    multiplicity : numpy.ndarray
        int64 ``(n,)``: 1 where the disk has one root, otherwise the number of roots of which the
        value is one, in as many disks that meet. They are a multiple root, or some that rounding
        makes one.
    info : Info
        No field of the tuple; its `error_bound` is that of the tuple, and `data_error_bound` holds
        for the roots of all polynomials whose coefficients are within their errors.
    """

    info: Info


RootsResult.__module__ = "mdqr.linalg"


def roots(
    p: Any,
    /,
    *,
    data_error: Mapping[str, Any] | None = None,
    precision: PrecisionLike | None = None,
    progress: Progress = None,
) -> RootsResult:
    """Return the roots of a polynomial, and disks that contain them.

    Parameters
    ----------
    p : array_like
        The coefficients ``(n + 1,)``, the highest power first, as `numpy.roots` takes
        them: leading zeros lower the degree, trailing ones are roots that are exactly zero.
    data_error : dict, optional
        Bounds of the errors of the coefficients, ``p_atol + p_rtol * abs(p)``, with the keys
        ``"p_atol"`` and ``"p_rtol"``: numbers, or arrays that broadcast to `p`. By default they
        count as rounded to half a unit in the last place of the precision in which they were
        given. They make `info.data_error_bound` and `info.data_digits`, and change nothing else.
    precision : Precision or str, optional
        The precision of the roots; by default the precision of `p`.
    progress : callable or bool, optional
        Called as ``progress("roots", done, total)`` with numbers of roots that have a disk of their
        own or are known to be multiple; True for a bar. Zeros at the end of `p` do not count.

    Returns
    -------
    RootsResult
        The fields `roots`, always complex, `error_bound` and `multiplicity`, and the attribute
        `info`. `numpy.roots` of an `MDArray` gives the field `roots` alone.

    Raises
    ------
    ValueError
        If `p` does not have one axis, or `data_error` does not fit.
    TypeError
        If `data_error` is not a dict, or `progress` is neither callable nor a bool.
    numpy.linalg.LinAlgError
        If a coefficient is not finite, or a root is beyond the largest double.

    Warns
    -----
    DataPrecisionWarning
        If errors of the coefficients leave fewer than two digits of a root: those that
        `data_error` states, or half a unit in the last place. The latter are assumed of
        coefficients that may have been rounded, as those whose last limb is full.

    See Also
    --------
    eigvals : Eigenvalues, such as the ones of `companion`.

    Notes
    -----
    `error_bound` and `multiplicity` refer to the coefficients as they are stored. They are proven,
    rounding errors included. A bound is what rounding to the limbs of the answer cuts off and
    hardly more, also of a multiple root. If its multiplicity k times the bits of the answer is more
    than 8192, the bound is about ``2**(-8192 / k)`` of the root. Where disks
    prove it, roots of real polynomials have an imaginary part that is exactly zero, or are exactly
    conjugate. `info.data_error_bound` is proven, too; it is infinite where the leading coefficient
    is not known to differ from zero.

    Roots follow each other by decreasing modulus; those whose disks do not separate the moduli, as
    conjugate ones, by decreasing real part, then imaginary part. What is rounded may change that
    order by a unit in the last place.

    Aberth's iteration in double precision from the Newton polygon, Newton's method in integers of
    as many bits as it needs, Pellet's theorem for the disks. No BLAS or LAPACK takes part, so that
    the limbs do not depend on them. The work is done on the host. References in
    docs/explanation/sources.md.

    Examples
    --------
    >>> import mdqr
    >>> found = mdqr.linalg.roots(mdqr.array([1, 0, -2], precision=mdqr.qd))
    >>> found.roots[0].real.to_strings(digits=40).item()
    '1.414213562373095048801688724209698078570'
    >>> bool(found.error_bound.max() < 1e-63), found.multiplicity.tolist()
    (True, [1, 1])
    >>> mdqr.linalg.roots(mdqr.array([1, -3, 3, -1], precision=mdqr.qd)).multiplicity.tolist()
    [3, 3, 3]
    >>> found = mdqr.linalg.roots([1, 0, -2], data_error={"p_atol": 1e-6}, precision="dd")
    >>> found.info.data_digits.round(1).tolist()
    [6.0, 6.0]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(roots, locals())
    check_data_error("roots", data_error, ("p",))
    inputs, checks = gather(p, precision=precision), Checks()
    shape = inputs.shape(0)
    if len(shape) != 1:
        raise ValueError(f"roots: p must have one axis; got shape {shape}")
    checks.require_finite("roots", "p", inputs.blocks[0][..., None], inputs.is_complex)
    known = data_precision(p, inputs.work)
    unit = entry_unit(p, known)
    errors = operand_errors("roots", data_error, "p", shape, unit, inputs, checks)
    checks.settle()
    # Roots are found on the host.
    block = host_block(inputs.blocks[0])
    atol, rtol = (host_block(x) if hasattr(x, "get") else x for x in errors)
    given = Given(block, inputs.is_complex, Errors(atol, rtol))
    found = found_roots(given, inputs.precision, progress)
    values = MDArray._wrap(found.block.copy(), inputs.precision, True)
    if not np.isfinite(found.radii).all():
        checks.require_in_range("roots", "the roots", found.block[..., None], True)
    info = Info(
        inputs.precision,
        found.sizes,
        found.radii,
        lambda: found.data_bounds(known.bits),
        condition=found.conditions,
    )
    result = RootsResult(
        values.to_device(MDArray._wrap(inputs.blocks[0], inputs.work, inputs.is_complex).device),
        found.radii.copy(),
        found.counts,
    )._described(info)
    if (
        (data_error is not None or may_be_rounded(block, inputs.is_complex, known.limbs))
        and found.may_be_lost(unit if data_error is None else None)
        and np.min(info.data_digits, initial=_FEW) < _FEW
    ):
        _warn(info, data_error is not None, known)
    return result


def _warn(info: Info, stated: bool, known: Precision) -> None:
    reason = (
        "the errors of p that data_error states"
        if stated
        else f"errors of p of half a unit in the last place of precision {known.name}"
    )
    place = place_of_least(info.data_digits)
    digits = float(info.data_digits[place])
    warn_of_precision(
        "linalg.roots",
        f"a root has {digits:.1f} digits that hold for {reason}: see info.data_digits of "
        "mdqr.linalg.roots"
        + ("" if stated else "; exact coefficients in a higher precision have more"),
        digits=digits,
        precision=info.precision,
        index=place,
        category=DataPrecisionWarning,
    )


def _whole(inputs: Inputs, index: int) -> MDArray:
    """Return an operand with all limbs of the work."""
    block = planes.widen(inputs.blocks[index], inputs.is_complex, inputs.work.limbs)
    return MDArray._wrap(block, inputs.work, inputs.is_complex)


def companion(p: Any, /, *, precision: PrecisionLike | None = None) -> MDArray:
    """Return the companion matrix of a polynomial; as `scipy.linalg.companion`.

    Parameters
    ----------
    p : array_like
        Coefficients ``(..., n + 1)``, the highest power first, which is not zero; n is at
        least 1.
    precision : Precision or str, optional
        The precision of the matrix; by default the precision of `p`.

    Returns
    -------
    MDArray
        Matrices ``(..., n, n)``: the first row is ``-p[1:] / p[0]``, below the diagonal are ones.

    Raises
    ------
    ValueError
        If fewer than two coefficients are given, or the first one is zero.

    Notes
    -----
    Quotients are rounded: its eigenvalues are roots of a polynomial close to the one that `p`
    defines.

    Examples
    --------
    >>> import mdqr
    >>> mdqr.linalg.companion(mdqr.array([1, -10, 31, -30], precision=mdqr.qd)).to_numpy().tolist()
    [[10.0, -31.0, 30.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    inputs = gather(p, precision=precision)
    given = _whole(inputs, 0)
    n = given.shape[-1] - 1 if given.ndim else 0
    if n < 1:
        raise ValueError(f"companion: p must have two coefficients; got shape {given.shape}")
    if (given[..., 0] == 0).any():
        raise ValueError("companion: the first coefficient must not be zero")
    row = -given[..., 1:] / given[..., :1]
    found = zeros((*row.shape, n), precision=row.precision, dtype=row.dtype, device=row.device)
    found[..., 0, :] = row
    k = np.arange(n - 1)
    found[..., k + 1, k] = 1.0
    return found.astype(inputs.precision)
