"""Matrices, errors and engines of the tensor-core tests."""

from __future__ import annotations

import numpy as np
import pytest

from mdqr import tensorcore
from mdqr.tensorcore import _blocked
from mdqr.tensorcore._algorithms.cgls import _EPS
from mdqr.tensorcore._engine.cuda import CudaEngine
from mdqr.tensorcore._plan import with_panel

# The functions with an option `panel`.
qr = with_panel(tensorcore.qr)
lstsq = with_panel(tensorcore.lstsq)
lowrank = with_panel(tensorcore.lowrank)
orthogonalize = with_panel(tensorcore.orthogonalize)
blocked_householder = with_panel(tensorcore.blocked_householder)


def by_blocks(block, *operands, **options):
    """Return the result of `blocked_householder` with blocks of so many columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocked, "_BLOCK", block)
        return blocked_householder(*operands, **options)


SPECTRA = ("arithmetic", "geometric", "cluster")
# Matrices with columns that depend on others, or nearly do, and orthogonal ones, by a generator.
DEFICIENT = {
    "zeros": lambda rng: np.zeros((200, 150)),
    "small zeros": lambda rng: np.zeros((2, 2)),
    "square zeros": lambda rng: np.zeros((130, 130)),
    "ones": lambda rng: np.ones((200, 150)),
    "ones and the identity": lambda rng: np.ones((400, 130)) + np.eye(400, 130),
    "halves": lambda rng: np.repeat([[1.0, 2.0]], 150, axis=1) * np.ones((300, 1)),
    "equal rows": lambda rng: np.ones((300, 1)) * rng.standard_normal(300),
    "lower triangle of ones": lambda rng: np.tril(np.ones((300, 300))),
    "square ones": lambda rng: np.ones((150, 150)),
    "zero columns": lambda rng: np.where(
        np.arange(150) % 7 == 0, 0.0, rng.standard_normal((200, 150))
    ),
    "repeated": lambda rng: np.repeat(rng.standard_normal((300, 20)), 10, axis=1),
    "rank 30": lambda rng: rng.standard_normal((300, 30)) @ rng.standard_normal((30, 200)),
    "nearly rank 1": lambda rng: 1 + 2.0**-22 * rng.integers(-1, 2, (300, 200)),
    "part of the identity": lambda rng: np.eye(300)[:, 40:240],
    "a cycle": lambda rng: np.roll(np.eye(200), 1, axis=0),
    "Kahan": lambda rng: np.triu(np.where(np.eye(200), 1.0, -0.9)) * 0.9 ** np.arange(200)[:, None],
}


def equal_blocks(rng):
    """Return a matrix of blocks of equal entries, or nearly so: sums of up to 420 equal terms."""
    shape, counts = rng.integers(2, 420, 2), rng.integers(1, 9, 2)
    values = rng.choice([0, 1, 1, 1, 2, -1, 0.5, 1e-3], size=counts)
    rows, columns = (np.sort(rng.integers(0, k, n)) for n, k in zip(shape, counts, strict=True))
    a = values[rows][:, columns]
    kind = rng.integers(4)
    if kind == 1:
        a = a + np.eye(*shape) * rng.choice([1, 1e-2, 1e-4])
    elif kind == 2:
        a = a * (1 + 1e-6 * rng.standard_normal(shape))
    elif kind == 3:
        a = a[rng.permutation(shape[0])][:, rng.permutation(shape[1])]
    return a.astype(np.float32)


# Unit roundoffs.
U16, U32 = 2.0**-11, 2.0**-24


def values_of(term, kernel):
    """Return the numbers that the memory of an operand holds, as float32."""
    if kernel == "bfloat":
        assert term.dtype == np.uint16
        return (term.astype(np.uint32) << 16).view(np.float32)
    assert term.dtype == (np.float16 if kernel in ("half", "split") else np.float32)
    return term.astype(np.float32)


class NumpyProducts:
    """What cuBLAS and cuSOLVER do for the engine, on the blocks of emulated kernels."""

    def multiply(self, c, a, b, kernel, *, transposed, alpha, beta):
        a, b = (values_of(x, kernel) for x in (a, b))
        product = np.float32(alpha) * ((a.T if transposed else a) @ b)
        c[...] = product if beta == 0 else product + np.float32(beta) * c

    def doubles(self, c, a, x, *, transposed, alpha, beta):
        product = alpha * ((a.T if transposed else a) @ x)
        c[...] = product if beta == 0 else product + beta * c

    def batch(self, c, a, b, alpha):
        assert all(x.strides[1] == 8 for x in (a, b, c))
        c[...] = alpha * (a @ b)

    def geqrf(self, a, r):
        raise AssertionError("no kernel of ours")


def emulated_engine(kernels):
    """Return the engine of the GPU over kernels that a CPU runs."""
    return CudaEngine(kernels, NumpyProducts())


def with_condition(rng, m, n, cond, spectrum="arithmetic"):
    """Return a float64 matrix with given singular values; "cluster": all but the smallest are 1."""
    q, _ = np.linalg.qr(rng.standard_normal((m, n)))
    p, _ = np.linalg.qr(rng.standard_normal((n, n)))
    values = {
        "arithmetic": np.linspace(1, 1 / cond, n),
        "geometric": np.geomspace(1, 1 / cond, n),
        "cluster": np.r_[np.ones(n - 1), 1 / cond],
    }[spectrum]
    return (q * values) @ p.T


def with_subnormals(rng):
    """Return columns that have subnormal numbers of float32, or get them as they are rounded."""
    a = rng.standard_normal((70, 5))
    a[:, 0] *= 1e-40
    a[1:, 1] *= 1e-39
    # Ties, and the neighbourhood of the smallest normal number.
    a[1:, 2] = (2 * np.arange(69) - 69) * 2.0**-150
    a[:, 3] = 2.0**-126 * (1 + rng.integers(-8, 9, 70) * 2.0**-25)
    a[:, 4] *= 10.0 ** rng.uniform(-50, 0, 70)
    return a


def kerr(rng, m, n):
    """Return a matrix as Kerr, Campbell and Richards made theirs: hidden ones on the diagonal.

    Entries from -1 to 1 below the diagonal, zeros above; then random Givens rotations of rows.
    """
    a = np.tril(rng.uniform(-1, 1, (m, n)), -1) + np.eye(m, n)
    for _ in range(8):
        order, angles = rng.permutation(m), rng.uniform(0, 2 * np.pi, (m // 2, 1))
        first, second = order[: m // 2], order[m // 2 : 2 * (m // 2)]
        c, s = np.cos(angles), np.sin(angles)
        a[first], a[second] = c * a[first] - s * a[second], s * a[first] + c * a[second]
    return a


def kerr_criteria(a, q, r):
    """Return the three errors over what the paper accepts (section 5): all at most 1.

    ``norm(Q R - A) <= m 2^-23 norm(A)``, ``norm(Q^T Q - I) <= m 2^-23`` and ``norm(L) <= m 2^-23``
    for what L is below the diagonal of R. Frobenius norms, the largest of their size. Of fewer rows
    than 16 as of 16.
    """
    a, q, r = (np.asarray(x, dtype=np.float64) for x in (a, q, r))
    # Y and K are rounded to float32: some ten of its roundings however small m is. The paper's own
    # matrices have hundreds of rows.
    accepted = max(len(a), 16) * 2.0**-23
    norm = np.linalg.norm
    found = [norm(q @ r - a) / max(norm(a), 1e-300), norm(q.T @ q - np.eye(q.shape[1]))]
    return [error / accepted for error in (*found, norm(np.tril(r, -1)))]


def backward_errors(a, q, r):
    """Return the error of each column relative to its norm."""
    a, q, r = (np.asarray(x, dtype=np.float64) for x in (a, q, r))
    scale = np.linalg.norm(a, axis=0)
    return np.linalg.norm(a - q @ r, axis=0) / np.where(scale > 0, scale, 1)


def orthogonality(q):
    """Return the 2-norm of Q^T Q - I."""
    q = np.asarray(q, dtype=np.float64)
    return np.linalg.norm(q.T @ q - np.eye(q.shape[1]), 2) if q.size else 0.0


def reference(a, b):
    """Return x to some 100 bits: by one refinement in extended precision after another."""
    a, b = (x.astype(np.longdouble) for x in (a, b))
    r = np.linalg.qr(a.astype(np.float64)).R
    x = np.zeros((a.shape[1], *b.shape[1:]), dtype=np.longdouble)
    for _ in range(8):
        s = (a.T @ (b - a @ x)).astype(np.float64)
        x = x + np.linalg.solve(r, np.linalg.solve(r.T, s))
    return x


def error_bound(a, b, x):
    """Bound ``norm(a @ (x - x*))`` as of Householder QR: a small multiple of sqrt(n) eps.

    And one unit in the last place of x, which float64 numbers cannot do without.
    """
    cond = np.linalg.cond(a)
    rest = np.linalg.norm(b - a @ x, axis=0)
    last = _EPS * np.linalg.norm(np.abs(a) @ np.abs(x), axis=0)
    return 8 * np.sqrt(a.shape[1]) * _EPS * (np.linalg.norm(b, axis=0) + cond * rest) + last
