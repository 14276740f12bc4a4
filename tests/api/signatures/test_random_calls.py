"""Random draws: the shape comes first, the parameters by name, generators as NumPy takes them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mdqr
from mdqr.testing import assert_same_bits

DRAWS = [mdqr.random.uniform, mdqr.random.normal]


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("call", [(0, 1, 10), (0, 1, (3,)), (-1, 1, 3), (3, 0)], ids=str)
def test_calls_in_the_order_of_numpy_are_refused(draw, call):
    with pytest.raises(TypeError, match=r"takes the shape first, which is size= of NumPy"):
        draw(*call, precision=mdqr.qd)


@pytest.mark.parametrize("draw", DRAWS)
def test_size_is_called_shape(draw):
    with pytest.raises(TypeError, match=rf"{draw.__name__}\(shape, .*=0, .*=1, precision="):
        draw(size=3, precision=mdqr.qd)
    assert draw(shape=3, precision=mdqr.qd).shape == (3,)


@pytest.mark.parametrize("draw", DRAWS)
def test_only_the_shape_is_positional(draw):
    parameters = inspect.signature(draw).parameters.values()
    assert [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY] == ["shape"]


def generators():
    return {
        "int": 7,
        "integer of NumPy": np.int64(7),
        "several": [7, 8],
        "seed sequence": np.random.SeedSequence(7),
        "bit generator": np.random.PCG64(7),
        "generator": np.random.default_rng(7),
        "legacy": np.random.RandomState(7),
    }


@pytest.mark.parametrize("kind", generators())
def test_everything_that_numpy_takes_for_a_generator(kind):
    """The limbs are those for the generator of NumPy that is made of it."""
    for draw, arguments in (
        *((draw, (5,)) for draw in DRAWS),
        (mdqr.testing.matrix, ("random", 4, 3)),
    ):
        given, other = generators()[kind], generators()[kind]
        if kind == "legacy":  # NumPy 2.1 does not take it
            other = other._bit_generator
        other = np.random.default_rng(other)
        for _ in range(2 if kind in ("bit generator", "generator", "legacy") else 1):
            pair = (draw(*arguments, precision=mdqr.qd, rng=rng) for rng in (given, other))
            assert_same_bits(*pair)


def test_forms_of_one_seed_give_the_same_limbs():
    """Of all that NumPy seeds PCG64 by, and of nothing else."""
    forms = generators()
    for draw in DRAWS:
        wanted = draw(5, precision=mdqr.qd, rng=forms["int"])
        for kind in ("integer of NumPy", "seed sequence", "bit generator", "generator"):
            assert_same_bits(draw(5, precision=mdqr.qd, rng=generators()[kind]), wanted)
        for kind in ("several", "legacy"):
            assert not (draw(5, precision=mdqr.qd, rng=forms[kind]) == wanted).any()


def test_a_legacy_generator_advances():
    rng = np.random.RandomState(3)
    first, second = (mdqr.random.uniform(4, precision=mdqr.dd, rng=rng) for _ in range(2))
    assert not (first == second).any()


@pytest.mark.parametrize("rng", [1.5, "x", object()], ids=["float", "text", "object"])
def test_what_is_no_generator_is_named(rng):
    for call in (
        lambda: mdqr.random.uniform(2, precision=mdqr.qd, rng=rng),
        lambda: mdqr.testing.matrix("random", 2, 2, precision=mdqr.qd, rng=rng),
    ):
        with pytest.raises((TypeError, ValueError), match=r"numpy\.random\.default_rng"):
            call()


@pytest.mark.parametrize(
    "ends", [(-1e308, 1e308), (0, np.inf), (-np.inf, 0), (0, np.nan), (0, [1, np.inf])], ids=repr
)
def test_ends_without_a_finite_difference_are_refused(ends, precision):
    """They gave infinities."""
    low, high = ends
    with pytest.raises(OverflowError, match="finite"):
        mdqr.random.uniform(2, low=low, high=high, precision=precision)


def test_a_negative_scale_is_refused(precision):
    for scale in (-1, [1, -1e-300], mdqr.array("-1e-40", precision=precision)):
        with pytest.raises(ValueError, match="negative"):
            mdqr.random.normal(2, scale=scale, precision=precision)
    a = mdqr.random.normal(2, loc=3, scale=0, precision=precision)
    assert (a == 3).all()
