"""Random arrays with every limb filled, of the same limbs for a seed on every device."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

import numpy as np
import numpy.random  # NumPy imports it at its first use, which may be when memory is short

from mdqr._backend import draws
from mdqr._core.base import ArrayBase
from mdqr._core.dtypes import DType
from mdqr._docstrings import documented
from mdqr._errors import shown
from mdqr._functions import creation, filled
from mdqr._limbs import planes as _limbs
from mdqr._limbs.device import check_device
from mdqr._limbs.planes import Block
from mdqr._limbs.rounding_mode import require_nearest
from mdqr._precision import Precision
from mdqr._typing import PrecisionLike

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

__all__ = ["normal", "uniform"]


def __dir__() -> list[str]:
    return sorted(__all__)


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _shape_first(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Raise a TypeError that names the order of arguments if a call has NumPy's."""

    @wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _T:
        if len(arguments) > 1 or "size" in options:
            name = f"mdqr.random.{function.__name__}"
            parameters = "low=0, high=1" if function.__name__ == "uniform" else "loc=0, scale=1"
            raise TypeError(
                f"{name} takes the shape first, which is size= of NumPy, and all else by keyword: "
                f"{name}(shape, {parameters}, precision=...)"
            )
        return function(*arguments, **options)

    return call


@overload
def uniform(
    shape: Any = (),
    *,
    low: Any = 0,
    high: Any = 1,
    precision: PrecisionLike,
    rng: Any = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray: ...


@overload
def uniform(
    shape: Any = (),
    *,
    low: Any = 0,
    high: Any = 1,
    precision: PrecisionLike | None = None,
    rng: Any = None,
    dtype: DType,
    device: str | None = None,
) -> MDArray: ...


@_shape_first
@documented(filled.zeros)
def uniform(
    shape: Any = (),
    *,
    low: Any = 0,
    high: Any = 1,
    precision: PrecisionLike | None = None,
    rng: Any = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return values that are uniform between `low` and `high`.

    Parameters
    ----------
    low, high : array_like, optional
        The ends, of a shape that broadcasts to `shape`.
    rng : int, numpy.random.Generator or None, optional
        A seed, a generator, or None for fresh entropy; whatever `numpy.random.default_rng` takes.
    dtype : {None, float, complex}, optional
        complex: real and imaginary parts are drawn independently.

    Returns
    -------
    MDArray
        A new array. On [0, 1) the values are multiples of ``2**(-53 * limbs)``, all equally
        likely; other ends scale them, with rounding, so that `high` itself can occur.

    Raises
    ------
    TypeError
        If the precision is missing, `rng` is none of these, an end is complex, or the call is
        NumPy's.
    OverflowError
        If `low`, `high` or their difference is not finite.

    >>> a = mdqr.random.uniform((2, 3), precision=mdqr.od, rng=1)
    >>> a.shape, bool((a >= 0).all() and (a < 1).all())
    ((2, 3), True)
    """
    target = filled.required(precision, "random.uniform", dtype)
    generator = _generator(rng)

    def scale(unit: MDArray, first: MDArray, last: MDArray) -> MDArray:
        width = last - first
        if not _limbs.namespace(width._block).isfinite(width._block).all():
            raise OverflowError("the ends and their difference must be finite")
        return _scaled(unit, width, first)

    return _drawn("uniform", generator, shape, target, dtype, device, (low, high), scale)


@overload
def normal(
    shape: Any = (),
    *,
    loc: Any = 0,
    scale: Any = 1,
    precision: PrecisionLike,
    rng: Any = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray: ...


@overload
def normal(
    shape: Any = (),
    *,
    loc: Any = 0,
    scale: Any = 1,
    precision: PrecisionLike | None = None,
    rng: Any = None,
    dtype: DType,
    device: str | None = None,
) -> MDArray: ...


@_shape_first
@documented(uniform)
def normal(
    shape: Any = (),
    *,
    loc: Any = 0,
    scale: Any = 1,
    precision: PrecisionLike | None = None,
    rng: Any = None,
    dtype: Any = None,
    device: str | None = None,
) -> MDArray:
    """Return normally distributed values.

    Parameters
    ----------
    loc, scale : array_like, optional
        Mean and standard deviation, of a shape that broadcasts to `shape`.
    dtype : {None, float, complex}, optional
        complex: real and imaginary parts are drawn independently, each with `scale`.

    Returns
    -------
    MDArray
        A new array. A value is a standard normal double plus a tail, uniform below half a unit in
        its last place, so that all limbs are filled. The distribution is the one that the doubles
        have.

    Raises
    ------
    TypeError
        If the precision is missing, `rng` is none of these, `loc` or `scale` is complex, or the
        call is NumPy's.
    ValueError
        If a `scale` is negative.

    >>> mdqr.random.normal(3, precision=mdqr.dd, rng=1).precision
    mdqr.dd
    """
    target = filled.required(precision, "random.normal", dtype)
    generator = _generator(rng)

    def stretch(standard: MDArray, shift: MDArray, width: MDArray) -> MDArray:
        if (width < 0).any():
            raise ValueError("scale, the standard deviation, must not be negative")
        return _scaled(standard, width, shift)

    return _drawn("normal", generator, shape, target, dtype, device, (loc, scale), stretch)


def _generator(rng: Any) -> np.random.Generator:
    """Return `numpy.random.default_rng` of `rng`; NumPy 2.1 does not take a RandomState."""
    if isinstance(rng, np.random.RandomState):
        rng = rng._bit_generator
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "rng must be what numpy.random.default_rng takes, such as an int, a "
            f"numpy.random.Generator or None; got {shown(rng)}"
        ) from None


def _standard(
    name: str, keys: list[draws.Key], shape: tuple[int, ...], limbs: int, device: str | None
) -> Block:
    """Return a block of standard values, of two keys a complex one, made where it will live."""
    number = check_device(device)
    if number is None:
        make = draws.DRAWS[name]
        parts = [make(key, prod(shape), limbs).reshape(limbs, *shape) for key in keys]
        return np.stack(parts) if len(parts) > 1 else parts[0]
    from mdqr._backend.cuda.backend import backend

    calls = backend()
    with calls.xp.cuda.Device(number):
        parts = [calls.draw(name, key, shape, limbs) for key in keys]
        return calls.xp.stack(parts) if len(parts) > 1 else parts[0]


def _drawn(
    name: str,
    generator: np.random.Generator,
    shape: Any,
    precision: Precision,
    dtype: Any,
    device: str | None,
    given: tuple[Any, Any],
    scale: Callable[[MDArray, MDArray, MDArray], MDArray],
) -> MDArray:
    """Return what is drawn, scaled by the parameters unless these are 0 and 1."""
    is_complex = bool(creation.wants_complex(dtype))
    values = tuple(shape) if np.iterable(shape) else (shape,)
    _limbs.check_axes(len(values), is_complex)
    require_nearest()
    with filled.memory_guard(values, precision, is_complex, device):
        keys = generator.integers(0, 2**64 - 1, (2, 2), np.uint64, endpoint=True).tolist()
        block = _standard(name, keys[: 1 + is_complex], values, precision.limbs, device)
        standard = ArrayBase._wrap(block, precision, is_complex)
        if _is_number(given[0], 0) and _is_number(given[1], 1):
            return standard
        first, second = (
            creation.array(x, precision=precision, dtype=float, device=device) for x in given
        )
        return scale(standard, first, second)


def _is_number(x: Any, value: int) -> bool:
    return isinstance(x, (int, float)) and x == value


def _scaled(unit: MDArray, width: MDArray, shift: MDArray) -> MDArray:
    """Return ``shift + width * unit``, part by part."""
    parts = (unit.real, unit.imag) if unit.is_complex else (unit,)
    scaled = [shift + width * part for part in parts]
    if scaled[0].shape != unit.shape:
        raise ValueError(
            f"the parameters have shapes {shift.shape} and {width.shape}, "
            f"which do not broadcast to the wanted shape {unit.shape}"
        )
    if not unit.is_complex:
        return scaled[0]
    blocks = [part._block for part in scaled]
    return unit._like(_limbs.namespace(blocks[0]).stack(blocks))
