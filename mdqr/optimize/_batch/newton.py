"""All digits of the minima of a batch: Newton's method on the gradients.

As for one problem (`_solver/newton.py`), with the same bounds of errors; but the last step is not
confirmed by an evaluation where the steps before it bound what follows.
"""

from __future__ import annotations

from copy import copy
from types import ModuleType
from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr._limbs.scaling import norms, powers_of_two
from mdqr._precision import PRECISIONS
from mdqr.optimize._batch.algebra import (
    FEWEST,
    Floats,
    along,
    chosen,
    inverses,
    put,
    sizes_of,
    taken,
    times,
    to_host,
)
from mdqr.optimize._batch.problems import Derivatives, Noise, Problems
from mdqr.optimize._model.noise import underflow

_MOST_STEPS = 40
_BASIN = 2.0**-30
_SPARE = 2.0**10  # by how much a step may be worse than the one before
_REACHED = 2.0**16  # errors that steps reach at the least, in lengths of differences
# Attributes that are of single problems.
_OF_ITERATION = ("_x", "_sizes", "_hessian", "_way", "_rate")
_OF_STAGE = ("noise", "root", "target", "end", "basin", "previous", "remaining", "ended", "late")


class Minima(NamedTuple):
    """Minima ``(n, B)``, those found marked by `found`; `error` bounds their errors.

    `doubt` are norms of the errors of the columns of the Jacobians.
    """

    x: MDArray
    r: MDArray
    jacobian: MDArray
    error: Floats
    doubt: Floats
    sizes: Floats
    unit: Floats
    found: Floats


class _Hessian(NamedTuple):
    """Inverses ``(n, n, B)`` of Hessians whose rows and columns are scaled by `scale`.

    `second` has moduli of second derivatives by one parameter, ``(n, B, m)``, `turned` the changes
    of first ones where all parameters change by their sizes. A scaled Hessian changes by at most
    `change` times a step, relative to the sizes of the parameters, ``(B,)``; it is positive
    definite where `definite` is true.
    """

    values: MDArray
    scale: Floats
    second: Floats
    turned: Floats
    change: Floats
    definite: Floats

    def times(self, gradient: MDArray) -> MDArray:
        scaled = gradient * self.scale
        return times(self.values.astype(gradient.precision), scaled) * self.scale

    @property
    def largest(self) -> Floats:
        return abs(self.values.limbs[0]).max(axis=(0, 1))

    def moduli_times(self, gradient: Floats) -> Floats:
        near = abs(self.values.limbs[0])
        return (near * (gradient * self.scale)).sum(axis=1) * self.scale

    def holds(self, way: Floats) -> Floats:
        """Return True if the Hessian stays positive definite so far from its place."""
        return self.definite & (len(self.scale) * self.largest * self.change * way < 0.25)


class _Last(NamedTuple):
    """Derivatives at the last point of each problem, the step from there and its errors."""

    place: Derivatives
    step: MDArray
    bound: Floats


class _Stage:
    """The iteration in one precision: which problems remain, and which have ended."""

    def __init__(self, xp: ModuleType, noise: Noise, bits: int, active: Floats, last: bool) -> None:
        self.noise, self.is_last = noise, last
        # The lengths of differences, relative to the sizes.
        self.root = root = powers_of_two(0.5 * xp.log2(noise.unit))
        ulp = 2.0 ** -(bits + 8)
        # Relative errors at which the stage ends, and all of them.
        self.target = xp.full(root.shape, ulp) if last else root * _REACHED
        self.spare = _SPARE if last else 1.0
        self.end = xp.maximum(root * 2.0**-8, ulp) if last else xp.full(root.shape, ulp)
        self.basin = xp.maximum(_BASIN, 64.0 * xp.sqrt(noise.unit))
        self.previous = xp.full(root.shape, np.inf)
        self.remaining, self.ended = active, active & False
        self.late = self.ended  # ended with a step that was not confirmed


class Iteration:
    """Newton's iteration from the points of a descent, for the problems of a mask.

    It goes through the precisions from dd on. The Hessian, whose errors only slow the convergence,
    is made again where that costs less than the steps that it saves.
    """

    def __init__(self, problems: Problems, x: MDArray, sizes: Floats, active: Floats) -> None:
        self._problems, self._xp = problems, problems.xp
        self._x, self._sizes, self._active = x, sizes, active
        self._rows = problems.rows
        self._noise: Noise | None = None
        self._hessian: _Hessian | None = None
        # Since the Hessian was made: steps, relative to the sizes, and their number; what a step
        # multiplies the error by.
        self._way, self._age = problems.xp.zeros(active.shape), 0
        self._rate = self._way + 1.0

    def run(self) -> Minima:
        """Return the minima; Newton's method fails where none is near."""
        last = self._problems.precision.next
        found = self._stage(mdqr.dd, last is mdqr.dd)
        if self._problems.unit:
            last = min(mdqr.qd, last)
        for precision in PRECISIONS:
            if mdqr.dd < precision <= last:
                found = self._stage(precision, precision is last)
        return found

    def _stage(self, precision: mdqr.Precision, is_last: bool) -> Minima:
        xp, problems = self._xp, self._problems
        self._x = self._x.astype(precision)
        self._noise = noise = problems.noise_after(self._x, self._sizes, self._noise)
        stage = _Stage(xp, noise, problems.precision.bits, self._active, is_last)
        place, step, bound = self._iterated(stage, _MOST_STEPS, renews=False)
        error = 2.0 * xp.abs(step.limbs[0])
        r = place.r
        if is_last:
            error = xp.where(stage.late, 2.0 * self._sizes * stage.target, error)
            reached = r + (place.jacobian * step[..., None]).sum(axis=0)
            r = chosen(xp, stage.late[:, None], reached, r)
        error = error + bound
        ended = stage.ended
        if is_last:
            ended = ended & self._are_simple(stage, step, error)
        self._active = ended
        # The Jacobian is of the place before the last step.
        doubt = self._doubt(stage, error + xp.abs(step.limbs[0]))
        return Minima(self._x, r, place.jacobian, error, doubt, self._sizes, noise.unit, ended)

    def _iterated(self, stage: _Stage, most: int, *, renews: bool) -> _Last:
        """Return the last place of each problem; those that remain are iterated alone."""
        problems = self._problems
        assert most > 0
        for k in range(most):
            problems.rows = self._rows
            place = problems.derivatives(self._x, self._sizes * stage.root)
            if renews or self._hessian is None:
                self._hessian = self._inverted(place, stage)
                self._way, self._age = self._way * 0.0, 0
            hessian = self._hessian
            step = hessian.times(-along(place.jacobian, place.r))
            bound = hessian.moduli_times(self._errors(place, stage, hessian))
            # The one transfer of an iteration.
            state = to_host(self._moved(stage, step, bound))
            last = _Last(place, step, bound)
            count, renews = int(np.count_nonzero(state)), bool((state > 1).any())
            if not count or k + 1 == most:
                break
            if problems.separable and state.size > FEWEST and 2 * count <= state.size:
                self._iterate_some(np.flatnonzero(state), stage, last, most - k - 1, renews)
                break
        return last

    def _iterate_some(
        self, index: np.ndarray, stage: _Stage, last: _Last, most: int, renews: bool
    ) -> None:
        """Iterate problems alone, and put them back."""
        part, some = copy(self), copy(stage)
        rows = self._problems.xp.asarray(index)
        part._rows = rows if self._rows is None else self._rows[rows]
        for whole, short, names in ((self, part, _OF_ITERATION), (stage, some, _OF_STAGE)):
            for name in names:
                setattr(short, name, taken(name, getattr(whole, name), rows))
        found = part._iterated(some, most, renews=renews)
        for whole, short, names in ((self, part, _OF_ITERATION), (stage, some, _OF_STAGE)):
            for name in names:
                setattr(whole, name, put(name, getattr(whole, name), rows, getattr(short, name)))
        for name in _Last._fields:
            put(name, getattr(last, name), rows, getattr(found, name))
        self._problems.rows = self._rows

    def _doubt(self, stage: _Stage, far: Floats) -> Floats:
        """Return norms of the errors of the columns of the Jacobians, ``(n, B)``."""
        hessian = self._hessian
        assert hessian is not None
        if not stage.is_last:
            return far
        reach = (far / self._sizes).max(axis=0)
        wrong = self._wrong(stage, hessian.second) + hessian.turned * reach[:, None]
        return norms(wrong, -1)

    def _moved(self, stage: _Stage, step: MDArray, bound: Floats) -> Floats:
        """Make a step where one is due.

        Returns
        -------
        array
            Where nothing remains to be done 0, else 1, or 2 where a new Hessian is worth it.
        """
        xp, hessian = self._xp, self._hessian
        assert hessian is not None
        near = xp.abs(step.limbs[0])
        size = (near / self._sizes).max(axis=0)
        # Steps as long as a parameter, but those to zero.
        x = self._x.limbs[0]
        far = (near > 0.5 * self._sizes) & (xp.abs(x + step.limbs[0]) > 0.5 * xp.abs(x))
        lost = ~hessian.definite | ~xp.isfinite(size) | far.any(axis=0)
        noisy = (near <= (0.25 if stage.is_last else 1.0) * bound).all(axis=0)
        lost = lost | ((size > stage.basin) & (size > 0.5 * stage.previous) & ~noisy)
        stays = (size < stage.basin) & (size > 0.25 * stage.previous)
        done = (size <= stage.target) | noisy
        done = done | (stays & (self._age == 1))
        seen = xp.isfinite(stage.previous)
        if self._age == 0:
            seen = seen & False
            guess = (2.0**8 if stage.is_last else 2.0**4) * self._wrongness(stage, size)
            self._rate = xp.minimum(guess, 1.0)
        self._rate = xp.where(seen, size / stage.previous, self._rate)
        after = size * xp.minimum(stage.spare * self._rate, 1.0)
        holds = hessian.holds(self._way + size)
        good = stage.remaining & ~lost
        late = good & ~done & (after <= stage.target) & holds
        if stage.is_last:
            good, late = good & holds, late & seen
        stage.late = late
        stage.ended = stage.ended | (good & done) | late
        stage.remaining = remaining = stage.remaining & ~lost & ~(good & done) & ~late
        moves = late | (remaining & ~done)
        self._x = chosen(xp, moves, self._x + step, self._x)
        self._sizes = xp.where(moves, sizes_of(xp, self._x, self._sizes), self._sizes)
        self._way, stage.previous = self._way + size, xp.where(moves, size, stage.previous)
        self._age += 1
        renews = done | stays | ~holds | self._pays(stage, after)
        return remaining * 1 + (remaining & renews) * 1

    def _wrongness(self, stage: _Stage, error: Floats) -> Floats:
        """Return the error of a Hessian that is made where x has an error."""
        return self._xp.maximum(error, self._xp.cbrt(stage.noise.unit))

    def _pays(self, stage: _Stage, error: Floats) -> Floats:
        """Return True if a new Hessian costs less than the steps that it saves."""
        xp, n = self._xp, self._x.shape[0]
        bits = xp.log2(xp.maximum(error / stage.end, 1.0))
        better = 2.0**8 * self._wrongness(stage, error)
        steps, fewer = (
            bits / -xp.log2(xp.clip(rate, 2.0**-400, 0.5)) for rate in (self._rate, better)
        )
        # In steps; in the next precision these cost some three times as much.
        price = n * (n + 3) / (2.0 * (n + 1.0))
        return steps - fewer > (price if stage.is_last else price / 3.0)

    def _are_simple(self, stage: _Stage, step: MDArray, error: Floats) -> Floats:
        """Return True if the Hessian is about the same wherever the minimum may be.

        That is tried where it may change over eight times the error. At a minimum where it is
        singular steps shrink slowly, and the last one does not bound the error; they point along
        the direction in which it is singular, and behind the point it is larger.
        """
        xp, hessian = self._xp, self._hessian
        assert hessian is not None
        reach = 8.0 * (error / self._sizes).max(axis=0)
        doubtful = stage.ended & ~hessian.holds(reach)
        if not bool(doubtful.any()):
            return ~doubtful
        x, sides = self._x, xp.where(step.limbs[0] < 0, -1.0, 1.0)
        self._x = x - xp.where(doubtful, 8.0 * error * sides, 0.0)
        place = self._problems.derivatives(self._x, self._sizes * stage.root)
        there = self._inverted(place, stage)
        self._x = x
        ratios = xp.concatenate([there.scale / hessian.scale,
                                 (there.largest / hessian.largest)[None]])  # fmt: skip
        same = (xp.abs(xp.log2(ratios)) < 0.5).all(axis=0)
        return ~doubtful | (there.definite & same)

    def _wrong(self, stage: _Stage, second: Floats) -> Floats:
        """Return errors of derivatives by forward differences, ``(n, B, m)``."""
        lengths = (self._sizes * stage.root)[..., None]
        return 2.0 * stage.noise.absolute / lengths + lengths * second

    def _errors(self, place: Derivatives, stage: _Stage, hessian: _Hessian) -> Floats:
        """Return errors of the gradient, ``(n, B)``: of differences, and of the residuals."""
        xp = self._xp
        wrong, r = self._wrong(stage, hessian.second), place.r
        errors = (wrong * xp.abs(r.limbs[0])).sum(axis=-1) + r.shape[-1] * underflow(r.precision)
        slopes = xp.abs(place.jacobian.limbs[0]) + wrong
        return errors + (stage.noise.absolute * slopes).sum(axis=-1)

    def _inverted(self, place: Derivatives, stage: _Stage) -> _Hessian:
        """Return the inverse of the Hessian, and where it is positive definite beyond doubt."""
        xp, n, noise = self._xp, self._x.shape[0], stage.noise
        cube = powers_of_two(xp.log2(noise.unit) / 3.0)
        found, pairs = self._problems.second(self._x, place.r, self._sizes * cube)
        first, other = pairs
        # The place of each pair of parameters among the pairs.
        index = np.zeros((n, n), dtype=int)
        index[first, other] = index[other, first] = np.arange(first.size)
        own = index[np.arange(n), np.arange(n)]
        jacobian = mdqr.moveaxis(place.jacobian, 0, 1)
        h = mdqr.moveaxis(jacobian @ jacobian.mT, 0, -1) + along(found, place.r)[index]
        near, slopes = xp.abs(found.limbs[0]), xp.abs(place.jacobian.limbs[0])
        diagonal = h.limbs[0][np.arange(n), np.arange(n)]
        usable = (diagonal > 0) & xp.isfinite(diagonal)
        scale = powers_of_two(-0.5 * xp.log2(xp.where(usable, diagonal, 1.0)))
        both = scale[:, None] * scale
        values, definite = inverses(xp, h * both)
        moduli = xp.abs(place.r.limbs[0])
        noisy = 4.0 * (moduli * noise.absolute).sum(axis=-1)
        sizes = self._sizes[:, None] * self._sizes
        errors = cube * (near * moduli).sum(axis=-1)[index] + noisy / (cube**2 * sizes)
        errors = errors + _products(xp, self._wrong(stage, near[own]), slopes)
        worst = (errors * both).max(axis=(0, 1)) + 4.0 * xp.sqrt(noise.unit)
        # By how much residuals, slopes and second derivatives change where x does by its sizes.
        moved = (slopes * self._sizes[..., None]).sum(axis=0) + moduli
        turned = (near[index] * self._sizes[:, None, :, None].swapaxes(0, 1)).sum(axis=1)
        bent = _products(xp, turned, slopes) + (near * moved).sum(axis=-1)[index]
        change = (bent * both).max(axis=(0, 1))
        inverse = _Hessian(values, scale, near[own], turned, change, definite)
        sure = definite & usable.all(axis=0) & (n * worst * inverse.largest < 0.25)
        return inverse._replace(definite=sure)


def _products(xp: ModuleType, a: Floats, b: Floats) -> Floats:
    """Return ``a b^T + b a^T`` of each problem, ``(n, n, B)``, for arrays ``(n, B, m)``."""
    found = xp.moveaxis(a, 0, 1) @ xp.moveaxis(b, 0, 2)
    return xp.moveaxis(found + xp.swapaxes(found, 1, 2), 0, 2)
