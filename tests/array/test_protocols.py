"""NumPy's functions on MDArray: the same results as ours, or a TypeError that says the way out."""

import numpy as np
import pytest
from array_cases import full_width, same_bits
from each_case import each_case

import mdqr
from mdqr._array import protocols

OURS = {
    "absolute": mdqr.abs,
    "conjugate": mdqr.conj,
    "positive": lambda a: a.copy(),
    "divide": lambda a, b: a / b,
    "matmul": lambda a, b: a @ b,
    "fabs": mdqr.abs,
    "matvec": lambda a, b: (a @ b[..., None])[..., 0],
    "vecmat": lambda a, b: (a[..., None, :] @ b)[..., 0, :],
}
OPERATORS = {
    "add": "__add__",
    "subtract": "__sub__",
    "multiply": "__mul__",
    "equal": "__eq__",
    "not_equal": "__ne__",
    "less": "__lt__",
    "less_equal": "__le__",
    "greater": "__gt__",
    "greater_equal": "__ge__",
}


def ours(name):
    """Return what mdqr offers under the name of a NumPy function."""
    if name in OURS:
        return OURS[name]
    if name in OPERATORS:
        return lambda a, b: getattr(a, OPERATORS[name])(b)
    return getattr(mdqr, name)


def same(got, wanted):
    """Return whether two results are the same, bit for bit."""
    if isinstance(wanted, mdqr.MDArray):
        return isinstance(got, mdqr.MDArray) and same_bits(got, wanted)
    if isinstance(wanted, (tuple, list)):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    return type(got) is type(wanted) and np.array_equal(got, wanted)


def check(name, arguments):
    """Both give the same."""
    assert same(getattr(np, name)(*arguments), ours(name)(*arguments))


@each_case("ufunc", protocols.UFUNCS)
def test_ufuncs_are_our_functions(ufunc, multiple, rng):
    a, b = (abs(full_width(rng, multiple, (3, 3))) for _ in range(2))
    if ufunc in (np.power, np.ldexp):
        b = np.array([0, 1, 2])
    check(ufunc.__name__, (a, b)[: ufunc.nin])


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.divide, np.maximum])
def test_a_numpy_operand_may_come_first(ufunc, precision, rng):
    a, x = full_width(rng, precision, 3), rng.normal(size=3)
    for first in (x, x[0], np.float64(2), np.int64(3)):
        assert same_bits(ufunc(first, a), ufunc(mdqr.array(first, precision=precision), a))


@pytest.mark.parametrize("operation", ["x + a", "x - a", "x * a", "x / a"])
def test_operators_with_a_numpy_array_first(operation, precision, rng):
    a, x = full_width(rng, precision, (2, 3)), rng.normal(size=3)
    got = eval(operation)
    assert same_bits(got, eval(operation, {"x": mdqr.array(x, precision=precision), "a": a}))
    assert (x < a).shape == (2, 3)
    assert ((x < a) == (a > x)).all()


def test_out_is_written_and_rounded(multiple, rng):
    a, b = (full_width(rng, multiple, 3) for _ in range(2))
    out = mdqr.zeros(3, precision=mdqr.dd)
    assert np.add(a, b, out=out) is out
    assert same_bits(out, (a + b).astype(mdqr.dd))
    with pytest.raises(TypeError, match=r"convert with a\.to_numpy\(\)"):
        np.add(a, b, out=np.zeros(3))
    with pytest.raises(TypeError, match=r"convert with a\.to_numpy\(\)"):
        np.add(np.ones(3), b, out=np.zeros(3))
    with pytest.raises(TypeError, match=r"write x = numpy\.sqrt\(\.\.\.\) without out"):
        np.sqrt(a, out=np.zeros(3))
    with pytest.raises(TypeError, match="boolean"):
        np.less(a, b, out=out)
    with pytest.raises(TypeError, match="string is not a number"):
        np.add(a, "1")


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "@"])
def test_in_place_in_a_numpy_array_names_the_operator_at_hand(operator, precision):
    names = {"x": np.ones((2, 2)), "a": mdqr.ones((2, 2), precision=precision)}
    with pytest.raises(TypeError) as caught:
        exec(f"x {operator}= a", names)
    assert f"write x = x {operator} a instead of x {operator}= a" in str(caught.value)
    np.testing.assert_array_equal(names["x"], 1)


def test_in_place_powers_of_a_numpy_array_name_the_way_out(precision):
    x = np.ones(2)
    with pytest.raises(TypeError, match=r"write x = x \*\* a instead of x \*\*= a"):
        x **= mdqr.ones(2, precision=precision)


@pytest.mark.parametrize(
    "call",
    [
        np.subtract.reduce,
        np.maximum.accumulate,
        lambda a: np.add.reduceat(a, [0, 1]),
        np.common_type,
        np.linalg.tensorinv,
    ],
)
def test_what_is_missing_names_the_way_out(call, precision):
    with pytest.raises(TypeError, match=r"no implementation for MDArray.*a\.to_numpy\(\)"):
        call(mdqr.ones(3, precision=precision))


@pytest.mark.parametrize("options", [{"where": [True, False, True]}, {"dtype": np.float64}])
def test_options_that_are_missing(options, precision):
    with pytest.raises(TypeError, match=r"numpy.sqrt of an MDArray has no option (where|dtype)"):
        np.sqrt(mdqr.ones(3, precision=precision), **options)


CALLS = {
    "sum": ({"axis": 0}, lambda a, o: a.sum(**o)),
    "prod": ({"axis": (0, 1)}, lambda a, o: a.prod(**o)),
    "mean": ({"axis": 1, "keepdims": True}, lambda a, o: a.mean(**o)),
    "max": ({"axis": 0}, lambda a, o: a.max(**o)),
    "min": ({}, lambda a, o: a.min(**o)),
    "argmax": ({"axis": 0}, lambda a, o: a.argmax(**o)),
    "argmin": ({}, lambda a, o: a.argmin(**o)),
    "any": ({"axis": 0}, lambda a, o: a.any(**o)),
    "all": ({}, lambda a, o: a.all(**o)),
    "cumsum": ({"axis": 0}, lambda a, o: a.cumsum(**o)),
    "ravel": ({}, lambda a, o: a.ravel()),
    "transpose": ({}, lambda a, o: a.T),
    "copy": ({}, lambda a, o: a.copy()),
    "real": ({}, lambda a, o: a.real),
    "imag": ({}, lambda a, o: a.imag),
    "shape": ({}, lambda a, o: a.shape),
    "ndim": ({}, lambda a, o: a.ndim),
    "size": ({}, lambda a, o: a.size),
    "trace": ({}, lambda a, o: mdqr.trace(a)),
    "diag": ({"k": 1}, lambda a, o: mdqr.diag(a, **o)),
    "tril": ({"k": -1}, lambda a, o: mdqr.tril(a, **o)),
    "triu": ({"k": 1}, lambda a, o: mdqr.triu(a, **o)),
    "zeros_like": ({}, lambda a, o: mdqr.zeros_like(a)),
    "ones_like": ({}, lambda a, o: mdqr.ones_like(a)),
    "empty_like": ({}, lambda a, o: mdqr.empty_like(a)),
}
PAIRS = {
    "dot": lambda a: (a, a),
    "vdot": lambda a: (a, a),
    "outer": lambda a: (a, a),
    "polyval": lambda a: ([1, 2], a),
    "where": lambda a: ([True, False], a, 0),
    "allclose": lambda a: (a, a),
    "array_equal": lambda a: (a, [1, 2]),
    "concatenate": lambda a: ([a, [[1, 2]]],),
    "stack": lambda a: ([a, a], 1),
    "vander": lambda a: (a[0], 3),
    "full_like": lambda a: (a, 7),
    "linspace": lambda a: (a[0], a[1], 5),
}


OF_MATRICES = {
    "var": (0,),
    "std": (),
    "average": (1,),
    "cov": (),
    "ptp": (0,),
    "median": (0,),
    "quantile": (0.3, 0),
    "percentile": (30,),
    "cumprod": (0,),
    "diff": (),
    "gradient": (),
    "trapezoid": (),
    "matrix_transpose": (),
    "moveaxis": (0, 1),
    "swapaxes": (0, 1),
    "expand_dims": (0,),
    "squeeze": (),
    "flip": (),
    "roll": (1,),
    "broadcast_to": ((3, 2, 2),),
    "diagonal": (),
    "atleast_1d": (),
    "atleast_2d": (),
    "atleast_3d": (),
    "append": (1.0,),
    "unstack": (),
    "split": (2,),
    "repeat": (2, 0),
    "tile": (2,),
    "take": ([1, 0], 0),
    "take_along_axis": (np.array([[0, 1]]), 0),
    "nonzero": (),
    "count_nonzero": (0,),
    "sort": (0,),
    "argsort": (0,),
    "isin": ([1.0],),
    "unique": (),
    "unique_all": (),
    "unique_counts": (),
    "unique_inverse": (),
    "unique_values": (),
    "round": (2,),
    "clip": (0, 1),
    "nan_to_num": (),
    "nansum": (),
    "nanprod": (),
    "nanmean": (),
    "nanvar": (),
    "nanstd": (),
    "nanmax": (),
    "nanmin": (),
    "nanmedian": (),
    "nanargmax": (),
    "nanargmin": (),
    "nancumsum": (),
    "nancumprod": (),
    "corrcoef": (),
    "nanquantile": (0.3, 0),
    "histogram": (),
    "angle": (),
}
OF_VECTORS = {
    "polyder": lambda x: (x,),
    "polyint": lambda x: (x,),
    "poly": lambda x: (x,),
    "polyadd": lambda x: (x, x[:2]),
    "polysub": lambda x: (x, x[:2]),
    "polymul": lambda x: (x, x[:2]),
    "polydiv": lambda x: (x, x[:2]),
    "correlate": lambda x: (x, x),
    "block": lambda x: ([x, x],),
    "logspace": lambda x: (x[0], x[1], 3),
    "geomspace": lambda x: (abs(x[0]), abs(x[1]), 3),
    "polyfit": lambda x: (x, x, 1),
    "interp": lambda x: (x, [0.0, 1.0], [1.0, 2.0]),
    "convolve": lambda x: (x, x),
    "vstack": lambda x: ([x, x],),
    "hstack": lambda x: ([x, x],),
    "column_stack": lambda x: ([x, x],),
    "meshgrid": lambda x: (x, x),
    "broadcast_arrays": lambda x: (x, x[:1]),
    "searchsorted": lambda x: (np.sort(x), x),
    "cumulative_sum": lambda x: (x,),
    "cumulative_prod": lambda x: (x,),
    "tensordot": lambda x: (x, x, 1),
    "inner": lambda x: (x, x),
    "kron": lambda x: (x, x),
    "cross": lambda x: (x, x[::-1]),
    "einsum": lambda x: ("i,j", x, x),
    "isclose": lambda x: (x, x),
}


@each_case("name", CALLS)
def test_functions_of_one_array(name, multiple, dtype, rng):
    a = full_width(rng, multiple, (2, 2), dtype)
    options, method = CALLS[name]
    assert same(getattr(np, name)(a, **options), method(a, options))


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_several_arguments(name, multiple, rng):
    arguments = PAIRS[name](full_width(rng, multiple, (2, 2)))
    assert same(getattr(np, name)(*arguments), getattr(mdqr, name)(*arguments))


@each_case("name", OF_MATRICES)
def test_functions_of_a_matrix_are_ours(name, multiple, rng):
    check(name, (full_width(rng, multiple, (2, 2)), *OF_MATRICES[name]))


@each_case("name", OF_VECTORS)
def test_functions_of_vectors_are_ours(name, multiple, rng):
    check(name, OF_VECTORS[name](full_width(rng, multiple, 3)))


def test_what_numpy_has_alone(multiple, rng):
    a = full_width(rng, multiple, (2, 2))
    a[0, 0] = 0
    assert np.flatnonzero(a).tolist() == [1, 2, 3]
    assert np.argwhere(a).tolist() == [[0, 1], [1, 0], [1, 1]]
    assert (np.iscomplexobj(a), np.isrealobj(a)) == (False, True)
    b = mdqr.zeros((2, 2), precision=multiple)
    np.copyto(b, a, where=[True, False])
    assert same_bits(b, mdqr.where([True, False], a, 0))
    np.copyto(b, a)
    assert same_bits(b, a)


# tests/functions/test_numpy_calls.py
OF_CALLS = {
    *("flipud", "fliplr", "rot90", "dstack", "array_split", "hsplit", "vsplit", "dsplit"),
    *("resize", "pad", "trim_zeros", "put_along_axis", "putmask", "place", "fill_diagonal"),
    *("compress", "extract", "choose", "select", "piecewise", "apply_along_axis", "ediff1d"),
    *("union1d", "intersect1d", "setdiff1d", "setxor1d", "lexsort", "sort_complex", "diagflat"),
    *("digitize", "bincount", "histogram2d", "histogramdd", "histogram_bin_edges", "unwrap"),
    *("array_equiv", "isposinf", "isneginf", "iscomplex", "nanpercentile", "sinc", "i0"),
}
ALONE = {
    *("amax", "amin", "around", "flatnonzero", "argwhere", "iscomplexobj", "isrealobj"),
    *("copyto", "reshape", "roots"),
    *("fix", "tril_indices_from", "triu_indices_from", "diag_indices_from"),
    *OF_CALLS,
    *("isreal", "delete", "insert", "put", "partition", "argpartition"),  # tests/api/signatures
}


def test_every_function_is_tested():
    names = (*CALLS, *PAIRS, *OF_MATRICES, *OF_VECTORS, *ALONE)
    assert set(protocols.FUNCTIONS) == {getattr(np, name) for name in names}


def test_reshape(precision):
    a = mdqr.arange(6, precision=precision)
    assert same_bits(np.reshape(a, (2, 3)), a.reshape(2, 3))
    assert same_bits(np.reshape(a, (2, 3), order="F"), a.reshape(3, 2).T)


def test_functions_of_linalg_are_found(multiple, rng):
    a = full_width(rng, multiple, (3, 2))
    got, wanted = np.linalg.qr(a), mdqr.linalg.qr(a)
    assert same_bits(got.Q, wanted.Q)
    assert same_bits(got.R, wanted.R)


class Stranger:
    """Answers every ufunc and function with its own name."""

    def __array_ufunc__(self, *_, **__):
        return "stranger"

    def __array_function__(self, *_):
        return "stranger"

    __add__ = __radd__ = lambda self, other: "stranger"


def test_other_types_may_answer():
    a, stranger = mdqr.ones(2, precision=mdqr.dd), Stranger()
    assert np.add(a, stranger) == "stranger"
    assert np.dot(a, stranger) == "stranger"
    assert a + stranger == "stranger"
