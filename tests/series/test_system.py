"""Texts, expressions and arrays of systems, and what is wrong with others."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr.series import System

X, Y, T = sympy.symbols("x y t")


def value(system, x, y, t):
    """The equations at a point, exactly."""
    terms = system._rounded(mdqr.od)
    exponents, _ = system._float64(0.0)
    exact = terms.to_fractions() if not terms.is_complex else terms.real.to_fractions()
    found = [Fraction(0)] * system.equations
    for (i, j), row, place in zip(exponents, exact, system._equation, strict=True):
        found[place] += sum(c * t**k for k, c in enumerate(row)) * x ** int(i) * y ** int(j)
    return found


@st.composite
def expressions(draw, depth=2):
    """Texts of polynomials, and their values at (3, -2, 1/5)."""
    if depth == 0 or draw(st.booleans()):
        atoms = [("x", 3), ("y", -2), ("t", Fraction(1, 5)), ("7", 7), (".5", Fraction(1, 2))]
        atoms += [("2.50e-1", Fraction(1, 4)), ("3/7", Fraction(3, 7))]
        text, found = draw(st.sampled_from(atoms))
        return text, Fraction(found)
    first, second = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    sign = draw(st.sampled_from("+-*^"))
    if sign == "^":
        exponent = draw(st.integers(0, 2))
        power = draw(st.sampled_from(["^", "**", " ^ "]))
        return f"({first[0]}){power}{exponent}", first[1] ** exponent
    found = {"+": first[1] + second[1], "-": first[1] - second[1], "*": first[1] * second[1]}
    return f"({first[0]}) {sign} ({second[0]})", found[sign]


@given(expressions())
def test_values_of_texts(expression):
    """Coefficients are rounded once: the value is right to od's digits."""
    text, exact = expression
    system = System.from_strings([text, "x"], ["x", "y"])
    found = value(system, 3, -2, Fraction(1, 5))[0]
    assert abs(found - exact) <= Fraction(mdqr.od.eps) * 10**12


@given(expressions())
def test_sympy_reads_the_same(expression):
    text, _ = expression
    rational = re.sub(r"(\d*\.\d+(e-\d)?)", r"Rational('\1')", text).replace("^", "**")
    exact = sympy.sympify(rational, {"x": X, "y": Y, "t": T})
    one = System.from_strings([text, "x"], ["x", "y"])
    other = System.from_sympy([exact, X], [X, Y], T)
    point = 3, -2, Fraction(1, 5)
    assert value(one, *point) == pytest.approx(value(other, *point), rel=1e-100, abs=1e-100)


def test_complex_coefficients():
    system = System.from_strings(["i*x + (1-2*I)*(3+j)/2 - t"], ["x"])
    assert system.is_complex
    found = {tuple(row) for row in system._rounded(mdqr.qd).to_numpy()}
    assert found == {(1j, 0), (2.5 - 2.5j, -1)}
    # A variable of that name is one.
    assert not System.from_strings(["i + 1"], ["i"]).is_complex


def test_sympy_expressions():
    found = System.from_sympy(
        [sympy.Eq(X**2, T), Y - sympy.Float("0.1", 40) * X + sympy.I], [X, Y], T
    )
    assert found.variables == ("x", "y")
    assert found.is_complex
    with pytest.raises(ValueError, match="is not polynomial"):
        System.from_sympy([sympy.sin(X)], [X], T)
    with pytest.raises(ValueError, match="not a rational number or a float"):
        System.from_sympy([sympy.sqrt(2) * X], [X], T)


PHCPACK = """2
x^2 + y*t - 1; # the first
x*y
 - 3/2*i;
"""
BERTINI = """CONFIG
TRACKTYPE: 0;
END;
INPUT
variable_group x, y;  % unknowns
pathvariable t;
function f1, f2;
f1 = x^2 + y*t - 1;
f2 = x*y - 3/2*I;
END;
"""


@pytest.mark.parametrize(
    "text", [PHCPACK, BERTINI, "x^2+y*t-1\nx*y - 1.5*j\n", "x^2+y*t-1; x*y-1.5*i;"]
)
def test_texts_of_systems(text):
    found = System.from_text(text)
    wanted = System.from_strings(["x^2 + y*t - 1", "x*y - 3/2*i"], ["x", "y"])
    assert repr(found) == repr(wanted)
    np.testing.assert_array_equal(found._rounded(mdqr.qd).limbs, wanted._rounded(mdqr.qd).limbs)
    assert System.from_text("a*x - s", ["x", "a"], "s").variables == ("x", "a")


# As PHCpack's demonstration files are written: counts, equations of several lines, a tail.
TAILED = """ 2 2
 x1**2 + (1.0E+00 - 2*i)*x_2
 - 1/3;

# a comment
 x_2 - 2.5E-01*x1 + .5*I;

TITLE : function of two unknowns;

THE SOLUTIONS :
1 2
x1 : 1.0E+00  0.0E+00
"""


def test_texts_with_a_tail():
    """Names end in digits; nothing behind the announced equations counts."""
    found = System.from_text(TAILED)
    wanted = System.from_strings(
        ["x1^2 + (1 - 2*i)*x_2 - 1/3", "x_2 - x1/4 + 1/2*i"], ["x1", "x_2"]
    )
    assert repr(found) == repr(wanted)
    assert (found._rounded(mdqr.qd) == wanted._rounded(mdqr.qd)).all()
    assert System.from_text("x1^2 + x2 - 2 - t; x1 - x2;").variables == ("x1", "x2")
    assert System.from_text("1\nx^2 - s", parameter="s").variables == ("x",)


def test_an_unknown_t():
    """In PHCpack t is an unknown as others are, if there are no more names than equations."""
    text = "2\nx*t - 1;\nx + t - 3;"
    with pytest.raises(ValueError, match=r"t looks like an unknown; .* parameter="):
        System.from_text(text)
    assert System.from_text(text, parameter="s").variables == ("x", "t")
    assert System.from_text("2\nx*t - y;\nx + t - 3;").variables == ("x", "y")
    assert System.from_text("1\nx - t;", parameter="t").variables == ("x",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((2^10000)^10000)^100*x", "a coefficient has more than 40000 bits"),
        ("(9e9999)^10000*x", "a coefficient has more than 40000 bits"),
        ("+".join(["(x+y+1)^5"] * 50), "takes more than 1000 products of terms"),
    ],
)
def test_texts_that_would_take_too_long(text, message, monkeypatch):
    monkeypatch.setattr("mdqr.series._systems.polynomial.MOST_WORK", 1000)
    with pytest.raises(ValueError, match=message):
        System.from_strings([text], ["x", "y"])


def test_many_terms_and_unknowns(monkeypatch):
    """Sums were copied for each term, and each term has an exponent for every unknown."""
    many = " + ".join(f"{i}*x^{i}" for i in range(1, 3000)) + " " * 1000
    assert "2999 terms" in repr(System.from_strings([many], ["x"]))
    names = [f"v{i}" for i in range(100)]
    monkeypatch.setattr("mdqr.series._systems.parse.MOST_EXPONENTS", 20_000)
    with pytest.raises(ValueError, match="more than 20000 exponents"):
        System.from_strings(["+".join(names)] * 3, names)
    shown = repr(System.from_strings(["v0 + v1"], names))
    assert shown == (
        "<System of 1 equation in v0, v1, v2, v3, v4, v5, ..., v99 (100 unknowns) and the "
        "parameter t, 2 terms>"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3\nx;\ny;\n", "announces 3 equations and has 2"),
        ("function f, g;\nf = x;\nvariable x;\n", "g is declared, but has no equation"),
        ("", "at least one unknown"),
    ],
)
def test_wrong_texts_of_systems(text, message):
    with pytest.raises(ValueError, match=message):
        System.from_text(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x +", "is missing before the end at position 4"),
        ("x + (1", "a closing parenthesis is missing before the end at position 7"),
        ("x @ 2", "unexpected '@' at position 3"),
        ("2 x", "unexpected 'x' at position 3"),
        ("z + 1", r"unknown variable \(there are x, y, t\): 'z' at position 1"),
        ("x^y", "an exponent must be a natural number, not 'y' at position 3"),
        ("x^-1", "an exponent must be a natural number, not '-' at position 3"),
        ("x^1.5", "an exponent must be a natural number, not '1.5' at position 3"),
        ("1/x", "only numbers that are not zero may divide, not 'x' at position 3"),
        ("x/(1-1)", r"only numbers that are not zero may divide, not '\(' at position 3"),
        ("x^20000", "is above 10000"),
        ("(x+y+1)^9999", "terms has more than|is above"),
        ("1e99999", "is beyond 10000"),
        ("x*(" * 101 + "x" + ")" * 101, "more than 100 open parentheses"),
        ("__import__('os')", 'unexpected "\'"'),
        ("x.real", "unexpected '.'"),
        ("x" * 1_000_001, "at most 1000000 are read"),
    ],
)
def test_wrong_texts(text, message):
    with pytest.raises(ValueError, match=message):
        System.from_strings([text], ["x", "y"])


def test_wrong_input():
    for equations, names, message in (
        ([], ["x"], "at least one equation"),
        (["1"], [], "at least one unknown"),
        (["x"], ["x", "x"], "must differ"),
        (["x"], ["x y"], "a variable must be a name; got 'x y'"),
    ):
        with pytest.raises(ValueError, match=message):
            System.from_strings(equations, names)
    with pytest.raises(TypeError, match="from_text takes one text"):
        System.from_strings("x", ["x"])
    with pytest.raises(TypeError, match="text must be a string; got NoneType"):
        System.from_text(None)
    with pytest.raises(TypeError, match="equations must be strings; got int"):
        System.from_strings([1], ["x"])


@pytest.mark.parametrize(
    ("exponents", "coefficients", "equation", "message"),
    [
        ([1, 2], [1, 2], [0, 0], r"of shape \(terms, n\)"),
        ([[-1]], [1], [0], "none negative"),
        ([[1.5]], [1], [0], "must be integers"),
        ([[1]], [1, 2], [0], r"coefficients must have shape \(1,\)"),
        ([[1]], [1], [0, 1], r"equation must be integers of shape \(1,\)"),
        ([[20000]], [1], [0], "a degree is above 10000"),
    ],
)
def test_wrong_arrays(exponents, coefficients, equation, message):
    with pytest.raises(ValueError, match=message):
        System.from_arrays(exponents, coefficients, equation)
    with pytest.raises(ValueError, match="1 exponents a term, but 2 variables"):
        System.from_arrays([[1]], [1], [0], variables=["x", "y"])


def test_mutated_texts():
    """None hangs, crashes or is evaluated: a system, or an error that says what is wrong."""
    rng = random.Random(7)
    texts = [
        "(1-t)*(x^2-1) + t*(3*x^2-3/2)",
        "x*y**3 - 0.125e-2*i*(y+t)^7;",
        "((x))*((y+1)*(t-2))^2 - 1/3",
        "__import__('os').abort() + x",
    ]
    signs = "xyti0129.^*()+-/;e_ '\"\\\n\0[]{}=<>@é²"
    messages = []
    for _ in range(1000):
        text = list(rng.choice(texts))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text) + 1)
            new = rng.choices(signs, k=rng.choice((0, 1, 1, 2)))
            text[at : at + rng.choice((0, 0, 1, 3))] = new
        try:
            system = System.from_strings(["".join(text)], ["x", "y"])
            assert len(system._rounded(mdqr.dd)) == len(system._equation)
        except ValueError as error:
            messages.append(str(error))
    assert 30 < len(messages) < 970
    wanted = "position|is above|more than|beyond|at least"
    assert [text for text in messages if not re.search(wanted, text)] == []
