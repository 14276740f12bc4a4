"""Single values by the extension, which a loop over them is made of.

`operate` takes the name of an operation and two operands, of which one is an array. It returns an
array where both are real values on the CPU, or one is a number of Python that is a double; else
None, and so without the extension. `apply` does so with the name of a function and one array, and
`order` compares: -1, 0, 1, or 2 where a NaN takes part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mdqr._backend.host.backend import extension

_array_type: type | None = None
_check: Callable[[Any, Any], None] | None = None


def register(array_type: type) -> None:
    """Take the class of arrays; the extension is loaded for the first value."""
    global _array_type
    _array_type = array_type


def _load(name: str, *arguments: Any) -> Any:
    """Load the extension, and answer the first call."""
    global operate, apply, order
    try:
        module = extension()
    except ImportError:  # said by what is called next
        return None
    module.register_arrays(_array_type)
    operate, apply, order = module.operate, module.apply, module.order
    if _check is not None:
        set_check(_check)
    return getattr(module, name)(*arguments)


def set_check(check: Callable[[Any, Any], None] | None) -> None:
    """Let a function see the operands of each operation done here, or none."""
    global operate, _check
    _check = check
    if not isinstance(apply, partial):  # loaded
        operate = extension().operate if check is None else _checked


def _checked(name: str, x: Any, y: Any) -> Any:
    found = extension().operate(name, x, y)
    if found is not None and _check is not None:
        _check(x, y)
    return found


operate: Callable[[str, Any, Any], Any] = partial(_load, "operate")
apply: Callable[[str, Any], Any] = partial(_load, "apply")
order: Callable[[Any, Any], int | None] = partial(_load, "order")
