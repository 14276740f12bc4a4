"""Hypothesis strategies for multiple doubles; hypothesis is imported when one is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import shown
from mdqr._functions import creation, filled, sequences
from mdqr._precision import Precision, as_precision
from mdqr._typing import PrecisionLike
from mdqr.testing._families import FAMILIES, Bounds, Planes, draw, draw_mixed, fits
from mdqr.testing._relations import RELATIONS, relate
from mdqr.testing._values import Range, exact_bound, first_limbs, value

if TYPE_CHECKING:
    from types import ModuleType

    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["arrays", "floats", "pairs"]

Shape = int | tuple[int, ...]


class _Options(NamedTuple):
    """The options for one array of a strategy."""

    precision: Precision
    families: tuple[str, ...]
    bounds: Bounds
    parts: int  # 2 for complex values


def floats(
    precision: PrecisionLike,
    *,
    min_value: Any = None,
    max_value: Any = None,
    allow_nan: bool | None = None,
    allow_infinity: bool | None = None,
    allow_subnormal: bool = True,
    families: Sequence[str] | None = None,
    min_exponent: int | None = None,
    max_exponent: int | None = None,
) -> SearchStrategy[MDArray]:
    """Return a strategy for real numbers: 0-dimensional arrays.

    Values are drawn limb by limb and shrink to small integers, then to short fractions, then to
    fewer limbs.

    Parameters
    ----------
    precision : Precision or str
        Of the values.
    min_value, max_value : real number or str, optional
        Bounds, themselves included; exact, as ``"0.1"`` is.
    allow_nan, allow_infinity : bool, optional
        Whether NaN and infinities occur. Default: if no bound is given (for infinity, none on its
        side).
    allow_subnormal : bool, default: True
        Whether the first limb may be subnormal.
    families, min_exponent, max_exponent
        As in `arrays`, whose values are drawn by a seed and do not shrink as well.

    Returns
    -------
    SearchStrategy[MDArray]
        Of shape ``()``.

    Raises
    ------
    ImportError
        If hypothesis is not installed.
    ValueError
        If no value remains to draw, or bounds are given together with families or exponents.

    See Also
    --------
    arrays : many values at once, which costs hardly more.

    Examples
    --------
    >>> import mdqr
    >>> from hypothesis import find, given
    >>> from mdqr.testing import floats
    >>> @given(floats(mdqr.qd, allow_nan=False))
    ... def test_negation(x):
    ...     assert -(-x) == x
    >>> test_negation()
    >>> find(floats(mdqr.qd), lambda x: x > 1)
    mdqr.array('2.0', precision=mdqr.qd)
    """
    if families is not None or min_exponent is not None or max_exponent is not None:
        if min_value is not None or max_value is not None:
            raise ValueError("min_value and max_value do not go with families and exponents")
        return arrays(
            precision,
            (),
            families=families,
            allow_nan=allow_nan,
            allow_infinity=allow_infinity,
            allow_subnormal=allow_subnormal,
            min_exponent=min_exponent,
            max_exponent=max_exponent,
        )
    st = _hypothesis()
    target = as_precision(precision)
    bounds = Range(exact_bound(min_value), exact_bound(max_value))
    if bounds.low is not None and bounds.high is not None and bounds.low > bounds.high:
        raise ValueError(f"min_value {min_value} lies above max_value {max_value}")
    allow: dict[str, Any] = {"allow_nan": allow_nan, "allow_infinity": allow_infinity}
    if not allow_subnormal:
        allow["allow_subnormal"] = False
    first = first_limbs(st, bounds, **allow)

    def draw_one(draw_from: DrawFn) -> MDArray:
        return value(draw_from, st, first, target, bounds)

    return _drawn_by(draw_one)


def arrays(
    precision: PrecisionLike,
    shape: Shape | SearchStrategy[Shape],
    *,
    dtype: type = float,
    elements: SearchStrategy[Any] | None = None,
    min_value: Any = None,
    max_value: Any = None,
    families: Sequence[str] | None = None,
    allow_nan: bool | None = None,
    allow_infinity: bool | None = None,
    allow_subnormal: bool = True,
    min_exponent: int | None = None,
    max_exponent: int | None = None,
) -> SearchStrategy[MDArray]:
    """Return a strategy for arrays of normalised full-width values.

    A seed and a few integers are drawn, and the values are made from them vectorised, so an array
    of 64 values costs about what one costs. A failing array shrinks to ones around a single value,
    towards the front of `FAMILIES` and exponent 0. With `elements` or bounds every value is drawn
    by itself, as by `floats`, and shrinks by itself.

    Parameters
    ----------
    precision : Precision or str
        Of the values.
    shape : int, tuple of ints, or a strategy for them
        Of the arrays, for instance ``hypothesis.extra.numpy.array_shapes()``.
    dtype : {float, complex}, default: float
        The field.
    elements : SearchStrategy, optional
        For single values: of `floats`, or of numbers that `mdqr.array` takes.
    min_value, max_value : real number or str, optional
        Bounds, as in `floats`; of complex values for both parts.
    families : sequence of str, optional
        Names from `FAMILIES`, or "zero" (of both signs). Default: all that fit the bounds.
        An array holds one family or all of them mixed.
    allow_nan, allow_infinity : bool, optional
        Whether NaN and infinities occur. Default: if neither `families` nor an exponent is given.
    allow_subnormal : bool, default: True
        Whether a limb may be subnormal; if not, such limbs are zero.
    min_exponent, max_exponent : int, optional
        Bounds of the exponent of the first limb: ``2**min_exponent <= abs(x.limbs[0]) <
        2**(max_exponent + 1)`` for what is finite and not zero.

    Returns
    -------
    SearchStrategy[MDArray]
        All limbs are filled, except in families that define them otherwise.

    Raises
    ------
    ImportError
        If hypothesis is not installed.
    ValueError
        If a family is unknown or has no value within the bounds.

    See Also
    --------
    pairs : two arrays that cancel, nearly agree, or differ much in size.

    Examples
    --------
    >>> import mdqr
    >>> from hypothesis import given
    >>> from mdqr.testing import arrays, assert_same_bits
    >>> @given(arrays(mdqr.dd, 64, dtype=complex))
    ... def test_conjugate_twice(x):
    ...     assert_same_bits(x.conj().conj(), x)
    >>> test_conjugate_twice()
    """
    st = _hypothesis()
    shapes = shape if isinstance(shape, st.SearchStrategy) else st.just(shape)
    single = elements
    if min_value is not None or max_value is not None:
        if elements is not None:
            raise ValueError("bounds are those of the elements: floats(..., min_value=...)")
        allow: dict[str, Any] = {
            "allow_nan": allow_nan,
            "allow_infinity": allow_infinity,
            "allow_subnormal": allow_subnormal,
            "families": families,
            "min_exponent": min_exponent,
            "max_exponent": max_exponent,
        }
        single = floats(precision, min_value=min_value, max_value=max_value, **allow)
    if single is not None:
        return _of_elements(precision, shapes, dtype, single, elements is None)
    options = _options(
        precision,
        dtype,
        families,
        (allow_nan, allow_infinity, allow_subnormal),
        (min_exponent, max_exponent),
    )

    def array(draw_from: DrawFn) -> MDArray:
        size = _as_shape(draw_from(shapes))
        return _wrap(_draw(draw_from, options, int(np.prod(size))), size, options)

    return _drawn_by(array)


def pairs(
    precision: PrecisionLike,
    shape: Shape | SearchStrategy[Shape],
    *,
    dtype: type = float,
    relations: Sequence[str] | None = None,
    families: Sequence[str] | None = None,
    allow_nan: bool | None = None,
    allow_infinity: bool | None = None,
    allow_subnormal: bool = True,
    min_exponent: int | None = None,
    max_exponent: int | None = None,
) -> SearchStrategy[tuple[MDArray, MDArray]]:
    """Return a strategy for pairs of arrays whose values have something to do with each other.

    Parameters
    ----------
    precision : Precision or str
        Of the values.
    shape : int, tuple of ints, or a strategy for them
        Of both arrays.
    dtype : {float, complex}, default: float
        The field.
    relations : sequence of str, optional
        Names from `RELATIONS`: "independent"; "equal"; "opposite"; "cancel" (``x + y`` cancels
        through any number of limbs); "near" (``y / x`` is near 1); "offset" (`y` is smaller by up
        to the width of a number); and, for complex values, "rotated" (the real part of ``x * y``
        cancels). Default: all.
    families, allow_nan, allow_infinity, allow_subnormal, min_exponent, max_exponent
        As in `arrays`, for the first array; a related second array may leave the bounds.

    Returns
    -------
    SearchStrategy[tuple[MDArray, MDArray]]
        Normalised values.

    Raises
    ------
    ImportError
        If hypothesis is not installed.
    ValueError
        If a relation or family is unknown or has no value within the bounds.

    See Also
    --------
    arrays : one array.

    Examples
    --------
    >>> import mdqr
    >>> from hypothesis import given
    >>> from mdqr.testing import assert_close, exact, pairs
    >>> @given(pairs(mdqr.dd, 64, relations=["cancel"]))
    ... def test_sum(xy):
    ...     x, y = xy
    ...     assert_close(x + y, exact("add", x, y), ulps=2)
    >>> test_sum()
    """
    st = _hypothesis()
    options = _options(
        precision,
        dtype,
        families,
        (allow_nan, allow_infinity, allow_subnormal),
        (min_exponent, max_exponent),
    )
    known = [name for name in RELATIONS if options.parts == 2 or name != "rotated"]
    chosen = known if relations is None else list(relations)
    if not chosen or not set(chosen) <= set(known):
        raise ValueError(f"relations {chosen} are not among {known} for dtype {dtype.__name__}")
    shapes = shape if isinstance(shape, st.SearchStrategy) else st.just(shape)

    def pair(draw_from: DrawFn) -> tuple[MDArray, MDArray]:
        size = _as_shape(draw_from(shapes))
        count = int(np.prod(size))
        x = _draw(draw_from, options, count)
        y = _draw(draw_from, options, count)
        relation = draw_from(st.sampled_from(chosen))
        rng = np.random.default_rng(draw_from(st.integers(0, 2**32 - 1)))
        y = relate(relation, x, y, rng, options.precision.limbs)
        return _wrap(x, size, options), _wrap(y, size, options)

    return _drawn_by(pair)


def _of_elements(
    precision: PrecisionLike,
    shapes: SearchStrategy[Shape],
    dtype: type,
    single: SearchStrategy[Any],
    is_part: bool,
) -> SearchStrategy[MDArray]:
    """Return a strategy for arrays whose values, or parts of values, are drawn one by one."""
    target = as_precision(precision)
    if dtype not in (float, complex):
        raise ValueError(f"dtype is {shown(dtype)}; wanted float or complex")
    parts = 2 if dtype is complex and is_part else 1

    def array(draw_from: DrawFn) -> MDArray:
        size = _as_shape(draw_from(shapes))
        drawn = [draw_from(single) for _ in range(parts * int(np.prod(size)))]
        values = [creation.array(x, precision=target) for x in drawn]
        if not values:
            return filled.zeros(size, precision=target, dtype=dtype)
        if parts == 1:
            return creation.array(sequences.stack(values), dtype=dtype).reshape(size)
        flat = sequences.stack(values)
        block = np.stack([flat.limbs[:, ::2], flat.limbs[:, 1::2]])
        return MDArray._wrap(block, target, True).reshape(size)

    return _drawn_by(array)


def _drawn_by(function: Callable[[DrawFn], Any]) -> SearchStrategy[Any]:
    """Return the strategy of what a function draws."""
    return _composite()(function)


@cache
def _composite() -> Callable[[Callable[[DrawFn], Any]], SearchStrategy[Any]]:
    """Return what makes strategies of functions, once: Hypothesis parses the source for it."""

    def drawn(draw_from: DrawFn, function: Callable[[DrawFn], Any]) -> Any:
        return function(draw_from)

    strategies: Callable[..., SearchStrategy[Any]] = _hypothesis().composite(drawn)
    return strategies


def _hypothesis() -> ModuleType:
    try:
        import hypothesis.strategies
    except ImportError as error:
        raise ImportError(
            "the strategies of mdqr.testing need hypothesis: pip install 'mdqr[test]'"
        ) from error
    return hypothesis.strategies


def _as_shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _options(
    precision: PrecisionLike,
    dtype: type,
    families: Sequence[str] | None,
    allow: tuple[bool | None, bool | None, bool],
    exponents: tuple[int | None, int | None],
) -> _Options:
    precision = as_precision(precision)
    if dtype not in (float, complex):
        raise ValueError(f"dtype is {shown(dtype)}; wanted float or complex")
    allow_nan, allow_infinity, subnormal = allow
    low, high = exponents
    bounds = Bounds(
        max(-1074 if low is None else low, -1074 if subnormal else -1022),
        min(1023 if high is None else high, 1023),
        subnormal,
    )
    if bounds.low > bounds.high:
        raise ValueError(f"min_exponent {low} and max_exponent {high} leave no number")
    free = families is None and low is None and high is None
    names = [*FAMILIES, "zero"] if families is None else list(families)
    for name in names:
        if name not in FAMILIES and name != "zero":
            raise ValueError(f"no family {name!r}; there are {', '.join([*FAMILIES, 'zero'])}")
    fitting = [name for name in names if fits(name, precision.limbs, bounds)]
    if families is not None and len(fitting) < len(names):
        lost = ", ".join(name for name in names if name not in fitting)
        raise ValueError(f"no value of family {lost} lies within the bounds")
    if allow_infinity or (allow_infinity is None and free):
        fitting.append("infinity")
    if allow_nan or (allow_nan is None and free):
        fitting.append("nan")
    return _Options(precision, tuple(fitting), bounds, 2 if dtype is complex else 1)


def _draw(draw_from: DrawFn, options: _Options, size: int) -> Planes:
    """Draw limbs of shape ``(N, parts, size)``: ones, and within a window what is to be tested."""
    st = _hypothesis()
    families = options.families
    # half of the arrays are mixed; a number shrinks, so single simple families come first
    choice = draw_from(st.integers(0, 2 * len(families) - 1))
    spread = draw_from(st.integers(0, 60))
    seed = draw_from(st.integers(0, 2**32 - 1))
    # Most windows are the whole array; both ends shrink, until one value is left.
    stop = min(draw_from(st.integers(0, 8 * size)), size)
    start = size - min(draw_from(st.integers(0, 8 * size)), size)
    rng = np.random.default_rng(seed)
    limbs, total = options.precision.limbs, options.parts * size
    if choice < len(families):
        planes = draw(families[choice], rng, limbs, total, spread, options.bounds)
    else:
        member = rng.integers(0, len(families), size=total)
        planes = draw_mixed(families, member, rng, limbs, spread, options.bounds)
    planes = planes.reshape(limbs, options.parts, size)
    outside = np.ones(size, dtype=bool)
    outside[start:stop] = False
    planes[:, :, outside] = 0.0
    planes[0, 0, outside] = np.ldexp(1.0, min(max(0, options.bounds.low), options.bounds.high))
    return planes


def _wrap(planes: Planes, shape: tuple[int, ...], options: _Options) -> MDArray:
    limbs = options.precision.limbs
    if options.parts == 2:
        block = np.ascontiguousarray(planes.swapaxes(0, 1)).reshape(2, limbs, *shape)
        return MDArray._wrap(block, options.precision, True)
    block = np.ascontiguousarray(planes[:, 0]).reshape(limbs, *shape)
    return MDArray._wrap(block, options.precision, False)
