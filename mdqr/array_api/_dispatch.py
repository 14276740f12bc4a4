"""The choice between arrays of the namespace that are MDArrays and those of NumPy or CuPy."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np

import mdqr
from mdqr._core.base import ArrayBase
from mdqr._limbs.device import is_cuda_array
from mdqr._precision import d

Function = Callable[..., Any]


def is_array(x: object) -> bool:
    """Return whether `x` is an array of any kind that the namespace knows."""
    return isinstance(x, (ArrayBase, np.ndarray, np.generic)) or is_cuda_array(x)


def is_floating(x: Any) -> bool:
    """Return whether `x` is an array of real or complex numbers."""
    return isinstance(x, ArrayBase) or (is_array(x) and x.dtype.kind in "fc")


def any_floating(arrays: Iterable[Any]) -> bool:
    """Return whether one of the arrays is floating."""
    return any(map(is_floating, arrays))


def floating(x: Any) -> Any:
    """Return float arrays of NumPy and CuPy as arrays of precision d, all else as it is."""
    if isinstance(x, ArrayBase) or not is_floating(x):
        return x
    return mdqr.array(x, precision=d)


def module_of(*arrays: Any) -> ModuleType:
    """Return CuPy if one of the arrays is CuPy's, else NumPy."""
    return importlib.import_module("cupy") if any(map(is_cuda_array, arrays)) else np


def call(ours: Function, theirs: str, arrays: tuple[Any, ...], *others: Any, **options: Any) -> Any:
    """Call `ours` if one of the arrays is floating, else NumPy's function `theirs`."""
    if any_floating(arrays):
        return ours(*map(floating, arrays), *others, **options)
    check(theirs, arrays)
    return as_arrays(getattr(module_of(*arrays), theirs)(*arrays, *others, **options))


def check(name: str, arrays: tuple[Any, ...]) -> None:
    """Raise TypeError unless there is an array, and no Python float beside integer arrays."""
    if not any(map(is_array, arrays)):
        kinds = ", ".join(type(x).__name__ for x in arrays)
        raise TypeError(f"{name} needs an array; got {kinds}: use asarray")
    if any(isinstance(x, (float, complex)) for x in arrays):
        raise TypeError(
            f"{name} of integers and a float would be rounded to float64; convert the integers "
            "first, as in astype(x, float64)"
        )


def as_arrays(found: Any) -> Any:
    """Return NumPy's scalars as 0-d arrays."""
    return np.asarray(found) if isinstance(found, np.generic) else found


def of_floats(name: str, *arrays: Any) -> tuple[Any, ...]:
    """Return the arrays of a function that is for floating-point numbers only.

    Raises
    ------
    TypeError
        If all are integers or booleans: which precision is wanted?
    """
    if not any_floating(arrays):
        raise TypeError(
            f"{name} is for floating-point arrays; convert integers first, as in astype(x, float64)"
        )
    return tuple(map(floating, arrays))
