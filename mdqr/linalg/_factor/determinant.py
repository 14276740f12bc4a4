"""Determinants: products of pivots, corrected by the residual of the factors."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._errors import PrecisionWarning
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind, diagonal
from mdqr._precision import PRECISIONS, Precision
from mdqr.linalg._factor import lu
from mdqr.linalg._factor.triangular import substitute
from mdqr.linalg._shared.checks import Checks, fetch
from mdqr.linalg._shared.operands import Inputs, gather, memory_guard, square_order

# Of 2**-480: the product of two doubles above that is the sum of two doubles.
_LEAST_BITS = (1023 - 480) << 52
_GOLDEN = 0.6180339887498949
_PROBES = 4


class SlogdetResult(NamedTuple):
    """Sign and logarithm of determinants.

    Attributes
    ----------
    sign : MDArray
        -1, 0 or 1, or a complex number of modulus 1 or 0: ``(...)``.
    logabsdet : MDArray
        The natural logarithm of the modulus, real; -inf for 0.
    """

    sign: MDArray
    logabsdet: MDArray


SlogdetResult.__module__ = "mdqr.linalg"


class _Scaled(NamedTuple):
    """Determinants ``2**exponent value`` of a batch; `error` bounds the relative errors.

    The moduli of the values are between 2**-0.5 and 2**0.5, or 0.
    """

    value: Block
    exponent: Block
    error: np.ndarray

    def worst(self) -> float:
        """Return the largest bound."""
        return float(self.error.max(initial=0.0))


class _Sizes(NamedTuple):
    """Of ``Z = U^-1 L^-1 R``: the Frobenius norm, and an estimate of its relative error, `near`.

    `loss` estimates what errors of eps in ``abs(L) abs(U)`` change, in the precision of the work.
    """

    norm: Block
    near: Block
    loss: Block


def det(a: Any, *, precision: Precision | str | None = None) -> MDArray:
    """Return determinants; as `numpy.linalg.det`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    precision : Precision or str, optional
        The precision of the determinants; by default that of `a`.

    Returns
    -------
    MDArray
        The determinants, ``(...)``.

    Raises
    ------
    ValueError
        If `a` is not square.
    numpy.linalg.LinAlgError
        If an entry is not finite, or a determinant is beyond the largest double.
    MemoryError
        If there is no memory for the factors; with what was wanted.

    Warns
    -----
    PrecisionWarning
        If a relative error is not shown to be below ``(4 n + 32) eps``, with the digits that are,
        or a determinant is below `Precision.tiny`.

    See Also
    --------
    slogdet : The logarithm, which is in range for all matrices.

    Notes
    -----
    With ``P A = L U + R``, R computed as if in twice the limbs, ``det(A) = det(P) det(U)
    det(I + Z)`` for ``Z = U^-1 L^-1 R``, and ``det(I + Z) = 1 + trace(Z)`` but for ``n |Z|_F^2``.
    Rows and columns are scaled by powers of two before. Rounding errors within Z are estimated from
    ``U^-1 L^-1 d`` for some d with the sizes of the rows of ``abs(L) abs(U)``: the bound is no
    proof. Matrices whose digits it does not show are factored again, with more limbs.

    Examples
    --------
    >>> import mdqr
    >>> i = mdqr.arange(1, 11, precision=mdqr.qd)
    >>> mdqr.linalg.det(1 / (i[:, None] + i - 1)).to_strings(digits=20)  # the Hilbert matrix
    array('2.1641792264314918691e-53', dtype=object)
    """
    inputs, found = _determinants("det", a, precision)
    checks, field, backend = Checks(), inputs.is_complex, inputs.backend
    block = backend.ldexp(found.value, found.exponent, is_complex=field)
    checks.require(scaling.finite(block, field), _raise_overflow)
    checks.settle()
    value, least = fetch(scaling.leading(block, field), scaling.leading(found.value, field))
    if ((value < inputs.precision.tiny) & (least != 0)).any():
        warnings.warn(
            "det: a determinant is below the smallest numbers that have all limbs, and loses "
            "digits; slogdet has its logarithm",
            PrecisionWarning,
            stacklevel=2,
        )
    return inputs.wrap(block)


def slogdet(a: Any, *, precision: Precision | str | None = None) -> SlogdetResult:
    """Return signs of determinants and logarithms of their moduli; as `numpy.linalg.slogdet`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    precision : Precision or str, optional
        The precision of the results; by default that of `a`.

    Returns
    -------
    SlogdetResult
        The fields `sign` and `logabsdet`.

    Raises
    ------
    ValueError
        If `a` is not square.
    numpy.linalg.LinAlgError
        If an entry is not finite.
    MemoryError
        If there is no memory for the factors; with what was wanted.

    Warns
    -----
    PrecisionWarning
        As `det`.

    See Also
    --------
    det : The determinants, and how they are found.

    Notes
    -----
    A relative error of the determinant is an absolute one of its logarithm.

    Examples
    --------
    >>> import mdqr
    >>> sign, logabsdet = mdqr.linalg.slogdet(-1e300 * mdqr.eye(3, precision=mdqr.qd))
    >>> float(sign), float(logabsdet) == float(3 * mdqr.log(mdqr.qd(1e300)))
    (-1.0, True)
    """
    inputs, found = _determinants("slogdet", a, precision)
    kind, backend = inputs.kind, inputs.backend
    modulus = backend.unary("abs", found.value, kind=kind)
    one = backend.xp.where(scaling.magnitude_bits(modulus, False) == 0, 1.0, 0.0)
    divisor = modulus.copy()
    divisor[0] += one
    if kind.is_complex:
        divisor = planes.complexify(divisor)
    sign = inputs.wrap(backend.binary("divide", found.value, divisor, kind=kind))
    return SlogdetResult(sign, inputs.wrap(_logarithm(inputs, modulus, found.exponent), False))


def _logarithm(inputs: Inputs, modulus: Block, exponent: Block) -> Block:
    """Return the logarithms of ``2**exponent modulus``."""
    backend, kind = inputs.backend, inputs.kind.real
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


def _determinants(
    function: str, a: Any, precision: Precision | str | None
) -> tuple[Inputs, _Scaled]:
    """Return determinants in the precision of the work, or of the first that shows all digits."""
    inputs, checks = gather(a, precision=precision), Checks()
    n = square_order(function, "a", inputs.shape(0))
    field, batch, backend = inputs.is_complex, inputs.shape(0)[:-2], inputs.backend
    checks.require_finite(function, "a", inputs.blocks[0], field)
    checks.settle()
    given = lu.flat(inputs.blocks[0], field)
    target = (4 * n + 32) * inputs.precision.eps
    with memory_guard(function, inputs, 6 * n * n, "take fewer unknowns"):
        rows = scaling.row_powers(scaling.magnitude_bits(given, field))
        near, columns = backend.balance_columns(given, rows, is_complex=field)
        kept = _of_matrices((_bits(near) == 0) == (_bits(given) == 0))
        found, inputs = _with_all_digits(inputs, near, kept, target)
        found = found._replace(exponent=found.exponent - (rows + columns).sum(axis=-1))
    if found.worst() > target:
        digits = max(0.0, -math.log10(min(found.worst(), 1.0)))
        warnings.warn(
            f"{function}: {min(digits, inputs.precision.digits):.1f} of "
            f"{inputs.precision.digits} digits are shown to be right: a matrix is singular or too "
            f"near to it for {inputs.work.name}",
            PrecisionWarning,
            stacklevel=3,
        )
    front = found.value.shape[: 1 + field]
    value, exponent = found.value.reshape(*front, *batch), found.exponent.reshape(batch)
    return inputs, _Scaled(value, exponent, found.error)


def _with_all_digits(
    inputs: Inputs, a: Block, kept: Block, target: float
) -> tuple[_Scaled, Inputs]:
    """Return determinants of scaled matrices ``(batch, n, n)``, and inputs with the last work.

    Those whose relative errors are not shown to be below `target` are found again, with more limbs.
    """
    backend, kind = inputs.backend, inputs.kind
    found = _of_factors(lu.factor(backend, a, kind), a, kept)
    for work in (p for p in PRECISIONS if p > inputs.work):
        (places,) = np.nonzero(found.error > target)
        if not places.size:
            break
        inputs = inputs._replace(work=work)
        kind, chosen = inputs.kind, backend.xp.asarray(places.tolist())
        part = a[..., chosen, :, :]
        again = _of_factors(lu.factor(backend, part, kind), part, kept[chosen])
        found = found._replace(value=planes.widen(found.value, kind.is_complex, kind.limbs))
        found.value[..., chosen], found.exponent[chosen] = again.value, again.exponent
        found.error[places] = again.error
    return found, inputs


@np.errstate(all="ignore")
def _of_factors(known: lu.Pivoted, a: Block, kept: Block) -> _Scaled:
    """Return the determinants of matrices ``(batch, n, n)`` from their factors.

    `kept`: whether `a` is the matrix that was given, up to powers of two.
    """
    backend, kind, n = known.backend, known.kind, int(a.shape[-1])
    xp, eps = backend.xp, _eps(kind)
    pivots = diagonal(known.lu)
    value, exponent = _product(backend, pivots, kind)
    odd = ((known.swaps != xp.arange(n)).sum(axis=-1) & 1) == 1
    value = planes.select(odd, planes.negate(value, kind.is_complex), value)
    trace, (size, near, loss), exact = _correction(known, a)
    exact = exact & kept
    usable = (size < 1.0) & (near < 1.0) & ~exact & ~known.singular()
    trace = planes.select(usable, trace, kind.zeros(xp, usable.shape))
    factor = backend.binary("add", _ones(xp, kind, usable.shape), trace, kind=kind)
    value = backend.binary("multiply", value, factor, kind=kind)
    value, more = _near_one(backend, value, kind)
    rounding = ((4 if kind.is_complex else 2) * n + 8) * eps
    error = 2.0 * n * size * (size + near) + n * eps * loss
    error = xp.where(exact, 0.0, xp.where(usable, error, xp.inf)) + rounding
    return _Scaled(value, exponent - known.powers.sum(axis=-1) + more, fetch(error)[0])


def _eps(kind: Kind) -> float:
    return next(p.eps for p in PRECISIONS if p.limbs == kind.limbs)


def _bits(limbs: Block) -> Block:
    """Return the bits of moduli: who flushes subnormals would take them for zeros."""
    return abs(limbs).view(np.int64)


def _of_matrices(flags: Block) -> Block:
    """Return whether the flags of all limbs of a matrix are true, bool ``(batch,)``."""
    return flags.all(axis=(*range(flags.ndim - 3), -2, -1))


def _multiplies_exactly(block: Block) -> Block:
    """Return whether products of two limbs cannot underflow, bool ``(batch,)``."""
    bits = _bits(block)
    return _of_matrices((bits == 0) | (bits >= _LEAST_BITS))


def _correction(known: lu.Pivoted, a: Block) -> tuple[Block, _Sizes, Block]:
    """Return the trace of ``Z = U^-1 L^-1 R``, what its error is judged by, and whether R is 0.

    Where the condition number is small, so is Z, and few limbs of it count: so many are computed.
    """
    backend, kind, xp = known.backend, known.kind, known.backend.xp
    n, field = int(a.shape[-1]), kind.is_complex
    lower, upper = xp.tril(known.lu, -1), xp.triu(known.lu)
    planes.set_unit_diagonal(lower, field)
    given = lu.permuted(planes.widen(a, field, kind.limbs), known.order(n))
    r = backend.residual([(1, given)], lower, upper, kind=kind)
    exact = _of_matrices(_bits(r) == 0) & _multiplies_exactly(a) & _multiplies_exactly(known.lu)
    condition = _condition(backend, lower, upper, field)
    # Products in float64 depend on the BLAS and its threads, those of more limbs on nothing.
    choices = [p for p in PRECISIONS if min(2, kind.limbs) <= p.limbs <= kind.limbs]
    (grown,) = fetch(2.0 * n * condition * condition)
    chosen = (np.multiply.outer([p.eps for p in choices[:-1]], grown) > 1.0).sum(axis=0)
    trace = kind.zeros(xp, condition.shape)
    size, near = xp.zeros(condition.shape), xp.zeros(condition.shape)
    for i, few in enumerate(choices):
        (places,) = np.nonzero(chosen == i)
        if places.size:
            here, low = xp.asarray(places.tolist()), Kind(few.limbs, field)
            left, right, rest = (
                planes.first_limbs(x, field, few.limbs)[..., here, :, :] for x in (lower, upper, r)
            )
            size[here], z = _solved(backend, left, right, rest, low)
            found = backend.reduce("sum", diagonal(z), kind=low)
            trace[..., here] = planes.widen(found, field, kind.limbs)
            near[here] = few.eps * condition[here]
    return trace, _Sizes(size, near, _eps(kind) * condition), exact


def _condition(backend: Backend, lower: Block, upper: Block, field: bool) -> Block:
    """Return how much errors in the rows of ``abs(L) abs(U)`` grow in ``U^-1 L^-1``, estimated.

    In float64: triangles show their condition in the leading limbs, by growth, not cancellation.
    """
    xp, n, kind = backend.xp, int(lower.shape[-1]), Kind(1, field)
    left, right = scaling.leading(lower, field), scaling.leading(upper, field)
    row = xp.arange(1.0, n + 1.0)[:, None]
    irregular = (row * (row + xp.arange(1.0, _PROBES + 1.0)) * _GOLDEN) % 1.0
    rows = left @ right.sum(axis=-1, keepdims=True)
    probes = (xp.where(irregular < 0.5, -1.0, 1.0) * rows)[None]
    lower, upper = (planes.first_limbs(x, field, 1) for x in (lower, upper))
    size, _ = _solved(backend, lower, upper, planes.complexify(probes) if field else probes, kind)
    return size


def _solved(
    backend: Backend, lower: Block, upper: Block, b: Block, kind: Kind
) -> tuple[Block, Block]:
    """Return the Frobenius norms of ``z = U^-1 L^-1 b``, and z."""
    y = substitute(backend, lower, b, kind=kind, lower=True, unit_diagonal=True)
    z = substitute(backend, upper, y, kind=kind, lower=False)
    sizes = scaling.leading(z, kind.is_complex) * (2.0 if kind.is_complex else 1.0)
    return backend.xp.sqrt((sizes * sizes).sum(axis=(-2, -1))), z


def _product(backend: Backend, x: Block, kind: Kind) -> tuple[Block, Block]:
    """Return products along the last axis, by pairs, near 1, and their exponents."""
    total = backend.xp.zeros(x.shape[kind.lead : -1], dtype=np.int64)
    if not x.shape[-1]:
        return _ones(backend.xp, kind, total.shape), total
    while True:
        x, exponents = _near_one(backend, x, kind)
        total = total + exponents.sum(axis=-1)
        half = int(x.shape[-1]) // 2
        if not half:
            return x[..., 0], total
        pairs = backend.binary("multiply", x[..., :half], x[..., half : 2 * half], kind=kind)
        x = backend.xp.concatenate([pairs, x[..., 2 * half :]], axis=-1)


def _ones(xp: Any, kind: Kind, shape: tuple[int, ...]) -> Block:
    block = kind.zeros(xp, shape)
    (block[0] if kind.is_complex else block)[0] = 1.0
    return block


def _near_one(backend: Backend, x: Block, kind: Kind) -> tuple[Block, Block]:
    """Return values times ``2**-exponent``, of moduli from 2**-0.5 to 2**0.5, and the exponents."""
    xp = backend.xp
    exponents = scaling.exponents_of(scaling.magnitude_bits(x, kind.is_complex))
    x = backend.ldexp(x, -exponents, is_complex=kind.is_complex)
    size = xp.hypot(x[0, 0], x[1, 0]) if kind.is_complex else abs(x[0])
    down = xp.where(size > 0, (size < 0.5**0.5).astype(np.int64), 0)
    return backend.ldexp(x, down, is_complex=kind.is_complex), exponents - down
