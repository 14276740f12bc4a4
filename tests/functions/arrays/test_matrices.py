"""Matrices of simple structure."""

import mpmath
import numpy as np
import pytest
from array_cases import counted, full_width, planes, same_bits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr


@given(n=st.integers(0, 4), m=st.one_of(st.none(), st.integers(0, 4)), k=st.integers(-5, 5))
def test_eye(n, m, k, precision, dtype):
    a = mdqr.eye(n, m, k, precision=precision, dtype=dtype)
    assert a.is_complex == (dtype is complex)
    np.testing.assert_array_equal(a.to_numpy(), np.eye(n, m, k))


@given(data=st.data())
def test_triangles_and_diagonals(data, multiple, dtype):
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4))
    k = data.draw(st.integers(-5, 5))
    a = counted(multiple, shape, dtype)
    cases = [(mdqr.tril, np.tril, a), (mdqr.triu, np.triu, a), (mdqr.diag, np.diag, a.ravel())]
    if len(shape) == 2:
        cases.append((mdqr.diag, np.diag, a))
    for ours, numpys, x in cases:
        got = ours(x, k)
        for plane, wanted in zip(planes(got), planes(x), strict=True):
            np.testing.assert_array_equal(plane, numpys(wanted, k))
        assert not np.shares_memory(got.limbs, a.limbs)


def test_structure_of_wrong_shapes(precision):
    a = mdqr.ones((2, 2, 2), precision=precision)
    with pytest.raises(ValueError, match="one axis or two"):
        mdqr.diag(a)
    for function in (mdqr.tril, mdqr.triu):
        with pytest.raises(ValueError, match="at least two axes"):
            function(a[0, 0])
    with pytest.raises(ValueError, match="along one axis"):
        mdqr.vander(a)
    with pytest.raises(ValueError, match="not be negative; got -1"):
        mdqr.vander(a[0, 0], -1)


@given(
    x=st.lists(st.integers(-20, 20), max_size=4),
    n=st.one_of(st.none(), st.integers(0, 6)),
    increasing=st.booleans(),
)
def test_vander_of_small_integers_is_exact(x, n, increasing, precision):
    got = mdqr.vander(x, n, increasing, precision=precision)
    np.testing.assert_array_equal(
        got.to_numpy(), np.vander(np.array(x, dtype=float), n, increasing)
    )


# Column k: k - 1 products of 2 eps each (complex 4 eps), to first order; 1 % above.
def test_vander_keeps_its_bound(multiple, dtype, rng):
    x = full_width(rng, multiple, 5, dtype)
    got = mdqr.vander(x, 12, increasing=True)
    assert same_bits(got[:, 1], x)
    with mpmath.workprec(4 * multiple.bits):
        for i, k in np.ndindex(5, 12):
            truth = x.to_mpmath()[i] ** k
            bound = 2.02 * max(k - 1, 0) * multiple.eps * (2 if dtype is complex else 1)
            assert abs(got.to_mpmath()[i, k] - truth) <= bound * abs(truth)
