"""The QR algorithm with pairs of shifts: real matrices stay real, with diagonal blocks of two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._functions.scales.exponents import ldexp
from mdqr._functions.sequences import stack
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._general.subspaces.qr_algorithm import EXCEPTIONAL, MOST_STEPS, to_hessenberg
from mdqr.linalg._shared.operands import precision_for

# The exponent of the entries while they change: with them near 1, those that vanish as multiple
# eigenvalues come apart would lose limbs, and what is chased down the diagonal the shifts.
_UNIT = 800
# Entries below are far less than rounding errors, and quotients by them leave the range.
_LEAST = 2.0 ** (_UNIT - 950)


def quasi_triangular(
    backend: Backend, a: Block, kind: Kind, report: Reporter | None = None
) -> tuple[Block, Block]:
    """Return T and orthogonal Q with ``a = Q T Q^T``, real blocks ``(n, n)``.

    T is upper triangular but for blocks of two rows, which have complex eigenvalues and two equal
    entries on the diagonal.

    Raises
    ------
    numpy.linalg.LinAlgError
        If there is no convergence.
    """
    size = scaling.top_exponents(a, False, None)
    h = backend.ldexp(planes.widen(a, False, kind.limbs), -size)
    q = kind.identity(np, a.shape[kind.lead :])
    to_hessenberg(backend, h, q, kind, report)
    h = backend.ldexp(h, _UNIT)
    _Francis(backend, kind, h, q).iterate(report)
    return backend.ldexp(h, size - _UNIT), q


class _Francis:
    """A Hessenberg matrix H and the Q that it came from, while they change."""

    def __init__(self, backend: Backend, kind: Kind, h: Block, q: Block) -> None:
        self.backend, self.kind, self.h, self.q = backend, kind, h, q
        self.values = MDArray._wrap(h, precision_for(kind.limbs), False)

    def iterate(self, report: Reporter | None) -> None:
        """Make H quasi-triangular (J. G. F. Francis, The QR transformation, 1962)."""
        precision, n, steps = precision_for(self.kind.limbs), int(self.h.shape[-1]), 0
        stop = n
        while stop:
            first = self._first(stop, precision.eps, strict=steps <= EXCEPTIONAL)
            if stop - first <= 2:
                if stop - first == 2:
                    self._standardise(first)
                stop, steps = first, 0
                if report is not None:
                    report("iterate", n - stop, n)
                continue
            steps += 1
            if steps > MOST_STEPS * precision.bits:
                raise np.linalg.LinAlgError(f"the QR algorithm does not converge in {steps} steps")
            self._sweep(first, stop, exceptional=steps % EXCEPTIONAL == 0)

    def _first(self, stop: int, eps: float, *, strict: bool) -> int:
        """Return where the last block begins, and write zeros where rounding errors are."""
        below = abs(planes.diagonal(self.h[0, 1:stop, : stop - 1]))
        sizes = abs(planes.diagonal(self.h[0, :stop, :stop]))
        beside = sizes[1:] + sizes[:-1]
        least = 0.0 if strict else 2.0**_UNIT
        found = np.flatnonzero(below <= np.maximum(eps * np.maximum(beside, least), _LEAST))
        self.h[..., found + 1, found] = 0.0
        return int(found[-1]) + 1 if found.size else 0

    def _reflect(self, rows: slice, vector: Block, first: int, last: int) -> None:
        """Reflect a vector ``(m, 1)`` to the first axis: H from column `first`, to row `last`."""
        panel = self.backend.qr_panel(vector, kind=self.kind)
        left = self.h[..., rows, first:]
        self.backend.reflect(panel.v, panel.t, left, kind=self.kind, adjoint=True)
        for columns in (self.h[..., :last, rows], self.q[..., rows]):
            self.backend.reflect(
                panel.v, panel.t, columns.swapaxes(-1, -2), kind=self.kind, adjoint=False
            )

    def _sweep(self, first: int, stop: int, *, exceptional: bool) -> None:
        """Chase a bulge through rows from `first` to `stop`, of which there are at least three."""
        h = self.values
        p, q = stop - 2, stop - 1
        i, j = first, first + 1
        # Differences to the first entry of the diagonal: with all of it near one number the
        # products of the entries themselves would cancel. Over a common factor they are in range.
        factor, unit = h[j, i], 2.0**-_UNIT
        one, other = h[p, p] - h[i, i], h[q, q] - h[i, i]
        product = h[q, p] / factor * (h[p, q] * unit)
        if exceptional:
            size = abs(h[q, p]) + abs(h[p, p - 1])
            one = other = other + size * 0.75
            product = size / factor * (size * (unit * -0.4375))
        vector = self._column(
            (
                one / factor * (other * unit) - product + h[i, j] * unit,
                (h[j, j] - h[i, i] - one - other) * unit,
                h[j + 1, j] * unit,
            )
        )
        for k in range(first, stop - 1):
            rows = slice(k, min(k + 3, stop))
            if k > first:
                vector = self._near_one(self.h[..., rows, k - 1 : k])
            self._reflect(rows, vector, max(k - 1, first), min(k + 4, stop))
            if k > first:
                self.h[..., k + 1 : rows.stop, k - 1] = 0.0

    def _column(self, entries: Sequence[MDArray]) -> Block:
        """Return a vector as a column, its largest entry near 1."""
        return self._near_one(stack(entries)._block[..., None])

    def _near_one(self, column: Block) -> Block:
        """Return a multiple whose square has all limbs: a reflector is to be unitary."""
        top = scaling.top_exponents(column, False, None)
        return self.backend.ldexp(column, -top)

    def _standardise(self, i: int) -> None:
        """Make a block of two rows triangular, or the entries of its diagonal equal."""
        h, j = self.values, i + 1
        half = (h[i, i] - h[j, j]) / 2
        near, above, below, power = self._near_root(half, h[i, j], h[j, i])
        inside = near * near + above * below
        rows = slice(i, j + 1)
        if inside >= 0:
            root = np.sqrt(inside)
            first = near + (root if half >= 0 else -root)
            vector = self._column((first, ldexp(h[j, i], -power)))
            self._reflect(rows, vector, i, j + 1)
            self.h[..., j, i] = 0.0
            return
        # The tangent of twice the angle is a quotient; of the two angles the smaller.
        across = h[i, j] + h[j, i]
        if half != 0:
            column = self._column((across / 2, -half))
            one, other = MDArray._wrap(column[..., 0], half.precision, False)
            length = np.sqrt(one * one + other * other)
            one = one + length if one >= 0 else one - length
            self._reflect(rows, self._column((one, other)), i, j + 1)
        mean = (h[i, i] + h[j, j]) / 2
        h[i, i], h[j, j] = mean, mean

    def _near_root(
        self, half: MDArray, above: MDArray, below: MDArray
    ) -> tuple[MDArray, MDArray, MDArray, int]:
        """Return factors of ``half**2 + above * below`` over ``2**(2 power)``, and the power.

        The larger of both products is near 1: their sum keeps all limbs.
        """
        own, one, other = (int(np.frexp(float(x))[1]) for x in (half, above, below))
        sizes = [own] * bool(half != 0) + [(one + other) // 2] * bool(above != 0)
        power = max(sizes, default=0)
        parts = (half, -power), (above, -one), (below, one - 2 * power)
        near, above, below = (ldexp(x, shift) for x, shift in parts)
        return near, above, below, power
