"""The QZ algorithm in any precision (C. B. Moler and G. W. Stewart 1973)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._functions.sequences import stack
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._general.pairs.form import Form
from mdqr.linalg._general.subspaces.qr_algorithm import EXCEPTIONAL, MOST_STEPS, shift_of
from mdqr.linalg._general.subspaces.reflections import Reflection
from mdqr.linalg._shared.operands import precision_for
from mdqr.linalg._spectral.svd import svd

# Steps for two real eigenvalues of two rows.
_FEW = 20


def triangular_pair(
    backend: Backend, a: Block, b: Block, kind: Kind, report: Reporter | None = None
) -> Form:
    """Return the generalized Schur form of a pair, blocks ``(n, n)``; real ones stay real.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it does not converge.
    """
    form = Form(backend, a, b, kind)
    form.reduce(report)
    _Iteration(form).run(report)
    positive_diagonal(form)
    return form


def positive_diagonal(form: Form) -> None:
    """Make the diagonal of T real and not negative."""
    diagonal = form.values(planes.diagonal(form.t).copy())
    sizes = abs(diagonal)
    factors = np.where(sizes == 0, 1.0, diagonal.conj() / np.where(sizes == 0, 1.0, sizes))
    for block in (form.h, form.t, form.z):
        block[...] = (form.values(block) * factors)._block
    if form.kind.is_complex:
        planes.diagonal(form.t)[1] = 0.0


class _Iteration:
    def __init__(self, form: Form) -> None:
        self._form, self._backend, self._kind = form, form.backend, form.kind
        self._h, self._t = form.values(form.h), form.values(form.t)

    def run(self, report: Reporter | None) -> None:
        """Make H triangular, or quasi-triangular if the pair is real."""
        n, steps = self._form.n, 0
        stop = n
        while stop:
            self._note_zeros(stop)
            first = self._first(stop, strict=steps <= EXCEPTIONAL)
            done = stop - first == 1 or self._has_infinite(first, stop)
            if not done and stop - first == 2 and not self._kind.is_complex:
                self._standardise(first)
                done = True
                stop -= 1
            if done:
                stop, steps = stop - 1, 0
                if report is not None:
                    report("iterate", n - stop, n)
                continue
            steps += 1
            if steps > MOST_STEPS * precision_for(self._kind.limbs).bits:
                raise np.linalg.LinAlgError(f"the QZ algorithm does not converge in {steps} steps")
            self._step(first, stop, steps)

    def _note_zeros(self, stop: int) -> None:
        """Write zeros where rounding errors are on the diagonal of T."""
        t, field = self._form.t, self._kind.is_complex
        one = planes.diagonal(t)[..., :stop]
        one[...] = np.where(native_abs(one, field) <= self._form.eps, 0.0, one)

    def _first(self, stop: int, *, strict: bool) -> int:
        """Return where the last block of H begins, and write zeros where rounding errors are."""
        h, field = self._form.h, self._kind.is_complex
        below = native_abs(planes.diagonal(h[..., 1:stop, : stop - 1]), field)
        sizes = native_abs(planes.diagonal(h[..., :stop, :stop]), field)
        beside = sizes[1:] + sizes[:-1]
        found = np.flatnonzero(
            below <= self._form.eps * (beside if strict else np.maximum(beside, 1.0))
        )
        h[..., found + 1, found] = 0.0
        return int(found[-1]) + 1 if found.size else 0

    def _has_infinite(self, first: int, stop: int) -> bool:
        """Move an infinite eigenvalue, a zero of T's diagonal, to the end; False if none is."""
        form, kind = self._form, self._kind
        diagonal = planes.diagonal(form.t)[..., first:stop]
        zeros = np.flatnonzero(~planes.nonzero(diagonal, kind.is_complex))
        if not zeros.size:
            return False
        for j in range(first + int(zeros[-1]), stop - 1):
            pair = slice(j, j + 2)
            vector = form.t[..., pair, j + 1 : j + 2].copy()
            form.left(Reflection.of(self._backend, vector, kind), pair, max(j - 1, first), j + 1)
            form.t[..., j + 1, j + 1] = 0.0
            if j > first:
                form.deflate(j + 1, j - 1, j)
        form.deflate(stop - 1, stop - 2, stop - 1)
        return True

    def _step(self, first: int, stop: int, steps: int) -> None:
        """Take one step in a diagonal block, with one shift or a pair of complex ones."""
        is_exceptional = steps % EXCEPTIONAL == 0
        if not self._kind.is_complex:
            self._chase(first, stop, self._of_two(first, stop, is_exceptional), 3)
            return
        p, q = stop - 2, stop - 1
        corner = self._quotient(first, stop)
        block = stack([stack([corner[p, p], corner[p, q]]), stack([corner[q, p], corner[q, q]])])
        shift = block._like(shift_of(self._backend, block._block, steps, self._kind))[0]
        self._chase(first, stop, self._of_one(first, shift), 2)

    def _of_one(self, first: int, shift: MDArray) -> Block:
        """Return the first column of ``H - shift T``."""
        h, t = self._h, self._t
        entries = h[first, first] - shift * t[first, first], h[first + 1, first]
        return self._column(entries)

    def _of_two(self, first: int, stop: int, is_exceptional: bool) -> Block:
        """Return the first column of ``(M - s I) (M - conj(s) I)``, M the quotient of H and T."""
        i, j, p, q = first, first + 1, stop - 2, stop - 1
        m = self._quotient(first, stop)
        # Differences to the first entry, as in the QR algorithm.
        one, other, product = m[p, p] - m[i, i], m[q, q] - m[i, i], m[p, q] * m[q, p]
        if is_exceptional:
            size = abs(m[q, p]) + abs(m[p, p])
            one = other = other + size * 0.75
            product = size * size * -0.4375
        return self._column(
            (
                one * other - product + m[i, j] * m[j, i],
                m[j, i] * (m[j, j] - m[i, i] - one - other),
                m[j, i] * m[j + 1, j],
            )
        )

    def _quotient(self, first: int, stop: int) -> dict[tuple[int, int], MDArray]:
        """Return entries of ``H T^-1``: of its first two columns, and of its last two rows."""
        h, t, m = self._h, self._t, dict[tuple[int, int], MDArray]()
        i, j, p, q = first, first + 1, stop - 2, stop - 1
        for row in range(i, min(i + 3, stop)):
            m[row, i] = h[row, i] / t[i, i]
            m[row, j] = (h[row, j] - m[row, i] * t[i, j]) / t[j, j]
        for row in (p, q):
            start = max(row - 1, first)
            for column in range(start, stop):
                known = h[row, column]
                for k in range(start, column):
                    known = known - m[row, k] * t[k, column]
                m[row, column] = known / t[column, column]
        return m

    def _column(self, entries: Sequence[MDArray]) -> Block:
        """Return a vector as a column, its largest entry near 1."""
        field = self._kind.is_complex
        block = stack(entries)._block[..., None]
        top = scaling.top_exponents(block, field, None)
        return self._backend.ldexp(block, -top, is_complex=field)

    def _chase(self, first: int, stop: int, vector: Block, width: int) -> None:
        """Reflect the first rows by a vector of this width, and restore the form."""
        form = self._form
        for k in range(first, stop - 1):
            rows = slice(k, min(k + width, stop))
            if k > first:
                vector = form.h[..., rows, k - 1 : k].copy()
            found = Reflection.of(self._backend, vector, self._kind)
            form.left(found, rows, max(k - 1, first), k)
            if k > first:
                form.h[..., k + 1 : rows.stop, k - 1] = 0.0
            for i in range(rows.stop - 1, k, -1):
                form.restore(i, k, min(rows.stop + 1, stop))

    def _standardise(self, i: int) -> None:
        """Split two rows of a real pair with real eigenvalues; else make T diagonal there."""
        form, j = self._form, i + 1
        for _ in range(_FEW):
            m = self._quotient(i, i + 2)
            half = (m[i, i] - m[j, j]) / 2
            product = m[i, j] * m[j, i]
            inside = half * half + product
            if not inside >= 0:
                break
            root = np.sqrt(inside)
            other = half + (root if half >= 0 else -root)
            shift = m[j, j] - (product / other if other != 0 else 0.0)
            self._chase(i, i + 2, self._of_one(i, shift), 2)
            sizes = abs(self._h[[i, j], [i, j]]).to_numpy().sum()
            if abs(float(self._h[j, i])) <= form.eps * max(sizes, form.eps):
                form.h[..., j, i] = 0.0
                return
        diagonal_pair(form, i)


def diagonal_pair(form: Form, i: int) -> None:
    """Make two rows of T diagonal."""
    rows = slice(i, i + 2)
    u, s, vh = svd(form.values(form.t[..., rows, rows].copy()))
    form.multiply(rows, u._block, vh.conj().mT._block)
    form.t[..., rows, rows] = 0.0
    planes.diagonal(form.t[..., rows, rows])[...] = s._block
