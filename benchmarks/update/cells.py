"""The paper's problems with factors of mdqr: an update and a solution, or a fresh factorisation.

The right-hand side is the last column of the factored matrix [A b], so that R of it holds R of A
and ``Q^H b``. Forms: "R" keeps nothing but R (rows that leave and, for columns that come, the
matrix are given), "thin" keeps the thin Q too, as the paper keeps its full one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

import mdqr
from benchmarks.common.timing import Timer, cupy
from benchmarks.update.paper import Cell
from mdqr.linalg import UpdatableLstsq, qr, qr_delete, qr_insert, qr_update, solve_triangular
from mdqr.linalg._update import fit as fits
from mdqr.linalg._update.api import deletion, insertion, rank_update
from mdqr.linalg._update.arithmetic.engine import attempted
from mdqr.linalg._update.updates import choose

LONGEST = 0.4  # seconds that the repeats of one timing may take
PANELS = "fresh panels"  # by the panels that updates of float32 on a GPU have themselves


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


def without_rows(fit: UpdatableLstsq, k: int, p: int) -> UpdatableLstsq:
    """Return a problem with its data from which rows have left."""
    fit = copy.copy(fit)
    fit.delete_rows(k, p)
    return fit


UPDATES = {qr_insert: insertion, qr_delete: deletion, qr_update: rank_update}


def taken(call: partial[Any]) -> str:
    """Return the method that a call takes by itself: "update" or "fresh"."""
    if call.func is without_rows:
        fit, k, p = call.args
        known = fit._fit
        again = attempted(known.engine, fits.prefers_refactor_without, known, p, k)
        return "fresh" if again else "update"
    options = {name: value for name, value in call.keywords.items() if name != "method"}
    update = UPDATES[call.func](*call.args, **options)
    way = attempted(update.factors.engine, choose, update)
    return "update" if way == "update" else "fresh"


class Form(NamedTuple):
    """A call that changes factors, and the solution that they give."""

    change: partial[Any]
    solve: Callable[[Any], Any]

    def __call__(self) -> Any:
        """Do both."""
        return self.solve(self.change())


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

    def updates(self, cell: Cell, method: str) -> Iterator[tuple[str, Form]]:
        """Yield the forms of an update with the solution behind it.

        With the method "auto" rows leave a problem that has its data: R alone cannot be refactored.
        """
        draw, n, k, p = self.numbers.draw, self.n, cell.k, cell.p
        solve, a, b = self.numbers.solve, self.ab[:, : self.n], self.ab[:, -1:]
        forced = {"method": method}

        def r_alone(function: Any, *arguments: Any, columns: int = n, **options: Any) -> Form:
            change = partial(function, None, self.r, *arguments, **options)
            return Form(change, lambda found: solve(found.R, columns))

        def thin(right: Any, function: Any, *arguments: Any, **options: Any) -> Form:
            def solution(found: Any) -> Any:
                sides = found.Q.T @ right()
                return solve(self.numbers.join([found.R, sides], 1), found.R.shape[1])

            return Form(partial(function, *self.thin, *arguments, **options), solution)

        def rows_left(k: int, p: int) -> Any:
            return self.numbers.join([b[:k], b[k + p :]], 0)

        if cell.kind == "delete col":
            yield "R", r_alone(qr_delete, k, p, "col", columns=n - p, **forced)
        elif cell.kind == "insert row":
            yield "R", r_alone(qr_insert, draw(p, n + 1, 2), 0, **forced)
        elif cell.kind == "delete row":
            if method == "auto":
                yield "R", Form(partial(without_rows, self.fit, k, p), UpdatableLstsq.solve)
            else:
                yield "R", r_alone(qr_delete, 0, p, u=self.ab[k : k + p])
            yield "thin", thin(lambda: rows_left(k, p), qr_delete, k, p, **forced)
        else:
            u = draw(self.m, p, 2)
            yield "R", r_alone(qr_insert, u, k, "col", columns=n + p, a=self.ab, **forced)
            known = a if method == "auto" else None
            yield "thin", thin(lambda: b, qr_insert, u, k, "col", a=known, **forced)

    def fresh(self, cell: Cell) -> dict[str, float]:
        """Return the seconds of fresh factorisations of the updated [A b], with the solution."""
        shape = cell.shape
        if shape not in self._fresh_times:
            a = self.numbers.draw(shape[0], shape[1] + 1, 3)
            ways = {"fresh QR": partial(self._fresh, a, shape[1])}
            if self.numbers.name == "float32" and self.numbers.device == "cuda":
                ways["fresh tensor cores"] = partial(self._fresh_tensorcore, a, shape[1])
                ways[PANELS] = partial(self._fresh_panels, a, shape[1])
            self._fresh_times[shape] = {
                name: self.numbers.timer.seconds(way) for name, way in ways.items()
            }
        return self._fresh_times[shape]

    def _fresh(self, a: Any, n: int) -> Any:
        return self.numbers.solve(self.numbers.factor(a, "r"), n)

    def _fresh_panels(self, a: Any, n: int) -> Any:
        """Solve by the refactorisation of updates: all rows come to a matrix that has none."""
        r = qr_insert(None, a[:0], a, 0, method="fresh").R
        return self.numbers.solve(r, n)

    def _fresh_tensorcore(self, a: Any, n: int) -> Any:
        options = {"compute": "fp16x2", "reorthogonalize": True}
        return self.numbers.solve(mdqr.tensorcore.qr(a, **options).R, n)
