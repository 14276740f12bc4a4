"""The option `precision` of functions of arrays, which answers for operands of any kind.

Data are the parameters that can be given by position only. Without the option a function is called
as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import unwrap
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from mdqr._core.answers import answered
from mdqr._core.base import ArrayBase
from mdqr._core.promotion import precisions_in, to_block, together, unwrapped
from mdqr._docstrings import documented
from mdqr._errors import explained
from mdqr._limbs import planes
from mdqr._precision import Precision, as_precision

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_P = ParamSpec("_P")
_R = TypeVar("_R")
_MASKS = ("condition",)  # data without a precision


def with_precision(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Convert the data of a function, and round its result, where `precision` is given.

    The function has the parameter for its signature alone. As `mdqr._errors.advised` does, its
    MemoryError says what to reduce.
    """
    if "\nprecision :" not in (function.__doc__ or ""):
        documented("")(function)
    code = unwrap(function).__code__  # much faster than its signature
    data = code.co_varnames[: code.co_posonlyargcount]
    places = [place for place, name in enumerate(data) if name not in _MASKS]

    plain: Callable[..., _R] = function

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> _R:
        try:
            if not options:  # the most frequent call, and the fastest
                return plain(*arguments)
            if (precision := options.pop("precision", None)) is None:
                return plain(*arguments, **options)
            answer = as_precision(precision)
            return _rounded(plain(*_converted(arguments, places, answer), **options), answer)
        except TypeError:
            # Here, so that arrays do not pay for the question.
            if (other := answered(function, arguments)) is None:
                raise
            return cast("_R", other)
        except MemoryError as error:
            raise explained(function, arguments, error) from None

    return cast("Callable[_P, _R]", call)


def _converted(arguments: Sequence[Any], places: list[int], answer: Precision) -> list[Any]:
    """Return arguments, data as arrays of a precision that none of them exceeds."""
    converted = list(arguments)
    places = [place for place in places if place < len(converted)]
    given = [unwrapped(converted[place]) for place in places]
    work = max([answer, *(p for x in given for p in precisions_in(x))])
    pairs = together([to_block(x, work.limbs) for x in given], given)
    for place, (block, is_complex) in zip(places, pairs, strict=True):
        full = planes.widen(block, is_complex, work.limbs)
        converted[place] = ArrayBase._wrap(full, work, is_complex)
    return converted


def _rounded(found: Any, answer: Precision) -> Any:
    """Return a result with every array rounded once to a precision."""
    if isinstance(found, ArrayBase):
        return (
            found if found._precision is answer else cast("MDArray", found).astype(precision=answer)
        )
    if isinstance(found, tuple):
        parts = [_rounded(part, answer) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    return found
