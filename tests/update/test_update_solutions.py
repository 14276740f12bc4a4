"""Least-squares solutions from updated factors, as in section 5.6 of Andrew and Dingle (2012)."""

from __future__ import annotations

import numpy as np
import pytest

import mdqr
from mdqr.linalg import lstsq, qr, qr_delete, qr_insert, solve_triangular

M, N, P = 40, 20, 9


def draw(shape, name, rng):
    if name.startswith("float"):
        return rng.uniform(-1, 1, shape).astype(name)
    return mdqr.random.uniform(shape, low=-1, high=1, precision=name, rng=rng)


def join(parts, axis):
    native = isinstance(parts[0], np.ndarray)
    return np.concatenate(parts, axis) if native else mdqr.concatenate(parts, axis)


def factor(a, mode):
    return np.linalg.qr(a, mode) if isinstance(a, np.ndarray) else qr(a, mode)


def solution(r, n):
    if isinstance(r, np.ndarray):
        return np.linalg.solve(r[:n, :n], r[:n, n:])
    return solve_triangular(r[:n, :n], r[:n, n:])


def updated(kind, ab, u, v):
    """The new [A b], and R of it by an update."""
    n, options = ab.shape[1] - 1, {"method": "update"}
    if kind == "insert row":
        return join([u, ab], 0), qr_insert(None, factor(ab, "r"), u, 0, **options).R
    if kind == "delete col":
        return ab[:, P:], qr_delete(None, factor(ab, "r"), 0, P, "col", **options).R
    factors = factor(ab[:, :n], "reduced")
    if kind == "delete row":
        new, found = ab[P:], qr_delete(*factors, 0, P, **options)
    else:
        new, found = join([v, ab], 1), qr_insert(*factors, v, 0, "col", **options)
    return new, join([found.R, found.Q.T @ new[:, -1:]], 1)


@pytest.mark.parametrize("kind", ["insert row", "delete col", "delete row", "insert col"])
@pytest.mark.parametrize("name", ["float32", "float64", "dd", "qd"])
def test_solutions(kind, name, rng):
    """As near to the solution of twice the digits as the condition allows, and as a fresh one."""
    ab = draw((M, N + 1), name, rng)
    new, r = updated(kind, ab, draw((P, N + 1), name, rng), draw((M, P), name, rng))
    n = new.shape[1] - 1
    higher = {"dd": mdqr.qd, "qd": mdqr.od}.get(name, mdqr.dd)
    truth = lstsq(*(mdqr.asarray(x, precision=higher) for x in (new[:, :n], new[:, n:])))
    wide = (mdqr.asarray(solution(x, n), precision=higher) for x in (r, factor(new, "r")))
    size = np.linalg.norm(truth.x.to_numpy())
    found, fresh = (np.linalg.norm((x - truth.x).to_numpy()) / size for x in wide)
    eps = np.finfo(name).eps if name.startswith("float") else getattr(mdqr, name).eps
    # Residuals are as large as b here: the condition comes squared.
    assert max(found, fresh) <= 10 * n * eps * float(truth.info.condition) ** 2
