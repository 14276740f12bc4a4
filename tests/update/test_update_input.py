"""Updates: operands of all kinds, edges, batches, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import linalg_cases
import numpy as np
import pytest
import update_cases as cases
from ranges import in_range

import mdqr
from mdqr._backend.cuda.backend import CudaBackend
from mdqr.linalg import qr, qr_delete, qr_insert, qr_update, repair
from mdqr.linalg._update import cost
from mdqr.linalg._update.api import deletion, insertion, rank_update
from mdqr.linalg._update.operands import convert
from mdqr.linalg._update.updates import choose
from mdqr.testing import assert_same_bits


def factors(m, n, precision, rng, dtype=float, mode="reduced"):
    a = cases.values((m, n), precision, dtype, rng)
    return a, *qr(a, mode)


def test_vectors_are_one_row_or_column(precision, rng):
    a, Q, R = factors(6, 4, precision, rng)
    for k in (0, 3, 6, -1):
        assert_same_bits(qr_insert(Q, R, a[0], k).R, qr_insert(Q, R, a[:1], k).R)
    v = a[:, 0] * a[:, 1]
    for k in (0, 2, 4, -1):
        one, many = (qr_insert(Q, R, u, k, "col") for u in (v, v.reshape(6, 1)))
        assert_same_bits(one.R, many.R)
        assert_same_bits(one.Q, many.Q)
    change = qr_update(Q, R, v, a[0])
    assert_same_bits(change.R, qr_update(Q, R, v.reshape(6, 1), a[:1].T).R)
    assert_same_bits(
        qr_delete(None, qr(a, "r"), 0, u=a[5]).R, qr_delete(None, qr(a, "r"), 0, u=a[5:]).R
    )


def test_inputs_are_not_changed(precision, dtype, rng):
    a, Q, R = factors(7, 4, precision, rng, dtype)
    u, v = cases.values((2, 4), precision, dtype, rng), cases.values((7, 2), precision, dtype, rng)
    before = [x.copy() for x in (a, Q, R, u, v)]
    for method in ("update", "fresh"):
        qr_insert(Q, R, u, 1, method=method)
        qr_insert(Q, R, v, 1, "col", method=method)
        qr_insert(None, R, v, 1, "col", a=a, method=method)
        qr_delete(Q, R, 1, 2, method=method)
        qr_delete(Q, R, 1, 2, "col", method=method)
        qr_update(Q, R, v, u.T, method=method)
    qr_delete(None, R, 0, u=a[0])
    for x, y in zip((a, Q, R, u, v), before, strict=True):
        assert_same_bits(x, y)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("method", ["update", "fresh"])
@pytest.mark.parametrize("kind", [np.float64, np.complex64])
def test_float_inputs_are_not_changed(mode, method, kind, rng):
    """Arrays that cannot be written serve, also where nothing comes; results are no views."""
    a = rng.standard_normal((7, 4)).astype(kind)
    Q, R = np.linalg.qr(-a, mode)
    for x in (a, Q, R):
        x.flags.writeable = False
    for found in (
        qr_insert(Q, R, a[:2], 1, method=method),
        qr_insert(Q, R, a[:0], 1, method=method),
        qr_insert(Q, R, a[:, :1] ** 2, 1, "col", method=method),
        qr_insert(Q, R, a[:, :0], 1, "col", method=method),
        qr_insert(None, R, a[:, :1] ** 2, 1, "col", a=a, method=method),
        qr_delete(Q, R, 1, 2, method=method),
        qr_delete(Q, R, 1, 2, "col", method=method),
        qr_delete(None, R, 0, u=a[:1]),
        qr_update(Q, R, a[:, 0], a[0], method=method),
        qr_update(Q, R, a[:, :0], a[:4, :0], method=method),
    ):
        for part in found:
            assert part is None or not any(np.shares_memory(part, x) for x in (a, Q, R))
            if part is not None:
                part[...] = 0.0


def test_the_highest_precision_wins(rng):
    a, Q, R = factors(6, 4, mdqr.qd, rng)
    row = rng.standard_normal(4)
    found = qr_insert(Q, R, row, 6)
    assert found.R.precision is mdqr.qd
    cases.accept(mdqr.concatenate([a, mdqr.array(row, precision=mdqr.qd).reshape(1, 4)]), *found)
    wide = qr_insert(Q, R, mdqr.array(row, precision=mdqr.od), 6)
    assert wide.R.precision is mdqr.od
    low = qr_insert(Q, R, row, 6, precision="dd")
    assert low.Q.precision is low.R.precision is mdqr.dd
    mixed = qr_insert(Q, R, 1j * row, 6)
    assert mixed.R.is_complex
    floats = qr_insert(
        *np.linalg.qr(rng.standard_normal((6, 4))), mdqr.array(row, precision="qd"), 6
    )
    assert floats.R.precision is mdqr.qd


def test_kinds_of_floats(rng):
    """Lists and Python numbers follow the arrays; integers and lists alone are no floats."""
    a = rng.standard_normal((5, 2)).astype(np.float32)
    Q, R = np.linalg.qr(a)
    assert qr_insert(Q, R, [1.0, 2.0], 5).R.dtype == np.float32
    assert qr_insert(Q, R, [1j, 2.0], 5).R.dtype == np.complex64
    assert qr_insert(Q, R, np.array([1.0, 2.0]), 5).R.dtype == np.float64
    assert qr_insert(Q, R, np.array([1, 2]), 5).R.dtype == np.float64
    assert qr_insert(Q, R, [1.0, 2.0], 5, precision="dd").R.precision is mdqr.dd
    assert qr_insert(Q.tolist(), R.tolist(), [1.0, 2.0], 5).R.precision is mdqr.d


def test_batches(precision, dtype, rng):
    """Matrices side by side, with one matrix for all or one for each."""
    a = mdqr.stack([cases.values((6, 4), precision, dtype, rng) for _ in range(3)])
    u = mdqr.stack([cases.values((2, 4), precision, dtype, rng) for _ in range(3)])
    v = mdqr.stack([cases.values((6, 2), precision, dtype, rng) for _ in range(3)])
    for mode in ("reduced", "complete"):
        Q, R = qr(a, mode)
        found = [
            qr_insert(Q, R, u, 1, method="update"),
            qr_insert(Q, R, u[0], 1, method="update"),
            qr_insert(Q, R, v, 1, "col", method="update"),
            qr_delete(Q, R, 1, 2, method="update"),
            qr_delete(Q, R, 1, 2, "col", method="update"),
            qr_update(Q, R, v, u.mT, method="update"),
        ]
        for i in range(3):
            wanted = [
                cases.insert(a[i], u[i], 1, 0),
                cases.insert(a[i], u[0], 1, 0),
                cases.insert(a[i], v[i], 1, 1),
                cases.delete(a[i], 1, 2, 0),
                cases.delete(a[i], 1, 2, 1),
                a[i] + v[i] @ u[i].conj() if dtype is complex else a[i] + v[i] @ u[i],
            ]
            # v of the change is u^T, whose conjugate transpose is conj(u).
            for x, (q, r) in zip(wanted, found, strict=True):
                cases.accept(x, q[i], r[i], steps=2, largest=2 * cases.norm(a[i]) + 4)
    R = qr_delete(None, qr(a, "r"), 0, u=a[:, :1, :]).R
    for i in range(3):
        cases.accept_r(a[i, 1:], R[i], largest=cases.norm(a[i]))


def test_phases_of_foreign_factors(precision, rng):
    """A diagonal that is not real or negative is made real, also where nothing else happens."""
    a, Q, R = factors(6, 4, precision, rng, complex)
    angle = np.exp(1j * rng.standard_normal(4))
    Q, R = Q * angle, mdqr.array(angle.conj(), precision=precision)[:, None] * R
    # The angles are not of modulus one to more than one limb.
    a = Q @ R
    slack = 2.0**-51 / precision.eps
    for found, wanted in (
        (qr_delete(Q, R, 2, 1, "col", method="update"), cases.delete(a, 2, 1, 1)),
        (qr_insert(Q, R, a[:, 0] * a[:, 1], 3, "col", method="update"),
         cases.insert(a, (a[:, 0] * a[:, 1]).reshape(6, 1), 3, 1)),
        (qr_insert(Q, R, a[0], 3, method="update"), cases.insert(a, a[:1], 3, 0)),
    ):  # fmt: skip
        linalg_cases.check_form(found.R)
        assert cases.product_error(wanted, *found) <= 80 * precision.eps * slack * cases.norm(a)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_signs_of_foreign_factors(precision, mode, rng):
    a, Q, R = factors(6, 4, precision, rng, mode=mode)
    cases.accept(cases.delete(a, 2, 1, 1), *qr_delete(-Q, -R, 2, 1, "col", method="update"))
    cases.accept(cases.insert(a, a[:1], 2, 0), *qr_insert(-Q, -R, a[0], 2, method="update"))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite(precision, bad, rng):
    a, Q, R = factors(5, 3, precision, rng)
    row = a[0] * bad
    with pytest.raises(np.linalg.LinAlgError, match="u is NaN or infinite"):
        qr_insert(Q, R, row, 0)
    with pytest.raises(np.linalg.LinAlgError, match="R is NaN or infinite"):
        qr_delete(Q, R * bad, 0)
    with pytest.raises(np.linalg.LinAlgError, match="Q is NaN or infinite"):
        qr_update(Q * bad, R, a[:, 0], a[0])
    with np.errstate(all="ignore"):
        found = qr_insert(Q, R, row, 0, check=False, method="update")
    assert np.isnan(found.R.to_numpy()).any()


def test_overflow_is_an_error(multiple):
    """Norms above the largest double."""
    a = mdqr.full((4, 2), 2.0**1023, precision=multiple)
    a[1:, 1] = 0.0
    R = qr(a[:2], "r")
    with pytest.raises(np.linalg.LinAlgError, match="R is beyond the largest double"):
        qr_insert(None, R, a[2:], 0)


SHAPES = {
    "Q must be": lambda a, Q, R: qr_insert(Q[:, :3], R[:3], a[0], 0),
    "R must have at least two": lambda a, Q, R: qr_delete(Q, R[0], 0),
    "u must have shape": lambda a, Q, R: qr_insert(Q, R, a[:, 0], 0),
    r"u must have shape \(6,\)": lambda a, Q, R: qr_insert(Q, R, a[0], 0, "col"),
    r"v must have shape \(4,\)": lambda a, Q, R: qr_update(Q, R, a[:, 0], a[:, 0]),
    "as many columns": lambda a, Q, R: qr_update(Q, R, a[:, :2], a[:4, :1]),
    "a must have shape": lambda a, Q, R: qr_insert(None, R, a[:, 0], 0, "col", a=a[:, :2]),
    "k must be an integer from -6 to 6": lambda a, Q, R: qr_insert(Q, R, a[0], 7),
    "k must be an integer from -4 to 3": lambda a, Q, R: qr_delete(Q, R, 4, 1, "col"),
    "k must be an integer": lambda a, Q, R: qr_delete(Q, R, 1.5),
    "p must be an integer from 1 to 2": lambda a, Q, R: qr_delete(Q, R, 4, 3),
    "p must be an integer from 1": lambda a, Q, R: qr_delete(Q, R, 0, 0),
    "which must be": lambda a, Q, R: qr_insert(Q, R, a[0], 0, "rows"),
    "method must be": lambda a, Q, R: qr_delete(Q, R, 0, method="quick"),
    "give a=": lambda a, Q, R: qr_insert(None, R, a[:, 0], 0, "col"),
    "give u=": lambda a, Q, R: qr_delete(None, R, 0),
    "needs Q": lambda a, Q, R: qr_update(None, R, a[:, 0], a[0]),
    "give Q": lambda a, Q, R: qr_delete(None, R[:3], 0, u=a[0]),
    "the rows that stay": lambda a, Q, R: qr_delete(None, R, 0, u=a[0], method="fresh"),
    "rcond is not used with a square Q": lambda a, Q, R: qr_insert(
        *qr(a, "complete"), a[:, 0], 0, "col", rcond=0.0
    ),
    "rcond is not used where rows": lambda a, Q, R: qr_insert(Q, R, a[0], 0, rcond=0.0),
    "rcond must be None or at least 0": lambda a, Q, R: qr_insert(
        Q, R, a[:, 0], 0, "col", rcond=np.nan
    ),
    "rcond must be None or at least 0; got 'x'": lambda a, Q, R: qr_insert(
        Q, R, a[:, 0], 0, "col", rcond="x"
    ),
    r"which must be .*array": lambda a, Q, R: qr_insert(Q, R, a[0], 0, np.array(["row", "col"])),
    r"a must have shape \(..., 6, 4\)": lambda a, Q, R: qr_insert(Q, R, a[:, 0], 0, "col", a=a[:5]),
    r"a must have shape \(..., m, 4\)": lambda a, Q, R: qr_insert(
        None, R, a[:, 0], 0, "col", a=a[0]
    ),
    "p is True": lambda a, Q, R: qr_delete(None, R, 0, True, u=a[0]),
    "a is not used where rows": lambda a, Q, R: qr_insert(Q, R, a[0], 0, a=a),
    "u is not used unless": lambda a, Q, R: qr_delete(Q, R, 0, u=a[0]),
    "u is not used unless rows": lambda a, Q, R: qr_delete(None, R, 0, 1, "col", u=a[0]),
    "u has 1 rows, and p is 3": lambda a, Q, R: qr_delete(None, R, 0, 3, u=a[0]),
    "the leading dimensions": lambda a, Q, R: qr_insert(Q, R, mdqr.stack([a[:1], a[:1]]), 0),
}


@pytest.mark.parametrize("message", SHAPES)
def test_what_does_not_fit(message, rng):
    a, Q, R = factors(6, 4, mdqr.dd, rng)
    with pytest.raises(ValueError, match=message):
        SHAPES[message](a, Q, R)


def test_an_update_that_is_impossible(rng):
    a = factors(6, 4, mdqr.dd, rng)[0][:4]
    with pytest.raises(mdqr.linalg.LinAlgError, match=r"at least as many rows of A.*or .auto"):
        qr_insert(None, qr(a, "r"), a[:, 0], 0, "col", a=a, method="update")


def test_missing_operands(rng):
    a, Q, R = factors(6, 4, mdqr.dd, rng)
    for name, call in (
        ("R", lambda: qr_insert(Q, None, a[0], 0)),
        ("u", lambda: qr_insert(Q, R, None, 0)),
        ("v", lambda: qr_update(Q, R, a[:, 0], None)),
        ("a", lambda: repair(None, Q, R)),
    ):
        with pytest.raises(TypeError, match=f"{name} must be an array; got None"):
            call()


def test_a_fresh_factorisation_starts_from_the_data(multiple, dtype, rng):
    """Where A is at hand, ``Q R`` is not formed."""
    a, Q, R = factors(6, 3, multiple, rng, dtype)
    u = cases.values((6, 2), multiple, dtype, rng)
    found = qr_insert(Q, R, u, 1, "col", a=a, method="fresh")
    for x, y in zip(found, qr(cases.insert(a, u, 1, 1)), strict=True):
        assert_same_bits(x, y)


@pytest.mark.parametrize("exponent", [1000, -600])
def test_sizes_whose_squares_leave_the_range(precision, dtype, exponent, rng):
    """Float arrays too, which LAPACK scales by itself: no false alarm, no warning, no garbage."""
    exponent = in_range(exponent, precision)
    small = cases.values((7, 3), precision, dtype, rng)
    u = cases.values((7, 1), precision, dtype, rng)
    a, v = small * 2.0**exponent, u * 2.0**exponent
    columns, rest = qr(cases.insert(small, u, 1, 1), "r"), qr(small[1:], "r")
    for mode in ("reduced", "complete"):
        for wanted, found in (
            (columns, qr_insert(*qr(a, mode), v, 1, "col", method="update")),
            (columns, qr_insert(*qr(a, mode), v, 1, "col", method="fresh")),
            (rest, qr_delete(*qr(a, mode), 0, method="update")),
            (rest, qr_delete(*qr(a, mode), 0, method="fresh")),
        ):
            top = wanted.shape[-1]
            error = found.R[:top] * 2.0**-exponent - wanted
            assert cases.norm(error) <= 1e4 * precision.eps
    found = qr_insert(None, qr(a, "r"), v, 1, "col", a=a, method="update").R
    assert cases.norm(found * 2.0**-exponent - columns) <= 1e4 * precision.eps


def test_wide_graded_matrices_lose_no_digits(precision, rng):
    """Columns below the root of the smallest double are not taken for lost ones."""
    a = cases.values((4, 7), precision, float, rng)
    exponent = (-80 * np.arange(7) * (2 if precision.limbs < 8 else 1)).astype(np.int32)
    a = mdqr.from_limbs(np.ldexp(a.limbs, exponent))
    for method in ("update", "fresh"):
        found = qr_delete(*qr(a), 0, method=method)
        cases.accept(a[1:], *found, largest=cases.norm(a))


def test_auto_takes_what_is_less_work(rng):
    """A static table of operation counts: few changes are updates, many are fresh."""
    _, Q, R = factors(60, 30, mdqr.qd, rng)
    few = {method: qr_delete(Q, R, 25, 1, "col", method=method) for method in ("auto", "update")}
    assert_same_bits(few["auto"].R, few["update"].R)
    u = cases.values((60, 25), mdqr.qd, float, rng)
    many = {method: qr_update(Q, R, u, u[:30], method=method) for method in ("auto", "fresh")}
    assert_same_bits(many["auto"].R, many["fresh"].R)


def test_choices(rng):
    """The cheaper way, or the only one."""
    a, Q, R = factors(60, 30, mdqr.qd, rng)
    u = cases.values((60, 25), mdqr.qd, float, rng)
    assert choose(deletion(Q, R, 25, 1, "col")) == "update"
    assert choose(rank_update(Q, R, u, u[:30])) == "refactor"
    assert choose(rank_update(Q, R, u, u[:30]), "update") == "update"
    assert choose(deletion(None, R, 0, u=a[:40])) == "update"
    assert choose(insertion(None, qr(a[:30], "r"), u[:30], 30, "col", a=a[:30])) == "refactor"


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_counts_grow_with_the_work(backend, rng):
    engine = convert(None, cases.values((4, 4), mdqr.qd, float, rng))[0].engine
    if backend == "cuda":
        engine.backend = CudaBackend(SimpleNamespace(xp=np))

    def seconds(count, *size):
        return cost.seconds(engine, count(engine, cost.Size(*size)))

    for count in (
        cost.rows_work,
        cost.removal_work,
        cost.insertion_work,
        cost.change_work,
    ):
        small, large = (seconds(count, 4000, 2000, 2000, p, 0) for p in (50, 500))
        assert 0 < small < large
        assert seconds(count, 4000, 1000, 1000, 50, 0) < small
    late = seconds(cost.deletion_work, 4000, 2000, 0, 50, 1800)
    early = seconds(cost.deletion_work, 4000, 2000, 0, 50, 0)
    assert 10 * late < early
    fresh = cost.seconds(engine, cost.factor_work(4000, 1950, None))
    assert late < fresh


def test_the_last_window_counts_what_it_has(rng):
    """Rows that fill half of a window cost less than those that fill it."""
    engine = convert(None, cases.values((4, 4), mdqr.qd, float, rng))[0].engine
    step = engine.width("spike", 64)
    works = [
        cost.spike_work(engine, 64 + rows, 400, 400, 64)
        for rows in (step, step + 1, 3 * step // 2, 2 * step)
    ]
    seconds = [cost.seconds(engine, work) for work in works]
    assert seconds == sorted(seconds)
    assert seconds[1] < 0.75 * seconds[3]
