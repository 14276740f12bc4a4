"""Pieces of a batch give the results of the whole, joined in their own types."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import mdqr
from mdqr import distributed as md
from mdqr import linalg


def test_batches():
    a = mdqr.random.normal((10, 3, 3), precision=mdqr.qd, rng=0)
    b = mdqr.random.normal((10, 3, 1), precision=mdqr.qd, rng=1)
    for rows in (1, 4, 64):
        found = md.map_batches(linalg.solve, a, b, rows=rows)
        assert mdqr.array_equal(found, linalg.solve(a, b))
    a[5] = 0
    with pytest.raises(np.linalg.LinAlgError) as error:
        md.map_batches(linalg.solve, a, b, rows=4)
    assert error.value.__notes__ == ["map_batches: problems 4 to 7 of 10"]
    kept = md.map_batches(linalg.solve, a, b, rows=4, errors="keep")
    assert [isinstance(x, Exception) for x in kept] == [False, True, False]


class Pair(NamedTuple):
    x: Any
    inner: Any


class OfTwoError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def test_batches_of_named_tuples_and_dictionaries_keep_their_types():
    a = mdqr.random.normal((10, 5, 3), precision=mdqr.qd, rng=0)
    b = mdqr.random.normal((10, 5, 1), precision=mdqr.qd, rng=1)
    fit, one = md.map_batches(linalg.lstsq, a, b, rows=4), linalg.lstsq(a, b)
    assert type(fit) is type(one)
    assert mdqr.array_equal(fit.x, one.x)
    assert mdqr.array_equal(fit.residuals, one.residuals)
    np.testing.assert_array_equal(fit.rank, one.rank)
    assert [x.digits.shape for x in fit.info] == [(4, 3, 1), (4, 3, 1), (2, 3, 1)]

    def nested(part):
        names = {"sums": part.sum(axis=1), "count": len(part)}
        return Pair(part, (names, Pair([1], np.ones(len(part)))))

    found = md.map_batches(nested, a, rows=4)
    assert type(found) is type(found.inner[1]) is Pair
    assert mdqr.array_equal(found.x, a)
    assert mdqr.array_equal(found.inner[0]["sums"], a.sum(axis=1))
    assert found.inner[0]["count"] == [4, 4, 2]
    assert found.inner[1].x == [[1], [1], [1]]
    assert found.inner[1].inner.shape == (10,)
    # Results of several forms stay apart.
    for kinds in ([Pair(a, a), (a, a), a], [{"x": a}, {"y": a}, {}], [(a,), (a, a), (a, a)]):
        some = iter(kinds)
        assert md.map_batches(lambda _, some=some: next(some), a, rows=4) == kinds


def test_exceptions_of_batches_are_kept_whatever_their_constructors_want():
    def fail(part):
        raise OfTwoError("one", "two")

    for scheduler in (None, "threads"):
        # Dask brings pickles of any exception, once it is imported.
        with pytest.raises((RuntimeError, OfTwoError), match="one and two") as error:
            md.map_batches(fail, np.ones(3), rows=2, scheduler=scheduler)
        assert error.value.__notes__ == ["map_batches: problems 0 to 1 of 3"]
    with pytest.raises(TypeError, match="function must be callable"):
        md.map_batches(3, np.ones(3))


def test_sizes_are_integers_of_any_type_that_do_not_overflow():
    a = np.arange(300.0)
    np.testing.assert_array_equal(md.map_batches(np.negative, a, rows=np.uint8(100)), -a)
    for rows in (0, True, 2.0, "2", None):
        with pytest.raises(ValueError, match="rows must be an integer from 1 on"):
            md.map_batches(np.negative, a, rows=rows)
        if rows is not None:
            with pytest.raises(ValueError, match="rows must be None or an integer from 1 on"):
                md.as_dask(mdqr.dd(a), rows)
