"""Determinants, their logarithms, and what is known of their errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, NoReturn, overload

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import native_abs
from mdqr._docstrings import documented
from mdqr._errors import warn_of_precision
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Progress, Report, with_report
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor.determinants.elimination import Scaled
from mdqr.linalg._factor.determinants.inverse import eps_of
from mdqr.linalg._factor.determinants.problem import Problem, cut_off
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.info import Info, WithInfo

_UP = 1.0 + 2.0**-30
_SMALLEST = 2.0**-1074


class _SignAndLogarithm(NamedTuple):
    sign: MDArray
    logabsdet: MDArray


class SlogdetResult(WithInfo, _SignAndLogarithm):
    """Sign and logarithm of determinants.

    Attributes
    ----------
    sign : MDArray
        -1, 0 or 1, or a complex number of modulus 1 or 0: ``(...)``.
    logabsdet : MDArray
        The natural logarithm of the modulus, real; -inf for 0.
    info : Info
        Error bounds and correct digits of `logabsdet`.
    """

    info: Info


SlogdetResult.__module__ = "mdqr.linalg"


@overload
def det(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = ...,
    data_error: Mapping[str, Any] | None = ...,
    return_info: Literal[False] = ...,
    progress: Progress = ...,
) -> MDArray: ...
@overload
def det(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = ...,
    data_error: Mapping[str, Any] | None = ...,
    return_info: Literal[True],
    progress: Progress = ...,
) -> tuple[MDArray, Info]: ...
@takes_hints
def det(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    return_info: bool = False,
    progress: Progress = None,
) -> MDArray | tuple[MDArray, Info]:
    """Return determinants; as `numpy.linalg.det`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    precision : Precision or str, optional
        The precision of the determinants; by default the precision of `a`.
    data_error : dict, optional
        Errors of the entries, ``a_atol + a_rtol * abs(a)``: keys "a_atol", "a_rtol". By default
        half a unit of the last place of the precision in which `a` is given.
    return_info : bool, optional
        Return ``(determinants, info)``, with error bounds and correct digits.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)``; True for a bar. The stages are "factor", by
        columns, in each precision that it takes, and "eliminate", by matrices, in integers.

    Returns
    -------
    MDArray
        The determinants, ``(...)``. Those that are zero are exactly zero where integers show it.
    Info
        Only with `return_info`. `condition` bounds ``trace(abs(A^-1) abs(A))``: relative changes of
        the entries change the determinant by so many times that, to first order.

    Raises
    ------
    ValueError
        If `a` is not square, or `data_error` has unknown keys or negative values.
    TypeError
        If `data_error` is not a dict, or `progress` is neither callable nor a bool.
    numpy.linalg.LinAlgError
        If an entry is not finite, or a determinant is beyond the largest double.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    Warns
    -----
    PrecisionWarning
        If a relative error is not shown to be below ``(4 n + 32) eps``, with the digits that are,
        or if a determinant is below `Precision.tiny`.
    DataPrecisionWarning
        If entries that may have been rounded determine no digit of a determinant.

    See Also
    --------
    slogdet : The logarithm, which is in range for all matrices.

    Notes
    -----
    All bounds are proven. Of a few matrices of order 6 or less the determinants are exact, by
    integers (E. H. Bareiss 1968), and rounded once. Others are products of the pivots of
    ``P A = L U`` in the next precision, and in higher ones while the errors E of these factors may
    change too many digits. They change the determinant by ``prod(r_i + e_i) - prod(r_i)`` at most,
    r and e the norms of the rows of A and of E (J. Hadamard 1893). Relative to the determinant it
    is ``prod(1 + m_i) - 1``, m the norms of the rows of ``A^-1 E``, with an inverse that is shown
    to be near enough. In hd they are corrected by the trace of ``A^-1 (P A - L U)``. A determinant
    is an integer times a power of two: once the bound is below half of that the nearest multiple is
    taken, which is exact, zero or not. Matrices that hd leaves open are eliminated in integers if
    that takes no longer than about two seconds.

    Examples
    --------
    >>> import mdqr
    >>> i = mdqr.arange(1, 11, precision=mdqr.qd)
    >>> mdqr.linalg.det(1 / (i[:, None] + i - 1)).to_strings(digits=20)  # the Hilbert matrix
    array('2.1641792264314918691e-53', dtype=object)
    >>> found, info = mdqr.linalg.det([[2, -2, 1], [-3, 9, 3], [7, -1, 8]], return_info=True)
    >>> float(found), float(info.error_bound)
    (0.0, 0.0)
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(det, locals())
    problem = Problem("det", a, precision, data_error, progress)
    block, wide, kind = _determinants(problem)
    inputs, field = problem.inputs, problem.inputs.is_complex
    problem.warn_of_digits()
    problem.report = None
    small = _are_small(problem, block)
    if small.any():
        warn_of_precision(
            "linalg.det",
            "a determinant is below the smallest numbers that have all limbs, and loses digits; "
            "slogdet has its logarithm",
            precision=inputs.precision,
            index=problem.place(small),
        )
    found = MDArray._wrap(problem.shaped(block, field).copy(), inputs.precision, field)
    if not return_info:
        return found

    xp = problem.backend.xp
    size = native_abs(block, field)

    def error_bound() -> Block:
        return _error_bound(problem, block, wide, kind)

    def host(values: Block) -> np.ndarray:
        return fetch(values)[0].reshape(problem.batch)

    def data_error_bound() -> np.ndarray:
        with np.errstate(over="ignore"):
            moved = xp.where(
                problem.data_error > -xp.inf, xp.exp2(problem.data_error) + _SMALLEST, 0
            )
        return host((error_bound() + moved) * _UP)

    info = Info(
        inputs.precision,
        lambda: host(size),
        lambda: host(error_bound()),
        data_error_bound,
        condition=lambda: problem.condition,
    )
    return found, info


def _determinants(problem: Problem) -> tuple[Block, Block | None, Kind]:
    """Return the determinants as a block ``(batch,)``, and with all limbs that were found.

    The latter is None where they are known as integers.
    """
    inputs, known, field = problem.inputs, problem.integers, problem.inputs.is_complex
    limbs = inputs.precision.limbs
    if known is not None:
        try:
            parts = [x.limbs(limbs) for x in known]
        except OverflowError:
            _raise_overflow()
        block = np.array(parts).reshape(len(known), 1 + field, limbs).transpose(1, 2, 0)
        block = problem.backend.xp.asarray((block if field else block[0]).copy())
        return block, None, Kind(limbs, field)
    found = problem.scaled
    kind = Kind(int(found.value.shape[field]), field)
    wide = problem.backend.ldexp(found.value, found.exponent, is_complex=field)
    narrow = planes.narrow(wide, field, limbs) if limbs < kind.limbs else wide
    checks = Checks()
    checks.require(scaling.finite(narrow, field), _raise_overflow)
    checks.settle()
    return narrow, wide, kind


def _are_small(problem: Problem, block: Block) -> np.ndarray:
    """Return the mask of determinants that lost limbs below the smallest doubles, ``(batch,)``."""
    tiny, field = problem.inputs.precision.tiny, problem.inputs.is_complex
    if problem.integers is not None:
        least = math.log2(tiny)
        sizes = [x.size > 0 and x.size + x.exponent <= least for x in problem.integers]
        return np.array(sizes, dtype=bool)
    small = (native_abs(block, field) < tiny) & ~_is_zero(problem)
    return fetch(small)[0]


def _is_zero(problem: Problem) -> Block:
    """Return whether determinants are exactly zero, bool ``(batch,)``."""
    if problem.integers is not None:
        return problem.backend.xp.asarray([x.size == 0 for x in problem.integers], dtype=bool)
    return scaling.magnitude_bits(problem.scaled.value, problem.inputs.is_complex) == 0


def _error_bound(problem: Problem, block: Block, wide: Block | None, kind: Kind) -> Block:
    """Bound the errors of `block`: those of `wide`, what rounding cut off, and what underflowed."""
    backend, xp, field = problem.backend, problem.backend.xp, kind.is_complex
    if wide is None:
        known, (limbs,) = problem.integers or [], fetch(block)
        return xp.asarray([x.distance(limbs[..., i]) for i, x in enumerate(known)])
    error = problem.scaled.error
    with np.errstate(over="ignore"):
        bound = xp.where(error > -xp.inf, xp.exp2(error) * _UP + _SMALLEST, 0.0)
    size = native_abs(wide, field)
    least = 2.0 ** (53 * kind.limbs - 960)
    lost = xp.where((size < least) & ~_is_zero(problem), 8.0 * kind.limbs * _SMALLEST, 0.0)
    return bound + cut_off(backend, wide, block, kind) + lost


@documented(det)
def slogdet(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> SlogdetResult:
    """Return signs of determinants and logarithms of their moduli; as `numpy.linalg.slogdet`.

    A relative error of the determinant is an absolute one of its logarithm.

    Parameters
    ----------
    precision : Precision or str, optional
        The precision of the results; by default the precision of `a`.
    data_error : dict, optional
        The same as for `det`.

    Returns
    -------
    SlogdetResult
        The fields `sign` and `logabsdet`, and the attribute `info`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If an entry is not finite.

    Warns
    -----
    PrecisionWarning
        As `det`, but not of small determinants.
    DataPrecisionWarning
        As `det`.

    See Also
    --------
    det : The determinants, and how they are found.

    >>> sign, logabsdet = mdqr.linalg.slogdet(-1e300 * mdqr.eye(3, precision=mdqr.qd))
    >>> float(sign), float(logabsdet) == float(3 * mdqr.log(mdqr.qd(1e300)))
    (-1.0, True)
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(slogdet, locals())
    problem = Problem("slogdet", a, precision, data_error, progress)
    found, field = problem.scaled, problem.inputs.is_complex
    limbs = int(found.value.shape[field])
    kind, backend = Kind(limbs, field), problem.backend
    problem.warn_of_digits()
    problem.report = None
    value = planes.narrow(found.value, field, limbs)
    modulus = backend.unary("abs", value, kind=kind)
    divisor = modulus.copy()
    divisor[0] += backend.xp.where(scaling.magnitude_bits(modulus, False) == 0, 1.0, 0.0)
    if field:
        divisor = planes.complexify(divisor)
    sign = backend.binary("divide", value, divisor, kind=kind)
    wide = _logarithm(problem, modulus, found.exponent, kind.real)
    inputs = problem.inputs._replace(work=problem.inputs.precision)
    result = SlogdetResult(
        inputs.wrap(problem.shaped(sign, field)), inputs.wrap(problem.shaped(wide, False), False)
    )
    return result._described(_info_of_logarithm(problem, found, wide, kind.real))


def _info_of_logarithm(problem: Problem, found: Scaled, wide: Block, kind: Kind) -> Info:
    """Return the error bounds of logarithms, of which `wide` has all limbs."""
    precision, xp = problem.inputs.precision, problem.backend.xp
    limbs = precision.limbs
    eps = eps_of(kind)
    size = abs(wide[0])
    is_cut = int(found.value.shape[problem.inputs.is_complex]) > kind.limbs

    def host(values: Block) -> np.ndarray:
        return fetch(values)[0].reshape(problem.batch)

    @np.errstate(all="ignore")
    def moved(relative: Block) -> Block:
        """Bound the change of logarithms of values that change by ``2**relative`` of themselves."""
        ratio = xp.exp2(relative) * _UP
        return xp.where(ratio < 1.0, -xp.log1p(-xp.minimum(ratio, 0.9999999)), xp.inf)

    def error_bound() -> Block:
        narrow = planes.narrow(wide, False, limbs) if limbs < kind.limbs else wide
        finite = xp.isfinite(size)
        shown = planes.select(finite, wide, xp.zeros_like(wide))
        short = planes.select(finite, narrow, xp.zeros_like(narrow))
        # The last unit is for limbs that logarithms do not have.
        rounding = eps * (8.0 * xp.where(finite, size, 0.0) + 8.0 + is_cut)
        cut = cut_off(problem.backend, shown, short, kind)
        bound = moved(found.relative) + rounding + cut
        return xp.where((found.error == -xp.inf) & ~finite, 0.0, bound)

    def data_error_bound() -> Block:
        with np.errstate(invalid="ignore"):
            relative = problem.data_error - found.sizes
        return host(error_bound() + moved(xp.where(xp.isnan(relative), xp.inf, relative)))

    return Info(
        precision,
        lambda: host(size),
        lambda: host(error_bound()),
        data_error_bound,
        condition=lambda: problem.condition,
    )


def _logarithm(problem: Problem, modulus: Block, exponent: Block, kind: Kind) -> Block:
    """Return the logarithms of ``2**exponent modulus``."""
    backend = problem.backend
    two = kind.zeros(backend.xp, exponent.shape)
    two[0] = 2.0
    twos = planes.widen(exponent.astype(np.float64)[None], False, kind.limbs)
    with np.errstate(divide="ignore"):
        near = backend.unary("log", modulus, kind=kind)
    far = backend.binary("multiply", twos, backend.unary("log", two, kind=kind), kind=kind)
    return backend.binary("add", near, far, kind=kind)


def _raise_overflow() -> NoReturn:
    raise np.linalg.LinAlgError(
        "det: a determinant is beyond the largest double; slogdet has its logarithm"
    )
