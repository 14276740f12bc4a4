"""Operands of an update: from the caller's to arrays of an engine, scaled, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Backend
from mdqr._core.promotion import together, unwrapped
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import check_together, is_cuda_array, place_on_device_of
from mdqr._limbs.planes import Block
from mdqr._precision import PRECISIONS, Precision
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor import wide_range
from mdqr.linalg._factor.backward_error import (
    FactorErrors,
    FactorInfo,
    orthogonality,
    product_errors,
)
from mdqr.linalg._shared.checks import Checks, raise_nonfinite, raise_out_of_range
from mdqr.linalg._shared.info import WithInfo
from mdqr.linalg._shared.operands import Inputs, as_integer, gather, matrix_shape
from mdqr.linalg._update.arithmetic.blocks import Planes
from mdqr.linalg._update.arithmetic.engine import Engine
from mdqr.linalg._update.arithmetic.floats import Floats

_FLOATS = {np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")}


class _QAndR(NamedTuple):
    Q: Any
    R: Any


class UpdateResult(WithInfo, _QAndR):
    """Factors after an update, arrays of the kind that was given.

    Attributes
    ----------
    Q : MDArray, NumPy or CuPy array, or None
        As `QRResult.Q`; None where only R is known.
    R : MDArray, NumPy or CuPy array
        As `QRResult.R`.
    info : FactorInfo
        Proven bounds: of ``Q^H Q - I`` where Q is kept, and by `repair`, which has the matrix, of
        ``A - Q R``. Its `precision` is None for float32.
    """

    info: FactorInfo


UpdateResult.__module__ = "mdqr.linalg"


def _errors(q: Any, r: Any, a: Any) -> FactorErrors:
    """Bound the errors of factors of `a`, None where the matrix is not known."""
    if a is not None:
        unit = (
            2.0**-a.precision.bits if isinstance(a, MDArray) else float(np.finfo(a.dtype).eps) / 2
        )
        return product_errors(a, q, r, q, unit=unit)
    unknown = np.asarray(np.nan)
    return FactorErrors(unknown, unknown if q is None else orthogonality(q), unknown, unknown)


@dataclass(frozen=True)
class Numbers:
    """The kind of numbers and the device that operands have in common.

    `inputs` is None where float arrays stay float arrays; `sample` is an array on the device.
    """

    engine: Engine
    inputs: Inputs | None
    sample: Block

    @property
    def precision(self) -> Precision | None:
        """The precision of results; None for float arrays."""
        return None if self.inputs is None else self.inputs.precision

    def without_data(self) -> Numbers:
        """Return the same without a reference to the operands."""
        inputs = None if self.inputs is None else self.inputs._replace(blocks=[])
        return Numbers(self.engine, inputs, self.engine.zeros(self.sample, 0, 0))

    def wrap(self, x: Block) -> Any:
        """Return an array of the kind that the caller gave."""
        if self.inputs is None:
            return x
        return self.inputs.wrap(self.engine.backend.xp.array(self.engine.to_block(x), order="C"))

    def copied(self, x: Block) -> Any:
        """Return what `wrap` does, in new memory."""
        return self.wrap(self.engine.backend.xp.array(x, order="C") if self.inputs is None else x)

    def result(self, q: Block | None, r: Block, a: Block | None = None) -> UpdateResult:
        """Return factors as the caller gets them, and bounds of their errors as factors of `a`."""
        result = UpdateResult(None if q is None else self.wrap(q), self.wrap(r))
        matrix = None if a is None or q is None else self._in_full(a)
        errors = partial(_errors, *result, matrix)
        return result._described(
            FactorInfo(self.result_precision, errors, is_known=matrix is not None)
        )

    def _in_full(self, a: Block) -> Any:
        """Return a copy of an operand, with all its digits."""
        if self.inputs is None:
            return self.copied(a)
        inputs = self.inputs._replace(precision=self.inputs.work)
        return inputs.wrap(self.engine.backend.xp.array(self.engine.to_block(a), order="C"))

    @property
    def result_precision(self) -> Precision | None:
        """The precision of results, None for float32."""
        if self.inputs is not None:
            return self.inputs.precision
        return PRECISIONS[0] if self.engine.eps <= PRECISIONS[0].eps else None

    def wrap_real(self, block: Block) -> Any:
        """Return the array of a block of real numbers."""
        if self.inputs is None:
            return block[0].astype(np.empty(0, self.engine.dtype).real.dtype)
        return self.inputs.wrap(block, is_complex=False)


def convert(precision: PrecisionLike | None, *values: Any) -> tuple[Numbers, list[Any]]:
    """Convert operands to arrays of one engine; None stays None.

    Float arrays of NumPy or CuPy, and numbers and lists beside them, stay floats of their width;
    everything else goes by the rules of `mdqr.linalg`.
    """
    values = tuple([x if x is None or isinstance(x, MDArray) else unwrapped(x) for x in values])
    given = [x for x in values if x is not None]
    dtype = None if precision is not None else _float_type(given)
    if dtype is not None:
        return _of_floats(dtype, values)
    inputs = gather(*given, precision=precision, trimmed=False)
    kind, backend = inputs.kind, inputs.backend
    field, limbs = kind.is_complex, kind.limbs
    blocks = [
        block if block.shape[field] == limbs else planes.widen(block, field, limbs)
        for block in inputs.blocks
    ]
    if limbs > 1:
        engine: Engine = Planes(backend, kind)
    else:
        engine = float_engine(backend, np.complex128 if field else np.float64)
        blocks = [to_native(backend.xp, block, field) for block in blocks]
    rest = iter(blocks)
    found = [None if x is None else next(rest) for x in values]
    return Numbers(engine, inputs, blocks[0]), found


def require_given(function: str, **operands: Any) -> None:
    """Demand operands.

    Raises
    ------
    TypeError
        If one is None.
    """
    for name, value in operands.items():
        if value is None:
            raise TypeError(f"{function}: {name} must be an array; got None")


def _float_type(values: list[Any]) -> np.dtype[Any] | None:
    """Return the type of float arrays, or None if another operand decides."""
    arrays, lists = [], []
    for x in values:
        if isinstance(x, MDArray):
            return None
        if isinstance(x, (np.ndarray, np.generic)) or is_cuda_array(x):
            arrays.append(x)
        else:
            lists.append(np.asarray(x))
    if not arrays or any(x.dtype.kind not in "biufc" for x in lists):
        return None
    weak = [np.complex64 if x.dtype.kind == "c" else np.float32 for x in lists]
    dtype = np.result_type(*(x.dtype for x in arrays), *weak)
    return dtype if dtype in _FLOATS and dtype.kind in "fc" else None


def _of_floats(dtype: np.dtype[Any], values: tuple[Any, ...]) -> tuple[Numbers, list[Any]]:
    found = [x for x in values if isinstance(x, np.ndarray) or is_cuda_array(x)]
    check_together(found)
    arrays: list[Block | None] = []
    for x in values:
        if x is not None and not is_cuda_array(x):
            x = place_on_device_of(_rounded(np.asarray(x), dtype), found[0])
        arrays.append(None if x is None else x.astype(dtype, copy=False))
    return Numbers(float_engine(for_block(found[0]), dtype), None, found[0]), arrays


def float_engine(backend: Backend, dtype: Any) -> Engine:
    """Return the arithmetic of float arrays on a backend; that of CUDA is imported only for it."""
    if backend.xp is np:
        return Floats(backend, dtype)
    from mdqr.linalg._update.arithmetic.cuda_floats import floats

    return floats(backend, dtype)


def _rounded(x: Block, dtype: np.dtype[Any]) -> Block:
    """Return `x` as floats of a type; what is too large becomes infinite, which is checked."""
    if x.dtype == dtype:
        return x
    with np.errstate(over="ignore"):
        return x.astype(dtype)


def like(numbers: Numbers, function: str, name: str, x: Any) -> Block:
    """Return a further operand as an array of the engine of `numbers`, rounded to it.

    Raises
    ------
    ValueError
        If it is complex and the factors are real, or lives on another device.
    """
    engine, sample, inputs = numbers.engine, numbers.sample, numbers.inputs
    x = unwrapped(x)
    if inputs is None:
        array = x if is_cuda_array(x) else np.asarray(x)
        if array.dtype.kind not in "biufcO":
            raise TypeError(
                f"{function}: {name} must be numbers; got {type(x).__name__}: {x!r:.60}"
            )
        if array.dtype.kind == "c" and not engine.kind.is_complex:
            raise ValueError(f"{function}: {name} is complex, and the factors are real")
        if not is_cuda_array(x) and not isinstance(x, np.ndarray):
            array = place_on_device_of(array, sample)
        check_together([array, sample])
        return _rounded(array, engine.dtype)
    found = gather(x, precision=None if isinstance(x, MDArray) else inputs.work, trimmed=False)
    if found.is_complex and not engine.kind.is_complex:
        raise ValueError(f"{function}: {name} is complex, and the factors are real")
    block = planes.narrow(found.blocks[0], found.is_complex, engine.kind.limbs)
    other = engine.to_block(sample), engine.kind.is_complex
    others = MDArray._wrap(other[0], inputs.work, other[1])
    block = together([other, (block, found.is_complex)], (others, x))[1][0]
    if engine.kind.is_complex and not found.is_complex:
        block = planes.complexify(block)
    return engine.from_block(block)


def factor_shapes(
    function: str, engine: Engine, q: Block | None, r: Block
) -> tuple[int, int, tuple[int, ...]]:
    """Return m, n and the batch shape of the factors Q and R; m is the rows of R without Q.

    Raises
    ------
    ValueError
        If they do not fit.
    """
    shape = engine.shape(r)
    rows, n = matrix_shape(function, "R", shape)
    if q is None:
        return rows, n, shape[:-2]
    outer = engine.shape(q)
    m, columns = matrix_shape(function, "Q", outer)
    if (
        outer[:-2] != shape[:-2]
        or columns != rows
        or (m != columns and columns != n)
        or m < columns
    ):
        raise ValueError(
            f"{function}: Q must be (..., m, m) with R (..., m, n), or (..., m, n) with R "
            f"(..., n, n) and m > n; got {outer} and {shape}"
        )
    return m, n, shape[:-2]


def matrix_operand(
    function: str,
    engine: Engine,
    name: str,
    x: Block,
    batch: tuple[int, ...],
    *,
    rows: int | None = None,
    columns: int | None = None,
    vectors: bool = True,
) -> Block:
    """Return an operand as matrices with the batch of the factors, which may be the caller's.

    `rows` and `columns` are lengths that are known. A vector, if it fits, is one row or column of
    the known length.

    Raises
    ------
    ValueError
        If the shape does not fit.
    """
    shape = full = engine.shape(x)
    if len(shape) == 1 and vectors:
        x = x[..., None, :] if rows is None else x[..., None]
        full = (1, *shape) if rows is None else (*shape, 1)
    if (
        len(full) < 2
        or (rows is not None and full[-2] != rows)
        or (columns is not None and full[-1] != columns)
        or full[:-2] not in ((), batch)
    ):
        single = f"({columns if rows is None else rows},) or " if vectors else ""
        high = ("p" if vectors else "m") if rows is None else rows
        raise ValueError(
            f"{function}: {name} must have shape {single}(..., {high}, "
            f"{'p' if columns is None else columns}), with the leading dimensions {batch} of R or "
            f"none; got {shape}"
        )
    target = (*batch, *full[-2:])
    if full == target:
        return x
    return engine.broadcast(x, target)


def require_count(function: str, p: Any, count: int) -> None:
    """Demand that the number of rows that `u` has is not contradicted; 1 is what p is by default.

    Raises
    ------
    ValueError
        If it is.
    """
    if as_integer(p) not in (1, count):
        raise ValueError(f"{function}: u has {count} rows, and p is {p!r}: leave p out")


def least_condition(function: str, rcond: Any) -> float | None:
    """Return the smallest reciprocal condition that a caller demands, None for the usual one.

    Raises
    ------
    ValueError
        If it is negative, NaN or no number.
    """
    if rcond is None:
        return None
    try:
        found = float(rcond)
    except (TypeError, ValueError):
        found = float("nan")
    if not found >= 0:
        raise ValueError(f"{function}: rcond must be None or at least 0; got {rcond!r}")
    return found


def position(function: str, k: Any, length: int, *, end: bool) -> int:
    """Return index `k`, counted from the end if negative, as SciPy does.

    Raises
    ------
    ValueError
        If it is not an index.
    """
    found = as_integer(k)
    if found is None or not -length <= found < length + end:
        last = f"{length}" if end else f"{length - 1}"
        raise ValueError(f"{function}: k must be an integer from {-length} to {last}; got {k!r}")
    return found + length if found < 0 else found


def range_of(function: str, k: Any, p: Any, length: int) -> tuple[int, int]:
    """Return the first index and the number of rows or columns to remove.

    Raises
    ------
    ValueError
        If there are no such rows or columns.
    """
    place = position(function, k, length, end=False)
    count = as_integer(p)
    if count is None or not 1 <= count <= length - place:
        raise ValueError(
            f"{function}: p must be an integer from 1 to {length - place}, for k = {place}; "
            f"got {p!r}"
        )
    return place, count


def require_finite(checks: Checks, function: str, engine: Engine, name: str, x: Block) -> None:
    """Demand finite numbers of an operand."""

    def raise_error() -> NoReturn:
        matrix = x[..., None] if len(engine.shape(x)) == 1 else x
        block = engine.to_block(matrix)
        raise_nonfinite(function, name, block, engine.kind.is_complex)

    checks.require(engine.finite(x), raise_error)


def require_in_range(checks: Checks, function: str, engine: Engine, name: str, x: Block) -> None:
    """Demand that nothing overflowed in what was computed from finite numbers."""
    checks.require(
        engine.finite(x),
        lambda: raise_out_of_range(function, name, engine.to_block(x), engine.kind.is_complex, ""),
    )


Scales = Block | None

# Columns that are only multiplied by orthogonal matrices stay in range from this exponent.
_FAR = 900
# The bits of the largest double.
_LARGEST = (0x7FF << 52) - 1


def scaled(engine: Engine, *parts: Block) -> tuple[list[Block], Scales]:
    """Return copies of matrices with their common columns scaled near 1, and the exponents.

    Kernels of multiple doubles want it; LAPACK scales by itself.
    """
    exponents = engine.exponents(*parts)
    if exponents is None:
        return [part.copy() for part in parts], None
    return [shifted(engine, part, -exponents) for part in parts], exponents


def scaled_with_sides(engine: Engine, n: int, *parts: Block) -> tuple[list[Block], Scales, Block]:
    """Return what `scaled` does, and whether columns behind the first n may lose digits by it.

    Those are scaled far above 1 where small entries of them would lose digits near 1. A 0-d bool
    tells whether entries are too far apart for that as well.
    """
    xp, exponents = engine.backend.xp, engine.exponents(*parts)
    if exponents is None:
        return [part.copy() for part in parts], None, xp.asarray(False)
    span = _span(engine, [part[..., n:] for part in parts])
    reach = wide_range.reach(engine.kind.limbs)
    exponents[..., n:] -= xp.where(span > reach, _FAR, 0)
    copies = [shifted(engine, part, -exponents) for part in parts]
    return copies, exponents, (span > reach + _FAR).any()


def is_wide(engine: Engine, x: Block) -> Block:
    """Return whether entries of a column are too far apart to be scaled near 1, a 0-d bool."""
    return (_span(engine, [engine.to_block(x)]) > wide_range.reach(engine.kind.limbs)).any()


def _span(engine: Engine, parts: Sequence[Block]) -> Block:
    """Return how many powers of two lie between the entries of common columns, zeros aside."""
    xp = engine.backend.xp
    bits = [scaling.magnitude_bits(part, engine.kind.is_complex) for part in parts]
    found = [scaling.largest(-xp.where(part > 0, part, _LARGEST), -2, -_LARGEST) for part in bits]
    high = reduce(xp.maximum, [scaling.largest(part, -2, 0) for part in bits])
    return scaling.exponents_of(high) - scaling.exponents_of(-reduce(xp.maximum, found))


def shifted(engine: Engine, x: Block, exponents: Scales) -> Block:
    """Return `x` with its columns multiplied by powers of two."""
    if exponents is None:
        return x
    return engine.backend.ldexp(x, exponents[..., None, :], is_complex=engine.kind.is_complex)
