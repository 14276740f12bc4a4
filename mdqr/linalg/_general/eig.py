"""Eigenvalues and eigenvectors of general matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._docstrings import documented
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Progress, Report, Reporter, with_report
from mdqr._typing import PrecisionLike
from mdqr.linalg._general.conclusion import Conclusion
from mdqr.linalg._general.operands import Operands, operands
from mdqr.linalg._general.results import EigInfo, EigResult
from mdqr.linalg._general.solver import info_of, solved, warn_of_data
from mdqr.linalg._shared.hints import takes_hints


@overload
def eig(
    a: Any,
    /,
    b: Any = None,
    left: bool = False,
    right: Literal[True] = True,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> EigResult: ...


@overload
def eig(
    a: Any,
    /,
    b: Any = None,
    *,
    left: Literal[True],
    right: bool = True,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> EigResult: ...


@overload
def eig(
    a: Any,
    /,
    b: Any = None,
    left: Literal[False] = False,
    *,
    right: Literal[False],
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> MDArray: ...


@overload
def eig(
    a: Any,
    /,
    b: Any,
    left: Literal[False],
    right: Literal[False],
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> MDArray: ...


@takes_hints
def eig(
    a: Any,
    /,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> EigResult | MDArray:
    """Return eigenvalues and eigenvectors of square matrices, and how near they are.

    As `numpy.linalg.eig`, with the options of `scipy.linalg.eig`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    b : array_like, optional
        Matrices ``(..., n, n)``: the eigenvalues of ``a v = w b v`` are returned.
    left, right : bool, optional
        Which eigenvectors to return.
    precision : Precision or str, optional
        The precision of the results; by default the highest of the operands.
    data_error : dict, optional
        Bounds of the errors of entries, ``{"a_atol": ..., "a_rtol": ..., "b_atol": ...}``, numbers
        or arrays that broadcast to a or b, as in `lstsq`. The default is half a unit in the last
        place of the precision in which the entries were given.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)``; True for a bar. The stages are "refine", steps
        whose number is not known before the last, and "certify", by matrices, for pairs after
        each. Where the steps do not converge, the QR algorithm runs once or more: "reduce", by
        columns, and "iterate", by eigenvalues.

    Returns
    -------
    EigResult or MDArray
        A tuple ``w, v``, with `left` ``w, vl, vr``, that has the field `info`; the eigenvalues
        alone if no vectors are requested.

    Raises
    ------
    ValueError
        If a matrix is not square, or `b` is of another order.
    TypeError
        If `data_error` is not a dict, or `progress` is neither callable nor a bool.
    numpy.linalg.LinAlgError
        If an entry is not finite, an eigenvalue is beyond the largest double, the QR algorithm
        does not converge, or ``a - s b`` is singular for every s.
    MemoryError
        If memory for the vectors cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning
        If a pair is regular, but too near a singular one for every precision: its eigenvalues and
        their bounds are infinite.
    DataPrecisionWarning
        If errors of the entries, `data_error` or of rounding, leave an eigenvalue no digit.
        Entries that end before the last place of their precision count as exact here.

    See Also
    --------
    eigh : Hermitian matrices.
    schur : A triangular matrix that is unitarily similar.

    Notes
    -----
    The entries count as exact. ``info.error_bound`` is proven, with all rounding errors. It is at
    most ``4 eps`` of an eigenvalue itself, usually what the last rounding has cut off, while its
    condition, and what it is relative to the norm, are small relative to ``1 / eps``. Otherwise it
    is no more than about ``n * info.condition * eps * norm(a)``. ``info.data_error_bound`` holds
    for all matrices whose entries are within their errors. The k eigenvalues of a Jordan block, or
    k that rounding does not resolve, have bounds of about ``eps**(1/k)`` and ``info.multiplicity``
    of k; their vectors are nearly parallel. Where a condition is below ``eps**-0.5``,
    ``norm(a v - w v) <= 100 n eps norm(a) + n 2^-1060 (1 + norm(a))``: next to the smallest
    doubles, values and vectors lose their last limbs. Of real matrices, eigenvalues are exactly
    real or conjugate where that is proven.

    Rows and columns are scaled by powers of two. Eigenvectors of LAPACK are refined by products,
    with errors squared in each step. Eigenvalues that are too close together for that, and
    matrices for which LAPACK finds no independent vectors, take the QR algorithm in working
    precision (docs/explanation/eigenvalues.md). Everything is done on the host. The limbs depend
    on LAPACK, thus on its version, the kernels of its BLAS for the CPU, and its threads.

    Examples
    --------
    >>> import mdqr
    >>> found = mdqr.linalg.eig(mdqr.array([[0.0, 2.0], [1.0, 0.0]], precision=mdqr.qd))
    >>> found.eigenvalues[1].real.to_strings(digits=40).item()
    '1.414213562373095048801688724209698078570'
    >>> bool(found.info.error_bound.max() < 1e-62), found.info.multiplicity.tolist()
    (True, [1, 1])
    >>> a = mdqr.array([[1.0, 1.0], [0.0, 2.0]], precision=mdqr.qd)
    >>> w, vl, vr = mdqr.linalg.eig(a, left=True)
    >>> w.to_numpy().real.tolist()
    [1.0, 2.0]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(eig, locals())
    if not (left or right):
        return _values("eig", a, b, precision, data_error, progress)[0]
    given = operands("eig", [a] if b is None else [a, b], precision, data_error)
    found = solved("eig", given, left=left, right=right, report=progress)
    info = info_of(given, found)
    w = _wrapped(given, found, lambda one: one.values, given.shape)
    square = given.inputs.shape(0)
    vr = _wrapped(given, found, lambda one: one.right, square) if right else None
    vl = _wrapped(given, found, lambda one: one.left, square) if left else None
    warn_of_data("eig", given, found, info)
    return EigResult(w, vr, vl, info)


@overload
def eigvals(
    a: Any,
    /,
    b: Any = None,
    *,
    return_info: Literal[False] = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> MDArray: ...


@overload
def eigvals(
    a: Any,
    /,
    b: Any = None,
    *,
    return_info: Literal[True],
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> tuple[MDArray, EigInfo]: ...


@takes_hints
@documented(eig)
def eigvals(
    a: Any,
    /,
    b: Any = None,
    *,
    return_info: bool = False,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> MDArray | tuple[MDArray, EigInfo]:
    """Return eigenvalues of square matrices; as `scipy.linalg.eigvals`.

    The limbs depend on LAPACK, as in `eig`.

    Parameters
    ----------
    return_info : bool, optional
        Whether to return error bounds, too.

    Returns
    -------
    MDArray
        The eigenvalues, complex, ``(..., n)``: the same as by `eig`.
    EigInfo
        Their error bounds; only with `return_info`.

    Raises
    ------
    ValueError
        As `eig`.
    numpy.linalg.LinAlgError
        As `eig`.
    MemoryError
        As `eig`.

    Warns
    -----
    PrecisionWarning
        As `eig`.
    DataPrecisionWarning
        As `eig`.

    >>> a = mdqr.array([[0.0, -4.0], [1.0, 0.0]], precision=mdqr.qd)
    >>> mdqr.linalg.eigvals(a).to_numpy().tolist()
    [2j, -2j]
    >>> w, info = mdqr.linalg.eigvals(a, return_info=True)
    >>> bool((info.error_bound < 1e-60).all())
    True
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(eigvals, locals())
    values, info = _values("eigvals", a, b, precision, data_error, progress)
    return (values, info) if return_info else values


def _values(
    function: str,
    a: Any,
    b: Any,
    precision: PrecisionLike | None,
    data_error: Mapping[str, Any] | None,
    report: Reporter | None,
) -> tuple[MDArray, EigInfo]:
    """Return the eigenvalues alone, and their info."""
    given = operands(function, [a] if b is None else [a, b], precision, data_error)
    found = solved(function, given, left=False, right=False, report=report)
    warn_of_data(function, given, found)
    return _wrapped(given, found, lambda one: one.values, given.shape), info_of(given, found)


def _wrapped(
    given: Operands,
    found: list[Conclusion],
    part: Callable[[Conclusion], Block | None],
    shape: tuple[int, ...],
) -> MDArray:
    """Return the array of a part of what was found."""
    if not found:
        return given.inputs.wrap(Kind(given.inputs.precision.limbs, True).zeros(np, shape), True)
    blocks = [block for block in map(part, found) if block is not None]
    # A pair that is nearly singular may have taken more limbs than those before it.
    limbs = max(planes.limb_count(block, True) for block in blocks)
    blocks = [planes.widen(block, True, limbs) for block in blocks]
    block = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=2)
    kind = Kind(limbs, True)
    return given.inputs.wrap(block.reshape(kind.planes(shape)), True).to_device(given.device)
