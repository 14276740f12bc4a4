"""Matrices that change, the same change of their factors, and exact measures of the errors."""

from __future__ import annotations

from dataclasses import dataclass, field

import linalg_cases as cases
import numpy as np

import mdqr
from mdqr.linalg import qr, qr_delete, qr_insert, qr_update


def norm(a):
    """The Frobenius norm of a small matrix of ordinary size, as a float."""
    return float(np.linalg.norm(a.to_numpy()))


def size(exact):
    """The exact Frobenius norm of an `Exact`, as a float."""
    return float(cases.quotients(np.sum(exact.squares()), exact.exponent, 1, 0))


def product_error(a, Q, R):
    """norm(a - Q R), exactly."""
    return size(cases.Exact.of(a) - cases.Exact.of(Q) @ cases.Exact.of(R))


def gram_error(a, R):
    """norm(R^H R - a^H a), exactly."""
    exact, r = cases.Exact.of(a), cases.Exact.of(R)
    return size(r.H @ r - exact.H @ exact)


def orthogonality(Q):
    """norm(I - Q^H Q), exactly."""
    q = cases.Exact.of(Q)
    return size(cases.identity(Q.shape[-1]) - q.H @ q)


def accept(a, Q, R, *, steps=1, largest=None):
    """The bound of `steps` updates, over matrices of norm at most `largest`."""
    cases.check_form(R)
    bound = 20 * max(R.shape[-1], 1) * steps * Q.precision.eps
    assert product_error(a, Q, R) <= bound * (norm(a) if largest is None else largest)
    assert orthogonality(Q) <= bound


def accept_column(a, Q, r, columns):
    """The bound for one column by itself."""
    assert product_error(a, Q, r) <= 20 * columns * Q.precision.eps * size(cases.Exact.of(a))


def accept_r(a, R, *, steps=1, largest=None):
    """The bound of `steps` updates of R alone."""
    cases.check_form(R)
    top = norm(a) if largest is None else largest
    assert gram_error(a, R) <= 20 * max(R.shape[-1], 1) * steps * R.precision.eps * top**2


def values(shape, precision, dtype, rng):
    """Numbers with full limbs between -1 and 1."""
    a = mdqr.random.uniform(shape, low=-1, high=1, precision=precision, rng=rng)
    return (
        a
        if dtype is float
        else a + 1j * mdqr.random.uniform(shape, low=-1, high=1, precision=precision, rng=rng)
    )


def insert(a, u, k, axis):
    """`a` with `u` before row (column) k, limb by limb."""
    parts = (a[:k], u, a[k:]) if axis == 0 else (a[:, :k], u, a[:, k:])
    return mdqr.concatenate(parts, axis=axis)


def delete(a, k, p, axis):
    """`a` without p rows (columns) from k on."""
    parts = (a[:k], a[k + p :]) if axis == 0 else (a[:, :k], a[:, k + p :])
    return mdqr.concatenate(parts, axis=axis)


@dataclass
class Changing:
    """A matrix and its factors, changed together at random."""

    a: mdqr.MDArray
    mode: str
    rng: np.random.Generator
    method: str = "update"
    largest: float = 0.0
    done: list = field(default_factory=list)

    def __post_init__(self):
        self.Q, self.R = qr(self.a, self.mode)
        self.largest = norm(self.a)

    def step(self):
        """One random update; shapes stay between 1 x 1 and 10 x 7."""
        m, n = self.a.shape
        kind = str(
            self.rng.choice(
                [
                    *["insert row"] * (m < 10),
                    *["insert col"] * (n < 7),
                    *["delete row"] * (m > 1),
                    *["delete col"] * (n > 1),
                    "rank",
                ]
            )
        )
        getattr(self, kind.replace(" ", "_"))(m, n)
        self.largest = max(self.largest, norm(self.a))
        self.done.append((kind, self.a.shape))

    def draw(self, *shape):
        dtype = complex if self.a.is_complex else float
        return values(shape, self.a.precision, dtype, self.rng)

    def insert_row(self, m, n):
        p, k = int(self.rng.integers(1, 4)), int(self.rng.integers(0, m + 1))
        u = self.draw(p, n)
        self.Q, self.R = qr_insert(self.Q, self.R, u, k, method=self.method)
        self.a = insert(self.a, u, k, 0)

    def insert_col(self, m, n):
        p, k = int(self.rng.integers(1, 4)), int(self.rng.integers(0, n + 1))
        u = self.draw(m, p)
        self.Q, self.R = qr_insert(self.Q, self.R, u, k, "col", method=self.method)
        self.a = insert(self.a, u, k, 1)

    def delete_row(self, m, n):
        k = int(self.rng.integers(0, m))
        p = int(self.rng.integers(1, min(3, m - k) + 1)) if m - k < m else 1
        self.Q, self.R = qr_delete(self.Q, self.R, k, p, method=self.method)
        self.a = delete(self.a, k, p, 0)

    def delete_col(self, m, n):
        k = int(self.rng.integers(0, n))
        p = int(self.rng.integers(1, min(3, n - k) + 1)) if n - k < n else 1
        self.Q, self.R = qr_delete(self.Q, self.R, k, p, "col", method=self.method)
        self.a = delete(self.a, k, p, 1)

    def rank(self, m, n):
        p = int(self.rng.integers(1, 3))
        u, v = self.draw(m, p), self.draw(n, p)
        self.Q, self.R = qr_update(self.Q, self.R, u, v, method=self.method)
        more = u @ v.H
        # The sum is rounded: take what it became as the change that was asked for.
        self.a = self.a + more

    @property
    def bound(self):
        return 20 * max(self.a.shape[1], 1) * len(self.done) * self.a.precision.eps
