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
from mdqr._functions.manipulation import axes, joining, nested, parts, selection, shapes
from mdqr._functions.ordering import sets, sorting
from mdqr._functions.products import coefficients, contractions, einsum
from mdqr._functions.scales import angles, spaced
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


def _roots(p: Any) -> MDArray:
    """Return roots alone, as NumPy does."""
    from mdqr import linalg

    return linalg.roots(p).roots


def _positive(x: Any) -> MDArray:
    return x.copy()


def _divmod(x: Any, y: Any) -> tuple[MDArray, MDArray]:
    return rounding.floor_divide(x, y), rounding.remainder(x, y)


# sinpi, cospi, gamma, lgamma, erf and erfc are not NumPy's.
_ELEMENTARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
    *("arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh"),
    *("arcsinh", "arccosh", "arctanh", "cbrt", "logaddexp"),
)


def _ufuncs() -> dict[np.ufunc, Function]:
    """Return what answers each ufunc."""
    return {
        np.add: elementwise.add,
        np.subtract: elementwise.subtract,
        np.multiply: elementwise.multiply,
        np.divide: elementwise.divide,
        np.negative: elementwise.negative,
        np.positive: _positive,
        np.absolute: elementwise.abs,
        np.fabs: elementwise.abs,
        np.sign: elementwise.sign,
        np.sqrt: elementwise.sqrt,
        np.square: elementwise.square,
        np.reciprocal: elementwise.reciprocal,
        np.conjugate: elementwise.conj,
        np.hypot: elementwise.hypot,
        np.floor: elementwise.floor,
        np.ceil: elementwise.ceil,
        np.trunc: rounding.trunc,
        np.rint: elementwise.rint,
        np.floor_divide: rounding.floor_divide,
        np.remainder: rounding.remainder,
        np.divmod: _divmod,
        np.copysign: rounding.copysign,
        np.nextafter: rounding.nextafter,
        np.signbit: rounding.signbit,
        np.power: power.power,
        np.maximum: comparison.maximum,
        np.minimum: comparison.minimum,
        np.equal: comparison.equal,
        np.not_equal: comparison.not_equal,
        np.less: comparison.less,
        np.less_equal: comparison.less_equal,
        np.greater: comparison.greater,
        np.greater_equal: comparison.greater_equal,
        np.deg2rad: angles.deg2rad,
        np.rad2deg: angles.rad2deg,
        np.logical_and: logical.logical_and,
        np.logical_or: logical.logical_or,
        np.logical_xor: logical.logical_xor,
        np.logical_not: logical.logical_not,
        np.isfinite: comparison.isfinite,
        np.isnan: comparison.isnan,
        np.isinf: comparison.isinf,
        np.matmul: matmul,
        np.vecdot: contractions.vecdot,
        **{getattr(np, name): getattr(elementary, name) for name in _ELEMENTARY},
    }


UFUNCS = _ufuncs()


def _scipy_ufuncs() -> dict[str, Function]:
    """Return what answers ufuncs of `scipy.special`, by name: SciPy is not imported."""
    found: dict[str, Function] = {**special.UNARY, **special.BINARY}
    del found["sinc"]  # no ufunc there
    return found


SCIPY_UFUNCS = _scipy_ufuncs()
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


def _partitioned(a: MDArray, kth: Any, axis: int | None) -> MDArray:
    found = a.ravel().copy() if axis is None else a.copy()
    found.partition(kth, -1 if axis is None else axis)
    return found


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
        *("nanmin", "nanmedian", "nanquantile", "nanargmax", "nanargmin"),
    ),
    histograms: ("histogram",),
    quantiles: ("median", "quantile", "percentile"),
    running: ("cumsum", "cumprod", "cumulative_sum", "cumulative_prod"),
    sampled: ("diff", "trapezoid", "gradient", "interp", "convolve", "correlate"),
    polynomials: ("polyval", "polyder", "polyfit"),
    coefficients: ("poly", "polyadd", "polysub", "polymul", "polydiv", "polyint"),
    angles: ("angle",),
    nested: ("block",),
    spaced: ("logspace", "geomspace"),
    axes: ("matrix_transpose", "moveaxis", "swapaxes", "flip", "roll", "diagonal"),
    parts: (
        *("real", "imag", "isreal", "iscomplexobj", "transpose", "ravel", "copy"),
        *("delete", "insert"),
    ),
    shapes: (
        *("reshape", "expand_dims", "squeeze", "broadcast_to"),
        *("atleast_1d", "atleast_2d", "atleast_3d"),
    ),
    joining: (
        *("vstack", "hstack", "column_stack", "append", "unstack", "split"),
        *("meshgrid", "repeat", "tile"),
    ),
    selection: ("take", "take_along_axis", "nonzero", "count_nonzero"),
    sorting: ("searchsorted",),
    sets: ("isin", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    contractions: ("tensordot", "inner", "kron", "cross"),
    rounding: ("round", "clip", "nan_to_num"),
    logical: ("isclose", "allclose"),
    reductions: ("dot", "vdot", "outer", "trace"),
    comparison: ("where", "array_equal"),
    sequences: ("stack", "linspace"),
    matrices: ("diag", "tril", "triu", "vander"),
}


def _like(function: Function) -> Function:
    """Return a function that also takes NumPy's `shape`."""

    @wraps(function)
    def like(a: Any, *values: Any, shape: Any = None, **options: Any) -> Any:
        model = a if shape is None else shapes.broadcast_to(a.ravel()[:1].sum(), shape)
        return function(model, *values, **options)

    return like


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
        np.partition: lambda a, kth, axis=-1: _partitioned(a, kth, axis),
        np.argpartition: lambda a, kth, axis=-1: a.argpartition(kth, axis),
        np.put: lambda a, ind, v: a.put(ind, v),
        np.broadcast_arrays: _broadcast_arrays,
        np.copyto: _copyto,
        np.shape: lambda a: a.shape,
        np.ndim: lambda a: a.ndim,
        np.size: lambda a: a.size,
        np.isrealobj: lambda x: not x.is_complex,
        np.flatnonzero: lambda a: selection.nonzero(a.ravel())[0],
        np.argwhere: lambda a: np.transpose(selection.nonzero(shapes.atleast_1d(a)))[:, : a.ndim],
    }


FUNCTIONS = _functions()
