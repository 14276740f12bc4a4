"""The array API standard 2025.12 for multiple doubles.

Experimental: it may change in any minor release, without a warning before.

This module is the namespace of precision qd, ``mdqr.array_api(mdqr.od)`` that of od, and
``a.__array_namespace__()`` that of the precision of `a`. The precision of a namespace is that of
arrays that are made without a dtype, of its constants, and of what it calls ``float64`` and
``complex128``; ``float32`` and ``complex64`` are precision d. Under their own names all dtypes are
in every namespace: ``float_dd``, ``complex_od`` and so on.

Integers and booleans are arrays of NumPy, or CuPy on a GPU: the results of comparisons, places,
counts. All functions take and return them.
"""

from __future__ import annotations

import sys
from typing import Any

from mdqr._precision import qd
from mdqr.array_api import _namespace

__all__ = [*_namespace.become(sys.modules[__name__], qd)]


def __getattr__(name: str) -> Any:
    """Tell type checkers that names are made while this is loaded."""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__array_api_version__", "__array_namespace_info__"])
