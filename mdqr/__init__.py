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
from mdqr._io.matrix_market import mmread
from mdqr._io.savetxt import savetxt
from mdqr._precision import Precision, d, dd, od, qd

# NumPy has these under two names.
acos, acosh, asin, asinh, atan, atan2, atanh = (
    *(arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh),
)
concat, pow = concatenate, power
absolute, amax, amin, around, conjugate = abs, max, min, round, conj
degrees, radians = rad2deg, deg2rad
fix, float_power, mod, true_divide = trunc, power, remainder, divide
newaxis = None

__all__ = ["DataPrecisionWarning", "MDArray", "Precision", "PrecisionWarning", "abs", "absolute"]
__all__ += ["acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle", "any", "append"]
__all__ += ["apply_along_axis", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan"]
__all__ += ["arctan2", "arctanh", "argmax", "argmin", "argpartition", "argsort", "argwhere"]
__all__ += ["around", "array", "array_api", "array_equal", "array_equiv", "array_split", "asarray"]
__all__ += ["asin", "asinh", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d"]
__all__ += ["average", "bartlett", "bincount", "blackman", "block", "broadcast_arrays"]
__all__ += ["broadcast_to", "cbrt", "ceil", "choose", "clip", "column_stack", "compress", "concat"]
__all__ += ["concatenate", "config", "conj", "conjugate", "convolve", "copy", "copysign"]
__all__ += ["corrcoef", "correlate", "cos", "cosh", "cospi", "count_nonzero", "cov", "cross"]
__all__ += ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "d", "dd", "deg2rad"]
__all__ += ["degrees", "delete", "diag", "diagflat", "diagonal", "diff", "digitize", "divide"]
__all__ += ["divmod", "dot", "dsplit", "dstack", "e", "ediff1d", "einsum", "empty", "empty_like"]
__all__ += ["equal", "erf", "erfc", "euler_gamma", "exp", "exp2", "expand_dims", "expm1"]
__all__ += ["extract", "eye", "fill_diagonal", "finfo", "fix", "flatnonzero", "flip", "fliplr"]
__all__ += ["flipud", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp"]
__all__ += ["from_limbs", "full", "full_like", "gamma", "geomspace", "gradient", "greater"]
__all__ += ["greater_equal", "hamming", "hanning", "heaviside", "histogram", "histogram2d"]
__all__ += ["histogram_bin_edges", "histogramdd", "hsplit", "hstack", "hypot", "i0", "identity"]
__all__ += ["imag", "inf", "inner", "insert", "interp", "intersect1d", "isclose", "iscomplex"]
__all__ += ["iscomplexobj", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal"]
__all__ += ["isrealobj", "kaiser", "kron", "ldexp", "less", "less_equal", "lexsort", "lgamma"]
__all__ += ["linalg", "linspace", "load", "loadtxt", "loadz", "log", "log1p", "log2", "log10"]
__all__ += ["logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor"]
__all__ += ["logspace", "matmul", "matrix_transpose", "max", "maximum", "mean", "median"]
__all__ += ["meshgrid", "min", "minimum", "mmread", "mod", "modf", "moveaxis", "multiply", "nan"]
__all__ += ["nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean"]
__all__ += ["nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum"]
__all__ += ["nanvar", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "od", "ones"]
__all__ += ["ones_like", "outer", "pad", "partition", "percentile", "permute_dims", "pi"]
__all__ += ["piecewise", "place", "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint"]
__all__ += ["polymul", "polysub", "polyval", "pow", "power", "printoptions", "prod", "ptp", "put"]
__all__ += ["put_along_axis", "putmask", "qd", "quantile", "rad2deg", "radians", "random", "ravel"]
__all__ += ["real", "reciprocal", "remainder", "repeat", "reshape", "resize", "rint", "roll"]
__all__ += ["rot90", "round", "save", "savetxt", "savez", "searchsorted", "select", "setdiff1d"]
__all__ += ["setxor1d", "sign", "signbit", "sin", "sinc", "sinh", "sinpi", "sort", "sort_complex"]
__all__ += ["spacing", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum"]
__all__ += ["swapaxes", "take", "take_along_axis", "tan", "tanh", "tensorcore", "tensordot"]
__all__ += ["testing", "tile", "trace", "transpose", "trapezoid", "tri", "tril", "trim_zeros"]
__all__ += ["triu", "true_divide", "trunc", "union1d", "unique", "unique_all", "unique_counts"]
__all__ += ["unique_inverse", "unique_values", "unstack", "unwrap", "vander", "var", "vdot"]
__all__ += ["vecdot", "vsplit", "vstack", "where", "zeros", "zeros_like"]

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
