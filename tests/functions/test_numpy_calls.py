"""Functions of NumPy's names that move, choose and count: against NumPy, on small integers."""

from __future__ import annotations

import numpy as np
import pytest

import mdqr

A = np.arange(24.0).reshape(2, 3, 4)
M = np.array([[3.0, 1, 2], [0, 5, 4]])
V = np.array([0.0, 0, 3, 0, 5, 0])
TALL = np.zeros((7, 3))
NAN = np.nan

# The name, the arguments, and the options; arrays of float64 become MDArrays.
CALLS = [
    *(("flipud", (x,), {}) for x in (A, M, V)),
    *(("fliplr", (x,), {}) for x in (A, M)),
    *(("rot90", (M, k), {}) for k in range(-1, 6)),
    ("rot90", (A, 1, (1, 2)), {}),
    ("rot90", (A, 3, (2, 0)), {}),
    *(("dstack", ([x, x + 1],), {}) for x in (A, M, V)),
    *(("array_split", (x, n), {}) for x in (V, M, V[:0]) for n in (1, 4, [1, 3], [2, 9])),
    ("array_split", (A, 3, 2), {}),
    ("hsplit", (M, 3), {}),
    ("hsplit", (V, [1, 4]), {}),
    ("vsplit", (A, 2), {}),
    ("dsplit", (A, [1]), {}),
    *(("resize", (M, shape), {}) for shape in (4, (2, 2), (3, 5), (0, 2), ())),
    ("resize", (V[:0], (2, 2)), {}),
    *(
        ("pad", (M, ((1, 2), (0, 3)), mode), {})
        for mode in ("constant", "edge", "symmetric", "wrap", "reflect")
    ),
    ("pad", (M, 2), {"constant_values": ((1, 2), (3, 4))}),
    ("pad", (V, (1, 2)), {"constant_values": (7, 8)}),
    ("pad", (V[:0], 2), {"constant_values": 5}),
    *(("trim_zeros", (x,), {}) for x in (V, V[:2], V[:0], np.pad(M, 2))),
    ("trim_zeros", (V, "f"), {}),
    ("trim_zeros", (V, "b"), {}),
    ("trim_zeros", (np.pad(M, 2), "fb", 1), {}),
    ("compress", ([True, False, True], M), {}),
    ("compress", ([False, True], A, 0), {}),
    ("compress", ([True, False, True], A, -2), {}),
    ("extract", (M > 2, M), {}),
    ("choose", (np.array([[0, 1, 2], [2, 1, 0]]), [M, M + 10, 7.0]), {}),
    ("select", ([M < 1, M > 3], [M, M * 10]), {}),
    ("select", ([M < 1, M > 3], [M, M * 10]), {"default": 42}),
    ("piecewise", (M, [M < 1, M > 3], [-1, lambda x: x * 2]), {}),
    ("piecewise", (M, [M < 1, M > 3], [-1, lambda x: x * 2, 5]), {}),
    ("piecewise", (V, V > 1, [lambda x, n: x + n, 0.5], 3), {}),
    ("flatnonzero", (M,), {}),
    *(("argwhere", (x,), {}) for x in (M, V[:0], np.zeros(()), np.ones(()))),
    ("diagflat", (M, 1), {}),
    ("diagflat", (V[2:4], -2), {}),
    *((name, (V, V[1:4]), {}) for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d")),
    *((name, (V, V[:0]), {}) for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d")),
    ("intersect1d", (V, M), {"return_indices": True}),
    ("lexsort", ((M[0], np.array([1.0, 1, 0])),), {}),
    *(("lexsort", (np.stack([M % 2, M % 3, M]),), {"axis": axis}) for axis in (0, 1, -1)),
    ("sort_complex", (M,), {}),
    *(
        ("digitize", (x, bins, right), {})
        for x in (M, V, np.float64(2))
        for bins in (np.array([0.0, 1, 3]), np.array([4.0, 2, 0]), np.array([1.0, 1]), V[:0])
        for right in (False, True)
    ),
    ("bincount", (np.array([3, 1, 1, 0, 3]), np.array([1.0, 2, 3, 4, 5])), {}),
    ("bincount", (np.array([1, 1]), np.array([1.0, 2])), {"minlength": 5}),
    ("bincount", (np.zeros(0, dtype=int), np.zeros(0)), {}),
    ("histogram_bin_edges", (M, 4), {}),
    ("histogram_bin_edges", (M, 3, (0, 6)), {}),
    ("histogram2d", (V, M.ravel()), {}),
    ("histogram2d", (V, M.ravel(), [3, [0.0, 2, 5]]), {}),
    ("histogram2d", (V, M.ravel(), 2, [[0, 5], [0, 4]]), {"weights": V + 1}),
    ("histogram2d", (V, M.ravel(), [0.0, 2, 4, 6]), {"density": True}),
    ("histogramdd", (np.stack([V, M.ravel(), V[::-1]], 1), 2), {}),
    ("ediff1d", (M,), {}),
    ("ediff1d", (V,), {"to_begin": [7, 8], "to_end": 9}),
    ("ediff1d", (V[:1],), {}),
    ("array_equiv", (M, M[:1]), {}),
    ("array_equiv", (M, np.stack([M, M])), {}),
    ("array_equiv", (M, V), {}),
    ("apply_along_axis", (np.cumsum, 1, A), {}),
    ("apply_along_axis", (np.sum, 0, M), {}),
    ("apply_along_axis", (np.argmax, 1, M), {}),
    ("apply_along_axis", (np.diag, -1, M), {}),
    ("apply_along_axis", (lambda x, n: x[:n], 1, A, 2), {}),
    *(("tril_indices_from", (M, k), {}) for k in (-1, 0, 1)),
    *(("triu_indices_from", (M, k), {}) for k in (-1, 0, 1)),
    ("diag_indices_from", (A[:, :2, 0],), {}),
    ("iscomplex", (M,), {}),
    ("isrealobj", (M,), {}),
    *((name, (np.array([1, np.inf, -np.inf, NAN]),), {}) for name in ("isposinf", "isneginf")),
    *((name, (np.array([1, NAN, NAN, 2]), np.array([NAN, 3, NAN, 1.0])), {}) for name in ("fmax",)),
    *((name, (np.array([1, NAN, NAN, 2]), np.array([NAN, 3, NAN, 1.0])), {}) for name in ("fmin",)),
    ("heaviside", (np.array([-1, -0.0, 0, 2, NAN, np.inf]), 0.5), {}),
    *((name, (np.array([6.75, -6.75, 0, -0.0, 2**60 + 0.0, np.inf, -np.inf, NAN]),), {})
      for name in ("modf", "frexp")),
    ("ldexp", (M, np.array([-3, 0, 900])), {}),
    ("ldexp", (M[:, :1], np.arange(3)), {}),
    *((name, (np.array([7.0, -7, 7, -7, 0, -0.0]), np.array([3.0, 3, -3, -3, 3, 3])), {})
      for name in ("fmod", "divmod")),
    ("fmod", (np.array([np.inf, 1, 5, NAN, -2, 1]), np.array([1, np.inf, 0, 1, -np.inf, NAN])), {}),
    ("matvec", (M, np.array([1.0, 2, 3])), {}),
    ("vecmat", (np.array([1.0, 2]), M), {}),
    ("unwrap", (np.array([0.0, 3, 6, 0, 3, -2, 14]),), {"period": 8}),
    ("unwrap", (np.array([0.0, 4, 8, 0, -4, 8, 24]),), {"period": 8}),
    ("unwrap", (np.array([0.0, 3, 6, 1, 3, -2, 14]),), {"period": 8, "discont": 6}),
    ("unwrap", (np.stack([V * 3, V * 7]),), {"axis": 0, "period": 8}),
    ("nanpercentile", (np.array([[1, NAN, 3], [4, 5, 6]]), [0, 50, 75], 1), {}),
]  # fmt: skip
NUMPYS = {"tril_indices_from", "triu_indices_from", "diag_indices_from", "matvec", "vecmat"}


def converted(x, precision):
    if isinstance(x, np.ndarray) and x.dtype == float:
        return mdqr.array(x, precision=precision)
    if isinstance(x, (list, tuple)) and any(
        isinstance(item, np.ndarray) and item.dtype == float for item in x
    ):
        return type(x)(converted(item, precision) for item in x)
    return x


def check(found, wanted):
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for x, y in zip(found, wanted, strict=True):
            check(x, y)
        return
    values = found.to_numpy() if isinstance(found, mdqr.MDArray) else found
    assert np.shape(values) == np.shape(wanted)
    np.testing.assert_allclose(values, wanted, rtol=1e-15)
    if np.asarray(wanted).dtype.kind == "f":
        signs = (np.signbit(x) & ~np.isnan(wanted) for x in (values, wanted))
        np.testing.assert_array_equal(*signs)
    if np.size(wanted) and np.ndim(wanted) < 2:  # counts in two dimensions are integers here
        assert np.asarray(values).dtype.kind == np.asarray(wanted).dtype.kind


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", CALLS, ids=lambda case: case[0])
def test_calls_are_those_of_numpy(case):
    name, arguments, options = case
    newer = name in ("matvec", "vecmat") or (name == "trim_zeros" and np.ndim(arguments[0]) > 1)
    if newer and not hasattr(np, "matvec"):
        pytest.skip("NumPy has it from 2.2 on")
    wanted = getattr(np, name)(*arguments, **options)
    for precision in ("d", "qd"):
        given = [converted(x, precision) for x in arguments]
        if name not in NUMPYS:
            check(getattr(mdqr, name)(*given, **options), wanted)
        check(getattr(np, name)(*given, **options), wanted)


WRITES = [
    *(("fill_diagonal", (x, 7.0), {"wrap": wrap}) for x in (M, TALL) for wrap in (False, True)),
    ("fill_diagonal", (np.zeros((3, 3, 3)), 2.0), {}),
    ("fill_diagonal", (TALL, np.array([1.0, 2])), {}),
    ("put", (M, [0, -1], np.array([8.0, 9])), {}),
    ("put", (M, [0, 2, 4], 5.0), {}),
    ("putmask", (M, M > 1, np.array([10.0, 20, 30, 40])), {}),
    ("place", (M, M > 1, np.array([10.0, 20, 30])), {}),
    ("place", (M, M > 10, np.zeros(0)), {}),
    ("put_along_axis", (M, np.array([[1], [0]]), 9.0, 1), {}),
    ("put_along_axis", (M, np.array([0, 4]), np.array([7.0, 8]), None), {}),
]


@pytest.mark.parametrize("case", WRITES, ids=lambda case: case[0])
def test_writes_are_those_of_numpy(case):
    name, (target, *rest), options = case
    wanted = target.copy()
    getattr(np, name)(wanted, *rest, **options)
    for module in (mdqr, np):
        for precision in ("d", "qd"):
            a = mdqr.array(target, precision=precision)
            assert (
                getattr(module, name)(a, *(converted(x, precision) for x in rest), **options)
                is None
            )
            np.testing.assert_array_equal(a.to_numpy(), wanted)


MADE = [
    ("tri", (3,)),
    ("tri", (2, 4, 1)),
    ("tri", (4, 2, -1)),
    ("identity", (3,)),
    *(
        (name, (n,))
        for name in ("bartlett", "blackman", "hamming", "hanning")
        for n in (-1, 1, 2, 8)
    ),
    *(("kaiser", (n, 8.5)) for n in (0, 1, 2, 9)),
]


@pytest.mark.parametrize("case", MADE, ids=lambda case: case[0])
def test_made_arrays_are_those_of_numpy(case):
    name, arguments = case
    for precision in ("d", "dd"):
        found = getattr(mdqr, name)(*arguments, precision=precision)
        assert found.precision.name == precision
        np.testing.assert_allclose(
            found.to_numpy(), getattr(np, name)(*arguments), rtol=1e-12, atol=1e-15
        )


def test_complex_values_keep_both_parts():
    z = mdqr.qd([[1 + 2j, 0], [3j, 4]])
    np.testing.assert_array_equal(mdqr.rot90(z).to_numpy(), np.rot90(z.to_numpy()))
    np.testing.assert_array_equal(mdqr.pad(z, 1).to_numpy(), np.pad(z.to_numpy(), 1))
    assert mdqr.pad(z.real, 1, constant_values=1j)[0, 0].is_complex
    np.testing.assert_array_equal(
        mdqr.vstack(mdqr.hsplit(z, 2)).to_numpy()[:, 0], [1 + 2j, 3j, 0, 4]
    )
    np.testing.assert_array_equal(mdqr.iscomplex(z), [[True, False], [True, False]])
    if hasattr(np, "vecmat"):
        near = z.to_numpy()
        np.testing.assert_array_equal(np.vecmat(z[0], z).to_numpy(), np.vecmat(near[0], near))
    np.testing.assert_array_equal(mdqr.ldexp(z, [[1], [2]]).to_numpy(), z.to_numpy() * [[2], [4]])
    for name in ("frexp", "modf", "spacing", "i0", "isposinf", "unwrap"):
        with pytest.raises(TypeError, match="real"):
            getattr(mdqr, name)(z)
    for name in ("fmod", "heaviside", "logaddexp2", "divmod"):
        with pytest.raises(TypeError, match="real"):
            getattr(mdqr, name)(z, 1)


def test_values_are_told_apart_by_their_last_limbs(multiple):
    x = mdqr.ones(1, precision=multiple)
    y = mdqr.concatenate([x, x + multiple.eps])
    assert len(mdqr.union1d(x, y)) == 2
    assert mdqr.intersect1d(x, y).size == 1
    assert mdqr.setdiff1d(y, x) == x + multiple.eps
    assert mdqr.digitize(x, y[1:]) == 0
    assert mdqr.lexsort([[0.0, 1.0], y[::-1]]).tolist() == [1, 0]
    assert mdqr.histogram2d(y, y, [mdqr.stack([y[0], y[1], y[1] + 1])] * 2)[0].tolist() == [
        [1, 0],
        [0, 1],
    ]
    assert bool(mdqr.fmax(y[0], y[1]) == y[1])


def test_views_share_memory_where_numpys_do():
    a = mdqr.qd(np.arange(12.0).reshape(3, 4))
    for view in (mdqr.flipud(a), mdqr.fliplr(a), mdqr.rot90(a), *mdqr.array_split(a, 2)):
        assert np.shares_memory(view.limbs, a.limbs)
    for copy in (mdqr.resize(a, (3, 4)), mdqr.pad(a, 0), mdqr.compress([True], a, 0)):
        assert not np.shares_memory(copy.limbs, a.limbs)


WRONG = [
    (lambda a: mdqr.flipud(a[0, 0]), ValueError, "flipud needs at least 1"),
    (lambda a: mdqr.dsplit(a, 2), ValueError, "dsplit needs at least 3"),
    (lambda a: mdqr.array_split(a, 0), ValueError, "one part or more"),
    (lambda a: mdqr.rot90(a, 1, (0, 0)), ValueError, "twice"),
    (lambda a: mdqr.pad(a, 1, "mean"), ValueError, "mode of pad"),
    (lambda a: mdqr.pad(a, -1), ValueError, "negative"),
    (lambda a: mdqr.trim_zeros(a, "x"), ValueError, "trim is"),
    (lambda a: mdqr.choose([0, 5], [a, a]), ValueError, "2 choices"),
    (lambda a: mdqr.choose([0.5], [a]), ValueError, "integers"),
    (lambda a: mdqr.select([a > 1], [a, a]), ValueError, "mask for each"),
    (lambda a: mdqr.piecewise(a, [a > 1], [1, 2, 3]), ValueError, "piecewise needs"),
    (lambda a: mdqr.apply_along_axis(mdqr.sum, 0, a[:0, :0]), ValueError, "no rows"),
    (lambda a: mdqr.put([1.0], 0, a), TypeError, "changes its first argument"),
    (lambda a: mdqr.putmask(a, [True], 1.0), ValueError, "mask for 4"),
    (lambda a: mdqr.fill_diagonal(a[0], 1.0), ValueError, "fill_diagonal needs"),
    (lambda a: mdqr.place(a, a > 0, []), ValueError, "no values"),
    (lambda a: mdqr.bincount([1, 2], [1.0, 2.0]), TypeError, r"numpy\.bincount"),
    (lambda a: mdqr.bincount([-1, 2], a[0]), ValueError, "not negative"),
    (lambda a: mdqr.digitize(a, [1.0, 3.0, 2.0]), ValueError, "increase or decrease"),
    (lambda a: mdqr.lexsort([]), TypeError, "at least one"),
    (lambda a: mdqr.lexsort([a, a[0]]), ValueError, "one shape"),
    (lambda a: mdqr.ldexp(a, 0.5), IndexError, "integers"),
    (lambda a: mdqr.partition(a, 5), ValueError, "kth"),
    (lambda a: mdqr.histogramdd(a, [2, 2, 2]), ValueError, "2 dimensions"),
    (lambda a: mdqr.histogramdd(a * 1j), TypeError, "real"),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(mdqr.qd([[1, 2], [3, 4]]))


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda a: np.gcd(a, a), r"xp\.astype\(a, xp\.int64\)"),
        (lambda a: a @ a & 1, None),
        (np.invert, r"no integers"),
        (np.real_if_close, r"a\.real"),
        (lambda a: np.rollaxis(a, 0), r"mdqr\.moveaxis"),
        (lambda a: np.apply_over_axes(np.sum, a, [0]), r"axis=\(0, 1\)"),
        (lambda a: np.result_type(a, a), r"max\(a\.precision"),
    ],
)
def test_functions_without_a_counterpart_name_another(call, instead, precision):
    with pytest.raises(TypeError, match=instead):
        call(mdqr.ones(3, precision=precision))
