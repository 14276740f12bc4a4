"""What `eig` says of vectors, digits and errors of data, against balls of Arb."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from fractions import Fraction

import flint
import numpy as np
import pytest
from adversarial import eigenvalues
from adversarial.problems import limbs
from adversarial.verdicts import Verdict
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._backend import for_block
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg import Info, LinAlgError, eig, eigvals, schur
from mdqr.linalg._general import vector_bounds
from mdqr.linalg._general.certificate import perturbation
from mdqr.linalg._general.matrix import Matrix
from mdqr.linalg._general.subspaces import newton
from mdqr.linalg._shared.data_error import Errors
from mdqr.linalg._spectral.disks import Disks, Together

multiples = st.sampled_from(PRECISIONS[1:])
_TOO_SMALL = 2.0**-10


def judged(a, b=None, found=None):
    """The verdict on an answer, whose bounds hold."""
    found = found or eig(a, b, left=True)
    verdict = Verdict()
    with flint.ctx.workprec(eigenvalues._BITS):
        first = eigenvalues._matrix(limbs(a))
        if b is None:
            wanted, second = eigenvalues._eigenvalues(limbs(a)), eigenvalues._identity(a.shape[-1])
        else:
            wanted = eigenvalues._roots(eigenvalues._determinant(limbs(a), limbs(b)))
            second = eigenvalues._matrix(limbs(b))
        eigenvalues._judge_values(found, found.info.error_bound, wanted, verdict)
        eigenvalues._judge_vectors(found, first, second, verdict)
    return verdict


def check(a, b=None):
    found = eig(a, b, left=True)
    verdict = judged(a, b, found)
    assert not verdict.flags, verdict.violations
    return found


@pytest.mark.parametrize(("precision", "power"), [("d", 60), ("dd", 60), ("qd", 120), ("od", 230)])
def test_vectors_of_values_that_are_near_beside_the_norm(precision, power):
    """Two eigenvalues of 1 in a block with one of -2**(2 power + 1): bounds were 10**15 off."""
    t = 2.0**power
    a = mdqr.array([[0, -t, -3], [-t, -2 * t * t, 3 * t], [-3, 3 * t, -1]], precision=precision)
    found = check(a)
    assert found.info.vector_error_bound.max() <= 1e3 * found.eigenvalues.precision.eps


@given(multiples, st.integers(2, 4), st.integers(0, 2**32 - 1), st.integers(20, 250))
def test_vectors_of_graded_matrices(precision, n, seed, power):
    """Small integers, one row and one column of which are multiplied."""
    rng = np.random.default_rng(seed)
    powers = np.zeros((n, n), dtype=int)
    powers[rng.integers(n)] += power
    powers[:, rng.integers(n)] += power
    check(mdqr.array(rng.integers(-4, 5, (n, n)), precision=precision) * 2.0**powers)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_components_along_other_vectors(n, seed, blocks):
    """Of matrices that are known, and as large as the bounds say; smaller bounds are false."""
    rng = np.random.default_rng(seed)
    w = np.arange(n) + 0.3 * rng.random(n)
    z = 1e-4 * rng.random((n, n))
    m, found = np.diag(w), None
    if blocks:
        m[0, 1] = w[0] = w[1] = m[0, 0] = m[1, 1] = 0.3
        labels = np.array([[0, 0, *range(2, n)]])
        counts = np.where(labels == 0, 2, 1)
        found = Together(labels, np.where(labels == 0, 0.3, 0.0), counts)
    values, vectors = np.linalg.eig(m + z)
    near = np.argmin(abs(values[:, None] - w), axis=0)
    disks = Disks(abs(values[near] - w)[None], np.ones((1, n), int))
    apart = abs(w[:, None] - w)[None]
    bounds = vector_bounds.other_components(apart, disks, z[None], found)[0]
    large = False
    for i in range(2 if blocks else 0, n):
        exact = abs(vectors[:, near[i]] / vectors[i, near[i]])
        exact[i] = 0
        assert (exact <= bounds[i]).all()
        large |= bool((exact > bounds[i] * _TOO_SMALL).any())
    assert large or (blocks and n == 2)


def test_distances_of_vectors(rng):
    """Of length 1, between a sum of vectors and the first of these."""
    lengths = np.array([[2.0, 30.0, 0.5]])
    parts = np.array([[[0, 1e-4, 1e-3], [1e-5, 0, 1e-6], [1e-6, 1e-7, 0]]])
    bounds = vector_bounds.distances_of(parts, lengths, lengths, np.zeros((1, 3)))
    for _ in range(50):
        x = rng.normal(size=(3, 3))
        x *= lengths[0] / np.linalg.norm(x, axis=0)
        exact = x @ (np.eye(3) + parts[0].T * rng.choice([-1, 1], (3, 3)))
        units = [y / np.linalg.norm(y, axis=0) for y in (x, exact)]
        apart = np.linalg.norm(units[0] - units[1], axis=0)
        assert (apart <= bounds[0]).all()
        assert (apart > bounds[0] * _TOO_SMALL).any()


def _smaller(found, name):
    info = found.info
    vars(info)[name] = getattr(info, name) * _TOO_SMALL
    return found


def test_smaller_bounds_are_false(precision, rng):
    a = mdqr.random.normal((4, 4), precision=precision, rng=rng)
    assert not judged(a).flags
    assert judged(a, found=_smaller(eig(a, left=True), "error_bound")).violations["values"]
    # Bounds of vectors are eps times their order and 64, errors far below that in qd and od.
    if precision.limbs == 1:
        assert judged(a, found=_smaller(eig(a, left=True), "vector_error_bound")).violations[
            "vectors"
        ]


def test_bounds_are_near_errors(precision):
    """The last rounding is charged by what it cut off, not by half a unit."""
    gaps = []
    for seed in range(4):
        a = mdqr.random.normal((4, 4), precision=precision, rng=seed)
        gaps += [gap for kind, gap in judged(a).gaps if kind == "values"]
    assert np.median(gaps) < 0.1


def _moved(a, unit, rng):
    change = np.sign(rng.normal(size=a.shape)) * unit * abs(a.to_numpy()) * 0.99
    return mdqr.array(a, precision=mdqr.hd) + change


@pytest.mark.parametrize("scale", [1.0, 2.0**-20])
def test_errors_of_data(precision, scale, rng):
    """Eigenvalues of matrices next to a are within the bounds, and not within smaller ones."""
    a = mdqr.random.normal((4, 4), precision=precision, rng=rng)
    a = a * np.array([1.0, scale, 1.0, 1.0]) * np.array([[1.0], [1.0], [scale], [1.0]])
    found, unit = eig(a), 2.0**-precision.bits
    bounds, near = found.info.data_error_bound, 0
    assert (bounds >= found.info.error_bound).all()
    with flint.ctx.workprec(eigenvalues._BITS):
        values = eigenvalues._values(found.eigenvalues)
        for _ in range(10):
            wanted = eigenvalues._eigenvalues(limbs(_moved(a, unit, rng)))
            assert eigenvalues._within(values, bounds, wanted)
            near += not eigenvalues._within(values, bounds * _TOO_SMALL, wanted)
    assert near
    assert (found.info.data_digits <= found.info.digits).all()


def test_errors_of_data_that_are_given(rng):
    a = mdqr.random.normal((3, 3), precision=mdqr.qd, rng=rng)
    exact, rough = (eig(a, data_error={"a_atol": e}).info for e in (0.0, 1e-9))
    assert (exact.data_error_bound <= 1e-55).all()
    assert (rough.data_error_bound > 1e-10).all()
    assert (rough.data_error_bound <= 20 * 1e-9 * rough.condition).all()
    by_entry = eig(a, data_error={"a_atol": np.full((3, 3), 1e-9)}).info.data_error_bound
    assert (by_entry == rough.data_error_bound).all()
    b = mdqr.random.normal((3, 3), precision=mdqr.qd, rng=rng)
    of_b = eig(a, b, data_error={"b_rtol": 1e-9}).info
    assert (of_b.data_error_bound > 1e-12).all()
    with pytest.raises(ValueError, match="eigvals: data_error has the keys a_atol, a_rtol; got"):
        eigvals(a, data_error={"b_atol": 1.0})
    with pytest.raises(TypeError, match="schur: data_error must be a dict"):
        schur(a, data_error=1.0)


def _nearly_singular(precision):
    """A determinant of 2**96, by entries that fill dd."""
    k, m = 2**105 + 0x1234567890ABD, 2**48
    return mdqr.array([[k, k + m], [k - m, k]], precision=precision)


def test_entries_that_were_rounded_are_warned_of():
    """Right for the entries as stored, but these are not the ones that were given."""
    with pytest.warns(mdqr.PrecisionWarning, match="eig: 1 of 2 eigenvalues have no digit") as w:
        found = eig(_nearly_singular(mdqr.dd))
    assert w[0].filename == __file__
    assert sorted(found.info.data_digits > 0) == [False, True]
    for wanted in (eigvals, lambda a: eig(a, left=False, right=False)):
        with pytest.warns(mdqr.PrecisionWarning, match=r"eig(vals)?: 1 of 2 eig") as w:
            wanted(_nearly_singular(mdqr.dd))
        assert w[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert eig(_nearly_singular(mdqr.od)).info.data_digits.min() > 50
        # Short numbers are exact, whatever their eigenvalues.
        eig(mdqr.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], precision=mdqr.dd))
        eig([[1.0, 2.0], [0.5, 1.0]])


def test_info(multiple, rng):
    a = mdqr.random.normal((2, 3, 3), precision=multiple, rng=rng)
    found = eig(a, left=True)
    info = found.info
    assert isinstance(info, Info)
    assert info.precision is multiple
    assert info.bound_kind == "proven"
    wanted = {
        n: getattr(eig(a, left=True).info, n).copy() for n in ("digits", "vector_error_bound")
    }
    found.eigenvalues[...], found.eigenvectors[...], a[...] = 7, 7, 7
    for again in (copy.deepcopy(info), pickle.loads(pickle.dumps(info)), info):
        assert again.multiplicity.shape == (2, 3)
        for name, value in wanted.items():
            assert (getattr(again, name) == value).all()
    assert (wanted["digits"] >= multiple.digits - 2).all()


def test_pairs_without_eigenvalues_are_refused(multiple):
    """Common column spaces of lower rank, with entries that rounding hides it by."""
    a, b = [[-4, -5, -1], [-4, -2, -6], [-3, 0, -7]], [[2, 3, 6], [-4, -2, 0], [-6, -4, -3]]
    with pytest.raises(LinAlgError, match="eig: a - s b is singular for every s"):
        eig(a, b, precision=multiple)
    pair = [mdqr.array([np.eye(3), x], precision=multiple) for x in (a, b)]
    with pytest.raises(LinAlgError, match=r"eigvals: a - s b \(matrix 1 of the batch\) is"):
        eigvals(*pair)
    complex_pair = [mdqr.array(np.array(x) * (3 + 1j), precision=multiple) for x in (a, b)]
    with pytest.raises(LinAlgError, match="is singular for every s"):
        eig(*complex_pair)


def test_regular_pairs_are_not_refused(multiple, rng):
    """One entry of 2**-300 is all that makes them regular; rows and columns of far sizes."""
    a, b = (
        mdqr.array(x, precision=mdqr.od)
        for x in ([[1, 2, 3], [2, 4, 6], [0, 1, 1]], [[1, 0, 1], [2, 0, 2], [1, 1, 0]])
    )
    a[1, 2] = a[1, 2] + 2.0**-300
    found = eig(a, b)
    assert found.info.error_bound.min() < math.inf
    a[1, 2] = mdqr.od(6) + 2.0**-1000
    with pytest.warns(mdqr.PrecisionWarning, match="eig: a - s b is regular, but too near"):
        found = eig(a, b, left=True)
    assert np.isinf(found.info.error_bound).all()
    assert np.isinf(found.info.vector_error_bound).all()
    x, y = (mdqr.random.normal((4, 4), precision=multiple, rng=rng) for _ in range(2))
    powers = rng.integers(-110, 111, (4, 1)) + rng.integers(-110, 111, 4)
    check(x * 2.0**powers, y * 2.0**powers)


@pytest.mark.parametrize("power", [0, -1000, 900])
def test_schur_says_what_is_proven(precision, dtype, power, rng):
    """The exact errors are within the bounds, and not within smaller ones."""
    a = mdqr.random.normal((4, 4), precision=precision, dtype=dtype, rng=rng) * 2.0**power
    found = schur(a)
    with flint.ctx.workprec(eigenvalues._BITS):
        x, t, z = (eigenvalues._matrix(limbs(each)) for each in (a, *found))
        adjoint = eigenvalues._adjoint(z)
        errors = [_norm(x - z * t * adjoint), _norm(adjoint * z - eigenvalues._identity(4))]
    bounds = [float(found.info.error_bound), float(found.info.orthogonality)]
    for error, bound in zip(errors, bounds, strict=True):
        assert error <= bound
    assert errors[1] > bounds[1] * _TOO_SMALL
    if power > -1000:
        assert errors[0] > bounds[0] * _TOO_SMALL
    assert found.info.data_error_bound >= found.info.error_bound
    for again in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert again.info.orthogonality == found.info.orthogonality
        assert len(again) == 2


def _norm(x):
    return float(sum((abs(y) ** 2 for y in x.entries()), eigenvalues.flint.arb(0)).sqrt())


@pytest.mark.parametrize("precision", PRECISIONS[1:])
def test_a_step_in_each_precision_is_enough(precision, monkeypatch):
    """Steps end before errors are below eps; bounds of values and vectors are as good."""
    steps = []

    def step(backend, a, found, limit, kind):
        steps.append(kind.limbs)
        return original(backend, a, found, limit, kind)

    original = newton._step
    monkeypatch.setattr(newton, "_step", step)
    n = 24
    info = eig(mdqr.random.normal((n, n), precision=precision, rng=5)).info
    assert steps == [p.limbs for p in PRECISIONS[1:] if p <= precision]
    assert (info.digits >= precision.digits - 1).all()
    # What rounding vectors of length 1 costs; see `Conclusion.vector_bound`.
    assert (info.vector_error_bound <= 2 * (n + 64) * precision.eps).all()


def embedded(block):
    """The real matrix of twice the order of a complex block ``(2, limbs, n, n)``, exactly."""
    parts = [[[sum(map(Fraction, x)) for x in row] for row in np.moveaxis(p, 0, -1)] for p in block]
    real, imag = (flint.fmpq_mat([[fmpq(x) for x in row] for row in part]) for part in parts)
    n = real.nrows()
    rows = [[*(real[i, j] for j in range(n)), *(-imag[i, j] for j in range(n))] for i in range(n)]
    rows += [[*(imag[i, j] for j in range(n)), *(real[i, j] for j in range(n))] for i in range(n)]
    return flint.fmpq_mat(rows)


def fmpq(x):
    return flint.fmpq(x.numerator, x.denominator)


def test_what_corrections_are_known_to():
    """Z is as near to ``X^-1 (A X - X M)`` as `perturbation` says, and not far nearer."""
    kind, n, nearest = Kind(2, True), 3, 0.0
    for seed in range(40):
        given = mdqr.random.normal((2, 1, n, n), precision=mdqr.dd, rng=seed)
        a = np.ascontiguousarray(given._block.swapaxes(0, 1))
        problem = Matrix.of(for_block(a), a, Errors(0.0, 0.0), kind)
        basis = problem.basis(is_real=False, report=None)
        found = perturbation(problem.backend, problem.remainder(basis), basis, kind)
        blocks = problem.a, basis.x, basis.m, found.z
        exact_a, x, m, z = (embedded(block[..., 0, :, :]) for block in blocks)
        off = x.solve(exact_a * x - x * m) - z
        for i, j in np.ndindex(n, n):
            error = math.hypot(
                *(float(Fraction(int(e.p), int(e.q))) for e in (off[i, j], off[n + i, j]))
            )
            assert error <= found.error[0, i, j]
            nearest = max(nearest, error / found.error[0, i, j])
    assert nearest > _TOO_SMALL


@pytest.mark.parametrize("size", [1, 4])
def test_disks_near_the_smallest_double_count_what_they_hold(size):
    """Once 1 each, though what is added for their rounding makes them meet."""
    a = np.array([[-size, 0, 0], [0, -size, size], [0, 0, 0]]) * 2.0**-1074
    found = mdqr.linalg.eig(mdqr.array(a, precision="od"))
    bound, counts = found.info.error_bound, found.info.multiplicity
    values = found.eigenvalues.to_numpy()
    exact = np.array([-size, -size, 0]) * 2.0**-1074
    for value, radius, count in zip(values, bound, counts, strict=True):
        assert (abs(exact - value) <= radius).sum() == count
