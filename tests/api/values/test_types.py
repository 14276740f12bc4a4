"""The types: precisions are looked up, arrays have no subclasses and can be referred to weakly."""

from __future__ import annotations

import gc
import weakref

import pytest

import mdqr


def test_a_precision_is_looked_up(precision):
    assert mdqr.Precision(precision.name) is precision
    assert mdqr.Precision(precision) is precision


@pytest.mark.parametrize(
    "forged", [("xx", 3, 1e-40, 1e-300), ("qd", 4, 1.0, 1.0), ("xx",), ("QD",)]
)
def test_no_precision_is_forged(forged):
    with pytest.raises(ValueError, match=r'precision must be one of .*mdqr\.qd \("qd"\)'):
        mdqr.Precision(*forged)


@pytest.mark.parametrize(("wrong", "shown"), [(4, "4 of type int"), (None, "None of type None")])
def test_a_precision_of_a_wrong_type_is_a_type_error(wrong, shown):
    with pytest.raises(TypeError, match=rf"mdqr\.qd.*; got {shown}"):
        mdqr.Precision(wrong)


@pytest.mark.parametrize("kind", [mdqr.MDArray, mdqr.Precision])
def test_subclasses_are_refused(kind):
    with pytest.raises(TypeError, match="has no subclasses"):
        type("S", (kind,), {})


def test_arrays_can_be_referred_to_weakly(precision):
    for a in (mdqr.zeros((2, 3), precision=precision), precision(1), precision(1) + precision(2)):
        reference = weakref.ref(a)
        assert reference() is a
    cache = weakref.WeakValueDictionary()
    a = cache["a"] = mdqr.ones(3, precision=precision)
    assert len(cache) == 1
    del a
    gc.collect()
    assert len(cache) == 0
