"""QR by products: bounds, proofs and refusals of `method="refine"`."""

from __future__ import annotations

from contextlib import suppress
from math import ceil, log2

import fake_device
import linalg_cases as cases
import numpy as np
import pytest
from exact_product_cases import HOST
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.planes import Kind, widen
from mdqr.linalg import qr
from mdqr.linalg._factor.refine import factor as refined
from mdqr.linalg._factor.refine import products, start
from mdqr.linalg._factor.refine.sweep import Plan, Sweeps
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.operands import gather
from mdqr.testing import arrays, matrix

SHAPES = [(1, 1), (1, 4), (6, 1), (9, 5), (5, 9), (35, 17), (70, 70)]


REFUSED = 'for method="refine": method="householder" takes any matrix'


def accept(a, Q, R):
    """The acceptance of Householder factors."""
    n = a.shape[-1]
    assert cases.column_errors(a, Q, R).max(initial=0.0) <= 20 * n
    assert cases.orthogonality(Q) <= 20 * n
    cases.check_form(R)


def refine(a, **options):
    """Factor by products."""
    return qr(a, method="refine", **options)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_acceptance(multiple, dtype, shape, rng):
    a = cases.random(*shape, multiple, dtype, rng)
    accept(a, *refine(a))


@pytest.mark.parametrize("power", [0.1, 0.3, 0.6, 0.85])
def test_acceptance_at_any_condition_there_is_room_for(multiple, dtype, power, rng):
    """Rounds of preconditioning; E has the digits of the next precision, from od on those of R."""
    of_e = min(multiple.next, max(multiple, mdqr.od)).eps
    most = min(2.0**-24 / multiple.eps, 2.0**-21 * multiple.eps**0.5 / of_e)
    a = cases.random(40, 31, multiple, dtype, rng, cond=most**power)
    accept(a, *refine(a))


@pytest.mark.parametrize("bits", [27, 70])
@pytest.mark.parametrize("columns", [(0, 1), (6, 7)], ids=str)
def test_acceptance_of_columns_that_are_nearly_parallel(multiple, dtype, bits, columns, rng):
    """R is small beside later columns: a change of it is worth more in I - X R than it is."""
    first, second = columns
    a = cases.random(12, 8, multiple, dtype, rng)
    a[:, second] = a[:, first] + a[:, second] * 2.0**-bits
    accept(a, *refine(a))


@pytest.mark.parametrize("cond", [1e9, 1e12, 1e20])
def test_acceptance_of_complete_factors_at_any_condition(multiple, dtype, cond, rng):
    a = cases.random(20, 10, multiple, dtype, rng, cond=cond)
    Q, R = refine(a, mode="complete")
    assert cases.column_errors(a, Q, R).max() <= 20 * 20
    assert cases.orthogonality(Q) <= 20 * 20
    cases.check_form(R)


# Rows beyond these take more bits than there are: see the next test.
@pytest.mark.parametrize(("rows", "columns"), [(0, -20), (0, 20), (-1, 0), (1, 20)], ids=str)
def test_acceptance_of_scaled_matrices(multiple, dtype, rows, columns, rng):
    a = cases.scaled(cases.random(30, 21, multiple, dtype, rng), rows, columns)
    accept(a, *refine(a))


def test_one_huge_column_with_graded_rows(multiple, dtype, rng):
    a = cases.random(30, 21, multiple, dtype, rng)
    a[:, 3] = a[:, 3] * mdqr.array(2.0 ** (600.0 - 20.0 * np.arange(30)), precision=multiple)
    accept(a, *refine(a))


@pytest.mark.parametrize(
    "make",
    [
        lambda p, dtype, rng: cases.scaled(cases.random(30, 21, p, dtype, rng), -20, 0),
        lambda p, dtype, rng: cases.random(30, 21, p, dtype, rng, cond=9e-3 / p.eps),
        lambda p, dtype, rng: matrix("rank_deficient", 22, 19, precision=p, dtype=dtype, rng=rng),
        lambda p, dtype, rng: mdqr.zeros((5, 3), precision=p, dtype=dtype),
    ],
    ids=["rows", "condition", "rank", "zeros"],
)
def test_an_error_where_products_prove_nothing(multiple, dtype, make, rng):
    a = make(multiple, dtype, rng)
    if multiple.limbs > 8 and a.shape == (30, 21) and abs(a[-1]).max() < 2.0**-500:
        accept(a, *refine(a))  # of these rows, products have the bits
        return
    with pytest.raises(mdqr.linalg.LinAlgError, match=f"the matrix is too near.*{REFUSED}"):
        refine(a)


def test_an_error_names_the_matrix_of_a_batch(rng):
    a = cases.random(9, 5, mdqr.dd, float, rng)
    a = mdqr.stack([a, mdqr.zeros((9, 5), precision=mdqr.dd), 3 * a])
    with pytest.raises(mdqr.linalg.LinAlgError, match=r"the matrix \(matrix 1 of the batch\) is"):
        refine(a)


@settings(max_examples=15)
@given(data=st.data())
def test_acceptance_of_wild_entries(multiple, dtype, data):
    m, n = data.draw(st.sampled_from([(6, 4), (4, 6), (9, 9)]))
    bounds = {"allow_nan": False, "allow_infinity": False}
    bounds |= {"min_exponent": -200, "max_exponent": 200}
    a = data.draw(arrays(multiple, (m, n), dtype=dtype, **bounds))
    found = None
    with suppress(mdqr.linalg.LinAlgError):
        found = refine(a)
    if found is None:
        with pytest.raises(mdqr.linalg.LinAlgError, match=REFUSED):
            refine(a)
    else:
        accept(a, *found)


@pytest.mark.parametrize("exponent", [-1000, -700, 1000])
def test_acceptance_at_the_ends_of_the_range(multiple, dtype, exponent, rng):
    a = cases.random(12, 9, multiple, dtype, rng)
    a = a * 2.0 ** (exponent // 2) * 2.0 ** (exponent // 2)
    accept(a, *refine(a))


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5), (2, 3, 6, 4)], ids=str)
@pytest.mark.parametrize("mode", ["complete", "r"])
def test_modes(multiple, dtype, shape, mode, rng):
    batch = shape[:-2]
    a = cases.random(*shape[-2:], multiple, dtype, rng)
    a = mdqr.stack([a * (k + 1) for k in range(6)]).reshape(shape) if batch else a
    found, known = refine(a, mode=mode), qr(a, mode)
    if mode == "r":
        size = abs(known).max()
        assert found.shape == known.shape
        assert (abs(found - known).max() <= 1e6 * multiple.eps * size).all()
        return
    assert (found.Q.shape, found.R.shape) == (known.Q.shape, known.R.shape)
    for item in np.ndindex(*batch):
        Q = found.Q[item]
        assert cases.column_errors(a[item], Q, found.R[item]).max() <= 20 * Q.shape[-1]
        assert cases.orthogonality(Q) <= 20 * Q.shape[-1]
        cases.check_form(found.R[item])


def factors_of(a):
    inputs = gather(a, precision=None, trimmed=False)
    options = {"columns": min(a.shape), "kind": inputs.kind, "rounds": 12}
    found = refined.factor(inputs.backend, inputs.blocks[0], **options)
    return found, *(inputs.wrap(block) for block in (found.q, found.r))


@pytest.mark.parametrize("cond", [1e2, 1e9, 1e14, 1e24])
@pytest.mark.parametrize("shape", [(20, 12), (12, 20)], ids=str)
def test_bounds_are_above_the_errors(multiple, dtype, shape, cond, rng):
    a = cases.random(*shape, multiple, dtype, rng, cond=cond)
    found, Q, R = factors_of(a)
    assert cases.column_errors(a, Q, R).max() * multiple.eps <= found.columnwise
    assert cases.orthogonality(Q) * multiple.eps <= found.orthogonality


def test_bounds_of_a_sweep_are_above_the_errors_it_left(multiple, dtype, rng, monkeypatch):
    """Sweeps from poor factors, where terms of second order are the errors."""
    a = cases.random(20, 12, multiple, dtype, rng, cond=1e6)
    seen = []
    sweep, left = Sweeps.sweep, Sweeps.left

    def kept_sweep(self, *given):
        seen.append(sweep(self, *given))
        return seen[-1]

    def kept_left(self, found, plan):
        seen[-1] = *seen[-1][:2], left(self, found, plan)
        return seen[-1][2]

    monkeypatch.setattr(Sweeps, "sweep", kept_sweep)
    monkeypatch.setattr(Sweeps, "left", kept_left)
    factors_of(a)
    inputs = gather(a, precision=None, trimmed=False)
    assert len(seen) > 1
    for q, r, (columnwise, orthogonality) in seen:
        Q, R = (
            inputs.wrap(refined.planes.widen(x, dtype is complex, multiple.limbs)) for x in (q, r)
        )
        assert cases.column_errors(a, Q, R).max() * multiple.eps <= columnwise
        assert cases.orthogonality(Q) * multiple.eps <= orthogonality


def test_norms_whose_squares_leave_the_range_count(dtype, rng, monkeypatch):
    """Norms near eps of hd: as zeros they made bounds of sweeps in float64."""
    seen, left = [], Sweeps.left

    def kept(self, found, plan):
        seen.append(found)
        return left(self, found, plan)

    monkeypatch.setattr(Sweeps, "left", kept)
    a = mdqr.random.normal((20, 12), precision=mdqr.hd, dtype=dtype, rng=rng)
    qr(a, method="refine")
    # An inverse of R has the digits of its sweep: its norms stay within the range.
    assert all(min(x.e, x.f, x.t, x.dq) > 2.0**-2 * mdqr.hd.eps for x in seen)
    assert max(seen[-1].e, seen[-1].f, seen[-1].t, seen[-1].dq) < 2.0**-400


def test_auto_refines_where_the_table_says_so(multiple, dtype, rng, monkeypatch):
    """Without a warning where reflections are taken, and not for a tile that is given."""
    a = cases.random(35, 17, multiple, dtype, rng)
    singular = mdqr.concatenate([a[:, :16], a[:, :1]], axis=1)
    reflections = {"auto": qr(a), "tile": qr(a, tile=8), "singular": qr(singular)}
    monkeypatch.setattr(tuning, "LEAST_REFINED", 17)
    kind = gather(a, precision=None).kind
    monkeypatch.setattr(tuning, "REFINED_QR", {"cpu": {kind: 35 * 17**2}})
    found = {"auto": qr(a), "tile": qr(a, tile=8), "singular": qr(singular)}
    assert all((x == y).all() for x, y in zip(found["auto"], refine(a), strict=True))
    assert not all((x == y).all() for x, y in zip(found["auto"], reflections["auto"], strict=True))
    for name in ("tile", "singular"):
        pairs = zip(found[name], reflections[name], strict=True)
        assert all((x == y).all() for x, y in pairs)
    for few in (a[:, :16], a[:34]):
        assert (qr(few).R == qr(few, method="householder").R).all()


def test_what_has_no_refinement():
    a = mdqr.eye(3, precision=mdqr.qd)
    with pytest.raises(ValueError, match="pivots"):
        refine(a, pivoting=True)
    with pytest.raises(ValueError, match="reflectors"):
        qr(a, "raw", method="refine")
    with pytest.raises(mdqr.linalg.LinAlgError, match="NaN or infinite"):
        qr(a * np.nan, method="refine")


def test_nothing_to_correct_in_double_precision(dtype, rng):
    with pytest.raises(mdqr.linalg.LinAlgError, match="of float64, and those of precision d"):
        refine(cases.random(9, 5, mdqr.d, dtype, rng))


@pytest.mark.parametrize("place", [(0, 0), (2, 0), (3, -1)], ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("shape", [(4, 4), (4, 6)], ids=str)
def test_not_finite_is_refused_without_check(multiple, dtype, place, value, shape, rng):
    """Nothing is proven of the last column either, which Q of a wide matrix does not come from."""
    a = cases.random(*shape, multiple, dtype, rng)
    a[place] = value
    with pytest.raises(mdqr.linalg.LinAlgError, match=REFUSED):
        refine(a, check=False)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 4, 3)], ids=str)
def test_not_finite_on_a_device(multiple, shape, rng, monkeypatch):
    """Known only at the end, or before reflections are taken."""
    block = mdqr.array(rng.standard_normal(shape), precision=multiple).limbs.copy()
    block[(0, *(-1,) * len(shape))] = np.nan
    fake_device.install(monkeypatch)
    a = mdqr.MDArray._wrap(fake_device.DeviceArray(block), multiple, False)
    with pytest.raises(mdqr.linalg.LinAlgError, match=f"column {shape[-1] - 1} of a.* NaN"):
        refine(a)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 4, 3)], ids=str)
def test_nothing_to_factor(multiple, shape):
    a = mdqr.zeros(shape, precision=multiple)
    found, known = refine(a), qr(a)
    assert [x.shape for x in found] == [x.shape for x in known]


def test_progress_hears_of_every_sweep(multiple, rng):
    seen = []
    refine(cases.random(20, 12, multiple, float, rng), progress=lambda *call: seen.append(call))
    stages, done, totals = zip(*seen, strict=True)
    assert set(stages) == {"refine"}
    assert list(done) == list(range(1, len(seen) + 1))
    assert totals[-1] == done[-1]


@pytest.mark.parametrize("shape", [(31, 16), (9, 9), (7, 12)], ids=str)
def test_inverses_by_blocks_and_products_by_panels(multiple, dtype, shape, rng, monkeypatch):
    """Small blocks and panels, and products through residues, in place of large matrices."""
    monkeypatch.setattr(start, "_BLOCK", 3)
    monkeypatch.setattr(products, "_COLUMNS", (2, 2))
    a = cases.random(*shape, multiple, dtype, rng)
    accept(a, *refine(a))
    monkeypatch.setattr(tuning, "residues_are_faster", lambda *_, kind: kind.limbs > 1)
    accept(a, *refine(a))


def test_terms_in_runs(monkeypatch, multiple, dtype, rng):
    """More rows than a product takes at once."""
    monkeypatch.setattr(products, "MOST_TERMS", 7)
    a = cases.random(31, 16, multiple, dtype, rng)
    accept(a, *refine(a))


def test_on_a_device(monkeypatch, multiple, dtype, rng):
    a = cases.random(20, 12, multiple, dtype, rng)
    known = refine(a)
    fake_device.install(monkeypatch)
    found = refine(mdqr.MDArray._wrap(fake_device.DeviceArray(a.limbs), a.precision, a.is_complex))
    for x, y in zip(found, known, strict=True):
        assert (np.asarray(fake_device.bare(x.limbs)) == y.limbs).all()


@pytest.mark.parametrize("shape", [(7, 1), (1, 4), (9, 5), (6, 8), (20, 12)], ids=str)
@pytest.mark.parametrize(("multiple", "dtype"), [(mdqr.dd, float), (mdqr.qd, complex)])
def test_on_emulated_kernels(cuda, multiple, dtype, shape, rng):
    """All calls of the CUDA backend, with products of floats by its library."""
    a = cases.random(*shape, multiple, dtype, rng)
    kind, field = gather(a, precision=None).kind, dtype is complex
    found = refined.factor(cuda, a._block, columns=min(shape), kind=kind, rounds=12)
    Q, R = (mdqr.MDArray._wrap(block, multiple, field) for block in found[:2])
    accept(a, Q, R)
    assert cases.column_errors(a, Q, R).max() * multiple.eps <= found.columnwise
    assert cases.orthogonality(Q) * multiple.eps <= found.orthogonality


@pytest.mark.parametrize("cond", [1e2, 1e4, 1e6, 1e7])
def test_no_more_sweeps_than_digits_take(multiple, dtype, cond, rng):
    """Each doubles the bits, from 27 at least: limbs cut off Q, or a poor start, cost one."""
    sweeps = []
    a = cases.random(60, 50, multiple, dtype, rng, cond=cond)
    refine(a, progress=lambda *call: sweeps.append(call))
    assert len(sweeps) <= 1 + ceil(log2(multiple.limbs))


def test_auto_takes_reflections_where_memory_is_short(multiple, rng, monkeypatch):
    a = cases.random(35, 17, multiple, float, rng)
    kind = gather(a, precision=None).kind
    monkeypatch.setattr(tuning, "LEAST_REFINED", 17)
    monkeypatch.setattr(tuning, "REFINED_QR", {"cpu": {kind: 35 * 17**2}})

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(Sweeps, "sweep", full)
    found, wanted = qr(a), qr(a, method="householder")
    assert all((x == y).all() for x, y in zip(found, wanted, strict=True))
    with pytest.raises(MemoryError):
        qr(a, method="refine")


# Distances of a start from factors, and from an inverse, the limbs of the arithmetic, the bits of E
# and F, and a condition: each for another term of what a sweep leaves.
SWEEPS = {
    "second order": (2.0**-8, 2.0**-60, 4, 300, 2.0),
    "inverse": (2.0**-30, 2.0**-6, 4, 300, 2.0),
    "rounding": (2.0**-90, 2.0**-60, 1, 300, 2.0),
    "rounding of the inverse": (2.0**-90, 2.0**-60, 1, 300, 1e9),
    "bits of E and F": (2.0**-80, 2.0**-60, 4, 100, 2.0),
    "an orthogonal Q": (2.0**-8, 2.0**-60, 4, 300, 2.0),
    "rounding where E is zero": (2.0**-90, 2.0**-60, 1, 300, 2.0),
}


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("refines", [False, True])
def test_a_sweep_from_any_factors_stays_within_its_bounds(dtype, name, refines, rng):
    """The bounds hold for one sweep, wherever it starts, and are not far above the errors."""
    far, stale, low, bits, cond = SWEEPS[name]
    field, nearest = dtype is complex, []
    for _ in range(8):
        a, *noise = (cases.random(7, 5, mdqr.od, dtype, rng, cond=c) for c in (cond, 2.0))
        Q, R = qr(a)
        X = mdqr.linalg.inv(R)
        (noise,) = noise
        change = mdqr.triu(noise[:5]) * far
        q, r = Q + noise * far, R + change @ R
        if name == "an orthogonal Q":
            q = qr(q).Q
        if name == "rounding where E is zero":
            a = q @ r
        x = X + mdqr.triu(noise[2:]) @ X * stale
        size = float(mdqr.linalg.norm(X)) * (1.0 + stale)
        begin = start.Start(q._block, r._block, x._block, size, cond, far)
        kind = Kind(8, field)
        patterns = products.Patterns.of(HOST, 5, field)
        run = Sweeps(HOST, a._block, kind, begin, patterns)
        run.stale = 1.0 if refines else 0.0
        plan = Plan(Kind(low, field), Kind(8, field), bits)
        *blocks, found = run.sweep(q._block, r._block, plan, far)
        left = run.left(found, plan)
        Q, R = (mdqr.MDArray._wrap(widen(v, field, 8), mdqr.od, field) for v in blocks)
        errors = cases.column_errors(a, Q, R).max(), cases.orthogonality(Q)
        ratios = [float(e) * mdqr.od.eps / bound for e, bound in zip(errors, left, strict=True)]
        assert max(ratios) <= 1.0
        nearest.append(max(ratios))
    assert max(nearest) >= (0.1 if name in ("second order", "inverse") else 1e-4)
