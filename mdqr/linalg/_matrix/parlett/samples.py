"""Values of a user's function in the complex plane, and its Taylor coefficients from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import shown
from mdqr._functions.creation import array
from mdqr._functions.polynomials import polyval
from mdqr._precision import PRECISIONS, Precision
from mdqr.fft._functions import fft
from mdqr.fft._roots import roots_of_unity
from mdqr.linalg._matrix.given import first_limbs

# Samples that show whether a function is analytic in a disk, in two limbs.
_FEW = 64
# What their last coefficients may be, relative to the largest value.
_DECAY = 2.0**-16
# Values on a circle may be so much larger than at the eigenvalues, or halfway to the center.
_LARGER, _STEEPER = 2.0**20, 2.0**10
# Samples at most for one set of coefficients.
_MOST = 2**13
# Rounding errors of the function and of the transform, in units of the last place.
_NOISE = 64
# A point of the unit disk, far from the center and the circle.
_INSIDE = 0.375 + 0.25j


class Samples:
    """A function of complex arrays.

    Parameters
    ----------
    function : callable
        Takes a complex `MDArray` ``(n,)``, and returns one of its shape.
    precision : Precision
        The precision of the arrays.
    """

    def __init__(self, function: Callable[[MDArray], Any], precision: Precision) -> None:
        self._function, self._precision = function, precision

    def at(self, places: MDArray) -> MDArray:
        """Return complex values.

        Raises
        ------
        TypeError
            If the function returns no array of mdqr, whose digits would be lost.
        ValueError
            If the values have another shape.
        """
        with np.errstate(all="ignore"):
            found = self._function(places)
        if not isinstance(found, MDArray):
            raise TypeError(f"funm: func must return an MDArray; got {shown(found)}")
        if found.shape != places.shape:
            raise ValueError(
                f"funm: func must keep the shape {places.shape} of its argument; got {found.shape}"
            )
        return found.astype(places.precision, dtype=complex)

    @np.errstate(all="ignore")
    def largest(self, center: complex, radii: np.ndarray) -> np.ndarray:
        """Return the largest moduli on circles; infinite where a disk has a singularity.

        The last coefficients of a function that is analytic in the disk of some twice the radius
        are small: the last ones belong to negative powers.
        """
        precision = PRECISIONS[1]
        angles = _circle(_FEW, precision)
        circles = (_array([center]) + angles * radii[:, None]).reshape(-1)
        values = first_limbs(self.at(circles)).reshape(len(radii), _FEW)
        sizes = abs(np.fft.fft(values, axis=-1)) / _FEW
        most = abs(values).max(axis=-1)
        decays = sizes[:, _FEW // 2 :].max(axis=-1) <= _DECAY * most
        return np.where(decays & np.isfinite(most), most, np.inf)

    def is_analytic(self, center: complex, radius: float, size: float) -> bool:
        """Return whether a disk has no singularity, and the function does not vary too much in it.

        The coefficients have the error of the largest value on the circle, which should not be far
        above `size`, the largest value at an eigenvalue, or above the values halfway.
        """
        half, most = self.largest(center, np.array([radius / 2, radius]))
        return bool(most < np.inf and most <= max(_LARGER * size, _STEEPER * half))

    def size(self, places: np.ndarray) -> float:
        """Return the largest finite modulus at some places."""
        values = abs(first_limbs(self.at(_array(places))))
        return float(np.max(values, initial=0.0, where=np.isfinite(values)))

    def coefficients(self, center: complex, radius: float, powers: np.ndarray) -> MDArray:
        """Return ``c[k] radius**k``, as many as matter.

        These are for a matrix whose powers, over powers of the radius, have these norms.

        Raises
        ------
        numpy.linalg.LinAlgError
            If they do not decay to rounding errors.
        """
        count, eps = _FEW, self._precision.eps
        while count <= _MOST:
            values = self.at(_circle(count, self._precision) * radius + center)
            found = fft(values) * (1.0 / count)
            sizes = abs(first_limbs(found))
            half, most = count // 2, float(sizes.max())
            if not np.isfinite(most):
                break
            terms = sizes[:half] * powers[:half]
            needed = np.flatnonzero(terms > eps / 4 * terms.max())
            used = int(needed[-1]) + 1 if needed.size else 1
            # Beside their own errors values have those of their rounded arguments.
            noise = _NOISE * eps * most * (1 + abs(center) / radius)
            if sizes[half:].max() <= noise and used < half:
                if self._sums(found[:half], center, radius, noise):
                    return found[:used]
                break
            count *= 2
        raise np.linalg.LinAlgError(
            "funm: func is not analytic next to eigenvalues that are close together, or not "
            "computed in the precision of its argument"
        )

    def _sums(self, found: MDArray, center: complex, radius: float, noise: float) -> bool:
        """Return whether the series gives the value at a point inside, as it must."""
        place = _array([_INSIDE]).astype(self._precision)
        wanted = self.at(place * radius + center)
        missed = abs(first_limbs(polyval(found[::-1], place) - wanted))
        return bool((missed <= len(found) * noise).all())

    @property
    def most(self) -> int:
        """The number of coefficients that may matter."""
        return _MOST // 2


@lru_cache(maxsize=8)
def _circle(count: int, precision: Precision) -> MDArray:
    block = roots_of_unity(np.arange(count), count, precision.limbs)
    return MDArray._wrap(block, precision, True)


def _array(values: Any) -> MDArray:
    return array(np.asarray(values, dtype=complex), precision=PRECISIONS[1])
