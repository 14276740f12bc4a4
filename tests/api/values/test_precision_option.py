"""``precision=`` of functions of arrays: without an MDArray, and beside one."""

from __future__ import annotations

import inspect
from decimal import Decimal
from fractions import Fraction

import fake_device
import numpy as np
import pytest
from each_case import each_case
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr.testing import arrays, assert_same_bits

OF_ONE = {
    *("abs", "arccosh", "arcsinh", "arctan", "cbrt", "ceil", "conj", "cos", "cosh", "cospi"),
    *("erf", "erfc", "exp", "exp2", "expm1", "floor", "gamma", "lgamma", "log", "log10", "log1p"),
    *("log2", "negative", "reciprocal", "rint", "sign", "sin", "sinh", "sinpi", "sqrt", "square"),
    *("tan", "tanh", "trunc", "isfinite", "isinf", "isnan", "signbit", "logical_not", "round"),
    *("clip", "nan_to_num", "sum", "prod", "max", "min", "argmax", "argmin", "mean", "any", "all"),
    *("var", "std", "average", "cov", "ptp", "median", "cumsum", "cumprod", "cumulative_sum"),
    *("cumulative_prod", "sort", "argsort", "unique", "unique_all", "unique_counts"),
    *("unique_inverse", "unique_values", "diff", "trapezoid", "gradient", "polyder"),
    *("deg2rad", "rad2deg", "angle", "poly", "polyint", "corrcoef", "histogram", "nansum"),
    *("nanprod", "nancumsum", "nancumprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"),
    *("nanmedian", "nanargmax", "nanargmin", "frexp", "modf", "spacing", "sinc", "i0", "isposinf"),
    *("isneginf", "unwrap", "histogram_bin_edges"),
}
INSIDE = {"arccos", "arcsin", "arctanh"}  # of values of at most 1
OF_TWO = {
    *("add", "subtract", "multiply", "divide", "hypot", "arctan2", "logaddexp", "power", "equal"),
    *("not_equal", "less", "less_equal", "greater", "greater_equal", "maximum", "minimum"),
    *("array_equal", "logical_and", "logical_or", "logical_xor", "isclose", "allclose"),
    *("copysign", "remainder", "floor_divide", "nextafter", "dot", "vdot", "outer", "inner"),
    *(
        "kron",
        "vecdot",
        "searchsorted",
        "isin",
        "convolve",
        "polyval",
        "correlate",
        "polyadd",
        "polysub",
    ),
    *("polymul", "polydiv", "fmax", "fmin", "fmod", "divmod", "heaviside", "logaddexp2"),
    *("union1d", "intersect1d", "setdiff1d", "setxor1d"),
}
OTHERS = {
    "where": ([True, False, True], ["0.1", 2, 3], [4, "0.5", 6]),
    "interp": (["0.1", "1.5"], [0, 1, 2], ["0.1", 3, 4]),
    "tensordot": ([["0.1", 2]], [[3], [4]], 1),
    "cross": (["0.1", 2, 3], [4, 5, "0.6"]),
    "trace": ([["0.1", 2], [3, 4]],),
    "quantile": (["0.1", 2, 3], "0.3"),
    "percentile": (["0.1", 2, 3], "30"),
    "nanquantile": (["0.1", 2, 3], "0.3"),
    "nanpercentile": (["0.1", 2, 3], "30"),
    "digitize": (["0.1", 2, 3], ["0.1", 2]),
    "partition": (["0.1", 3, 2], 1),
    "argpartition": (["0.1", 3, 2], 1),
}
VALUES = ["1.1", 2.5, 3, Fraction(10, 3), Decimal("4.2")]
CALLS = {
    **dict.fromkeys(sorted(OF_ONE), (VALUES,)),
    **{name: (["0.1", "0.2", Fraction(1, 3)],) for name in sorted(INSIDE)},
    **{name: (VALUES, ["0.1", 1, "2.5", 3, Fraction(10, 3)]) for name in sorted(OF_TWO)},
    **OTHERS,
}


def option(function):
    return inspect.signature(function).parameters.get("precision")


def test_all_functions_with_the_option_are_here():
    makers = {
        *("arange", "array", "asarray", "empty", "empty_like", "eye", "full", "full_like"),
        *("linspace", "loadtxt", "matmul", "ones", "ones_like", "polyfit", "vander", "zeros"),
        *("zeros_like", "logspace", "geomspace", "mmread", "read_touchstone", "identity", "tri"),
        *("bartlett", "blackman", "hamming", "hanning", "kaiser"),
    }
    names = {n for n in mdqr.__all__ if callable(f := getattr(mdqr, n)) and not isinstance(f, type)}
    found = {n for n in names if not isinstance(getattr(mdqr, n), mdqr.Precision)}
    found = {
        getattr(mdqr, n).__name__
        for n in found
        if n not in ("array_api", "finfo") and option(getattr(mdqr, n))
    }
    assert found - makers == {*CALLS}


def same(found, wanted):
    if isinstance(wanted, mdqr.MDArray):
        assert found.precision is wanted.precision
        assert_same_bits(found, wanted)
    elif isinstance(wanted, tuple):
        assert type(found) is type(wanted)
        for pair in zip(found, wanted, strict=True):
            same(*pair)
    else:
        assert type(found) is type(wanted)
        assert np.array_equal(found, wanted)


def converted(name, precision):
    """Return the arguments with the data as arrays."""
    function, arguments = getattr(mdqr, name), CALLS[name]
    data = [p for p in inspect.signature(function).parameters.values() if p.kind == 0]
    return [
        mdqr.array(x, precision=precision) if i < len(data) and data[i].name != "condition" else x
        for i, x in enumerate(arguments)
    ]


@each_case("name", CALLS)
def test_data_are_converted_as_by_array(name, precision):
    """Texts, fractions and decimal numbers, rounded once to the precision."""
    function = getattr(mdqr, name)
    parameter = option(function)
    assert (parameter.kind, parameter.default) == (parameter.KEYWORD_ONLY, None)
    found = function(*CALLS[name], precision=precision.name)
    same(found, function(*converted(name, precision)))
    with pytest.raises(TypeError, match=r"precision=mdqr\.qd|must be|needs"):
        function(*CALLS[name])
    same(function(*converted(name, precision), precision=None), found)


@each_case("name", CALLS)
def test_operands_above_the_answer_are_used_in_full(name):
    function = getattr(mdqr, name)
    full = function(*converted(name, mdqr.od))
    same(function(*converted(name, mdqr.od), precision="dd"), rounded(full, mdqr.dd))
    below = converted(name, mdqr.dd)
    widened = [x.astype("qd") if isinstance(x, mdqr.MDArray) else x for x in below]
    same(function(*below, precision="qd"), function(*widened))


def rounded(x, precision):
    if isinstance(x, tuple):
        parts = [rounded(part, precision) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    return x.astype(precision) if isinstance(x, mdqr.MDArray) else x


def test_reports_of_the_review():
    assert_same_bits(mdqr.exp(1, precision="qd"), mdqr.exp(mdqr.qd(1)))
    assert_same_bits(mdqr.sum([3, 4], precision="qd"), mdqr.qd(7))
    assert_same_bits(mdqr.sort(np.array([2.5, 1]), precision=mdqr.od), mdqr.od([1, 2.5]))
    assert_same_bits(mdqr.exp(mdqr.pi, precision="od"), mdqr.exp(mdqr.od(mdqr.pi)))
    for call in (lambda: mdqr.exp(1), lambda: mdqr.sum([3, 4]), lambda: mdqr.sort(np.ones(2))):
        with pytest.raises(TypeError, match=r"no operand is an MDArray.*precision=mdqr\.qd"):
            call()


def test_cancellation_is_of_the_operands():
    """Operands rounded to the answer would have lost what is left."""
    a = mdqr.od([1, "1e-60", -1])
    assert mdqr.sum(a, precision="dd").to_strings(3).item() == "1.00e-60"
    ones = np.ones(3)
    for module in (mdqr, mdqr.linalg):
        x = mdqr.od([1 + mdqr.od("1e-60"), -1, 0])
        assert module.vecdot(x, ones, precision="dd").to_strings(3).item() == "1.00e-60"
        assert module.tensordot(x, ones, axes=1, precision="dd").to_strings(3).item() == "1.00e-60"
        found = module.trace(mdqr.diag(x), precision="dd")
        assert found.to_strings(3).item() == "1.00e-60"
        found = module.cross(x, mdqr.od([1, 1, 0]), precision="dd")
        assert abs(found[2] - 2 - mdqr.od("1e-60")) < 1e-30


@given(data=st.data())
def test_nothing_is_lost_on_the_way(data, precision):
    """Sorting, choosing and signs change no limb of operands of any precision."""
    a = data.draw(arrays(precision, st.tuples(st.integers(1, 5))))
    assert_same_bits(mdqr.negative(a, precision="od"), -a.astype("od"))
    assert_same_bits(mdqr.sort(a, precision=precision), mdqr.sort(a))
    assert_same_bits(mdqr.maximum(a, a, precision=precision), mdqr.maximum(a, a))
    assert mdqr.argsort(a, precision="d").tolist() == mdqr.argsort(a).tolist()


OPTIONAL = [
    ("average", [1, 2], {"weights": ["0.1", 2]}),
    ("trapezoid", [1, 2], {"x": ["0.1", 2]}),
    ("trapezoid", [1, 2], {"dx": "0.1"}),
    ("diff", [1, 2], {"prepend": "0.1", "append": ["0.2"]}),
    ("clip", [1, 2], {"a_min": "1.1", "a_max": "1.9"}),
    ("sum", [1, 2], {"initial": "0.1", "where": [True, False]}),
    ("prod", [1, 2], {"initial": Fraction(1, 3)}),
    ("cov", [1, 2, 4], {"y": ["0.1", 2, 3]}),
    ("nan_to_num", ["nan", 1], {"nan": "0.1"}),
    ("var", [1, 2], {"mean": ["1.5"]}),
    ("std", [1, 2], {"mean": "1.1"}),
    ("quantile", [1, 2], {"q": "0.1"}),
]


@pytest.mark.parametrize(("name", "x", "options"), OPTIONAL)
def test_optional_data_are_converted_too(name, x, options, precision):
    function = getattr(mdqr, name)
    given = {
        key: value if key == "where" else mdqr.array(value, precision=precision)
        for key, value in options.items()
    }
    found = function(x, **options, precision=precision)
    assert_same_bits(found, function(mdqr.array(x, precision=precision), **given))
    above = {k: v.astype("od") if k != "where" else v for k, v in given.items()}
    assert function(x, **above, precision=precision).precision is precision


def test_text_as_a_tolerance_and_a_period():
    assert mdqr.isclose([1, 2], [1, "2.3"], rtol="0.1", precision="qd").tolist() == [True, False]
    assert mdqr.allclose([1, 2], [1, "2.3"], atol="0.3", precision="qd")
    found = mdqr.interp([-1, 2], [0, 1], [0, 1], period="2.5", precision="qd")
    assert_same_bits(found, mdqr.interp(mdqr.qd([-1, 2]), [0, 1], [0, 1], period=2.5))


def test_a_number_goes_where_the_arrays_are(monkeypatch):
    fake_device.install_cupy(monkeypatch)
    x = mdqr.qd(["0.1", "0.2"])
    found = mdqr.hypot(x.to_device("cuda"), ["0.3", 4], precision="od")
    assert found.device == "cuda:0"
    assert_same_bits(found.to_device("cpu"), mdqr.hypot(x, ["0.3", 4], precision="od"))


def test_complex_data_and_errors():
    assert_same_bits(mdqr.exp(1j, precision="dd"), mdqr.exp(mdqr.dd(1j)))
    # A real operand beside a complex one stays real.
    found = mdqr.interp([0.5], [0, 1], [1j, 2j], precision="qd")
    assert complex(found[0]) == 1.5j
    with pytest.raises(ValueError, match="precision"):
        mdqr.exp(1, precision="quad")
    with pytest.raises(TypeError):
        mdqr.exp("one", precision=3)
    with pytest.raises(TypeError, match="real"):
        mdqr.floor(1j, precision="qd")


def test_help_explains_it():
    for name in CALLS:
        assert "precision : Precision or str, optional\n" in getattr(mdqr, name).__doc__


def test_memory(monkeypatch):
    """Errors of memory of conversions name the remedy, too."""

    def none(*_):
        raise MemoryError("no size")

    monkeypatch.setattr("mdqr._core.with_precision.to_block", none)
    with pytest.raises(MemoryError, match=r"^exp: no memory.*take fewer values"):
        mdqr.exp(1, precision="qd")
