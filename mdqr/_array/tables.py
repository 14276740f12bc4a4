"""Tables of functions of mdqr that implement those of NumPy, for `protocols` and the reference."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._core.base import ArrayBase
from mdqr._core.promotion import precisions_in
from mdqr._functions import (
    comparison,
    elementary,
    elementwise,
    filled,
    logical,
    matrices,
    polynomials,
    power,
    reductions,
    rounding,
    sampled,
    sequences,
    special,
)
from mdqr._functions.manipulation import (
    assignment,
    axes,
    choice,
    joining,
    nested,
    parts,
    selection,
    shapes,
    sizes,
    splitting,
)
from mdqr._functions.ordering import combined, sets, sorting
from mdqr._functions.products import coefficients, contractions, einsum
from mdqr._functions.scales import angles, exponents, spaced, windows
from mdqr._functions.statistics import extremes, histograms, missing, moments, quantiles, running

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

Function = Callable[..., Any]

# The tables are made by functions: within the cycle of imports mypy knows the types of decorated
# functions in a body only.


def matmul(a: Any, b: Any) -> MDArray:
    """Return ``a @ b``; `mdqr.linalg` is imported by the first one."""
    from mdqr import linalg

    return linalg.matmul(a, b)


def _matvec(a: Any, x: Any) -> MDArray:
    return matmul(a, axes.operand(x)[..., None])[..., 0]


def _vecmat(x: Any, a: Any) -> MDArray:
    """Return products with the conjugate of `x`, as NumPy does."""
    return matmul(elementwise.conj(x)[..., None, :], a)[..., 0, :]


def _roots(p: Any) -> MDArray:
    """Return roots alone, as NumPy does."""
    from mdqr import linalg

    return linalg.roots(p).roots


def _positive(x: Any) -> MDArray:
    return x.copy()


# sinpi, cospi, gamma, lgamma, erf and erfc are not NumPy's.
_ELEMENTARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
    *("arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh"),
    *("arcsinh", "arccosh", "arctanh", "cbrt", "logaddexp"),
)


# Ufuncs whose function has their name.
_UFUNCS: dict[Any, tuple[str, ...]] = {
    elementwise: (
        *("add", "subtract", "multiply", "divide", "negative", "sign", "sqrt", "square"),
        *("reciprocal", "hypot", "floor", "ceil", "rint"),
    ),
    rounding: (
        *("trunc", "floor_divide", "remainder", "divmod", "fmod", "modf", "copysign"),
        *("nextafter", "signbit"),
    ),
    exponents: ("frexp", "ldexp", "spacing", "heaviside", "logaddexp2"),
    power: ("power",),
    comparison: (
        *("maximum", "minimum", "fmax", "fmin", "equal", "not_equal", "less", "less_equal"),
        *("greater", "greater_equal", "isfinite", "isnan", "isinf"),
    ),
    angles: ("deg2rad", "rad2deg"),
    logical: ("logical_and", "logical_or", "logical_xor", "logical_not"),
    contractions: ("vecdot",),
    elementary: _ELEMENTARY,
}


def _ufuncs() -> dict[np.ufunc, Function]:
    """Return what answers each ufunc."""
    # Of NumPy 2.2 and later.
    newer = {"matvec": _matvec, "vecmat": _vecmat}
    return {
        **{
            getattr(np, name): getattr(module, name)
            for module, names in _UFUNCS.items()
            for name in names
        },
        np.positive: _positive,
        np.absolute: elementwise.abs,
        np.fabs: elementwise.abs,
        np.conjugate: elementwise.conj,
        np.float_power: power.power,
        np.radians: angles.deg2rad,
        np.degrees: angles.rad2deg,
        np.matmul: matmul,
        **{getattr(np, name): made for name, made in newer.items() if hasattr(np, name)},
    }


UFUNCS = _ufuncs()


def _scipy_ufuncs() -> dict[str, Function]:
    """Return what answers ufuncs of `scipy.special`, by name: SciPy is not imported."""
    found: dict[str, Function] = {**special.UNARY, **special.BINARY}
    del found["sinc"]  # no ufunc there
    return found


SCIPY_UFUNCS = _scipy_ufuncs()
# Of methods of ufuncs, besides outer.
METHODS: dict[tuple[np.ufunc, str], Function] = {
    (np.add, "reduce"): reductions.sum,
    (np.multiply, "reduce"): reductions.prod,
    (np.maximum, "reduce"): extremes.max,
    (np.minimum, "reduce"): extremes.min,
    (np.logical_and, "reduce"): extremes.all,
    (np.logical_or, "reduce"): extremes.any,
    (np.add, "accumulate"): running.cumsum,
    (np.multiply, "accumulate"): running.cumprod,
}
OPERATORS: dict[np.ufunc, str] = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.divide: "/",
    np.floor_divide: "//",
    np.remainder: "%",
    np.matmul: "@",
    np.power: "**",
}


def _method(name: str) -> Function:
    def call(a: Any, *arguments: Any, **options: Any) -> Any:
        if not isinstance(a, ArrayBase):
            raise TypeError(f"numpy.{name}: the first argument must be the MDArray")
        return getattr(a, name)(*arguments, **options)

    return call


def _concatenate(arrays: Any, axis: int | None = 0) -> MDArray:
    return sequences.concatenate(arrays, axis)


def _stable(function: Function) -> Function:
    """Take NumPy's choices of an algorithm: whatever they are, a stable sort is one."""

    def call(
        a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Any:
        if order is not None:
            raise TypeError("an MDArray has no fields to order by")
        return function(a, axis)

    return call


def _einsum(*operands: Any, optimize: Any = False) -> MDArray:
    return einsum.einsum(*operands)


def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """Return views of one shape; what holds no MDArray stays an array of NumPy."""
    given = [axes.operand(x) if precisions_in(x) else np.asarray(x) for x in args]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    return tuple(
        shapes.broadcast_to(x, shape) if isinstance(x, ArrayBase) else np.broadcast_to(x, shape)
        for x in given
    )


def _copyto(dst: Any, src: Any, where: Any = True) -> None:
    dst[...] = src if where is True else comparison.where(where, src, dst)


# Functions that NumPy has under the same name, with what of its signature there is.
_SAME_NAME: dict[Any, tuple[str, ...]] = {
    extremes: ("max", "min", "argmax", "argmin", "mean", "any", "all"),
    moments: ("var", "std", "average", "cov", "corrcoef", "ptp"),
    missing: (
        *("nansum", "nanprod", "nancumsum", "nancumprod", "nanmean", "nanvar", "nanstd", "nanmax"),
        *("nanmin", "nanmedian", "nanquantile", "nanpercentile", "nanargmax", "nanargmin"),
    ),
    histograms: (
        *("histogram", "histogram2d", "histogramdd", "histogram_bin_edges"),
        *("bincount", "digitize"),
    ),
    quantiles: ("median", "quantile", "percentile"),
    running: ("cumsum", "cumprod", "cumulative_sum", "cumulative_prod"),
    sampled: ("diff", "ediff1d", "trapezoid", "gradient", "interp", "convolve", "correlate"),
    polynomials: ("polyval", "polyder", "polyfit"),
    coefficients: ("poly", "polyadd", "polysub", "polymul", "polydiv", "polyint"),
    angles: ("angle", "unwrap"),
    nested: ("block",),
    spaced: ("logspace", "geomspace"),
    axes: (
        *("matrix_transpose", "moveaxis", "swapaxes", "flip", "flipud", "fliplr", "rot90"),
        *("roll", "diagonal"),
    ),
    parts: (
        *("real", "imag", "isreal", "iscomplexobj", "transpose", "ravel", "copy"),
        *("iscomplex", "isrealobj", "delete", "insert"),
    ),
    shapes: (
        *("reshape", "expand_dims", "squeeze", "broadcast_to"),
        *("atleast_1d", "atleast_2d", "atleast_3d"),
    ),
    joining: (
        *("vstack", "hstack", "dstack", "column_stack", "append"),
        *("meshgrid", "repeat", "tile"),
    ),
    splitting: ("unstack", "split", "array_split", "hsplit", "vsplit", "dsplit"),
    sizes: ("resize", "pad", "trim_zeros"),
    assignment: ("put", "put_along_axis", "putmask", "place", "fill_diagonal"),
    choice: (
        *("compress", "extract", "choose", "select", "piecewise", "apply_along_axis"),
        *("flatnonzero", "argwhere"),
    ),
    combined: ("union1d", "intersect1d", "setdiff1d", "setxor1d", "lexsort"),
    windows: ("sinc", "i0"),
    selection: ("take", "take_along_axis", "nonzero", "count_nonzero"),
    sorting: ("searchsorted", "partition", "argpartition", "sort_complex"),
    sets: ("isin", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    contractions: ("tensordot", "inner", "kron", "cross"),
    rounding: ("round", "clip", "nan_to_num"),
    logical: ("isclose", "allclose"),
    reductions: ("dot", "vdot", "outer", "trace"),
    comparison: ("where", "array_equal", "array_equiv", "isposinf", "isneginf"),
    sequences: ("stack", "linspace"),
    matrices: ("diag", "diagflat", "tril", "triu", "vander"),
}


def _like(function: Function) -> Function:
    """Return a function that also takes NumPy's `shape`."""

    @wraps(function)
    def like(a: Any, *values: Any, shape: Any = None, **options: Any) -> Any:
        model = a if shape is None else shapes.broadcast_to(a.ravel()[:1].sum(), shape)
        return function(model, *values, **options)

    return like


def _diag_indices_from(arr: MDArray) -> tuple[Any, ...]:
    return np.diag_indices_from(np.broadcast_to(np.empty(()), arr.shape))


def _functions() -> dict[Function, Function]:
    """Return what answers each other function of NumPy."""
    methods = ("sum", "prod")
    return {
        **{getattr(np, name): _method(name) for name in methods},
        **{
            getattr(np, name): getattr(module, name)
            for module, names in _SAME_NAME.items()
            for name in names
        },
        **{
            getattr(np, name): _like(getattr(filled, name))
            for name in ("zeros_like", "ones_like", "empty_like", "full_like")
        },
        np.amax: extremes.max,
        np.amin: extremes.min,
        np.around: rounding.round,
        np.sort: _stable(sorting.sort),
        np.argsort: _stable(sorting.argsort),
        np.concatenate: _concatenate,
        np.einsum: _einsum,
        np.roots: _roots,
        np.broadcast_arrays: _broadcast_arrays,
        np.copyto: _copyto,
        np.fix: rounding.trunc,
        np.tril_indices_from: lambda arr, k=0: np.tril_indices(arr.shape[-2], k, arr.shape[-1]),
        np.triu_indices_from: lambda arr, k=0: np.triu_indices(arr.shape[-2], k, arr.shape[-1]),
        np.diag_indices_from: _diag_indices_from,
        np.shape: lambda a: a.shape,
        np.ndim: lambda a: a.ndim,
        np.size: lambda a: a.size,
    }


FUNCTIONS = _functions()
