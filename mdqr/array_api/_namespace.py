"""The namespaces: one for each precision, that of dtypes which are not given."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any, cast

import numpy as np

import mdqr
from mdqr._convert.constants import e, pi
from mdqr._core.dtypes import DType, dtype_of
from mdqr._errors import shown
from mdqr._precision import PRECISIONS, Precision, as_precision, qd
from mdqr._typing import PrecisionLike
from mdqr.array_api import _arrays, _creation, _dtypes, _elementwise, fft, linalg, special

VERSION = "2025.12"
VERSIONS = ("2022.12", "2023.12", "2024.12", VERSION)

_OF_DTYPES = ("astype", "can_cast", "finfo", "iinfo", "isdtype")
_OF_CREATION = (
    *("asarray", "full", "zeros", "ones", "empty", "eye", "arange", "linspace", "from_dlpack"),
    *("result_type", "__array_namespace_info__"),
)
# Functions beyond the standard that xarray takes from namespaces.
_BEYOND = ("cross", "cumprod", "cumsum", "einsum", "gradient", "pad", "quantile", "transpose")
_LIKE = ("full_like", "zeros_like", "ones_like", "empty_like", "meshgrid", "tril", "triu")


class Namespace(ModuleType):
    """The functions, dtypes and constants of the array API for one precision.

    Calling it with a precision returns the namespace of that one.
    """

    def __call__(self, precision: PrecisionLike) -> Namespace:
        return namespace(as_precision(precision))

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)

    def __getattr__(self, name: str) -> Any:
        if name in _BEYOND:
            return getattr(mdqr, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<namespace mdqr.array_api of precision {self.precision}>"


def contents(precision: Precision) -> dict[str, Any]:
    """Return what the namespace of a precision holds, by name."""
    made = _creation.Creation(precision)
    functions = vars(_arrays)
    found = {
        "precision": precision,
        "DType": DType,
        "__array_api_version__": VERSION,
        "e": e,
        "inf": math.inf,
        "nan": math.nan,
        "newaxis": None,
        "pi": pi,
        **{name: np.dtype(name) for name in _dtypes.PLAIN},
        **{dtype_of(p, c).name: dtype_of(p, c) for p in PRECISIONS for c in (False, True)},
        **_dtypes.named(precision),
        **{name: getattr(_dtypes, name) for name in _OF_DTYPES},
        **{name: getattr(made, name) for name in _OF_CREATION},
        **{name: getattr(_creation, name) for name in _LIKE},
        **{
            name: value
            for name, value in functions.items()
            if getattr(value, "__module__", "") == _arrays.__name__ and name[0] != "_"
        },
        **_elementwise.FUNCTIONS,
        "fft": fft if precision is qd else fft.of_precision(precision),
        "linalg": linalg,
        "special": special,
    }
    return {**found, "__all__": sorted(name for name in found if name[0] != "_")}


_MADE: dict[Precision, Namespace] = {}


def namespace(precision: Precision) -> Namespace:
    """Return the namespace of a precision, always the same one."""
    if precision not in _MADE:
        made = Namespace("mdqr.array_api")
        vars(made).update(contents(precision))
        _MADE[precision] = made
    return _MADE[precision]


def become(module: ModuleType, precision: Precision) -> list[str]:
    """Let a module be the namespace of a precision, and return its public names."""
    module.__class__ = Namespace
    held = contents(precision)
    vars(module).update(held)
    _MADE[precision] = cast(Namespace, module)
    return sorted(name for name in held if not name.startswith("_"))


def checked(api_version: str | None) -> None:
    """Raise ValueError unless the namespace follows a version of the standard."""
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"the array API is that of {', '.join(VERSIONS)}; got {shown(api_version)}"
        )
