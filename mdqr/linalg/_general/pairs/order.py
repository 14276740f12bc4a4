"""Generalized Schur forms with chosen eigenvalues first."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.sequences import concatenate, stack
from mdqr._limbs import planes
from mdqr.linalg._factor.qr import qr
from mdqr.linalg._general.pairs.form import Form
from mdqr.linalg._general.pairs.iteration import diagonal_pair
from mdqr.linalg._solve.solve import solve


def starts(form: Form) -> list[int]:
    """Return the first row of each diagonal block of H, and the order of the pair."""
    coupled = planes.nonzero(planes.diagonal(form.h[..., 1:, :-1]), form.kind.is_complex)
    return [0, *(np.flatnonzero(~coupled) + 1).tolist(), form.n] if form.n else [0]


def eigenvalues(form: Form) -> tuple[MDArray, MDArray]:
    """Return alpha, complex, and beta: eigenvalues of the scaled pair are ``alpha / beta``.

    If T has the diagonal s in two rows, alpha has the eigenvalues of ``H diag(s)^-1``, times s.
    """
    h, t = form.values(form.h), form.values(form.t)
    alpha, beta = h.diagonal().astype(dtype=complex), t.diagonal().real.copy()
    bounds = starts(form)
    for i, after in pairwise(bounds):
        if after == i + 1:
            continue
        j = i + 1
        one, last = h[i, i] / t[i, i], h[j, j] / t[j, j]
        product = (h[i, j] / t[j, j]) * (h[j, i] / t[i, i])
        half = (one - last) / 2
        root = np.sqrt((half * half + product).astype(dtype=complex))
        middle = (one + last) / 2
        alpha[i], alpha[j] = (middle + root) * t[i, i], (middle - root) * t[j, j]
    return alpha, beta


def move_first(form: Form, chosen: np.ndarray) -> None:
    """Move blocks whose first eigenvalue is chosen to the upper left corner, in their order."""
    bounds = starts(form)
    sizes, flags = np.diff(bounds).tolist(), [bool(chosen[i]) for i in bounds[:-1]]
    for last in range(1, len(sizes)):
        for k in range(last, 0, -1):
            if not flags[k] or flags[k - 1]:
                break
            _exchange(form, sum(sizes[: k - 1]), sizes[k - 1], sizes[k])
            sizes[k - 1], sizes[k] = sizes[k], sizes[k - 1]
            flags[k - 1], flags[k] = flags[k], flags[k - 1]


def _exchange(form: Form, i: int, m: int, n: int) -> None:
    """Exchange neighbouring blocks of m and n rows from row i on.

    With ``A11 R - L A22 = A12`` and the same of B, the columns of ``[-R; I]`` and ``[-L; I]`` span
    the subspaces of the second block (B. Kagstrom 1993).
    """
    rows, one, two = slice(i, i + m + n), slice(0, m), slice(m, m + n)
    pair = [form.values(x[..., rows, rows].copy()) for x in (form.h, form.t)]
    r, left = _coupling([(x[one, one], x[two, two], x[one, two]) for x in pair])
    identity = form.values(form.kind.identity(np, (n, n)))
    u, v = (qr(concatenate([-x, identity]), "complete").Q for x in (left, r))
    form.multiply(rows, u._block, v._block)
    for x in (form.h, form.t):
        x[..., i + n : i + n + m, i : i + n] = 0.0
    for start, size in ((i, n), (i + n, m)):
        if size == 2:
            diagonal_pair(form, start)


def _coupling(parts: list[tuple[MDArray, MDArray, MDArray]]) -> tuple[MDArray, MDArray]:
    """Return R and L with ``A R - L D = C`` for both triples (A, D, C)."""
    (a, d, c), _ = parts
    m, n = c.shape
    rows, known = [], []
    for a, d, c in parts:
        for p, q in np.ndindex(m, n):
            row = [c[0, 0] * 0] * (2 * m * n)
            for k in range(m):
                row[k * n + q] = row[k * n + q] + a[p, k]
            for k in range(n):
                at = m * n + p * n + k
                row[at] = row[at] - d[k, q]
            rows.append(stack(row))
            known.append(c[p, q])
    try:
        found = solve(stack(rows), stack(known))
    except np.linalg.LinAlgError as e:
        raise np.linalg.LinAlgError(
            "ordqz: eigenvalues of which one is selected are too close to exchange"
        ) from e
    return found[: m * n].reshape(m, n), found[m * n :].reshape(m, n)
