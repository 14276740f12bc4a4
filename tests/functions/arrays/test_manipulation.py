"""Functions that rearrange do to every limb plane what NumPy does to one array."""

import numpy as np
import pytest
from array_cases import counted, planes, same_bits
from each_case import each_case
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)
AXIS = st.integers(-5, 4)
AXES = st.one_of(AXIS, st.lists(AXIS, max_size=3).map(tuple))
REFUSALS = (ValueError, IndexError, TypeError)

# What follows the array, by the name of the function.
OPTIONS = {
    "reshape": st.tuples(st.lists(st.sampled_from([-1, 0, 1, 2, 3, 6, 9]), max_size=4).map(tuple)),
    "permute_dims": st.one_of(
        st.just(()), st.tuples(st.permutations(range(3)).map(tuple) | st.just((1, 0)))
    ),
    "matrix_transpose": st.just(()),
    "moveaxis": st.tuples(AXES, AXES),
    "swapaxes": st.tuples(AXIS, AXIS),
    "expand_dims": st.tuples(AXES),
    "squeeze": st.tuples(st.none() | AXES),
    "flip": st.tuples(st.none() | AXES),
    "roll": st.one_of(
        st.tuples(st.integers(-7, 7)),
        st.tuples(st.integers(-7, 7), AXIS),
        st.tuples(
            st.lists(st.integers(-7, 7), min_size=1, max_size=3).map(tuple),
            AXIS | st.lists(AXIS, min_size=1, max_size=3).map(tuple),
        ),
    ),
    "broadcast_to": st.tuples(SHAPES),
    "diagonal": st.tuples(st.integers(-3, 3), AXIS, AXIS) | st.just(()),
    "atleast_1d": st.just(()),
    "atleast_2d": st.just(()),
    "atleast_3d": st.just(()),
    "repeat": st.tuples(
        st.integers(-1, 3) | st.lists(st.integers(0, 3), min_size=1, max_size=3), st.none() | AXIS
    ),
    "tile": st.tuples(st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=5)),
    "take": st.tuples(
        st.integers(-3, 2) | hnp.arrays(np.int64, SHAPES, elements=st.integers(-2, 1)),
        st.none() | AXIS,
    ),
}


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except REFUSALS as error:
        return error


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=60)
@given(data=st.data())
def test_rearranging_is_numpys_on_every_plane(name, data):
    precision = data.draw(st.sampled_from([mdqr.d, mdqr.qd]))
    a = counted(precision, data.draw(SHAPES), data.draw(st.sampled_from([float, complex])))
    if a.ndim > 1 and data.draw(st.booleans()):
        a = a.T
    options = data.draw(OPTIONS[name])
    wanted = outcome(getattr(np, name), planes(a)[0], *options)
    got = outcome(getattr(mdqr, name), a, *options)
    if isinstance(wanted, Exception):
        assert isinstance(got, REFUSALS), wanted
        return
    if not a.size and isinstance(got, IndexError):
        return  # NumPy's take does not look at places in an array without values
    assert not isinstance(got, Exception), (got, a.shape, options)
    assert got.shape == wanted.shape
    for plane, source in zip(planes(got), planes(a), strict=True):
        np.testing.assert_array_equal(plane, getattr(np, name)(source, *options))


def test_squeeze_of_no_dimensions_takes_an_axis_but_no_tuple(precision):
    """Once (0,) was taken too; NumPy takes 0 and -1 alone."""
    one = mdqr.ones((), precision=precision)
    assert mdqr.squeeze(one, 0).shape == mdqr.squeeze(one, -1).shape == ()
    with pytest.raises(ValueError, match="axis"):
        mdqr.squeeze(one, (0,))


VIEWS = {
    "permute_dims": (),
    "matrix_transpose": (),
    "moveaxis": (0, 2),
    "swapaxes": (0, 1),
    "expand_dims": (1,),
    "squeeze": (),
    "flip": (),
    "broadcast_to": ((4, 2, 1, 3),),
    "diagonal": (0, 0, 2),
    "atleast_3d": (),
    "reshape": ((3, 2),),
}


@each_case("name", VIEWS)
def test_views_share_memory(name, precision, dtype):
    a = counted(precision, (2, 1, 3), dtype)
    assert np.shares_memory(getattr(mdqr, name)(a, *VIEWS[name]).limbs, a.limbs)


@pytest.mark.parametrize("name", ["roll", "tile", "repeat", "take"])
def test_copies_do_not_share_memory(name, precision):
    a = counted(precision, (3,))
    assert not np.shares_memory(getattr(mdqr, name)(a, 1).limbs, a.limbs)


def test_broadcast_views_are_read_only(precision):
    a = mdqr.ones(3, precision=precision)
    for view in (
        mdqr.broadcast_to(a, (2, 3)),
        mdqr.broadcast_to(a, 3),
        mdqr.diagonal(mdqr.diag(a)),
    ):
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0


def test_reshape_copies_as_told(precision):
    a = counted(precision, (2, 3))
    assert not np.shares_memory(mdqr.reshape(a, 6, copy=True).limbs, a.limbs)
    assert np.shares_memory(mdqr.reshape(a, 6, copy=False).limbs, a.limbs)
    with pytest.raises(ValueError, match="needs a copy"):
        mdqr.reshape(a.T, 6, copy=False)


JOINS = ["vstack", "hstack", "column_stack", "concatenate", "stack"]


@pytest.mark.parametrize("name", JOINS)
@settings(max_examples=60)
@given(shapes=st.lists(hnp.array_shapes(min_dims=0, max_dims=3, max_side=2), max_size=3))
def test_joins_are_numpys(name, shapes):
    arrays = [np.arange(float(np.prod(shape, dtype=int))).reshape(shape) for shape in shapes]
    wanted = outcome(getattr(np, name), arrays)
    got = outcome(getattr(mdqr, name), [mdqr.array(x, precision=mdqr.dd) for x in arrays])
    if isinstance(wanted, Exception):
        assert isinstance(got, REFUSALS)
    else:
        np.testing.assert_array_equal(got.to_numpy(), wanted)


def test_joins_promote(multiple):
    third = mdqr.array(1, precision=multiple) / 3
    joined = mdqr.column_stack([[1.0, 2.0], mdqr.stack([third, third])])
    assert joined.precision is multiple
    assert same_bits(joined[0, 1], third)
    with pytest.raises(TypeError, match="no operand is an MDArray"):
        mdqr.vstack([[1.0], [2.0]])
    with pytest.raises(ValueError, match="nothing to join"):
        mdqr.hstack([])
    assert same_bits(mdqr.append([1.0], third), mdqr.hstack([1.0, third]))


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 3), min_size=1, max_size=3),
    sparse=st.booleans(),
    copy=st.booleans(),
    indexing=st.sampled_from(["xy", "ij"]),
)
def test_meshgrid_is_numpys(sizes, sparse, copy, indexing):
    vectors = [np.arange(1.0, n + 1) for n in sizes]
    ours = [mdqr.array(v, precision=mdqr.dd) for v in vectors]
    options = {"sparse": sparse, "copy": copy, "indexing": indexing}
    for got, wanted in zip(
        mdqr.meshgrid(*ours, **options), np.meshgrid(*vectors, **options), strict=True
    ):
        np.testing.assert_array_equal(got.to_numpy(), wanted)


def test_meshgrid_refuses_matrices_and_other_indexing(precision):
    with pytest.raises(ValueError, match="vectors"):
        mdqr.meshgrid(mdqr.eye(2, precision=precision))
    with pytest.raises(ValueError, match="indexing"):
        mdqr.meshgrid(mdqr.ones(2, precision=precision), indexing="ji")


@given(
    length=st.integers(0, 6),
    wanted=st.integers(1, 4) | st.lists(st.integers(-2, 7), max_size=3),
    axis=st.integers(-2, 1),
)
def test_split_is_numpys(length, wanted, axis):
    a = counted(mdqr.dd, (length, length))
    theirs = outcome(np.split, planes(a)[1], wanted, axis)
    ours = outcome(mdqr.split, a, wanted, axis)
    if isinstance(theirs, Exception):
        assert isinstance(ours, ValueError)
        return
    for got, part in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(planes(got)[1], part)


def test_unstack_undoes_stack(precision, dtype):
    a = counted(precision, (2, 3), dtype)
    for axis in (0, 1, -1):
        assert same_bits(mdqr.stack(mdqr.unstack(a, axis=axis), axis), a)
    with pytest.raises(ValueError, match="axis"):
        mdqr.unstack(mdqr.qd(1))


def test_broadcast_arrays_keep_their_precision():
    x, y = mdqr.broadcast_arrays(mdqr.ones((2, 1), precision=mdqr.dd), mdqr.ones(3, precision="od"))
    assert (x.shape, y.shape) == ((2, 3), (2, 3))
    assert (x.precision, y.precision) == (mdqr.dd, mdqr.od)
    with pytest.raises(ValueError, match="do not broadcast"):
        mdqr.broadcast_arrays(mdqr.ones(2, precision="dd"), [1.0, 2.0, 3.0])


@settings(max_examples=60)
@given(data=st.data())
def test_take_along_axis_is_numpys_on_every_plane(data, dtype):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    a = counted(mdqr.dd, shape, dtype)
    index = [*shape]
    index[axis] = data.draw(st.integers(0, 4))
    ends = st.integers(-shape[axis], shape[axis] - 1)
    places = data.draw(hnp.arrays(np.int64, tuple(index), elements=ends))
    got = mdqr.take_along_axis(a, places, axis)
    for plane, source in zip(planes(got), planes(a), strict=True):
        np.testing.assert_array_equal(plane, np.take_along_axis(source, places, axis))


def test_places_are_integers(precision):
    a = mdqr.ones((2, 2), precision=precision)
    for places in ([0.5], a, ["0"]):
        with pytest.raises(IndexError, match="integers"):
            mdqr.take(a, places, 0)
    with pytest.raises(IndexError, match="out of bounds"):
        mdqr.take(a, 2, 0)
    with pytest.raises(ValueError, match="as many axes"):
        mdqr.take_along_axis(a, np.zeros(2, dtype=int))


@given(data=st.data())
def test_nonzero_is_numpys(data, dtype):
    x = data.draw(
        hnp.arrays(dtype, SHAPES, elements=st.sampled_from([0.0, -0.0, 1.0, 5e-324, np.nan]))
    )
    a = mdqr.array(x, precision=mdqr.qd)
    if x.ndim:
        for got, wanted in zip(mdqr.nonzero(a), np.nonzero(x), strict=True):
            np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(np.argwhere(a), np.argwhere(x))
    for axis in (None, *range(-x.ndim, x.ndim)):
        np.testing.assert_array_equal(mdqr.count_nonzero(a, axis), np.count_nonzero(x, axis))
    assert np.shape(mdqr.count_nonzero(a, keepdims=True)) == (1,) * x.ndim


def test_small_values_count_as_not_zero():
    """Limbs may stand far apart; the first one of what is not zero is not zero."""
    tiny = mdqr.array([0, 2.0**-1074], precision=mdqr.od)
    assert mdqr.nonzero(tiny)[0].tolist() == [1]
    with pytest.raises(ValueError, match="0-d"):
        mdqr.nonzero(mdqr.qd(1))


def test_new_axes_are_named():
    with pytest.raises(TypeError):
        mdqr.expand_dims(mdqr.ones((3, 3), precision="qd"), None)


@pytest.mark.parametrize("copy", [False, True])
def test_grids_are_complex_where_their_vectors_are(copy):
    grids = mdqr.meshgrid(mdqr.array([1j, 2], precision="qd"), [1.0, 2.0, 3.0], copy=copy)
    assert [grid.is_complex for grid in grids] == [True, False]
    np.testing.assert_array_equal(grids[1].to_numpy(), np.meshgrid([1j, 2], [1.0, 2.0, 3.0])[1])


@pytest.mark.parametrize("value", [0.0, 2.0, [0.0, 2.0]], ids=str)
def test_places_of_values_that_are_not_zero(value):
    got = np.argwhere(mdqr.array(value, precision="qd"))
    np.testing.assert_array_equal(got, np.argwhere(np.array(value)), strict=True)


def test_places_of_flattened_values_are_a_vector(precision):
    a = mdqr.arange(4, precision=precision).reshape(2, 2)
    assert mdqr.take_along_axis(a, [3, 0], None).to_numpy().tolist() == [3, 0]
    for take in (mdqr.take_along_axis, np.take_along_axis):
        with pytest.raises(ValueError, match="places are a vector"):
            take(a, np.zeros((2, 2), dtype=int), None)
