"""Products over axes: exact for integers, and with NumPy's shapes."""

import numpy as np
import pytest
from array_cases import exact, full_width
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr

SMALL = st.integers(-9, 9)


def drawn(data, shape, dtype):
    elements = st.builds(complex, SMALL, SMALL) if dtype is complex else SMALL.map(float)
    return data.draw(hnp.arrays(dtype, shape, elements=elements))


def agree(name, arrays, *options, **named):
    """Compare on integers, whose products and sums are exact."""
    ours = [mdqr.array(x, precision=mdqr.dd) for x in arrays]
    got = getattr(mdqr, name)(*ours, *options, **named)
    wanted = getattr(np, name)(*arrays, *options, **named)
    assert got.shape == np.shape(wanted)
    np.testing.assert_array_equal(got.to_numpy(), wanted)


@settings(max_examples=40)
@given(data=st.data())
def test_tensordot_is_numpys(data, dtype):
    lengths = [2, 3, 1, 4]
    left = data.draw(st.permutations(range(4)).map(lambda p: p[: len(p) - 1]))
    right = data.draw(st.permutations(range(4)).map(lambda p: p[: len(p) - 1]))
    shared = [i for i in left if i in right][: data.draw(st.integers(0, 3))]
    arrays = [drawn(data, [lengths[i] for i in part], dtype) for part in (left, right)]
    axes = ([left.index(i) for i in shared], [right.index(i) - 3 for i in shared])
    agree("tensordot", arrays, axes)
    agree("tensordot", [arrays[0], arrays[0].transpose(2, 0, 1)[..., 0]], ((2,), (0,)))


@pytest.mark.parametrize("axes", [0, 1, 2, ([0, 1], [0, 1]), (1, 1)])
@given(data=st.data())
def test_tensordot_takes_numbers_of_axes(axes, data, dtype):
    agree("tensordot", [drawn(data, (2, 2), dtype), drawn(data, (2, 2), dtype)], axes)


@given(data=st.data())
def test_inner_vecdot_kron_cross_are_numpys(data, dtype):
    a, b, c = (drawn(data, shape, dtype) for shape in ((2, 3), (4, 1, 3), (3,)))
    agree("inner", [a, b])
    agree("inner", [a, np.asarray(a[0, 0])])
    agree("vecdot", [a, b])
    agree("vecdot", [a.T, a.T], axis=-2)
    agree("kron", [a, c])
    agree("kron", [c, b])
    agree("cross", [a, c])
    agree("cross", [a.T, a.T[:, ::-1]], axis=0)


@pytest.mark.parametrize("name", ["inner", "tensordot", "vecdot", "cross"])
def test_lengths_must_agree(name, precision):
    a = mdqr.ones((2, 3), precision=precision)
    with pytest.raises(ValueError, match=r"long|3 values"):
        getattr(mdqr, name)(a, mdqr.ones((2, 4), precision=precision))
    with pytest.raises(ValueError, match="cannot meet"):
        mdqr.tensordot(a, a, 3)


EINSUMS = {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "ij,jk": ((2, 3), (3, 4)),
    "bij,bjk->bik": ((5, 2, 3), (5, 3, 4)),
    "...ij,...jk->...ik": ((5, 2, 3), (3, 4)),
    "ii->i": ((3, 3),),
    "ii": ((3, 3),),
    "i->": ((3,),),
    "ij->j": ((2, 3),),
    "ij->ji": ((2, 3),),
    "ba": ((2, 3),),
    "i,j->ij": ((2,), (3,)),
    "i,i": ((3,), (3,)),
    "ij,ij->i": ((3, 2), (3, 2)),
    "iij,jk->ki": ((3, 3, 2), (2, 4)),
    "...,...": ((2, 3), (2, 3)),
    "...i->...": ((2, 3),),
    "ij,k->j": ((2, 3), (4,)),
    "abc,cd->dba": ((2, 3, 4), (4, 2)),
    "i...,i": ((3, 2), (3,)),
    "ij,ij->ij": ((3, 2), (1, 2)),
    "i j , j k -> i k": ((0, 3), (3, 2)),
    "ij,jk,kl->il": ((2, 3), (3, 4), (4, 2)),
    "ii,ij,j->i": ((3, 3), (3, 2), (2,)),
    "i,i,i->": ((3,), (3,), (3,)),
    "i,j,k->kij": ((2,), (3,), (2,)),
    "...ij,...jk,kl->...il": ((3, 2, 3), (1, 3, 4), (4, 2)),
    "ab,bc,cd,da": ((2, 3), (3, 2), (2, 3), (3, 2)),
    "bij,bj,b->bi": ((1, 2, 3), (4, 3), (4,)),
}


@pytest.mark.parametrize("subscripts", EINSUMS)
@settings(max_examples=5)
@given(data=st.data())
def test_einsum_is_numpys(subscripts, data, dtype):
    arrays = [drawn(data, shape, dtype) for shape in EINSUMS[subscripts]]
    ours = [mdqr.array(x, precision=mdqr.qd) for x in arrays]
    wanted = np.einsum(subscripts, *arrays)
    got = mdqr.einsum(subscripts, *ours)
    assert got.shape == np.shape(wanted)
    np.testing.assert_array_equal(got.to_numpy(), wanted)


@pytest.mark.parametrize(
    "arguments",
    [
        ("ij,jk->ik", "a"),
        ("ij", "a", "a"),
        ("ijk", "a"),
        ("i", "a"),
        ("ij->ijk", "a"),
        ("ij->ii", "a"),
        ("ij,jk", "a", "wide"),
        ("ii", "wide"),
        ("ij,ij,ij", "a", "a"),
        ("ij,jk,kl", "a", "a", "wide"),
        ("a", "ij", "ij"),
        ("i-j", "a"),
        (),
    ],
)
def test_einsum_refuses(arguments):
    names = {"a": mdqr.ones((2, 2), precision=mdqr.dd), "wide": mdqr.ones((3, 4), precision="dd")}
    with pytest.raises(ValueError, match=r"einsum|subscripts|lengths|axis|axes"):
        mdqr.einsum(*(names.get(x, x) for x in arguments))


def test_products_keep_their_bound(multiple, rng):
    a, b = full_width(rng, multiple, (3, 20)), full_width(rng, multiple, (20, 2))
    x, y = exact(a), exact(b)
    bound = (20 + 8) * multiple.eps
    for got in (mdqr.tensordot(a, b, 1), mdqr.einsum("ij,jk", a, b), mdqr.inner(a, b.T)):
        assert (abs(exact(got) - x @ y) <= bound * (abs(x) @ abs(y))).all()
    product = mdqr.einsum("ij,jk,kl", a, b, b.T)
    terms = abs(x) @ abs(y) @ abs(y.T)
    assert (abs(exact(product) - x @ y @ y.T) <= 2.001 * bound * terms).all()
    for got in (mdqr.vecdot(a, b.T[:1]), mdqr.einsum("ij,j->i", a, b[:, 0])):
        assert (abs(exact(got) - x @ y[:, 0]) <= bound * (abs(x) @ abs(y[:, 0]))).all()


def test_the_standard_functions_of_linalg_are_numpys(rng):
    a = rng.integers(-5, 6, (2, 3, 3)).astype(float)
    v = rng.integers(-5, 6, (2, 3)).astype(float)
    ours, w = mdqr.array(a, precision=mdqr.qd), mdqr.array(v, precision=mdqr.qd)
    for name, options in (
        *(("trace", {}), ("diagonal", {"offset": 1}), ("matrix_transpose", {})),
        *(
            ("vector_norm", {"ord": 1, "axis": (0, 1)}),
            ("vector_norm", {"keepdims": True, "ord": 1}),
        ),
        *(("matrix_norm", {"ord": 1}), ("matrix_norm", {"ord": np.inf, "keepdims": True})),
    ):
        wanted = getattr(np.linalg, name)(a, **options)
        np.testing.assert_array_equal(
            getattr(mdqr.linalg, name)(ours, **options).to_numpy(), wanted
        )
        np.testing.assert_array_equal(getattr(np.linalg, name)(ours, **options).to_numpy(), wanted)
    for n in range(5):
        got = mdqr.linalg.matrix_power(ours, n)
        np.testing.assert_array_equal(got.to_numpy(), np.linalg.matrix_power(a, n))
    for name in ("cross", "vecdot"):
        wanted = getattr(np.linalg, name)(v, v[:, ::-1])
        np.testing.assert_array_equal(getattr(mdqr.linalg, name)(w, v[:, ::-1]).to_numpy(), wanted)
    got = mdqr.linalg.tensordot(v, v, axes=((0,), (0,)), precision=mdqr.dd)
    np.testing.assert_array_equal(got.to_numpy(), np.tensordot(v, v, ((0,), (0,))))
    np.testing.assert_array_equal(mdqr.linalg.outer(w[0], v[1]).to_numpy(), np.outer(v[0], v[1]))
    assert float(mdqr.linalg.vector_norm(ours)) == np.linalg.norm(a)
    with pytest.raises(ValueError, match="square"):
        mdqr.linalg.matrix_power(w, 1)
    with pytest.raises(ValueError, match="vectors"):
        mdqr.linalg.outer(w, w)


def test_negative_powers_are_those_of_the_inverse(multiple):
    """Of 2**200 the inverse of the power was infinite, in the namespace of the array API."""
    xp = mdqr.array_api(multiple)
    unit = mdqr.array([[1, 1], [0, 1]], precision=multiple)
    large = 2.0**200 * mdqr.eye(2, precision=multiple)
    for power in (mdqr.linalg.matrix_power, np.linalg.matrix_power, xp.linalg.matrix_power):
        np.testing.assert_array_equal(power(unit, -7).to_numpy(), [[1, -7], [0, 1]])
        np.testing.assert_array_equal(power(large, -5).to_numpy(), np.eye(2) * 2.0**-1000)
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            power(unit * 0, -1)
