"""Indexing and assignment do to every limb plane what NumPy does to one array."""

import numpy as np
import pytest
from array_cases import counted, planes, same_bits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@st.composite
def parts(draw, side):
    """Draw an index for one axis, in bounds or one place out of bounds."""
    integers = st.integers(-side - draw(st.integers(0, 20)) // 20, max(side - 1, 0))
    return draw(
        st.one_of(
            integers,
            st.builds(np.int64, integers),
            st.slices(side),
            st.just(slice(None, None, -1)),
            hnp.arrays(
                np.int64,
                hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=2),
                elements=integers,
            ),
            st.lists(integers, max_size=2),
            hnp.arrays(np.bool_, side),
        )
    )


@st.composite
def keys(draw, shape):
    """Draw any expression between brackets, a few of them wrong."""
    kind = draw(st.sampled_from(["basic", "integers", "mask", "mixed", "wrong"]))
    if kind == "basic":
        return draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=6))
    if kind == "integers" and shape and min(shape):
        return draw(hnp.integer_array_indices(shape))
    if kind == "mask":
        return draw(hnp.arrays(np.bool_, shape[: draw(st.integers(0, len(shape)))]))
    if kind == "wrong":
        wrong = [1.5, "0", (0,) * (len(shape) + 1), np.zeros(2), (Ellipsis, Ellipsis)]
        return draw(st.sampled_from([*wrong, np.zeros((*shape, 1), dtype=bool)]))
    return draw(mixed_keys(shape))


@st.composite
def mixed_keys(draw, shape):
    """Draw a tuple of indices of all kinds, with new axes, masks of two axes and an ellipsis."""
    key = [draw(parts(side)) for side in shape[: draw(st.integers(0, len(shape)))]]
    if len(key) >= 2 and draw(st.booleans()):
        key[:2] = [draw(hnp.arrays(np.bool_, shape[:2]))]
    for extra in draw(st.lists(st.sampled_from([None, None, True, False]), max_size=2)):
        key.insert(draw(st.integers(0, len(key))), extra)
    if draw(st.booleans()):
        key.insert(draw(st.integers(0, len(key))), Ellipsis)
    return tuple(key)


# Old versions of NumPy only warn of an index out of bounds where the result is empty; as warnings
# are errors here, the warning is one more way to refuse.
REFUSALS = (IndexError, TypeError, ValueError, DeprecationWarning)


def outcome(function):
    """Return the result of a call, or the class of what it raises."""
    try:
        return function()
    except REFUSALS as error:
        return next(kind for kind in REFUSALS if isinstance(error, kind))


@given(data=st.data())
def test_get_is_numpys_on_every_plane(data, multiple, dtype):
    shape = data.draw(SHAPES)
    key = data.draw(keys(shape))
    a = counted(multiple, shape, dtype)
    expected = outcome(lambda: [plane[key] for plane in planes(a)])
    got = outcome(lambda: a[key])
    if isinstance(expected, type):
        assert got is expected
        return
    assert got.shape == expected[0].shape
    assert got.precision is multiple
    assert got.is_complex == (dtype is complex)
    for plane, wanted in zip(planes(got), expected, strict=True):
        np.testing.assert_array_equal(plane, wanted)
    if got.size:
        is_view = np.may_share_memory(expected[0], planes(a)[0])
        assert np.shares_memory(got.limbs, a.limbs) == is_view


@given(data=st.data())
def test_put_is_numpys_on_every_plane(data, multiple, dtype):
    shape = data.draw(SHAPES)
    key = data.draw(keys(shape))
    a = counted(multiple, shape, dtype)
    selected = outcome(lambda: planes(a)[0][key])
    target = () if isinstance(selected, type) else selected.shape
    value = -counted(multiple, data.draw(value_shapes(target)), dtype)
    expected = a.copy()

    def put_planes():
        for plane, source in zip(planes(expected), planes(value), strict=True):
            plane[key] = source

    wanted = outcome(put_planes)
    got = outcome(lambda: a.__setitem__(key, value))
    assert got is wanted
    if wanted is None:
        assert same_bits(a, expected)


@st.composite
def value_shapes(draw, target):
    """Draw a shape that broadcasts to `target`, or sometimes one that does not."""
    shape = tuple(draw(st.sampled_from([side, 1])) for side in target)
    shape = shape[draw(st.integers(0, len(shape))) :]
    return draw(st.sampled_from([shape, shape, shape, (1, *shape), (5, *shape)]))


@given(data=st.data())
def test_put_of_fewer_limbs_clears_the_rest(data, multiple, dtype):
    shape = data.draw(SHAPES)
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    value = data.draw(st.sampled_from([0.5, 3, np.float64(2), mdqr.d(0.25), np.float32(1)]))
    a = counted(multiple, shape, dtype)
    expected = a.copy()
    for plane, limb in zip(
        planes(expected), planes(mdqr.array(value, precision=multiple, dtype=dtype)), strict=True
    ):
        plane[key] = limb
    a[key] = value
    assert same_bits(a, expected)


def test_put_rounds_a_higher_precision_once(dtype):
    a = mdqr.zeros(3, precision=mdqr.dd, dtype=dtype)
    x = mdqr.od("0.1")
    a[1] = x
    assert same_bits(a[1].real, x.astype(mdqr.dd))
    assert (a[[0, 2]] == 0).all()


def test_put_of_complex_values_into_a_real_array(multiple):
    a = mdqr.zeros(3, precision=multiple)
    with pytest.raises(
        TypeError, match=r"complex values cannot be assigned.*astype\(dtype=complex\)"
    ):
        a[0] = 1j
    assert (a == 0).all()


def test_put_of_strings(multiple):
    a = mdqr.zeros(3, precision=multiple)
    a[0] = "0.1"
    assert same_bits(a[0], multiple("0.1"))
    with pytest.raises(ValueError, match="cannot read 'x' as a number"):
        a[1] = "x"


@given(data=st.data())
def test_put_from_overlapping_memory_acts_on_a_copy(data, multiple):
    n = data.draw(st.integers(1, 8))
    source, target = (
        data.draw(st.slices(n).filter(lambda s: len(range(n)[s]) > 0)) for _ in range(2)
    )
    a = counted(multiple, (n, 2))
    length = min(len(range(n)[source]), len(range(n)[target]))
    rows, places = (list(range(n)[s])[:length] for s in (source, target))
    expected = a.limbs.copy()
    expected[:, places] = a.limbs[:, rows].copy()
    a[target][:length] = a[source][:length]
    np.testing.assert_array_equal(a.limbs, expected)


def test_integers_for_all_axes_copy_so_that_swaps_work(multiple, dtype):
    a = counted(multiple, (2,), dtype)
    before = a.copy()
    a[0], a[1] = a[1], a[0]
    assert same_bits(a[0], before[1])
    assert same_bits(a[1], before[0])
    assert np.shares_memory(a[0, ...].limbs, a.limbs)
    a[0, ...][...] = before[0]
    assert same_bits(a[0], before[0])


def test_limb_axis_stays_in_front_of_separated_indices(multiple):
    a = counted(multiple, (3, 4, 5))
    assert a[[0, 1], :, [1, 2]].limbs.shape == (multiple.limbs, 2, 4)


def test_masks_from_comparisons(multiple):
    a = mdqr.array([3, -1, 2], precision=multiple)
    a[a < 0] = 0
    np.testing.assert_array_equal(a.to_numpy(), [3, 0, 2])


@pytest.mark.parametrize("key", [mdqr.ones(2, precision=mdqr.dd), 0.5, "x", (0, 1j)])
def test_what_is_not_an_index_says_what_is(key):
    with pytest.raises(IndexError, match=r"integers, slices, \.\.\., None"):
        counted(mdqr.dd, (2, 2))[key]


def test_a_read_only_array_stays_as_it_is(multiple):
    zeros = mdqr.ones(3, precision=multiple).imag
    with pytest.raises(ValueError, match="read-only"):
        zeros[0] = 1
    assert (zeros == 0).all()


def test_iteration_gives_views_of_rows_and_copies_of_values(multiple):
    a = counted(multiple, (2, 3))
    rows = list(a)
    assert [row.shape for row in rows] == [(3,), (3,)]
    rows[0][...] = 0
    assert (a[0] == 0).all()
    value = next(iter(a[1]))
    value[...] = 0
    assert not (a[1] == 0).any()
    with pytest.raises(TypeError, match="0-d"):
        iter(a[0, 0])
    with pytest.raises(TypeError, match="0-d"):
        len(a[0, 0])
