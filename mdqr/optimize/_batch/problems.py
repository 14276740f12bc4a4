"""The problems of a batch, their residuals and differences."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._limbs.folds import is_all, is_any
from mdqr._precision import PRECISIONS, Precision
from mdqr.optimize._batch.algebra import Floats, to_host
from mdqr.optimize._model.doubles import Doubles, doubles_of
from mdqr.optimize._model.noise import COARSE, EXPECTED, GOLDEN, ORDER, SHOWN, underflow

_TRIED = 8  # problems of which rounding errors are measured in each precision
_SPREAD = 64.0  # what rounding errors of one function may differ by
_FEW_DOUBLES = 2**18


class Derivatives(NamedTuple):
    """Residuals ``(B, m)`` and their derivatives ``(n, B, m)`` at a point of each problem."""

    r: Any
    jacobian: Any


class Noise(NamedTuple):
    """Rounding errors of each residual, ``(B, m)``, and relative to the values, ``(B,)``."""

    absolute: Floats
    unit: Floats


class Problems:
    """Residuals of a batch as a function of parameters ``(n, B)``.

    Parameters
    ----------
    name : str
        The public function, for messages.
    values : callable
        Called as ``values(parameters, rows, precision)`` with parameters ``(n, k, B, 1)`` of k
        points a problem; returns the values of the caller's function, ``(k, B, m)``. Without a
        precision these are `Doubles`.
    residuals : callable
        Called as ``residuals(values, rows, precision)``; returns residuals of that shape.
    separable : bool
        If values of some of the problems, `rows`, can be computed alone.
    like : MDArray
        An array that lives where the problems do.
    """

    def __init__(
        self,
        name: str,
        values: Callable[[Any, Any, Precision | None], Any],
        residuals: Callable[[Any, Any, Precision | None], Any],
        *,
        separable: bool,
        like: MDArray,
        precision: Precision,
    ) -> None:
        self.name, self._values, self._residuals = name, values, residuals
        self.separable, self.precision = separable, precision
        self.xp: ModuleType = for_block(like.limbs).xp
        self.rows: Any = None  # the problems that are worked on, None for all
        self.scale: Any = None  # powers of two ``(B,)``, None for ones
        self.units: Any = None  # of parameters, powers of two ``(n, B)``, None for ones
        self.unit = 0.0  # rounding errors in dd, relative to the values; 0 for few units of eps
        self.nfev = 0
        self.is_complex = False
        self.takes_doubles = False
        self._here = self.xp is np  # doubles are in the memory of the host
        self._pairs: tuple[Floats, Floats] | None = None

    def module_of(self, x: Any) -> ModuleType:
        """Return NumPy for its arrays, else the module of the arrays of the problems."""
        return np if isinstance(x, np.ndarray) else self.xp

    def doubles_of(self, x: MDArray) -> Floats:
        """Return leading limbs where the function of doubles is evaluated."""
        return to_host(x.limbs[0]) if self._here else x.limbs[0]

    def try_doubles(self, x: MDArray) -> None:
        """Note if the function of `Doubles` has the values that it has in dd, at ``(n, B)``.

        The host evaluates it for few of them: a step takes a GPU longer.
        """
        points = self._in_units(x[:, None])
        wanted = self._values(points[..., None], None, x.precision)
        if not isinstance(wanted, MDArray):
            return
        self._here = self.xp is np or wanted.size * (1 + len(x)) <= _FEW_DOUBLES
        xp = np if self._here else self.xp
        try:
            found = self._values(Doubles(xp, self.doubles_of(points)[..., None]), None, None)
        except Exception:
            return
        if not isinstance(found, Doubles):
            return
        exact = doubles_of(xp, wanted)
        if found.shape != exact.shape or found.array.dtype != exact.dtype:
            return
        size = xp.abs(exact).max(axis=-1, keepdims=True)
        self.takes_doubles = bool((xp.abs(found.array - exact) <= 2.0**-30 * size).all())

    def residuals(self, points: Any) -> Any:
        """Return the residuals ``(k, B, m)`` at points ``(n, k, B)`` in their precision."""
        return self.at(points) if isinstance(points, MDArray) else self._near(points)

    def _near(self, points: Floats) -> Floats:
        xp = self.module_of(points)
        found = self._values(Doubles(xp, self._in_units(points)[..., None]), self.rows, None)
        r = doubles_of(xp, self._residuals(found, self.rows, None))
        if r.dtype.kind == "c":
            r = xp.concatenate([r.real, r.imag], axis=-1)
        return self._scaled(r)

    def _in_units(self, points: Any) -> Any:
        """Return points ``(n, k, B)`` in the units of the caller."""
        if self.units is None:
            return points
        units = to_host(self.units) if isinstance(points, np.ndarray) else self.units
        return points * (units if self.rows is None else units[:, self.rows])[:, None]

    def _scaled(self, r: Any) -> Any:
        if self.scale is None:
            return r
        scale = to_host(self.scale) if isinstance(r, np.ndarray) else self.scale
        return r * (scale if self.rows is None else scale[self.rows])[:, None]

    def at(self, points: MDArray) -> MDArray:
        """Return the residuals ``(k, B, m)`` at points ``(n, k, B)``."""
        precision = points.precision
        found = self._values(self._in_units(points)[..., None], self.rows, precision)
        if not isinstance(found, MDArray):
            found = mdqr.array(found, precision=precision)
        if found.ndim != 3 or found.shape[:2] != points.shape[1:]:
            raise ValueError(
                f"{self.name}: of a batch, parameters have shape {points.shape[1:]} and an axis of "
                f"length 1, and the function must broadcast; it returned shape {found.shape}"
            )
        r = self._residuals(found.astype(precision), self.rows, precision)
        if r.is_complex:
            self.is_complex = True
            r = mdqr.concatenate([r.real, r.imag], axis=-1)
        return cast("MDArray", self._scaled(r))

    def derivatives(self, x: Any, steps: Floats) -> Derivatives:
        """Return residuals and Jacobians by forward differences over steps ``(n, B)``.

        They are of float64 where x is.
        """
        moved: list[tuple[int, ...]] = [(j,) for j in range(x.shape[0])]
        points = x[:, None] + self._units(x, moved) * steps[:, None]
        values = self.residuals(points)
        lengths, r = (x + steps) - x, values[0]
        return Derivatives(r, _quotient(values[1:] - r, lengths, steps))

    def second(self, x: Any, r: Any, steps: Floats) -> tuple[Any, np.ndarray]:
        """Return second derivatives ``(pairs, B, m)`` of pairs ``j <= k``, and the pairs.

        Steps are powers of two.
        """
        n = x.shape[0]
        pairs = np.triu_indices(n)
        both = list(zip(*(index.tolist() for index in pairs), strict=True))
        moves = self._units(x, [*((j,) for j in range(n)), *both])[:, 1:] * steps[:, None]
        # Indices are copied to a GPU once.
        xp = self.module_of(x)
        if self._pairs is None or not isinstance(self._pairs[0], xp.ndarray):
            self._pairs = xp.asarray(pairs[0]), xp.asarray(pairs[1])
        first, other = self._pairs
        points = x[:, None] + moves
        values = self.residuals(points) - r
        single, double = values[:n], values[n:]
        product = steps[first] * steps[other]
        found = _times(double - single[first] - single[other], 1.0 / product)
        return found, np.stack(pairs)

    def _units(self, x: Any, moved: list[tuple[int, ...]]) -> Floats:
        """Return the numbers of moves by parameter, ``(n, 1 + k, 1)``; not at the first point."""
        n = 1 + max(max(each) for each in moved)
        counts = np.zeros((n, 1 + len(moved), 1))
        for place, each in enumerate(moved, start=1):
            for j in each:
                counts[j, place] += 1.0
        return self.module_of(x).asarray(counts)

    def see(self, noise: Noise) -> None:
        """Note rounding errors in dd that are larger than its eps."""
        unit = float(noise.unit.max())
        self.unit = unit if unit > EXPECTED * mdqr.dd.eps else 0.0

    def noise_after(self, x: MDArray, sizes: Floats, before: Noise | None) -> Noise:
        """Return the rounding errors in a precision after those in the one before.

        They are as much smaller as eps, which is tried with a few problems.
        """
        xp, eps = self.xp, x.precision.eps
        if before is None or self.unit:
            found = self.noise(x, sizes)
            if before is None:
                self.see(found)
            return found
        ratio = eps / max(p for p in PRECISIONS if p < x.precision).eps
        expected = Noise(before.absolute * ratio, xp.maximum(before.unit * ratio, eps))
        rows, count = self.rows, x.shape[1]
        few = np.linspace(0, count - 1, min(count, _TRIED)).astype(int)
        if not self.separable:
            few = np.arange(count)
        self.rows = few if rows is None else rows[few]
        found = self.noise(x[:, few], sizes[:, few])
        self.rows = rows
        if few.size == count:
            return found
        more = float((found.unit / expected.unit[few]).max())
        if more > _SPREAD:
            return self.noise(x, sizes)
        absolute = xp.maximum(expected.absolute * max(more, 1.0), self._lost(x.precision))
        return expected._replace(absolute=absolute)

    def noise(self, x: MDArray, sizes: Floats) -> Noise:
        """Return the rounding errors of the function, by a table of differences.

        Those of a function of few digits are seen in dd.
        """
        x = x.astype(mdqr.dd) if self.unit else x
        h = 2.0 ** -(x.precision.bits // ORDER + 20)
        r = self._table(x, sizes, h)
        same = ~(r != r[0]).any(axis=(0, 2))
        found = self._of_table(r, h)
        if not bool(same.all()):
            return self._with_lost(found, x.precision)
        # Functions that are constant, or round parameters to fewer digits than the table moves.
        coarse = self._of_table(self._table(x, sizes, COARSE), COARSE)
        return coarse if float(coarse.unit.max()) > SHOWN else self._with_lost(found, x.precision)

    def _with_lost(self, found: Noise, precision: Precision) -> Noise:
        """Return noise with the underflow that all values of a table may share."""
        return found._replace(absolute=found.absolute + self._lost(precision))

    def _lost(self, precision: Precision) -> Any:
        """Return the underflow of values in a precision, scaled: ``(B, 1)``, or one number."""
        if self.scale is None:
            return underflow(precision)
        scale = self.scale if self.rows is None else self.scale[self.rows]
        return underflow(precision) * scale[:, None]

    def _table(self, x: MDArray, sizes: Floats, h: float) -> MDArray:
        """Return values at points h apart, ``(ORDER + 1, B, m)``."""
        xp, n = self.xp, x.shape[0]
        lean = 1.0 + np.round(2.0**40 * (GOLDEN * (1.0 + np.arange(n)) % 1.0)) / 2.0**40
        count = xp.asarray(np.arange(ORDER + 1.0))
        moves = count[None, :, None] * (h * sizes * xp.asarray(lean)[:, None])[:, None]
        return self.at(x[:, None] + moves)

    def _of_table(self, r: MDArray, h: float) -> Noise:
        xp, eps, difference = self.xp, r.precision.eps, r
        for _ in range(ORDER):
            difference = difference[1:] - difference[:-1]
        rough = xp.abs(difference.limbs[0][0])
        slope = xp.abs((r[ORDER] - r[0]).limbs[0]) / (ORDER * h)
        size = xp.abs(r.limbs[0]).max(axis=0) + slope
        largest = size.max(axis=-1)
        unit = xp.where(
            largest > 0, rough.max(axis=-1) / 16.0 / xp.where(largest > 0, largest, 1.0), 0.0
        )
        unit = xp.where(xp.isfinite(unit), xp.maximum(unit, eps), eps)
        # A few residuals may all be rounded little by chance.
        chance = 1.0 + 8.0 / size.shape[-1]
        floor = xp.where(unit > EXPECTED * eps, chance * unit, eps)[:, None] * size
        return Noise(xp.maximum(rough / 4.0, 4.0 * floor), unit)


def _quotient(rows: Any, lengths: Any, steps: Floats) -> Any:
    """Return rows ``(n, B, m)`` over lengths ``(n, B)``, nearly always the steps: powers of two."""
    if isinstance(lengths, MDArray):
        limbs = lengths.limbs
        if bool(is_all(limbs[0] == steps)) and not bool(is_any(limbs[1:] != 0)):
            return _times(rows, 1.0 / steps)
    return rows / lengths[..., None]


def _times(rows: Any, powers: Floats) -> Any:
    """Return rows ``(k, B, m)`` times powers of two ``(k, B)``."""
    wide = powers[..., None]
    return rows._like(rows._block * wide) if isinstance(rows, MDArray) else rows * wide
