"""Errors of the data that users give: forms, and the digits that are left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr.linalg import lstsq

FORMS = ["absolute", "relative", "both"]


def solutions(a, b, weights):
    """Weighted least squares of a batch in float64: the errors are far above its rounding."""
    root = np.sqrt(weights)[..., None]
    q, r = np.linalg.qr(root * a)
    return np.linalg.solve(r, q.conj().swapaxes(-1, -2) @ (root * b[..., None]))[..., 0]


def worst_digits(rng, x, a, b, w, errors, is_complex):
    """The fewest digits of each component that 100 random data leave."""
    changed = []
    for value, size, field in zip((a, b, w), errors, (is_complex, is_complex, False), strict=True):
        shape = (100, *value.shape)
        phase = np.exp(2j * np.pi * rng.uniform(size=shape)) if field else 1.0
        changed.append(value + size * rng.uniform(-1, 1, shape) * phase)
    return -np.log10(abs(solutions(*changed) / x - 1).max(axis=0))


def least_digits(x, a, b, w, errors):
    """The digits that the worst signs leave to first order, by the derivatives of x."""
    inverse = np.linalg.pinv(np.sqrt(w)[:, None] * a)
    normal, rows, r = inverse @ inverse.conj().T, inverse * np.sqrt(w), b - a @ x
    by_fit = -rows[:, :, None] * x
    by_residual = normal[:, None, :] * (w * r)[:, None]
    of_a = abs(by_fit + by_residual)
    if np.iscomplexobj(a):
        # dA and its conjugate: their phases can be chosen so that both add up.
        of_a = abs(by_fit) + abs(by_residual)
    change = (of_a * errors[0]).sum(axis=(1, 2)) + abs(rows) @ (errors[1] + errors[2] / w * abs(r))
    return -np.log10(change / abs(x))


@settings(max_examples=60, deadline=None)
@given(
    form=st.sampled_from(FORMS),
    m=st.integers(4, 12),
    n=st.integers(1, 4),
    is_complex=st.booleans(),
    weighted=st.booleans(),
    exact=st.sets(st.integers(0, 3)),
    residual=st.sampled_from([0.0, 1e-6, 1.0, 1e3]),
    precision=st.sampled_from(["d", "dd", "qd", "od"]),
    method=st.sampled_from(["auto", "householder"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_within_a_digit_and_a_half_of_random_data(
    form, m, n, is_complex, weighted, exact, residual, precision, method, seed
):
    """Never more digits than the worst of 100 random data leaves, and hardly fewer."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return rng.standard_normal(shape) + 1j * is_complex * rng.standard_normal(shape)

    a, x, r = (draw(*shape) for shape in ((m, n), (n,), (m,)))
    a, r = (a, r) if is_complex else (a.real, r.real)
    a[:, 0] = 1.0
    b = a @ (x if is_complex else x.real) + residual * r
    w = rng.uniform(0.1, 10.0, m) if weighted else np.ones(m)
    size = rng.uniform(0.1, 1.0, n) * ~np.isin(np.arange(n), list(exact)) * 1e-8
    atol = {"a": size, "b": 1e-9 * rng.uniform(0.1, 1.0, m), "weights": 1e-9 * w}
    rtol = {"a": size * rng.uniform(0.5, 1.0, (m, 1)), "b": 1e-9, "weights": 1e-9}
    kinds = {"atol": atol, "rtol": rtol}
    used = {"absolute": ["atol"], "relative": ["rtol"], "both": ["atol", "rtol"]}[form]
    values = {"a": a, "b": b, "weights": w}
    names = ["a", "b", "weights"] if weighted else ["a", "b"]
    errors = [
        sum(kinds[kind][name] * (1 if kind == "atol" else abs(values[name])) for kind in used)
        + np.zeros(values[name].shape)
        for name in names
    ]
    errors += [np.zeros(m)] * (3 - len(errors))
    info = lstsq(
        a, b, precision=precision, method=method, weights=w if weighted else None, rcond=0,
        data_error={f"{name}_{kind}": kinds[kind][name] for name in names for kind in used},
    ).info  # fmt: skip
    x = solutions(a, b, w)
    found, full = info.data_digits, info.digits
    bound = info.data_error_bound / abs(x)
    least = least_digits(x, a, b, w, errors)
    seen = worst_digits(rng, x, a, b, w, errors, is_complex)
    assert (found <= np.minimum(full, seen + 0.01)).all()
    assert (found <= np.minimum(full, np.maximum(least, 0.0) + 0.01)).all()
    assert np.allclose(10.0**-found, np.maximum(np.minimum(bound, 1.0), 10.0**-full))
    assert (found >= np.minimum(full, np.maximum(seen, 0.0)) - 1.5).all()
