"""Factorisations and solutions have the same limbs whatever the threads and the flushing mode."""

from __future__ import annotations

import platform

import _mdqr_host
import linalg_cases as cases
import numpy as np
import pytest

from mdqr.linalg import (
    cholesky,
    inv,
    lstsq,
    lu_factor,
    matmul,
    norm,
    qr,
    qr_factor,
    slogdet,
    solve,
    solve_triangular,
)
from mdqr.testing import assert_same_bits


@pytest.fixture
def host():
    """Give the number of threads and the mode back after the test."""
    threads = _mdqr_host.num_threads()
    yield _mdqr_host
    _mdqr_host.set_ftz(False)
    _mdqr_host.set_num_threads(threads)


def results(a, b):
    Q, R = qr(a)
    fit = lstsq(a, b, 0, weights=np.linspace(1.0, 2.0, len(a)))
    n = a.shape[1]
    plain = lstsq(a, b)
    f = qr_factor(a)
    return [
        Q,
        R,
        *qr(a, "raw"),
        fit.x,
        fit.residuals,
        fit.info.standard_errors(),
        plain.x,
        plain.residuals,
        f.solve(b),
        f.apply_q(b),
        solve_triangular(R, b[:n]),
        solve_triangular(R, b[:n], "C"),
        solve(a[:n], b[:n]),
        norm(a),
        norm(a, np.inf),
        matmul(a.H, b),
        lu_factor(a).lu,
        *slogdet(a[:n]),
        inv(a[:n]),
        cholesky(matmul(a[:, :12].H, a[:, :12])),
    ]


# 20 bits a column: the last limbs of the last columns are subnormal.
@pytest.mark.parametrize("columns", [0, -20])
def test_threads_and_flushing(multiple, dtype, columns, host, rng):
    a = cases.scaled(cases.random(70, 41, multiple, dtype, rng), 0, columns)
    b = cases.random(70, 3, multiple, dtype, rng)
    host.set_num_threads(1)
    wanted = results(a, b)
    flushes = platform.machine() in ("x86_64", "AMD64")
    # Flushing by itself shows where limbs are subnormal, and threads do where none is flushed.
    for threads, flushing in ((1, flushes) if columns else (2, False), (3, flushes)):
        host.set_num_threads(threads)
        host.set_ftz(flushing)
        found = results(a, b)
        host.set_ftz(False)
        for i, (x, y) in enumerate(zip(found, wanted, strict=True)):
            name = f"result {i}, {threads} threads, flushing {flushing}"
            assert_same_bits(x, y, err_msg=name)
