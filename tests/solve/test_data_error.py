"""Errors of the data that users give: forms, and the digits that are left."""

from __future__ import annotations

import fake_device
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr import PrecisionWarning
from mdqr._core import promotion
from mdqr._precision import PRECISIONS
from mdqr.linalg import lstsq
from mdqr.linalg._solve.solvers import small

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
    precision=st.sampled_from([p.name for p in PRECISIONS]),
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
        a, b, precision=precision, method=method, weights=w if weighted else None,
        max_condition=np.inf,
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
    assert (found >= np.minimum(full, np.maximum(seen, 0.0)) - 1.2).all()


def line(rng, m=20):
    """A column of ones, a column of measured points, and values on a line with noise."""
    a = np.stack([np.ones(m), rng.uniform(1.0, 2.0, m)], axis=1)
    return a, a @ [3.0, 0.5] + 1e-3 * rng.standard_normal(m)


@pytest.mark.parametrize("turned", [False, True])
def test_small_errors_of_many_entries(multiple, turned):
    """Products of two errors count: 1000 of them are as large as the data."""
    a, b = np.eye(1001, 1), np.eye(1001, 1)[:, 0]
    a, b = (a.T, b[:1]) if turned else (a, b)
    moved = np.linalg.lstsq(a + 0.03, b, rcond=None)[0] - np.eye(*a.shape[1:], 1)[:, 0]
    errors = {"a_atol": 0.03, "b_atol": 0}
    bound = lstsq(a, b, precision=multiple, data_error=errors).info.data_error_bound
    assert 0.4 < abs(moved[0]) <= bound[0] < 4 * abs(moved[0])
    assert (abs(moved) <= bound).all()


@settings(max_examples=100, deadline=None)
@given(
    m=st.integers(1, 30),
    n=st.integers(1, 30),
    of_a=st.floats(-4.0, -0.5),
    of_b=st.floats(-4.0, 0.0),
    residual=st.sampled_from([0.0, 1.0, 30.0]),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_large_errors_stay_within_the_bound(m, n, of_a, of_b, residual, weighted, seed):
    """Far beyond what derivatives tell, wherever there is a bound."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((m, n))
    b = a @ rng.standard_normal(n) + residual * rng.standard_normal(m)
    w = rng.uniform(0.1, 10.0, m) if weighted else np.ones(m)
    errors = {
        "a_atol": 10.0**of_a * rng.uniform(0.0, 1.0, n) * rng.uniform(0.3, 1.0, (m, 1)),
        "b_atol": 10.0**of_b * rng.uniform(0.0, 1.0, m),
    }
    bound = lstsq(
        a, b, precision="dd", max_condition=np.inf, weights=w, data_error=errors
    ).info.data_error_bound
    signs = [rng.choice([-1.0, 1.0], (200, *x.shape)) for x in (a, b)]
    root = np.sqrt(w)[:, None]
    inverse = np.linalg.pinv(root * (a + errors["a_atol"] * signs[0]))
    moved = inverse @ (root * (b + errors["b_atol"] * signs[1])[..., None])
    change = abs(moved[..., 0] - (np.linalg.pinv(root * a) @ (root[:, 0] * b)))
    assert (change <= bound * (1 + 1e-4) + 1e-9 * abs(b).max()).all()


def test_what_is_not_said_is_rounded_and_zeros_are_exact(multiple, rng):
    a, b = line(rng)
    digits = {
        name: lstsq(a, b, precision=multiple, data_error=given).info.data_digits.min()
        for name, given in {
            "nothing": None,
            "no key": {},
            "as nothing": {"a_rtol": 2.0**-53, "b_rtol": 2.0**-53},
            "b": {"b_atol": 1e-3},
            "both": {"a_rtol": 2.0**-53, "b_atol": 1e-3},
            "points": {"a_rtol": [0, 1e-6], "b_rtol": 0},
            "rows": {"a_atol": np.eye(20)[:, :1], "b_rtol": 0},
            "exact": {"a_atol": 0, "b_atol": 0.0},
        }.items()
    }
    assert 13 < digits["nothing"] == digits["no key"] == digits["as nothing"] < 17
    assert 1 < digits["b"] == digits["both"] < 3
    assert 4 < digits["points"] < 7
    assert digits["rows"] < 1.5
    assert digits["exact"] == multiple.digits


def test_every_array_like_counts(multiple, rng):
    a, b = line(rng)
    sigma = rng.uniform(1e-6, 1e-5, 20)
    results = [
        lstsq(a, b, precision=multiple, data_error={"b_atol": given}).info.data_digits
        for given in (sigma, sigma.tolist(), mdqr.array(sigma, precision=multiple))
    ]
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()
    (column,) = lstsq(
        a, b[:, None], precision=multiple, data_error={"b_atol": sigma[:, None]}
    ).info.data_digits.T
    assert (column == results[0]).all()


def test_errors_are_kept_as_they_were(rng):
    a, b = line(rng)
    sigma = np.full(20, 1e-6)
    info, wanted = (
        lstsq(a, b, precision="dd", data_error={"b_atol": given}).info for given in (sigma, 1e-6)
    )
    assert "data_error_bound" not in vars(info)  # nothing is factored before it is asked for
    sigma[:] = 1.0
    assert np.allclose(info.data_digits, wanted.data_digits)


def test_batches_are_as_their_matrices(multiple, dtype, rng):
    a, b = rng.standard_normal((3, 8, 2)).astype(dtype), rng.standard_normal((3, 8, 2))
    of_a, of_b = rng.uniform(0, 1e-9, (3, 1, 2)), rng.uniform(0, 1e-9, 2)
    found = lstsq(
        a, b, precision=multiple, data_error={"a_atol": of_a, "b_rtol": of_b}
    ).info.data_error_bound
    assert found.shape == (3, 2, 2)
    for i in range(3):
        alone = lstsq(
            a[i], b[i], precision=multiple, data_error={"a_atol": of_a[i], "b_rtol": of_b}
        )
        assert np.allclose(found[i], alone.info.data_error_bound, rtol=1e-6)


def test_a_common_right_hand_side(rng):
    a, b = rng.standard_normal((4, 6, 2)), rng.standard_normal(6)
    errors = {"a_atol": 1e-9 * np.arange(4.0)[:, None, None], "b_atol": 0}
    bound = lstsq(a, b, precision="qd", data_error=errors).info.data_error_bound
    assert (bound[0] < 1e-60).all()
    assert (bound[1:] > 1e-10).all()


def test_rows_of_weight_zero_stay_out(rng):
    a, b = line(rng)
    w = np.where(np.arange(20) < 15, 2.0, 0.0)
    wild = np.where(w > 0, 1e-6, 1e3)
    certain = np.where(w > 0, 1e-6, 0.0)
    info = lstsq(
        a, b, weights=w, precision="dd", data_error={"b_atol": wild, "weights_atol": certain}
    ).info
    alone = lstsq(a[:15], b[:15], precision="dd", data_error={"b_atol": 1e-6})
    assert np.allclose(info.data_digits, alone.info.data_digits, atol=0.1)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_beside_data_on_a_device(monkeypatch, dtype, weighted, rng):
    a, b, of_a, w = (
        mdqr.array(values, precision=mdqr.qd)
        for values in (
            rng.standard_normal((8, 3)).astype(dtype),
            rng.standard_normal((8, 2)),
            rng.uniform(0, 1e-9, 3),
            rng.uniform(1.0, 2.0, 8),
        )
    )
    errors = {"b_rtol": 1e-8, **({"weights_atol": 1e-8} if weighted else {})}
    options = {"weights": w} if weighted else {}
    wanted = lstsq(a, b, data_error={"a_atol": of_a, **errors}, **options).info
    array = fake_device.DeviceArray
    fake_device.install(monkeypatch)
    monkeypatch.setattr(promotion, "is_cuda_array", lambda x: isinstance(x, array))
    monkeypatch.setattr(promotion, "place_on_device_of", lambda x, _: array(x))
    monkeypatch.setattr(promotion, "check_together", lambda _: None)
    monkeypatch.setattr(small, "small_systems", lambda _: None)

    def to_device(x):
        return mdqr.MDArray._wrap(array(x.limbs), x.precision, x.is_complex)

    a, b, of_a, w = map(to_device, (a, b, of_a, w))
    options = {"weights": w} if weighted else {}
    info = lstsq(a, b, data_error={"a_atol": of_a, **errors}, **options).info
    assert np.allclose(info.data_digits, wanted.data_digits, rtol=1e-6)
    with pytest.raises(ValueError, match="a_atol must be finite and not negative"):
        lstsq(a, b, data_error={"a_atol": -of_a})


@pytest.mark.parametrize("n", [4, 66])
@pytest.mark.parametrize("extra", [0, 30])
def test_every_way_has_the_same_digits(n, extra, rng):
    """One kernel call, the ladder, and Householder QR; also beyond float64."""
    a = rng.standard_normal((n + extra, n)) * 2.0 ** rng.integers(-90, 90, n)
    b = rng.standard_normal(n + extra)
    errors = {"a_rtol": 1e-12, "b_atol": 1e-12}
    found = [
        lstsq(a, b, method=method, precision="qd", data_error=errors, max_condition=np.inf).info
        for method in ("auto", "householder")
    ]
    assert [info.method for info in found] == ["refine", "householder"]
    assert np.allclose(found[0].data_digits, found[1].data_digits, atol=0.01)
    # The last column nearly depends on the first: to 1e-20, beyond float64.
    wide = mdqr.array(rng.standard_normal(a.shape), precision="qd")
    wide[:, -1] = wide[:, 0] + wide[:, -1] * 1e-20
    info = lstsq(wide, b, data_error={"a_rtol": 1e-40, "b_atol": 0}).info
    assert 10 < info.data_digits.min() < 20


@pytest.mark.parametrize(
    ("errors", "kind", "message"),
    [
        (1e-9, TypeError, r'data_error must be a dict .* \{"a_rtol": 1e-9, .*; got float'),
        ((0, 1e-9), TypeError, "got tuple"),
        ({"rtol": 1e-9}, ValueError, "has the keys a_atol, a_rtol, b_atol, .*; got 'rtol'"),
        ({"weights_rtol": 1e-9}, ValueError, "a_atol, a_rtol, b_atol, b_rtol; got 'w"),
        ({"a_rtol": -1e-9}, ValueError, "a_rtol must be finite and not negative"),
        ({"b_atol": [1.0, np.nan, 1.0]}, ValueError, "b_atol must be finite and not negative"),
        ({"b_atol": np.inf}, ValueError, "b_atol must be finite"),
        ({"b_atol": 1j}, ValueError, "b_atol must be real; got complex"),
        ({"a_atol": [1, 2, 3]}, ValueError, r"shape \(3, 2\) of a; got \(3,\)"),
        ({"b_rtol": np.ones((3, 1))}, ValueError, r"shape \(3,\) of b; got \(3, 1\)"),
        ({"a_atol": "1e-9 m"}, ValueError, "cannot read .1e-9 m. as a number"),
    ],
)
@pytest.mark.parametrize("method", ["auto", "householder"])
def test_wrong_errors_are_refused(errors, kind, message, method):
    with pytest.raises(kind, match=message):
        lstsq([[1, 1], [1, 2], [1, 4]], [1, 2, 3], method=method, data_error=errors)


def test_what_is_printed_says_which_digits(multiple, rng):
    a, b = line(rng)
    fit = lstsq(a, b, precision=multiple, data_error={"b_rtol": 1e-9})
    text = repr(fit.info)
    assert f"digits>={multiple.digits:.1f} (a, b as stored)" in text
    assert f"data_digits>={fit.info.data_digits.min():.1f} (a, b within their errors)" in text
    info = lstsq(rng.standard_normal((20000, 1)), np.ones(20000), precision=multiple).info
    assert repr(info).endswith("(a, b as stored) data_digits not computed>")
    assert 8 < info.data_digits.min() < 17
    assert "data_digits>=" in repr(info)


def test_weights_of_zero_with_an_error_are_refused():
    """Once the error was left out, and all digits were claimed."""
    a, b = [[1, 2.1], [3, 4], [5, 6.3], [1, 1]], [1, 2, 2.0, 9]
    errors = {"weights_atol": [0, 0, 0, 0.01]}
    with pytest.raises(ValueError, match="weights_atol is positive where a weight is 0"):
        lstsq(a, b, weights=[0.1, 0.2, 0.1, 0], precision="qd", data_error=errors)


@pytest.mark.parametrize("method", ["auto", "householder"])
@pytest.mark.parametrize("turned", [False, True])
def test_entries_that_are_known_better_than_their_precision_have_full_rank(turned, method):
    """Once the precision of the entries alone decided, and its warning was lost on who knew."""
    i = np.arange(1.0, 17.0)
    a = 1 / (i[:, None] + i[:14] - 1)  # condition 1e17 to 1e18
    a, b = (a.T, np.ones(14)) if turned else (a, np.ones(16))

    def rank(errors):
        return lstsq(a, b, method=method, precision=mdqr.qd, data_error=errors).rank

    for errors in (None, {"b_rtol": 0.1}, {"a_rtol": 1e-16}, {"a_atol": 1e-3}):
        with pytest.warns(PrecisionWarning, match="numerical rank"):
            assert rank(errors) < 14
    for errors in ({"a_rtol": 0}, {"a_rtol": 1e-20}, {"a_atol": 1e-20, "a_rtol": 0, "b_rtol": 0.1}):
        assert rank(errors) == 14


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3)])
def test_bounds_of_nothing_are_proven(shape):
    fit = lstsq(mdqr.zeros(shape, precision=mdqr.dd), np.zeros(shape[0]), verified=True)
    assert fit.info.bound_kind == "proven"


@pytest.mark.parametrize(("dtype", "digits"), [(np.float32, 7.5), (np.float16, 3.5)])
def test_narrow_floats_are_known_to_their_own_bits(dtype, digits, rng):
    a = rng.standard_normal((9, 3)).astype(dtype)
    b = rng.standard_normal(9).astype(dtype)
    found = lstsq(a, b, precision="dd").info.data_digits
    assert (found < digits).all()
    assert (found > digits - 4).all()
