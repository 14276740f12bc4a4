"""Observations of least squares that change: which leave, which wait, and merged problems."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings

import numpy as np
import pytest
import update_cases as cases
from each_case import each_case
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr import PrecisionWarning
from mdqr.linalg import UpdatableLstsq, lstsq
from mdqr.linalg._update import lstsq as updatable

KEPT = list(itertools.product([False, True], [False, True]))


def draw(m, n, precision, dtype, rng):
    return cases.values((m, n), precision, dtype, rng), cases.values((m,), precision, dtype, rng)


def accept(fit, a, b, *, steps=4, larger=1.0):
    """R and the solution are those of the data."""
    assert fit.shape == a.shape
    cases.accept_r(a, fit.R, steps=steps, largest=larger * cases.norm(a))
    if fit.Q is not None:
        cases.accept(a, fit.Q, fit.R, steps=steps, largest=larger * cases.norm(a))
    wanted = lstsq(a, b)
    error = float(abs(fit.solve() - wanted.x).max())
    bound = 1e4 * larger**2 * a.precision.eps * wanted.info.condition**2
    assert error <= bound * max(float(abs(wanted.x).max()), 1.0)


INDICES = [
    5,
    -1,
    [3, 7, 4],
    [-2, 0, 9],
    np.array([11, 2], dtype=np.uint8),
    slice(None, None, 3),
    slice(8, 2, -2),
    slice(4, 7),
    slice(5, 5),
    [],
    np.arange(12) % 4 == 1,
    [True] + [False] * 11,
]


@pytest.mark.parametrize(("keep_q", "keep_data"), KEPT)
@pytest.mark.parametrize("k", INDICES, ids=str)
def test_rows_leave_as_from_numpy_delete(keep_q, keep_data, k, rng):
    """Rows that are given, too: b and u come in the order of the indices."""
    a, b = draw(12, 3, mdqr.qd, complex, rng)
    fit = UpdatableLstsq(a, b, keep_q=keep_q, keep_data=keep_data)
    named = np.arange(12)[k].reshape(-1)
    known = {} if keep_data else {"b": b[named]} | ({} if keep_q else {"u": a[named]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        fit.delete_rows(k, **known)
    rest = np.delete(np.arange(12), k)
    accept(fit, a[rest], b[rest], larger=4.0)


@given(
    m=st.integers(0, 9),
    k=st.lists(st.integers(-12, 12), max_size=5) | st.lists(st.booleans(), max_size=12),
)
def test_indices_are_those_of_numpy_delete(m, k):
    """What NumPy refuses is refused by the same error; only a row named twice is refused here."""
    fit = UpdatableLstsq(np.arange(1.0, m + 1.0)[:, None], np.zeros(m))
    try:
        wanted = np.delete(np.arange(1.0, m + 1.0), np.array(k, dtype=bool if _masks(k) else int))
    except (IndexError, ValueError) as error:
        with pytest.raises(type(error)):
            fit.delete_rows(k)
        assert fit.shape == (m, 1)
        return
    if not _masks(k) and len({i % m for i in k}) < len(k):
        with pytest.raises(ValueError, match="named more than once"):
            fit.delete_rows(k)
        return
    fit.delete_rows(k)
    assert fit.shape == (wanted.size, 1)
    assert float((fit.R**2).sum()) == pytest.approx(float((wanted**2).sum()))


def _masks(k):
    return bool(k) and isinstance(k[0], bool)


def test_indices_that_name_no_rows(rng):
    a, b = draw(6, 2, mdqr.dd, float, rng)
    fit, bare = UpdatableLstsq(a, b), UpdatableLstsq(a, b, keep_data=False)
    for k, error, text in (
        ([0, 6], IndexError, "there is no row 6 of 6"),
        ([-7], IndexError, "there is no row -7 of 6"),
        ([1, 1], ValueError, "row 1 is named more than once"),
        ([1, -5], ValueError, "row 1 is named more than once"),
        ([0.5], IndexError, "must be integers or bools"),
        ([[1, 2]], ValueError, "one-dimensional"),
        ([True] * 5, ValueError, "mask k must have 6 entries; got 5"),
        (None, ValueError, "k must be an integer"),
        (6, ValueError, "k must be an integer from -6 to 5; got 6"),
    ):
        with pytest.raises(error, match=text):
            fit.delete_rows(k)
    with pytest.raises(ValueError, match="p goes with one index k"):
        fit.delete_rows([1, 2], 2)
    with pytest.raises(ValueError, match="k names 2 rows, and u has 1"):
        bare.delete_rows([0, 1], u=a[0], b=b[0])
    assert fit.shape == bare.shape == (6, 2)


@pytest.mark.parametrize(("keep_q", "keep_data"), KEPT)
def test_rows_that_wait_are_worked_in_together(precision, keep_q, keep_data, rng, monkeypatch):
    """Copies and pickles have them; questions and the most that wait work them in."""
    monkeypatch.setattr(updatable, "_MOST_WAITING", 5)
    a, b = draw(30, 3, precision, float, rng)
    fit = UpdatableLstsq(a[:4], b[:4], keep_q=keep_q, keep_data=keep_data)
    for i in range(4, 30):
        fit.insert_rows(a[i], b[i])
        assert fit.shape == (i + 1, 3)
        assert len(fit._waiting) == (i - 3) % 5
    stored = pickle.loads(pickle.dumps(fit))
    assert len(stored._waiting) == 1
    stored.delete_rows(0, **_known(stored, a[:1], b[:1]))
    accept(stored, a[1:], b[1:], steps=10, larger=2.0)
    accept(fit, a, b, steps=10)
    assert not fit._waiting


def _known(fit, a, b):
    """What `delete_rows` wants of the rows at the front."""
    known = {} if fit._fit.data is not None else {"b": b}
    return known | ({"u": a} if known and fit.Q is None else {})


def test_waiting_rows_belong_to_one_copy(rng):
    """Data grow in memory that copies do not write to."""
    a, b = draw(200, 3, mdqr.dd, float, rng)
    fit = UpdatableLstsq(a[:5], b[:5])
    fit.insert_rows(a[5], b[5])
    fits = [copy.copy(fit), copy.deepcopy(fit), pickle.loads(pickle.dumps(fit)), fit]
    for i, other in enumerate(fits):
        rows = slice(10 + 40 * i, 50 + 40 * i)
        for j in range(rows.start, rows.stop):
            other.insert_rows(a[j], b[j])
            if j % 7 == 0:
                assert other.R.shape == (3, 3)
    for i, other in enumerate(fits):
        rows = slice(10 + 40 * i, 50 + 40 * i)
        data = [mdqr.concatenate([x[:6], x[rows]]) for x in (a, b)]
        held = other._fit.data
        assert (np.asarray(held[..., :3]) == data[0].limbs).all()
        accept(other, *data, steps=20)


def test_data_grow_and_leave_in_place(precision, rng):
    """A window that slides over observations copies the data now and then, not for each row."""
    a, b = draw(300, 2, precision, float, rng)
    fit, memories = UpdatableLstsq(a[:20], b[:20]), []
    for i in range(20, 300):
        fit.insert_rows(a[i], b[i])
        fit.delete_rows(0)
        memory, held = fit._fit.memory._memory, fit._fit.data
        assert held.base is memory
        # They are kept: another one could lie where a dead one was.
        if not any(memory is known for known in memories):
            memories.append(memory)
    assert 1 < len(memories) < 10
    accept(fit, a[280:], b[280:], steps=600)


@pytest.mark.parametrize("k", [slice(950), slice(50, 1000), slice(20, 970)], ids=str)
@pytest.mark.parametrize("grown", [False, True])
def test_few_rows_do_not_hold_the_memory_of_many(precision, k, grown, rng):
    a, b = draw(1000, 2, precision, float, rng)
    start = 900 if grown else 1000
    fit = UpdatableLstsq(a[:start], b[:start])
    if grown:
        fit.insert_rows(a[start:], b[start:])
        assert fit._fit.memory._memory is not None
    fit.delete_rows(k)
    held, rest = fit._fit.data, np.delete(np.arange(1000), k)
    assert (held if held.base is None else held.base).size <= 4 * held.size
    assert fit._fit.memory._memory is None
    accept(fit, a[rest], b[rest], steps=2, larger=10.0)
    fit.insert_rows(a[:1], b[:1])
    rest = [*rest, 0]
    accept(fit, a[rest], b[rest], steps=3, larger=10.0)


def test_rows_that_cannot_be_worked_in_are_not_held(rng, monkeypatch):
    """Whoever tries again gets them once."""
    monkeypatch.setattr(updatable, "_MOST_WAITING", 3)
    a, b = draw(9, 2, mdqr.dd, float, rng)
    fit = UpdatableLstsq(a[:4], b[:4])
    fit.insert_rows(a[4], b[4])
    with monkeypatch.context() as broken:
        broken.setattr(updatable.fits, "with_rows", _out_of_memory)
        for place in (None, 2):
            with pytest.raises(MemoryError):
                fit.insert_rows(a[5:9], b[5:9], place)
            assert fit.shape == (5, 2)
    fit.insert_rows(a[5:9], b[5:9])
    accept(fit, a, b, steps=2)


def _out_of_memory(*_):
    raise MemoryError


@pytest.mark.parametrize(("keep_q", "keep_data"), KEPT)
@pytest.mark.parametrize("precision", [mdqr.d, mdqr.qd], ids=str)
@pytest.mark.parametrize("place", [None, 0])
def test_rows_whose_factor_is_beyond_the_range_change_nothing(
    precision, keep_q, keep_data, place, rng
):
    """Rows that come after them are taken; without the data R would be lost for good."""
    a, b = draw(9, 2, precision, float, rng)
    fit = UpdatableLstsq(a[:5], b[:5], keep_q=keep_q, keep_data=keep_data)
    fit.insert_rows(a[5], b[5])
    for rows, sides in (([[1.5e308, 1.0], [1.6e308, 2.0]], 1.0), ([[1e6, 0.0]] * 4, 1.7e308)):
        sides = np.full(len(rows), sides)
        with pytest.raises(np.linalg.LinAlgError, match=r"\[R Q\^H b\] is beyond the largest"):
            fit.insert_rows(mdqr.array(rows, precision=precision), sides, place)
    fit.insert_rows(a[6:], b[6:])
    accept(fit, a, b)


def test_no_rows_do_not_wait(rng):
    a, b = draw(6, 2, mdqr.dd, float, rng)
    fit = UpdatableLstsq(a, b)
    info = fit.info
    for place in (None, 3):
        fit.insert_rows(a[:0], b[:0], place)
        assert not fit._waiting
        assert fit.info is info
    with pytest.raises(ValueError, match="must have shape"):
        fit.insert_rows(a[:0, :1], b[:0])


def test_rows_are_refused_when_they_come(rng):
    a, b = draw(6, 2, mdqr.dd, float, rng)
    fit = UpdatableLstsq(a, b)
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        fit.insert_rows(a[0] * np.inf, b[0])
    row = a[0].copy()
    fit.insert_rows(row, b[0])
    row[...] = 0.0
    accept(fit, mdqr.concatenate([a, a[:1]]), mdqr.concatenate([b, b[:1]]))


@each_case("keep_q, keep_data", KEPT)
@each_case("sizes", [(9, 7), (2, 1), (1, 2), (3, 0), (0, 5), (5, 60), (70, 3)])
def test_merged_problems_are_those_of_all_rows(precision, keep_q, keep_data, sizes, rng):
    m = sum(sizes)
    a, b = draw(m, 3, precision, complex, rng)
    first, second = (
        UpdatableLstsq(a[rows], b[rows], keep_q=keep_q, keep_data=keep_data)
        for rows in (slice(sizes[0]), slice(sizes[0], m))
    )
    before = second.R
    first.merge(second)
    accept(first, a, b)
    wanted = lstsq(a, b)
    squares = first.residual_norm() ** 2 - wanted.residuals[0]
    assert abs(float(squares)) <= 1e3 * m * precision.eps
    assert second.shape == (sizes[1], 3)
    assert mdqr.array_equal(second.R, before)
    if keep_data:
        first.insert_cols(cases.values((m, 1), precision, complex, rng))
        assert first.shape == (m, 4)


@pytest.mark.parametrize(("keep_q", "keep_data"), KEPT)
def test_merges_are_associative_up_to_rounding(multiple, keep_q, keep_data, rng):
    a, b = draw(24, 3, multiple, float, rng)
    parts = [slice(0, 7), slice(7, 9), slice(9, 24)]

    def fits():
        return [UpdatableLstsq(a[s], b[s], keep_q=keep_q, keep_data=keep_data) for s in parts]

    left, right = fits(), fits()
    left[0].merge(left[1])
    left[0].merge(left[2])
    right[1].merge(right[2])
    right[0].merge(right[1])
    for fit in (left[0], right[0]):
        accept(fit, a, b)


def test_merged_problems_of_other_kinds(rng):
    """Real ones join complex ones, and lower precisions join with their data alone."""
    a, b = draw(9, 3, mdqr.dd, complex, rng)
    c, d = draw(8, 3, mdqr.d, float, rng)
    for keep_q, keep_data in KEPT:
        fit = UpdatableLstsq(a, b, keep_q=keep_q, keep_data=keep_data)
        fit.merge(UpdatableLstsq(c, d))
        both = [mdqr.concatenate([x, 1j * 0.0 + y.astype("dd")]) for x, y in ((a, c), (b, d))]
        accept(fit, *both)
        fit.insert_rows(a[0], b[0])
        assert fit.shape == (18, 3)
    single = rng.standard_normal((8, 3)).astype(np.float32)
    fit = UpdatableLstsq(c.to_numpy(), d.to_numpy())
    fit.merge(UpdatableLstsq(single, single[:, 0]))
    assert fit.R.dtype == np.float64
    data = np.vstack([c.to_numpy(), single])
    assert abs(fit.R.T @ fit.R - data.T @ data).max() <= 1e-14


def test_a_problem_can_be_merged_into_itself(rng):
    a, b = draw(6, 2, mdqr.qd, float, rng)
    fit = UpdatableLstsq(a, b)
    fit.merge(fit)
    accept(fit, mdqr.concatenate([a, a]), mdqr.concatenate([b, b]))


def test_problems_that_cannot_be_merged(rng):
    a, b = draw(6, 2, mdqr.dd, float, rng)
    fit, known = UpdatableLstsq(a, b), UpdatableLstsq(a, b, keep_q=True, keep_data=False)
    bare = UpdatableLstsq(a, b, keep_data=False)
    high, low = a.astype("qd"), a.astype("d")
    for into, other, text in (
        (fit, UpdatableLstsq(a[:, :1], b), "as many unknowns"),
        (fit, UpdatableLstsq(a, a), "as many unknowns"),
        (fit, UpdatableLstsq(1j * a, b), "other is complex"),
        (fit, UpdatableLstsq(high, b), "higher precision"),
        (fit, bare, "does not keep its data"),
        (known, bare, "does not keep its data"),
        (bare, UpdatableLstsq(low, low[:, 0], keep_data=False), "lower precision"),
    ):
        with pytest.raises(ValueError, match=text):
            into.merge(other)
        assert into.shape == (6, 2)
    with pytest.raises(TypeError, match="must be an UpdatableLstsq; got ndarray"):
        fit.merge(np.ones((2, 2)))
    bare.merge(known)
    bare.merge(fit)
    assert bare.shape == (18, 2)


def test_losses_of_merged_problems_are_added(rng):
    a, b = draw(9, 2, mdqr.qd, float, rng)
    a[0] *= 1e6
    fits = [UpdatableLstsq(a, b, keep_data=False) for _ in range(2)]
    for fit in fits:
        fit.delete_rows(u=a[0], b=b[0])
    lost = fits[0].lost_digits
    assert lost > 8
    fits[0].merge(fits[1])
    assert fits[0].lost_digits == pytest.approx(lost + np.log10(2.0))
