"""Multiple-double arithmetic, QR factorisation and least squares in 1, 2, 4 and 8 doubles."""

from __future__ import annotations

__version__ = "0.1.0"

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from mdqr import random
from mdqr._array.array import MDArray
from mdqr._errors import PrecisionWarning
from mdqr._functions.comparison import (
    allclose,
    array_equal,
    isfinite,
    isinf,
    isnan,
    maximum,
    minimum,
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
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    sin,
    sinh,
    sinpi,
    tan,
    tanh,
)
from mdqr._functions.elementwise import (
    abs,
    ceil,
    conj,
    floor,
    hypot,
    negative,
    reciprocal,
    rint,
    sign,
    sqrt,
    square,
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
from mdqr._functions.matrices import diag, eye, tril, triu, vander
from mdqr._functions.power import polyval, power
from mdqr._functions.reductions import dot, outer, prod, sum, trace, vdot
from mdqr._functions.sequences import arange, concatenate, linspace, stack
from mdqr._io.files import load, save
from mdqr._io.format import printoptions
from mdqr._io.loadtxt import loadtxt
from mdqr._precision import Precision, d, dd, od, qd

__all__ = [
    "MDArray",
    "Precision",
    "PrecisionWarning",
    "abs",
    "allclose",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "array",
    "array_equal",
    "asarray",
    "cbrt",
    "ceil",
    "concatenate",
    "config",
    "conj",
    "cos",
    "cosh",
    "cospi",
    "d",
    "dd",
    "diag",
    "dot",
    "empty",
    "empty_like",
    "exp",
    "exp2",
    "expm1",
    "eye",
    "floor",
    "from_limbs",
    "full",
    "full_like",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "linalg",
    "linspace",
    "load",
    "loadtxt",
    "log",
    "log1p",
    "log2",
    "log10",
    "maximum",
    "minimum",
    "negative",
    "od",
    "ones",
    "ones_like",
    "outer",
    "polyval",
    "power",
    "printoptions",
    "prod",
    "qd",
    "random",
    "reciprocal",
    "rint",
    "save",
    "sign",
    "sin",
    "sinh",
    "sinpi",
    "sqrt",
    "square",
    "stack",
    "sum",
    "tan",
    "tanh",
    "tensorcore",
    "testing",
    "trace",
    "tril",
    "triu",
    "vander",
    "vdot",
    "where",
    "zeros",
    "zeros_like",
]

if TYPE_CHECKING:
    from mdqr import config, linalg, tensorcore, testing

_LAZY = ("config", "linalg", "tensorcore", "testing")


def __getattr__(name: str) -> Any:
    """Import the namespaces that are not always needed when they are first asked for."""
    if name in _LAZY:
        return _import_module(f"mdqr.{name}")
    raise AttributeError(f"module 'mdqr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
