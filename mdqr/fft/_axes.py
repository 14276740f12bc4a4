"""Transforms of arrays along axes: lengths, norms, halves of spectra of real data."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Literal

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._core.axes import counted_axis
from mdqr._errors import shown
from mdqr._functions.elementwise import sqrt
from mdqr._functions.manipulation.axes import operand
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr.fft._transform import scaled_transform

Norm = Literal["backward", "ortho", "forward"] | None

_DIVIDES = {"backward": 1, None: 1, "forward": -1, "ortho": 0}  # the sign of what is divided


def transformed(a: Any, n: int | None, axis: int, norm: Norm, sign: int) -> MDArray:
    """Return transforms along an axis with numbers cut off or zeros put behind."""
    if norm not in _DIVIDES:
        raise ValueError(f'norm must be "backward", "ortho" or "forward"; got {shown(norm)}')
    x = operand(a)
    place = counted_axis(axis, x.ndim)
    n = x.shape[place] if n is None else operator.index(n)
    if n < 1:
        raise ValueError(f"the length of a transform must be at least 1; got {n}")
    kind = Kind(x.precision.limbs, True)
    block = x.limbs if x.is_complex else planes.complexify(x.limbs)
    xp = for_block(block).xp
    block = xp.moveaxis(block, 2 + place, 2)[:, :, :n]
    shape = block.shape[3:]
    rows = kind.zeros(xp, (n, math.prod(shape)))
    rows[..., : block.shape[2], :] = block.reshape(*block.shape[:3], rows.shape[-1])
    divides = _DIVIDES[norm] in (0, sign)
    is_power = divides and _DIVIDES[norm] and n & (n - 1) == 0
    if rows.size:
        rows = scaled_transform(rows, sign, -(n.bit_length() - 1) if is_power else 0, kind=kind)
    found = xp.moveaxis(rows.reshape(2, kind.limbs, n, *shape), 2, 2 + place)
    result = MDArray._wrap(found, x.precision, True)
    if not divides or is_power:
        return result
    return _divided(result, n, norm)


def _divided(x: MDArray, n: int, norm: Norm) -> MDArray:
    """Return both parts over n, or over its square root."""
    parts = MDArray._wrap(x.limbs.swapaxes(0, 1), x.precision, False)
    size = x.precision(n)
    found = parts / (sqrt(size) if norm == "ortho" else size).to_device(x.device)
    return MDArray._wrap(found.limbs.swapaxes(0, 1), x.precision, True)


def real_operand(name: str, a: Any) -> MDArray:
    """Return real numbers.

    Raises
    ------
    TypeError
        If they are complex.
    """
    x = operand(a)
    if x.is_complex:
        raise TypeError(f"{name} is for real numbers; take a.real or fft")
    return x


def whole_spectrum(a: Any, n: int | None, axis: int) -> tuple[MDArray, int]:
    """Return the n values of the spectrum of real numbers whose first half is given, and n."""
    x = operand(a)
    place = counted_axis(axis, x.ndim)
    n = 2 * (x.shape[place] - 1) if n is None else operator.index(n)
    if n < 1:
        raise ValueError(f"the length of a transform must be at least 1; got {n}")
    block = x.limbs if x.is_complex else planes.complexify(x.limbs)
    xp = for_block(block).xp
    half = xp.moveaxis(block, 2 + place, -1)[..., : n // 2 + 1]
    kind = Kind(x.precision.limbs, True)
    whole = kind.zeros(xp, (*half.shape[2:-1], n))
    whole[..., : half.shape[-1]] = half
    whole[1, ..., 0] = 0
    if n % 2 == 0:
        whole[1, ..., n // 2] = 0
    whole[..., n // 2 + 1 :] = planes.conjugate(whole[..., 1 : (n + 1) // 2])[..., ::-1]
    return MDArray._wrap(xp.moveaxis(whole, -1, 2 + place), x.precision, True), n


def counted(
    a: Any, s: Sequence[int] | None, axes: Sequence[int] | None
) -> tuple[MDArray, list[tuple[int, int]]]:
    """Return an array, and the lengths and numbers of axes as NumPy's functions count them."""
    x = operand(a)
    if axes is None:
        places = list(range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim))
    else:
        places = [counted_axis(axis, x.ndim) for axis in axes]
    if s is not None and len(s) != len(places):
        raise ValueError(f"s and axes must have the same length; got {len(s)} and {len(places)}")
    if s is not None and any(place < 0 for place in places):
        raise ValueError(f"s has {len(s)} lengths, and the array {x.ndim} axes")
    lengths = [-1] * len(places) if s is None else map(operator.index, s)
    pairs = zip(lengths, places, strict=True)
    return x, [(x.shape[place] if n == -1 else n, place) for n, place in pairs]
