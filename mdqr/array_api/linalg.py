"""The linalg extension: what `mdqr.linalg` has of it, with the signatures of the array API."""

from __future__ import annotations

from typing import Any

import numpy as np

import mdqr
from mdqr._errors import shown
from mdqr.array_api import _dispatch as dispatch
from mdqr.array_api._arrays import matmul, matrix_transpose, tensordot, vecdot
from mdqr.array_api._dtypes import astype

ours = mdqr.linalg

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the cross products of vectors of three values."""
    return dispatch.call(ours.cross, "cross", (x1, x2), axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Return the diagonals of matrices."""
    if dispatch.is_floating(x):
        return ours.diagonal(dispatch.floating(x), offset=offset)
    return dispatch.module_of(x).diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Return the sums along the diagonals of matrices, of a dtype."""
    given = x if dtype is None else astype(x, dtype, copy=False)
    if dispatch.is_floating(given):
        return ours.trace(dispatch.floating(given), offset=offset)
    options = {} if dtype is None else {"dtype": dtype}
    return dispatch.as_arrays(dispatch.module_of(x).trace(given, offset, -2, -1, **options))


def outer(x1: Any, x2: Any, /) -> Any:
    """Return all products of values of two vectors."""
    return dispatch.call(ours.outer, "outer", (x1, x2))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return the norm of matrices."""
    (given,) = dispatch.of_floats("matrix_norm", x)
    return ours.matrix_norm(given, keepdims=keepdims, ord=ord)


def vector_norm(
    x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    """Return the norm of vectors."""
    (given,) = dispatch.of_floats("vector_norm", x)
    return ours.vector_norm(given, axis=axis, keepdims=keepdims, ord=ord)


def matrix_power(x: Any, n: int, /) -> Any:
    """Return powers of square matrices; for negative exponents, powers of the inverse."""
    (given,) = dispatch.of_floats("matrix_power", x)
    return ours.matrix_power(given, n)


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """Return Q and R."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f'mode is "reduced" or "complete"; got {shown(mode)}')
    (given,) = dispatch.of_floats("qr", x)
    return ours.qr(given, "complete" if mode == "complete" else "reduced")


def solve(x1: Any, x2: Any, /) -> Any:
    """Return the solution of systems."""
    return ours.solve(*dispatch.of_floats("solve", x1, x2))


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """Return Cholesky factors."""
    return ours.cholesky(*dispatch.of_floats("cholesky", x), upper=upper)


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """Return the singular value decomposition."""
    (given,) = dispatch.of_floats("svd", x)
    return ours.svd(given, full_matrices)


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """Return pseudoinverses."""
    return ours.pinv(*dispatch.of_floats("pinv", x), rtol=rtol)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """Return ranks, an array of integers."""
    return np.asarray(ours.matrix_rank(*dispatch.of_floats("matrix_rank", x), rtol=rtol))


def _single(name: str) -> dispatch.Function:
    """Return a function of one array, without options."""

    def function(x: Any, /) -> Any:
        return getattr(ours, name)(*dispatch.of_floats(name, x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return `mdqr.linalg.{name}`."
    return function


det, slogdet, inv = _single("det"), _single("slogdet"), _single("inv")
eig, eigvals = _single("eig"), _single("eigvals")
eigh, eigvalsh = _single("eigh"), _single("eigvalsh")
svdvals = _single("svdvals")
