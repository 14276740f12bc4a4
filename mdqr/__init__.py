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
    array_equiv,
    equal,
    fmax,
    fmin,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
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
from mdqr._functions.manipulation.assignment import (
    fill_diagonal,
    place,
    put,
    put_along_axis,
    putmask,
)
from mdqr._functions.manipulation.axes import (
    diagonal,
    flip,
    fliplr,
    flipud,
    matrix_transpose,
    moveaxis,
    permute_dims,
    roll,
    rot90,
    swapaxes,
)
from mdqr._functions.manipulation.choice import (
    apply_along_axis,
    argwhere,
    choose,
    compress,
    extract,
    flatnonzero,
    piecewise,
    select,
)
from mdqr._functions.manipulation.joining import (
    append,
    column_stack,
    dstack,
    hstack,
    meshgrid,
    repeat,
    tile,
    vstack,
)
from mdqr._functions.manipulation.nested import block
from mdqr._functions.manipulation.parts import (
    copy,
    delete,
    imag,
    insert,
    iscomplex,
    iscomplexobj,
    isreal,
    isrealobj,
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
from mdqr._functions.manipulation.sizes import pad, resize, trim_zeros
from mdqr._functions.manipulation.splitting import (
    array_split,
    dsplit,
    hsplit,
    split,
    unstack,
    vsplit,
)
from mdqr._functions.matrices import diag, diagflat, eye, identity, tri, tril, triu, vander
from mdqr._functions.ordering.combined import intersect1d, lexsort, setdiff1d, setxor1d, union1d
from mdqr._functions.ordering.sets import (
    isin,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from mdqr._functions.ordering.sorting import (
    argpartition,
    argsort,
    partition,
    searchsorted,
    sort,
    sort_complex,
)
from mdqr._functions.polynomials import polyder, polyfit, polyval
from mdqr._functions.power import power
from mdqr._functions.products.coefficients import poly, polyadd, polydiv, polyint, polymul, polysub
from mdqr._functions.products.contractions import cross, inner, kron, tensordot, vecdot
from mdqr._functions.products.einsum import einsum
from mdqr._functions.reductions import dot, outer, prod, sum, trace, vdot
from mdqr._functions.rounding import (
    clip,
    copysign,
    divmod,
    floor_divide,
    fmod,
    modf,
    nan_to_num,
    nextafter,
    remainder,
    round,
    signbit,
    trunc,
)
from mdqr._functions.sampled import convolve, correlate, diff, ediff1d, gradient, interp, trapezoid
from mdqr._functions.scales.angles import angle, deg2rad, rad2deg, unwrap
from mdqr._functions.scales.exponents import frexp, heaviside, ldexp, logaddexp2, spacing
from mdqr._functions.scales.spaced import geomspace, logspace
from mdqr._functions.scales.windows import bartlett, blackman, hamming, hanning, i0, kaiser, sinc
from mdqr._functions.sequences import arange, concatenate, linspace, stack
from mdqr._functions.statistics.extremes import all, any, argmax, argmin, max, mean, min
from mdqr._functions.statistics.histograms import (
    bincount,
    digitize,
    histogram,
    histogram2d,
    histogram_bin_edges,
    histogramdd,
)
from mdqr._functions.statistics.missing import (
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmedian,
    nanmin,
    nanpercentile,
    nanprod,
    nanquantile,
    nanstd,
    nansum,
    nanvar,
)
from mdqr._functions.statistics.moments import average, corrcoef, cov, ptp, std, var
from mdqr._functions.statistics.quantiles import median, percentile, quantile
from mdqr._functions.statistics.running import cumprod, cumsum, cumulative_prod, cumulative_sum
from mdqr._io.files import load, loadz, save, savez
from mdqr._io.format import printoptions
from mdqr._io.loadtxt import loadtxt
from mdqr._io.matrix_market import mmread, mmwrite
from mdqr._io.savetxt import savetxt
from mdqr._io.touchstone import TouchstoneData, read_touchstone
from mdqr._precision import Precision, d, dd, hd, od, precision_for_digits, qd

# NumPy has these under two names.
acos, acosh, asin, asinh, atan, atan2, atanh = (
    *(arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh),
)
concat, pow = concatenate, power
absolute, amax, amin, around, conjugate = abs, max, min, round, conj
degrees, radians = rad2deg, deg2rad
fix, float_power, mod, true_divide = trunc, power, remainder, divide
newaxis = None

__all__ = ["DataPrecisionWarning", "MDArray", "Precision", "PrecisionWarning", "TouchstoneData"]
__all__ += ["abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle"]
__all__ += ["any", "append", "apply_along_axis", "arange", "arccos", "arccosh", "arcsin"]
__all__ += ["arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argpartition"]
__all__ += ["argsort", "argwhere", "around", "array", "array_api", "array_equal", "array_equiv"]
__all__ += ["array_split", "asarray", "asin", "asinh", "atan", "atan2", "atanh", "atleast_1d"]
__all__ += ["atleast_2d", "atleast_3d", "average", "bartlett", "bincount", "blackman", "block"]
__all__ += ["broadcast_arrays", "broadcast_to", "cbrt", "ceil", "choose", "clip", "column_stack"]
__all__ += ["compress", "concat", "concatenate", "config", "conj", "conjugate", "convolve"]
__all__ += ["copy", "copysign", "corrcoef", "correlate", "cos", "cosh", "cospi", "count_nonzero"]
__all__ += ["cov", "cross", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "deg2rad"]
__all__ += ["degrees", "delete", "diag", "diagflat", "diagonal", "diff", "digitize", "divide"]
__all__ += ["divmod", "dot", "dsplit", "dstack", "e", "ediff1d", "einsum", "empty", "empty_like"]
__all__ += ["equal", "erf", "erfc", "euler_gamma", "exp", "exp2", "expand_dims", "expm1"]
__all__ += ["extract", "eye", "fill_diagonal", "finfo", "fix", "flatnonzero", "flip", "fliplr"]
__all__ += ["flipud", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp"]
__all__ += ["from_limbs", "full", "full_like", "gamma", "geomspace", "gradient", "greater"]
__all__ += ["greater_equal", "hamming", "hanning", "heaviside", "histogram", "histogram2d"]
__all__ += ["histogram_bin_edges", "histogramdd", "hsplit", "hstack", "hypot", "i0", "identity"]
__all__ += ["imag", "inf", "inner", "insert", "interp", "intersect1d", "isclose", "iscomplex"]
__all__ += ["iscomplexobj", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf"]
__all__ += ["isreal", "isrealobj", "kaiser", "kron", "ldexp", "less", "less_equal", "lexsort"]
__all__ += ["lgamma", "linalg", "linspace", "load", "loadtxt", "loadz", "log", "log1p", "log10"]
__all__ += ["log2", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or"]
__all__ += ["logical_xor", "logspace", "matmul", "matrix_transpose", "max", "maximum", "mean"]
__all__ += ["median", "meshgrid", "min", "minimum", "mmread", "mmwrite", "mod", "modf"]
__all__ += ["moveaxis", "multiply", "nan", "nan_to_num", "nanargmax", "nanargmin", "nancumprod"]
__all__ += ["nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod"]
__all__ += ["nanquantile", "nanstd", "nansum", "nanvar", "negative", "newaxis", "nextafter"]
__all__ += ["nonzero", "not_equal", "ones", "ones_like", "outer", "pad", "partition"]
__all__ += ["percentile", "permute_dims", "pi", "piecewise", "place", "poly", "polyadd"]
__all__ += ["polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "pow"]
__all__ += ["power", "precision_for_digits", "printoptions", "prod", "ptp", "put"]
__all__ += ["put_along_axis", "putmask", "quantile", "rad2deg", "radians", "random", "ravel"]
__all__ += ["read_touchstone", "real", "reciprocal", "remainder", "repeat", "reshape", "resize"]
__all__ += ["rint", "roll", "rot90", "round", "save", "savetxt", "savez", "searchsorted"]
__all__ += ["select", "setdiff1d", "setxor1d", "sign", "signbit", "sin", "sinc", "sinh", "sinpi"]
__all__ += ["sort", "sort_complex", "spacing", "split", "sqrt", "square", "squeeze", "stack"]
__all__ += ["std", "subtract", "sum", "swapaxes", "take", "take_along_axis", "tan", "tanh"]
__all__ += ["tensorcore", "tensordot", "testing", "tile", "trace", "transpose", "trapezoid"]
__all__ += ["tri", "tril", "trim_zeros", "triu", "true_divide", "trunc", "union1d", "unique"]
__all__ += ["unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "unwrap"]
__all__ += ["vander", "var", "vdot", "vecdot", "vsplit", "vstack", "where", "zeros", "zeros_like"]
__all__ += [
    "d",
    "dd",
    "hd",
    "od",
    "qd",
]

if TYPE_CHECKING:
    from mdqr import array_api, config, linalg, tensorcore, testing
    from mdqr.linalg import matmul

_LAZY = (
    "approx",
    "array_api",
    "config",
    "distributed",
    "fft",
    "linalg",
    "optimize",
    "pandas",
    "plot",
    "quadrature",
    "series",
    "sparse",
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
