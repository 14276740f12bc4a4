"""Models that are written as formulas."""

from __future__ import annotations

import random
import re
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from cli_runs import assert_true, estimates, exact_fit, write
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._cli.columns import Values
from mdqr._cli.expressions import FUNCTIONS, evaluate
from mdqr._precision import PRECISIONS


@pytest.fixture
def data(tmp_path):
    rng = random.Random(3)
    rows = [["x", "z", "y", "a b"]]
    for _ in range(14):
        x, z = Fraction(rng.randrange(1, 400), 100), Fraction(rng.randrange(100, 900), 1000)
        y = 2 + 3 * x - x**2 + z + Fraction(rng.randrange(-50, 50), 10**6)
        rows.append([f"{float(v):.7g}" for v in (x, z, y, x * z)])
    return write(tmp_path / "data.csv", rows)


def with_columns(path, **columns):
    """The same file with further columns, exact functions of the others."""
    head, *lines = [line.split(",") for line in path.read_text().splitlines()]
    rows = [[*head, *columns]]
    for line in lines:
        values = dict(zip(head, map(Fraction, line), strict=True))
        rows.append([*line, *(f(values) for f in columns.values())])
    return write(path.with_name("wide.csv"), rows)


def decimal(value):
    """A fraction whose denominator is a power of ten."""
    scaled = value * 10**20
    assert scaled.denominator == 1
    return f"{scaled.numerator}e-20"


@pytest.mark.parametrize("precision", [p.name for p in PRECISIONS[1:]])
@pytest.mark.parametrize(
    ("formula", "wide", "features", "intercept"),
    [
        ("y ~ x + z", {}, ["x", "z"], True),
        ("y ~ x + z - 1", {}, ["x", "z"], False),
        ("y ~ x*z", {"v": lambda r: decimal(r["x"] * r["z"])}, ["x", "z", "v"], True),
        ("y ~ x + I(x**2)", {"v": lambda r: decimal(r["x"] ** 2)}, ["x", "v"], True),
        (
            "y ~ I(2*x - z) + x:z",
            {
                "v": lambda r: decimal(2 * r["x"] - r["z"]),
                "w": lambda r: decimal(r["x"] * r["z"]),
            },
            ["v", "w"],
            True,
        ),
        ("y ~ I(x/0.25) + `a b`", {"v": lambda r: decimal(4 * r["x"])}, ["v", "a b"], True),
        ("y ~ abs(-x) + I(z*0.1)", {"v": lambda r: decimal(r["z"] / 10)}, ["x", "v"], True),
    ],
)
def test_terms_are_exact_to_the_digits_that_are_claimed(
    run, data, precision, formula, wide, features, intercept
):
    path = with_columns(data, **wide)
    exact = exact_fit(path, "y", features, intercept=intercept)
    code, out, _ = run("lstsq", data, "--formula", formula, "--precision", precision)
    assert code == 0
    _, digits, texts = estimates(
        out.replace("a b", "ab")
        .replace(" ** ", "**")
        .replace(" * ", "*")
        .replace(" / ", "/")
        .replace(" - ", "-")
    )
    assert_true(texts, exact)
    assert min(map(int, digits)) > {"dd": 22, "qd": 54, "od": 118, "hd": 246}[precision]


def test_elementary_functions_keep_their_digits(run, data):
    formula = "log(y + 20) ~ exp(z) + sqrt(x) + np.sin(x)"
    found = []
    for precision in ("dd", "qd", "od", "hd"):
        code, out, _ = run("lstsq", data, "--formula", formula, "--precision", precision)
        assert code == 0
        found.append(estimates(re.sub(r"(?<=\S) (?=[-+/*])|(?<=[-+/*]) (?=\S)", "", out)))
    best = [Fraction(text) for text in found[-1][2]]
    for _, _, texts in found[:-1]:
        assert_true(texts, best)
    assert min(map(int, found[0][1])) > 22


def test_the_target_is_an_expression(run, data):
    code, out, _ = run("lstsq", data, "--formula", "log10(z) ~ x")
    assert code == 0
    assert out.startswith("log10(z) = intercept + x")


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y ~ x +", r"--formula 'y ~ x \+': .*misplaced"),
        ("x + z", "wanted one target, as in 'y ~ x'"),
        ("y + x ~ z", "wanted one target"),
        ("y ~ 0", "the model has no coefficient"),
        ("y ~ u", r"line 1: no column is called 'u'; there are x, z, y, a b"),
        ("y ~ C(x)", r"'C' is no function of formulas; there are I, exp"),
        ("y ~ log(x - 4)", r"line \d+: 'log\(x - 4\)' is not a finite number there"),
        ("log(x - 4) ~ x", r"line \d+: 'log\(x - 4\)' is not a finite number there"),
        ("y ~ I(x**z)", "the exponent 'z' must be a number, not a column"),
        ("y ~ I(x if z else 1)", "'x if z else 1' has no meaning in a formula; there are columns"),
        ("y ~ exp(x, z)", r"'exp\(x, z\)' has no meaning"),
        ("y ~ I(x == z)", "'x == z' has no meaning"),
        ("y ~ os.system(x)", r"'os\.system' is no function of formulas"),
        ("y ~ f('x').g(x)", r"--formula .*: (invalid|unterminated)"),
        ("y ~ I(1.5.2)", r"--formula 'y ~ I\(1\.5\.2\)': invalid syntax"),
        ("y ~ I(9**9**9**9)", r"line 2: 'I\(9 \*\* 9 \*\* 9 \*\* 9\)' is not a finite number"),
        ("y ~ I(1e400*x)", r"line 2: 'I\(1e400 \* x\)' is not a finite number"),
    ],
)
def test_formulas_that_are_none(run, data, formula, message):
    code, out, err = run("lstsq", data, "--formula", formula)
    assert code == 2
    assert out == ""
    assert re.search(message, err), err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "option", [["--target", "y"], ["--features", "x"], ["--poly", "2"], ["--no-intercept"]]
)
def test_a_formula_is_the_whole_model(run, data, option):
    code, _, err = run("lstsq", data, "--formula", "y ~ x", *option)
    assert code == 2
    assert re.search(rf"--formula says what the model is; leave out .*{option[0]}", err)


def test_without_formulaic(run, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    code, _, err = run("lstsq", data, "--formula", "y ~ x")
    assert code == 1
    assert 'formulas need formulaic: pip install "mdqr[formula]"' in err


# -- bounds of errors ------------------------------------------------------------------------

EXPRESSIONS = st.recursive(
    st.sampled_from(["x", "z", "3", "0.1", "2.5"]),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/"]), inner)
        | st.builds("{}({})".format, st.sampled_from([*FUNCTIONS, "-", "I"]), inner)
        | st.builds("({})**{}".format, inner, st.sampled_from([2, 3, "0.5", -1]))
    ),
    max_leaves=6,
)


@given(
    expression=EXPRESSIONS,
    x=st.floats(0.1, 4),
    z=st.floats(0.1, 4),
    errors=st.tuples(*[st.sampled_from([0.0, 1e-28, -1e-26])] * 2),
)
def test_errors_are_bounded(expression, x, z, errors):
    """By evaluation with 80 digits, at operands that are off by the errors."""
    columns = {
        name: Values(mdqr.array([value], precision=mdqr.dd), np.array([abs(error)]))
        for name, value, error in (("x", x, errors[0]), ("z", z, errors[1]))
    }
    found = evaluate(expression, columns, mdqr.dd)
    with mpmath.workdps(80):
        numbers = re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)", r"mpf('\1')", expression)
        named = {
            "mpf": mpmath.mpf,
            "I": lambda v: v,
            "abs": abs,
            "log2": lambda v: mpmath.log(v, 2),
            "arctan": mpmath.atan,
            **{n: getattr(mpmath, n) for n in FUNCTIONS if hasattr(mpmath, n)},
            "x": mpmath.mpf(x) + mpmath.mpf(errors[0]),
            "z": mpmath.mpf(z) + mpmath.mpf(errors[1]),
        }
        try:
            true = eval(numbers, named)
        except (ZeroDivisionError, OverflowError):
            return
        if not mpmath.isfinite(true) or mpmath.im(true) or not np.isfinite(found.error[0]):
            return
        off = abs(true - found.value.to_mpmath()[0])
        # to first order: where errors are not small, the second one counts
        if found.error[0] < 1e-18 * abs(true):
            assert off <= 1.01 * found.error[0] + 1e-40 * abs(true)


@pytest.mark.parametrize(
    ("factor", "shown"),
    [
        ("I({}*x)", "I({} * x)"),
        ("I(x*{})", "I(x * {})"),
        ("{{{}*x}}", "{} * x"),
        ("{}:x", "{}:x"),
    ],
)
def test_decimals_of_formulas_do_not_pass_through_float64(run, data, factor, shown):
    """formulaic rounds the numbers of an expression, when it writes it in its own way."""
    number = "0.1000000000000000000000000000000000000000001"
    code, out, err = run("lstsq", data, "--formula", f"y ~ {factor.format(number)} - 1")
    assert (code, err) == (0, "")
    *name, digits, estimate = out.split("\n\n")[1].splitlines()[1].split()
    assert " ".join(name) == shown.format(number)
    assert int(digits) > 50
    wide = with_columns(data, v=lambda r: f"{r['x'] * Fraction(number) * 10**60}e-60")
    assert_true([estimate], exact_fit(wide, "y", ["v"], intercept=False))
