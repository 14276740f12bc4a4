"""The paper's problems with factors of mdqr: an update and a solution, or a fresh factorisation.

The right-hand side is the last column of the factored matrix [A b], so that R of it holds R of A
and ``Q^H b``. Forms: "R" keeps nothing but R (rows that leave and, for columns that come, the
matrix are given), "thin" keeps the thin Q too, as the paper keeps its full one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any
from unittest import mock

import numpy as np

import mdqr
from benchmarks.common.timing import Call, Timer, cupy
from benchmarks.update.paper import Cell
from mdqr.linalg import UpdatableLstsq, qr, qr_delete, qr_insert, solve_triangular
from mdqr.linalg._update import updates

LONGEST = 0.4  # seconds that the repeats of one timing may take
OWN = "fresh panels"  # by the panels that updates of float32 on a GPU have themselves


class Numbers:
    """Arrays of one kind on one device: a precision, or "float32" and "float64"."""

    def __init__(self, name: str, device: str) -> None:
        self.name, self.device = name, device
        self.native = name.startswith("float")
        self.xp: Any = cupy() if device == "cuda" else np
        wait = cupy().cuda.runtime.deviceSynchronize if device == "cuda" else None
        self.timer = Timer(5, at_most=LONGEST, wait=wait)

    def draw(self, m: int, n: int, seed: int) -> Any:
        """Return numbers between -1 and 1, all limbs filled."""
        state = self.xp.random.RandomState(seed)
        if self.native:
            return (2.0 * state.random_sample((m, n)) - 1.0).astype(self.name)
        precision = getattr(mdqr, self.name)
        block = self.xp.empty((precision.limbs, m, n))
        for i in range(precision.limbs):
            block[i] = (2.0 * state.random_sample((m, n)) - 1.0) * 2.0 ** (-54 * i)
        return mdqr.from_limbs(block)

    def factor(self, a: Any, mode: str) -> Any:
        """Return ``(Q, R)`` or R."""
        if not self.native:
            return qr(a, mode, check=False)
        return self.xp.linalg.qr(a, mode)

    def join(self, parts: list[Any], axis: int) -> Any:
        """Join matrices."""
        if self.native:
            return self.xp.concatenate(parts, axis=axis)
        return mdqr.concatenate(parts, axis=axis)

    def solve(self, r: Any, n: int) -> Any:
        """Return the solution that ``[R Q^H b]`` gives."""
        if self.native and self.device == "cuda":
            from cupyx.scipy.linalg import solve_triangular as substitute

            # CuPy makes the transpose that cuBLAS wants faster of a matrix in one piece.
            return substitute(self.xp.ascontiguousarray(r[:n, :n]), r[:n, n:])
        if self.native:
            from scipy.linalg import solve_triangular as substitute

            return substitute(r[:n, :n], r[:n, n:])
        return solve_triangular(r[:n, :n], r[:n, n:])


def taken(call: Call) -> str:
    """Return the way that a call takes by itself."""
    with mock.patch.object(updates, "factored", wraps=updates.factored) as factored:
        call()
    return "fresh" if factored.called else "update"


class Problem:
    """A matrix with b, its factors, and what the cells of one shape need."""

    def __init__(self, numbers: Numbers, m: int, n: int) -> None:
        self.numbers, self.m, self.n = numbers, m, n
        self.ab = numbers.draw(m, n + 1, 1)
        self.r = numbers.factor(self.ab, "r")[: n + 1]
        self._fresh_times: dict[tuple[int, int], dict[str, float]] = {}

    @cached_property
    def thin(self) -> tuple[Any, Any]:
        """The thin factors of A, made when they are first wanted."""
        q, r = self.numbers.factor(self.ab[:, : self.n], "reduced")
        return q, r

    @cached_property
    def fit(self) -> UpdatableLstsq:
        """The problem with its data."""
        return UpdatableLstsq(self.ab[:, : self.n], self.ab[:, self.n :])

    def updates(self, cell: Cell, method: str) -> Iterator[tuple[str, Call]]:
        """Yield the forms of an update with the solution behind it.

        With the method "auto" rows leave a problem that has its data: R alone cannot be made anew.
        """
        draw, n, k, p = self.numbers.draw, self.n, cell.k, cell.p
        if cell.kind == "delete col":
            yield "R", partial(self._without_columns, k, p, method)
        elif cell.kind == "insert row":
            yield "R", partial(self._with_rows, draw(p, n + 1, 2), method)
        elif cell.kind == "delete row":
            if method == "auto":
                _ = self.fit  # made once, outside of what is timed
                yield "R", partial(self._without_rows_of_data, k, p)
            else:
                yield "R", partial(self._without_rows, self.ab[k : k + p])
            yield "thin", partial(self._without_rows_of_q, k, p, method)
        else:
            u = draw(self.m, p, 2)
            yield "R", partial(self._with_columns, u, k, method)
            yield "thin", partial(self._with_columns_of_q, u, k, method)

    def _without_columns(self, k: int, p: int, method: str) -> Any:
        r = qr_delete(None, self.r, k, p, "col", method=method).R
        return self.numbers.solve(r, self.n - p)

    def _with_rows(self, u: Any, method: str) -> Any:
        r = qr_insert(None, self.r, u, 0, method=method).R
        return self.numbers.solve(r, self.n)

    def _without_rows(self, u: Any) -> Any:
        r = qr_delete(None, self.r, 0, u=u, p=len(u)).R
        return self.numbers.solve(r, self.n)

    def _without_rows_of_data(self, k: int, p: int) -> Any:
        fit = copy.copy(self.fit)
        fit.delete_rows(k, p)
        return fit.solve()

    def _without_rows_of_q(self, k: int, p: int, method: str) -> Any:
        q, r = self.thin
        q, r = qr_delete(q, r, k, p, method=method)
        return self._solved(q, r, self.numbers.join([self.ab[:k, -1:], self.ab[k + p :, -1:]], 0))

    def _with_columns(self, u: Any, k: int, method: str) -> Any:
        r = qr_insert(None, self.r, u, k, "col", A=self.ab, method=method).R
        return self.numbers.solve(r, self.n + u.shape[1])

    def _with_columns_of_q(self, u: Any, k: int, method: str) -> Any:
        q, r = self.thin
        a = self.ab[:, : self.n] if method == "auto" else None
        q, r = qr_insert(q, r, u, k, "col", A=a, method=method)
        return self._solved(q, r, self.ab[:, -1:])

    def _solved(self, q: Any, r: Any, b: Any) -> Any:
        return self.numbers.solve(self.numbers.join([r, q.T @ b], 1), r.shape[1])

    def fresh(self, cell: Cell) -> dict[str, float]:
        """Return the seconds of fresh factorisations of the updated [A b], with the solution."""
        shape = cell.shape
        if shape not in self._fresh_times:
            a = self.numbers.draw(shape[0], shape[1] + 1, 3)
            ways = {"fresh QR": partial(self._fresh, a, shape[1])}
            if self.numbers.name == "float32" and self.numbers.device == "cuda":
                ways["fresh tensor cores"] = partial(self._fresh_tensorcore, a, shape[1])
                ways[OWN] = partial(self._fresh_panels, a, shape[1])
            self._fresh_times[shape] = {
                name: self.numbers.timer.seconds(way) for name, way in ways.items()
            }
        return self._fresh_times[shape]

    def _fresh(self, a: Any, n: int) -> Any:
        return self.numbers.solve(self.numbers.factor(a, "r"), n)

    def _fresh_panels(self, a: Any, n: int) -> Any:
        """Solve by what updates factor afresh with: all rows come to a matrix that has none."""
        r = qr_insert(None, a[:0], a, 0, method="fresh").R
        return self.numbers.solve(r, n)

    def _fresh_tensorcore(self, a: Any, n: int) -> Any:
        options = {"compute": "fp16x2", "panel": "cholesky", "reorthogonalize": True}
        return self.numbers.solve(mdqr.tensorcore.qr(a, **options).R, n)
