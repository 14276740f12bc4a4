"""Matrices that few numbers determine, entry by entry, and bases and angles of subspaces."""

import mpmath
import numpy as np
import pytest
import scipy.linalg

import mdqr
from mdqr import linalg
from mdqr.testing import assert_same_bits


@pytest.fixture(params=[float, complex])
def field(request):
    return request.param


def draw(shape, precision, field, seed):
    return mdqr.random.normal(shape, precision=precision, dtype=field, rng=seed)


def test_entries_are_moved_exactly(multiple, field):
    c, r = draw(4, multiple, field, 1), draw(3, multiple, field, 2)
    t, h, z = linalg.toeplitz(c, r), linalg.hankel(c, r), linalg.circulant(c)
    for i in range(4):
        for j in range(3):
            assert_same_bits(t[i, j], c[i - j] if i >= j else r[j - i])
            assert_same_bits(h[i, j], c[i + j] if i + j < 4 else r[i + j - 3])
            assert_same_bits(z[i, j], c[(i - j) % 4])
    assert_same_bits(linalg.toeplitz(c)[0, 1:], c[1:].conj())
    assert float(abs(linalg.hankel(c)[3, 1:]).max()) == 0.0


def test_shapes_are_scipys(field):
    c, r = draw((2, 1, 4), "dd", field, 1), draw((3, 5), "dd", field, 2)
    assert linalg.toeplitz(c, r).shape == linalg.hankel(c, r).shape == (2, 3, 4, 5)
    assert_same_bits(linalg.toeplitz(c, r)[1, 2], linalg.toeplitz(c[1, 0], r[2]))
    assert linalg.circulant(c).shape == (2, 1, 4, 4)
    assert linalg.toeplitz(c[..., :0], r).shape == (2, 3, 0, 5)
    assert linalg.circulant(c[..., :0]).shape == (2, 1, 0, 0)
    given = [draw(s, "dd", float, 3) for s in ((2, 3), (2,), ())]
    got = linalg.block_diag(*given)
    np.testing.assert_array_equal(
        got.to_numpy(), scipy.linalg.block_diag(*(x.to_numpy() for x in given))
    )
    assert linalg.block_diag(draw((5, 2, 3), "dd", field, 1), given[0]).shape == (5, 4, 6)
    a, b = draw((2, 4), "qd", field, 1), draw((3, 4), "qd", field, 2)
    np.testing.assert_allclose(
        linalg.khatri_rao(a, b).to_numpy(), scipy.linalg.khatri_rao(a.to_numpy(), b.to_numpy())
    )
    assert_same_bits(linalg.khatri_rao(a, b)[4], a[1] * b[1])


def test_wrong_operands():
    for function in (linalg.toeplitz, linalg.hankel, linalg.circulant):
        with pytest.raises(ValueError, match="scalar"):
            function(mdqr.qd(1))
    with pytest.raises(TypeError, match="at least one"):
        linalg.block_diag()
    with pytest.raises(ValueError, match="as many columns"):
        linalg.khatri_rao(np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="must be a matrix"):
        linalg.orth(np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match="as many rows"):
        linalg.subspace_angles(np.ones((2, 2)), np.ones((3, 2)))


def test_operands_above_the_answer_are_rounded_once():
    c = draw(3, "od", float, 1)
    assert_same_bits(linalg.toeplitz(c, precision="dd"), linalg.toeplitz(c).astype("dd"))
    assert linalg.toeplitz([1, 2], precision="qd").precision is mdqr.qd


def test_bases_of_ranges(multiple, field):
    a = draw((7, 3), multiple, field, 1) @ draw((3, 5), multiple, field, 2)
    q = linalg.orth(a, rtol=1e-20)
    assert q.shape == (7, 3)
    eps = multiple.eps
    assert float(linalg.norm(q.mT.conj() @ q - np.eye(3))) <= 40 * 5 * eps
    rest = a - q @ (q.mT.conj() @ a)
    assert float(linalg.norm(rest)) <= 200 * 5 * eps * float(linalg.norm(a))


def test_angles_of_all_sizes(multiple):
    """Subspaces with known angles, in general position."""
    wanted = ["1e-25", "1e-3", "0.7", "1.5"]
    angles = mdqr.array(wanted, precision=multiple)
    q = linalg.qr(draw((9, 9), multiple, float, 4)).Q
    a = q[:, :4]
    b = a * mdqr.cos(angles) + q[:, 4:8] * mdqr.sin(angles)
    mix = draw((4, 4), multiple, float, 5)
    got = linalg.subspace_angles(a, b @ mix)
    scale = 400 * float(linalg.cond(mix))
    with mpmath.workdps(multiple.digits + 25):
        for x, text in zip(got[::-1], wanted, strict=True):
            assert abs(x.to_mpmath() - mpmath.mpf(text)) <= scale * multiple.eps
    other = linalg.subspace_angles(b, a)
    assert float(abs(other - linalg.subspace_angles(a, b)).max()) <= 400 * multiple.eps
