"""Multiple-double arithmetic, QR factorisation and least squares in 1, 2, 4 and 8 doubles."""

from __future__ import annotations

__version__ = "0.1.0"

from importlib import import_module as _import_module
from math import inf, nan
from typing import TYPE_CHECKING, Any

from mdqr import random
from mdqr._array.array import MDArray
from mdqr._convert.constants import e, euler_gamma, pi
from mdqr._core.dtypes import finfo
from mdqr._errors import DataPrecisionWarning, PrecisionWarning
from mdqr._functions.comparison import (
    array_equal,
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    maximum,
    minimum,
    not_equal,
    where,
)
from mdqr._functions.creation import array, asarray
from mdqr._functions.elementary import (
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    cbrt,
    cos,
    cosh,
    cospi,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    gamma,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    sin,
    sinh,
    sinpi,
    tan,
    tanh,
)
from mdqr._functions.elementwise import (
    abs,
    add,
    ceil,
    conj,
    divide,
    floor,
    hypot,
    multiply,
    negative,
    reciprocal,
    rint,
    sign,
    sqrt,
    square,
    subtract,
)
from mdqr._functions.filled import (
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from mdqr._functions.from_limbs import from_limbs
from mdqr._functions.logical import (
    allclose,
    isclose,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from mdqr._functions.manipulation.axes import (
    diagonal,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    roll,
    swapaxes,
)
from mdqr._functions.manipulation.joining import (
    append,
    column_stack,
    hstack,
    meshgrid,
    repeat,
    split,
    tile,
    unstack,
    vstack,
)
from mdqr._functions.manipulation.parts import (
    copy,
    delete,
    imag,
    insert,
    iscomplexobj,
    isreal,
    ravel,
    real,
    transpose,
)
from mdqr._functions.manipulation.selection import count_nonzero, nonzero, take, take_along_axis
from mdqr._functions.manipulation.shapes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_to,
    expand_dims,
    reshape,
    squeeze,
)
from mdqr._functions.matrices import diag, eye, tril, triu, vander
from mdqr._functions.ordering.sets import (
    isin,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from mdqr._functions.ordering.sorting import argsort, searchsorted, sort
from mdqr._functions.polynomials import polyder, polyfit, polyval
from mdqr._functions.power import power
from mdqr._functions.products.contractions import cross, inner, kron, tensordot, vecdot
from mdqr._functions.products.einsum import einsum
from mdqr._functions.reductions import dot, outer, prod, sum, trace, vdot
from mdqr._functions.rounding import (
    clip,
    copysign,
    floor_divide,
    nan_to_num,
    nextafter,
    remainder,
    round,
    signbit,
    trunc,
)
from mdqr._functions.sampled import convolve, diff, gradient, interp, trapezoid
from mdqr._functions.sequences import arange, concatenate, linspace, stack
from mdqr._functions.statistics.extremes import all, any, argmax, argmin, max, mean, min
from mdqr._functions.statistics.moments import average, cov, ptp, std, var
from mdqr._functions.statistics.quantiles import median, percentile, quantile
from mdqr._functions.statistics.running import cumprod, cumsum, cumulative_prod, cumulative_sum
from mdqr._io.files import load, loadz, save, savez
from mdqr._io.format import printoptions
from mdqr._io.loadtxt import loadtxt
from mdqr._io.savetxt import savetxt
from mdqr._precision import Precision, d, dd, od, qd

# NumPy has these under two names.
acos, acosh, asin, asinh, atan, atan2, atanh = (
    *(arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh),
)
concat, pow = concatenate, power
newaxis = None

__all__ = [
    "DataPrecisionWarning",
    "MDArray",
    "Precision",
    "PrecisionWarning",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "any",
    "append",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "array",
    "array_api",
    "array_equal",
    "asarray",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "broadcast_arrays",
    "broadcast_to",
    "cbrt",
    "ceil",
    "clip",
    "column_stack",
    "concat",
    "concatenate",
    "config",
    "conj",
    "convolve",
    "copy",
    "copysign",
    "cos",
    "cosh",
    "cospi",
    "count_nonzero",
    "cov",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "d",
    "dd",
    "delete",
    "diag",
    "diagonal",
    "diff",
    "divide",
    "dot",
    "e",
    "einsum",
    "empty",
    "empty_like",
    "equal",
    "erf",
    "erfc",
    "euler_gamma",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "flip",
    "floor",
    "floor_divide",
    "from_limbs",
    "full",
    "full_like",
    "gamma",
    "gradient",
    "greater",
    "greater_equal",
    "hstack",
    "hypot",
    "imag",
    "inf",
    "inner",
    "insert",
    "interp",
    "isclose",
    "iscomplexobj",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isreal",
    "kron",
    "less",
    "less_equal",
    "lgamma",
    "linalg",
    "linspace",
    "load",
    "loadtxt",
    "loadz",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "nan_to_num",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "od",
    "ones",
    "ones_like",
    "outer",
    "percentile",
    "permute_dims",
    "pi",
    "polyder",
    "polyfit",
    "polyval",
    "pow",
    "power",
    "printoptions",
    "prod",
    "ptp",
    "qd",
    "quantile",
    "random",
    "ravel",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "rint",
    "roll",
    "round",
    "save",
    "savetxt",
    "savez",
    "searchsorted",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sinpi",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensorcore",
    "tensordot",
    "testing",
    "tile",
    "trace",
    "transpose",
    "trapezoid",
    "tril",
    "triu",
    "trunc",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "vander",
    "var",
    "vdot",
    "vecdot",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]

if TYPE_CHECKING:
    from mdqr import array_api, config, linalg, tensorcore, testing
    from mdqr.linalg import matmul

_LAZY = (
    "approx",
    "array_api",
    "config",
    "linalg",
    "optimize",
    "plot",
    "quadrature",
    "series",
    "tensorcore",
    "testing",
)


def __getattr__(name: str) -> Any:
    """Import the namespaces that are not always needed when they are first asked for."""
    if name in _LAZY:
        return _import_module(f"mdqr.{name}")
    if name == "matmul":
        return _import_module("mdqr.linalg").matmul
    raise AttributeError(f"module 'mdqr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY, "__version__"})
