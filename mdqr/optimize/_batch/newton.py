"""All digits of the minima of a batch: Newton's method on the gradients.

As for one problem (`_solver/newton.py`), with the same bounds of errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr.optimize._batch.algebra import Floats, chosen, inverses, sizes_of
from mdqr.optimize._batch.problems import Derivatives, Noise, Problems

_MOST_STEPS = 40
_BASIN = 2.0**-30


class Minima(NamedTuple):
    """Minima ``(n, B)``, those found marked by `found`; `error` bounds their errors."""

    x: MDArray
    r: MDArray
    jacobian: MDArray
    inverse: MDArray
    scale: Floats
    error: Floats
    unit: Floats
    found: Floats


class _Hessian(NamedTuple):
    """Inverses ``(n, n, B)`` of Hessians whose rows and columns are scaled by `scale`."""

    values: MDArray
    scale: Floats
    second: Floats

    def times(self, gradient: MDArray) -> MDArray:
        scaled = gradient * self.scale
        return (self.values.astype(gradient.precision) * scaled).sum(axis=1) * self.scale

    @property
    def largest(self) -> Floats:
        return abs(self.values.limbs[0]).max(axis=(0, 1))

    def moduli_times(self, gradient: Floats) -> Floats:
        near = abs(self.values.limbs[0])
        return (near * (gradient * self.scale)).sum(axis=1) * self.scale


class Iteration:
    """Newton's iteration from the points of a descent, for the problems of a mask."""

    def __init__(self, problems: Problems, x: MDArray, sizes: Floats, active: Floats) -> None:
        self._problems, self._xp = problems, problems.xp
        self._x, self._sizes, self._active = x, sizes, active

    def run(self) -> Minima:
        """Return the minima; Newton's method fails where none is near."""
        last = self._problems.precision.next
        first = min(mdqr.qd, last)
        ladder = [first] if first is last or self._problems.unit else [first, last]
        for precision in ladder:
            found = self._stage(precision, last=precision is ladder[-1])
        return found

    def _stage(self, precision: mdqr.Precision, *, last: bool) -> Minima:
        xp, problems = self._xp, self._problems
        self._x = self._x.astype(precision)
        noise = problems.noise(self._x, self._sizes)
        root = xp.exp2(xp.round(0.5 * xp.log2(noise.unit)))
        ulp = 2.0 ** -(problems.precision.bits + 8)
        target = xp.full(root.shape, ulp) if last else root * 2.0**8
        basin = xp.maximum(_BASIN, 64.0 * xp.sqrt(noise.unit))
        previous = xp.full(root.shape, np.inf)
        way = xp.zeros(root.shape)
        remaining, ended = self._active, self._active & False
        hessian: _Hessian | None = None
        definite, age = ended, 0
        for _ in range(_MOST_STEPS):
            place = problems.derivatives(self._x, self._sizes * root)
            if hessian is None:
                hessian, definite = self._hessian(place, noise)
                way, age = way * 0.0, 0
            step = hessian.times(-(place.jacobian * place.r).sum(axis=-1))
            bound = hessian.moduli_times(self._errors(place, noise, root, hessian))
            near = xp.abs(step.limbs[0])
            size = (near / self._sizes).max(axis=0)
            lost = ~definite | ~xp.isfinite(size) | (size > 0.5)
            lost = lost | ((size > basin) & (size > 0.5 * previous))
            stays = (size < basin) & (size > 0.25 * previous)
            done = (size <= target) | (near <= 0.25 * bound).all(axis=0) | (stays & (age == 1))
            # The Hessian changes by some four times as much as x.
            certain = 4.0 * len(near) * hessian.largest * way < 0.5
            settled = remaining & done & certain & ~lost
            remaining = remaining & ~settled & ~lost
            ended = ended | settled
            if not bool(remaining.any()):
                break
            move = remaining & ~done
            self._x = chosen(xp, move, self._x + step, self._x)
            self._sizes = xp.where(move, sizes_of(xp, self._x, self._sizes), self._sizes)
            slow = done | stays | (size > 2.0**-8 * previous) | (size > 2.0**-20)
            way, previous, age = way + size, xp.where(move, size, previous), age + 1
            if bool((remaining & slow).any()):
                hessian = None
        self._active = ended
        if hessian is None:
            hessian, definite = self._hessian(place, noise)
        error = 2.0 * near + bound
        return Minima(self._x, place.r, place.jacobian, hessian.values, hessian.scale, error,
                      noise.unit, ended & definite)  # fmt: skip

    def _errors(self, place: Derivatives, noise: Noise, root: Floats, hessian: _Hessian) -> Floats:
        """Return errors of the gradient, ``(n, B)``: of differences, and of the residuals."""
        xp = self._xp
        lengths = self._sizes * root
        wrong = 2.0 * noise.absolute / lengths[..., None] + lengths[..., None] * hessian.second
        errors = (wrong * xp.abs(place.r.limbs[0])).sum(axis=-1)
        return errors + (noise.absolute * xp.abs(place.jacobian.limbs[0])).sum(axis=-1)

    def _hessian(self, place: Derivatives, noise: Noise) -> tuple[_Hessian, Floats]:
        """Return the inverse of the Hessian, and where it is positive definite beyond doubt."""
        xp, x, n = self._xp, self._x, self._x.shape[0]
        cube = xp.exp2(xp.round(xp.log2(noise.unit) / 3.0))
        steps = self._sizes * cube
        found, pairs = self._problems.second(x, place.r, steps)
        sums = (found * place.r).sum(axis=-1)
        near = xp.abs(found.limbs[0])
        moduli = xp.abs(place.r.limbs[0])
        wrong = cube * (near * moduli).sum(axis=-1)
        noisy = 4.0 * (moduli * noise.absolute).sum(axis=-1)
        jacobian = mdqr.moveaxis(place.jacobian, 0, 1)
        h = mdqr.moveaxis(jacobian @ jacobian.mT, 0, -1).copy()
        errors = xp.zeros((n, n, x.shape[1]))
        for p, (j, k) in enumerate(pairs.T.tolist()):
            h[j, k] = h[j, k] + sums[p]
            if j != k:
                h[k, j] = h[j, k]
            errors[j, k] = errors[k, j] = wrong[p] + noisy / (
                cube**2 * self._sizes[j] * self._sizes[k]
            )
        diagonal = xp.stack([h.limbs[0][j, j] for j in range(n)])
        usable = (diagonal > 0) & xp.isfinite(diagonal)
        scale = xp.exp2(-xp.round(0.5 * xp.log2(xp.where(usable, diagonal, 1.0))))
        scaled = h * scale[:, None] * scale
        values, definite = inverses(xp, scaled)
        worst = (errors * scale[:, None] * scale).max(axis=(0, 1)) + 4.0 * xp.sqrt(noise.unit)
        own = [pairs.T.tolist().index([j, j]) for j in range(n)]
        inverse = _Hessian(values, scale, near[own])
        certain = definite & usable.all(axis=0) & (n * worst * inverse.largest < 0.25)
        return inverse, certain
