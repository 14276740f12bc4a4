"""Test matrices whose entries fill every limb."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import shown
from mdqr._precision import Precision, as_precision
from mdqr._typing import PrecisionLike
from mdqr.random import _generator
from mdqr.testing._exact import Integers, from_integers
from mdqr.testing._rotations import with_singular_values

__all__ = ["MATRIX_KINDS", "matrix"]

GUARD: Final = 64  # bits of fixed-point entries below those of the precision


class _Request(NamedTuple):
    m: int
    n: int
    cond: Any
    precision: Precision
    is_complex: bool
    rng: np.random.Generator

    @property
    def rank(self) -> int:
        return min(self.m, self.n)

    @property
    def bits(self) -> int:
        return self.precision.bits + GUARD


def matrix(
    kind: str,
    m: int,
    n: int,
    *,
    cond: float | Fraction | None = None,
    precision: PrecisionLike,
    dtype: type = float,
    rng: Any = None,
) -> MDArray:
    """Return an ``m`` by ``n`` test matrix.

    Parameters
    ----------
    kind : str
        - "random": ``U diag(s) V^H`` with random factors, orthogonal to less than `eps`, and
          singular values in geometric progression from 1 to ``1 / cond`` (default 100).
        - "graded": a "random" matrix of condition 10 with column j scaled by about
          ``cond**(-j / (n - 1))``, a power of two (default: 2**-20 from column to column).
        - "rank_deficient": of rank ``max(1, min(m, n) // 2)``, to the last bit.
        - "zero_columns": "random" with column ``n // 2`` zero, and column 0 if `n` is above 3.
        - "hilbert": ``1 / (i + j + 1)``.
        - "vandermonde": ``x[i]**j`` with ``x[i] = (i + 1) / m``.
        - "laeuchli": ones over ``delta I`` over zeros; its Gram matrix is singular to working
          precision when ``delta**2 < eps`` (default: ``delta**2`` is below ``2**-bits``).
        - "kahan": upper triangular ``diag(1, s, s**2, ...)`` times a unit triangle of ``-c``,
          with ``s = 12/13`` and ``c = 5/13``: nearly singular, and the diagonal of R does not tell.
    m, n : int
        The shape, at least 1 each; "laeuchli" needs ``m > n``, "kahan" ``m >= n``.
    cond : float or Fraction, optional
        The 2-norm condition number of "random" and "laeuchli", met to a relative error of about
        ``cond * eps``; for "graded" the ratio of the column scales. Other kinds take none.
    precision : Precision or str
        Of the entries.
    dtype : {float, complex}, default: float
        The field. Complex "hilbert", "laeuchli" and "kahan" matrices are the real ones times
        powers of the imaginary unit in rows and columns; the complex nodes of "vandermonde" are
        ``x[i] (3 + 4j) / 5``. That leaves singular values as they are.
    rng : int, numpy.random.Generator or None, optional
        For the random kinds, as in `mdqr.random.uniform`.

    Returns
    -------
    MDArray
        The matrix; entries are correctly rounded where they are rational.

    Raises
    ------
    ValueError
        If the kind is unknown, the shape does not suit it, or `cond` is below 1 or too large for
        the precision (above ``0.01 / eps``: rounding the entries would change it).

    Notes
    -----
    "laeuchli" is from Laeuchli, Numer. Math. 3 (1961); "kahan" from Kahan, Canad. Math. Bull. 9
    (1966).

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.testing.matrix("random", 6, 4, cond=1e50, precision=mdqr.qd, rng=0)
    >>> a.shape, a.precision
    ((6, 4), mdqr.qd)
    """
    if kind not in _KINDS:
        raise ValueError(f"no matrix kind {kind!r}; there are {', '.join(_KINDS)}")
    if m < 1 or n < 1:
        raise ValueError(f"a {m} by {n} matrix has no entries; m and n must be at least 1")
    if dtype not in (float, complex):
        raise ValueError(f"dtype is {shown(dtype)}; wanted float or complex")
    field = dtype is complex
    request = _Request(m, n, cond, as_precision(precision), field, _generator(rng))
    _check_cond(kind, request)
    limbs = request.precision.limbs
    parts = [from_integers(part, exponent, limbs) for part, exponent in _KINDS[kind](request)]
    block = np.stack(parts) if request.is_complex else parts[0]
    return MDArray._wrap(block, request.precision, request.is_complex)


def _check_cond(kind: str, request: _Request) -> None:
    cond, eps = request.cond, request.precision.eps
    if cond is None:
        return
    if kind not in ("random", "laeuchli", "graded"):
        raise ValueError(f"the condition of kind {kind!r} cannot be chosen; leave cond out")
    if not 1 <= cond < math.inf:
        raise ValueError(f"cond is {cond}; wanted a finite number of at least 1")
    if kind == "random" and cond > 0.01 / eps:
        raise ValueError(
            f"cond {float(cond):.3g} is too large for {request.precision.name} (at most "
            f"{0.01 / eps:.3g}); take a higher precision"
        )


Parts = list[tuple[Integers, int]]  # real and imaginary integers, each with a binary exponent


def _random(request: _Request) -> Parts:
    return _progression(request, 100 if request.cond is None else request.cond)


def _progression(request: _Request, cond: Any) -> Parts:
    import mpmath

    bits, rank = request.bits, request.rank
    with mpmath.workprec(bits + 64):
        ratio = mpmath.mpf(1) / _mpf(cond)
        values = [
            int(mpmath.floor(mpmath.ldexp(ratio ** (mpmath.mpf(i) / max(rank - 1, 1)), bits)))
            for i in range(rank)
        ]
    parts = with_singular_values(
        request.m, request.n, values, bits, request.rng, request.is_complex
    )
    return [(part, -bits) for part in parts]


def _mpf(value: Any) -> Any:
    import mpmath

    fraction = Fraction(value)
    return mpmath.mpf(fraction.numerator) / fraction.denominator


def _graded(request: _Request) -> Parts:
    gaps = max(request.n - 1, 1)
    # without cond 20 bits a column, but not below 2**-400: the lower limbs must stay normal
    total = min(20 * gaps, 400) if request.cond is None else math.log2(request.cond)
    shifts = np.array([round(total * j / gaps) for j in range(request.n)], dtype=object)
    return [
        (part << (max(shifts) - shifts), exponent - max(shifts))
        for part, exponent in _progression(request, 10)
    ]


def _rank_deficient(request: _Request) -> Parts:
    """Multiply integer factors short enough for every entry to be exact."""
    rank = max(1, request.rank // 2)
    width = (request.precision.bits - rank.bit_length() - 3) // 2
    m, n, rng = request.m, request.n, request.rng
    left = [_words(rng, (m, rank), width) for _ in range(1 + request.is_complex)]
    right = [_words(rng, (rank, n), width) for _ in range(1 + request.is_complex)]
    if not request.is_complex:
        return [(left[0] @ right[0], -2 * width)]
    (a, b), (c, d) = left, right
    return [(a @ c - b @ d, -2 * width), (a @ d + b @ c, -2 * width)]


def _words(rng: np.random.Generator, shape: tuple[int, int], width: int) -> Integers:
    """Uniform integers of `width` bits and a sign."""
    total = np.zeros(shape, dtype=object)
    for _ in range(width // 30 + 1):
        total = (total << 30) + rng.integers(0, 2**30, size=shape).astype(object)
    excess = 30 * (width // 30 + 1) - width
    return (total >> excess) * (1 - 2 * rng.integers(0, 2, size=shape)).astype(object)


def _zero_columns(request: _Request) -> Parts:
    parts = _random(request)
    for part, _ in parts:
        part[:, request.n // 2] = 0
        if request.n > 3:
            part[:, 0] = 0
    return parts


def _hilbert(request: _Request) -> Parts:
    one = 1 << (request.bits + 2048)
    i, j = np.indices((request.m, request.n)).astype(object)
    return _phased(one // (i + j + 1), -request.bits - 2048, request)


def _vandermonde(request: _Request) -> Parts:
    shift = request.bits + 2048
    powers = range(request.n)
    nodes = range(1, request.m + 1)
    scale = [(5 if request.is_complex else 1) * request.m] * request.n
    phases = [(1, 0)]
    for _ in powers:
        re, im = phases[-1]
        phases.append((3 * re - 4 * im, 4 * re + 3 * im) if request.is_complex else (1, 0))
    parts = []
    for k in range(1 + request.is_complex):
        rows = [[(phases[j][k] * x**j << shift) // scale[j] ** j for j in powers] for x in nodes]
        parts.append((np.array(rows, dtype=object).reshape(request.m, request.n), -shift))
    return parts


def _laeuchli(request: _Request) -> Parts:
    m, n, bits = request.m, request.n, request.bits
    if m <= n:
        raise ValueError(f"kind 'laeuchli' has more rows than columns; given {m} by {n}")
    shift = 2 * bits + 2048
    if request.cond is None:
        delta = 1 << (shift - request.precision.bits // 2 - 1)
    elif request.cond <= 1:
        raise ValueError(f"cond is {request.cond}; a 'laeuchli' matrix has one above 1")
    else:  # cond**2 = (n + delta**2) / delta**2
        square = Fraction(n) / (Fraction(request.cond) ** 2 - 1)
        delta = math.isqrt((square.numerator << (2 * shift)) // square.denominator)
    entries = np.zeros((m, n), dtype=object)
    entries[0] = 1 << shift
    for j in range(n):
        entries[j + 1, j] = delta
    return _phased(entries, -shift, request)


def _kahan(request: _Request) -> Parts:
    m, n = request.m, request.n
    if m < n:
        raise ValueError(f"kind 'kahan' has no fewer rows than columns; given {m} by {n}")
    shift = request.bits + 2048
    entries = np.zeros((m, n), dtype=object)
    for i in range(n):
        entries[i, i] = (12**i << shift) // 13**i
        entries[i, i + 1 :] = -(5 * 12**i << shift) // 13 ** (i + 1)
    return _phased(entries, -shift, request)


def _phased(entries: Integers, exponent: int, request: _Request) -> Parts:
    """Multiply row i and column j of a complex matrix by ``1j**i`` and ``1j**j``."""
    if not request.is_complex:
        return [(entries, exponent)]
    turns = np.add.outer(np.arange(request.m), np.arange(request.n)) % 4
    real = np.array([1, 0, -1, 0], dtype=object)[turns]
    imag = np.array([0, 1, 0, -1], dtype=object)[turns]
    return [(entries * real, exponent), (entries * imag, exponent)]


_KINDS: Final[dict[str, Callable[[_Request], Parts]]] = {
    "random": _random,
    "graded": _graded,
    "rank_deficient": _rank_deficient,
    "zero_columns": _zero_columns,
    "hilbert": _hilbert,
    "vandermonde": _vandermonde,
    "laeuchli": _laeuchli,
    "kahan": _kahan,
}

MATRIX_KINDS: Final = tuple(_KINDS)
