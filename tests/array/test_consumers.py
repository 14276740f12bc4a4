"""What Matplotlib, notebooks and Python's own numbers get of arrays."""

import re
from decimal import Decimal
from fractions import Fraction

import flint
import gmpy2
import matplotlib as mpl
import mpmath
import numpy as np
import pytest
import sympy
from array_cases import full_width

import mdqr

mpl.use("Agg")
from matplotlib import pyplot as plt

DRAWINGS = {
    "plot": lambda ax, x, y: ax.plot(x, y),
    "scatter": lambda ax, x, y: ax.scatter(x, y, c=y),
    "errorbar": lambda ax, x, y: ax.errorbar(x, y, yerr=y, xerr=mdqr.stack([x, x])),
    "fill_between": lambda ax, x, y: ax.fill_between(x, y, y + 1),
    "imshow": lambda ax, x, y: ax.imshow(mdqr.outer(x, y)),
    "axhline": lambda ax, x, y: ax.axhline(y[1]),
    "axvspan": lambda ax, x, y: ax.axvspan(x[0], x[1]),
    "bar": lambda ax, x, y: ax.bar(x, y),
    "hist": lambda ax, x, y: ax.hist(y),
    "loglog": lambda ax, x, y: ax.loglog(1 + x, 1 + y),
    "contourf": lambda ax, x, y: ax.contourf(x, x, mdqr.outer(x, y)),
    "pcolormesh": lambda ax, x, y: ax.pcolormesh(x, x, mdqr.outer(x, y)),
    "vlines": lambda ax, x, y: ax.vlines(x, y, y + 1),
    "step": lambda ax, x, y: ax.step(x, y),
    "stem": lambda ax, x, y: ax.stem(x, y),
    "text": lambda ax, x, y: ax.text(x[1], y[1], "here"),
    "limits": lambda ax, x, y: ax.set(xlim=(x[0], x[-1]), ylim=y[[0, -1]]),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_matplotlib_draws_arrays(name):
    x = mdqr.linspace(0, 1, 4, precision=mdqr.qd)
    figure, axes = plt.subplots()
    try:
        DRAWINGS[name](axes, x, x**2)
        figure.canvas.draw()
    finally:
        plt.close(figure)


def test_what_is_drawn_is_the_nearest(multiple):
    x = mdqr.array(["0.1", "0.2"], precision=multiple)
    figure, axes = plt.subplots()
    (line,) = axes.plot(x, x)
    image = axes.imshow(mdqr.outer(x, x))
    plt.close(figure)
    np.testing.assert_array_equal(line.get_xdata(), [0.1, 0.2])
    np.testing.assert_array_equal(image.get_array(), mdqr.outer(x, x).to_numpy())


def test_others_are_still_told(multiple):
    """Also who is called by Matplotlib."""
    a = mdqr.ones(2, precision=multiple)
    for call in (np.asarray, np.ma.asarray):
        with pytest.raises(TypeError, match=r"a\.to_numpy\(\)"):
            call(a)
    figure, axes = plt.subplots()
    axes.callbacks.connect("xlim_changed", lambda _: np.asarray(a))
    with pytest.raises(TypeError, match=r"a\.to_numpy\(\)"):
        axes.set_xlim(0, 2)
    plt.close(figure)


def test_pairs_of_integers(precision):
    x = mdqr.array("0.1", precision=precision)
    assert Fraction(*x.as_integer_ratio()) == x.to_fractions().item()
    for wrong, error in (("inf", OverflowError), ("nan", ValueError)):
        with pytest.raises(error):
            mdqr.array(wrong, precision=precision).as_integer_ratio()
    with pytest.raises(TypeError, match="one value"):
        mdqr.ones(2, precision=precision).as_integer_ratio()


def cells(text):
    return re.findall(r"<td[^>]*>([^<]*)</td>", text)


def test_notebooks_show_tables(multiple, dtype, rng):
    a = full_width(rng, multiple, (2, 3), dtype)
    text = a._repr_html_()
    assert f"shape (2, 3), precision {multiple}" in text
    assert cells(text) == a.to_strings(10).reshape(-1).tolist()
    titles = re.findall(r'title="([^"]*)"', text)
    assert titles == a.to_strings(multiple.digits).reshape(-1).tolist()
    assert cells(a[0]._repr_html_()) == a[0].to_strings(10).tolist()
    assert cells(a[0, 0]._repr_html_()) == [a[0, 0].to_strings(10).item()]


def test_large_tables_show_their_edges(multiple):
    a = mdqr.ones((100, 40), precision=multiple)
    text = a._repr_html_()
    assert text.count("<tr>") == 1 + 21
    assert len(cells(text)) == 21 * 11
    assert "<th>99</th>" in text
    assert "<th>39</th>" in text
    assert "<pre>" in mdqr.ones((2, 2, 2), precision=multiple)._repr_html_()
    assert "<pre>[]</pre>" in a[:0]._repr_html_()


def test_numbers_of_other_packages(precision):
    """What docs/howto/exact-input-and-output.md says of a single value."""
    x = full_width(1, precision, ())
    exact = x.to_fractions().item()
    assert Fraction(*x.as_integer_ratio()) == exact
    near = Decimal(x.to_strings(200).item())
    assert abs(Fraction(near) - exact) < abs(exact) / 10**199
    with mpmath.workprec(1200):
        assert mpmath.mpf(x.to_mpmath().item()) == mpmath.mpf(exact.numerator) / exact.denominator
    assert flint.fmpq(*x.as_integer_ratio()) == flint.fmpq(exact.numerator, exact.denominator)
    assert flint.arb(flint.fmpq(*x.as_integer_ratio())).contains(
        flint.fmpq(exact.numerator, exact.denominator)
    )
    assert gmpy2.mpq(*x.as_integer_ratio()) == gmpy2.mpq(exact)
    assert sympy.sympify(x) == sympy.Rational(exact.numerator, exact.denominator)
    assert (int(x), float(x), complex(x)) == (int(exact), float(exact), complex(float(exact)))


@pytest.mark.parametrize(
    "kind", [mpmath.mpf, mpmath.mpmathify, Decimal, flint.arb, flint.fmpq, gmpy2.mpfr, gmpy2.mpq]
)
def test_who_does_not_ask_raises(kind):
    """They would ask in ``number + x``, too, or ask for nothing that an array has."""
    with pytest.raises(TypeError):
        kind(mdqr.qd("0.1"))


def test_sums_with_numbers_of_other_packages_are_arrays():
    x = mdqr.qd("0.1")
    numbers = (mpmath.mpf(1), flint.arb(1), gmpy2.mpq(1), sympy.Integer(1), Fraction(1), Decimal(1))
    for number in numbers:
        for total in (number + x, x + number):
            assert isinstance(total, mdqr.MDArray)
            assert total.to_strings().item() == "1.1"


def test_sympy_asks_for_the_exact_value():
    assert sympy.sympify(mdqr.qd(1 + 2j)) == 1 + 2 * sympy.I
    texts = {"inf": sympy.oo, "-inf": -sympy.oo, "nan": sympy.nan, "-0.0": sympy.Integer(0)}
    for text, wanted in texts.items():
        assert sympy.sympify(mdqr.dd(text)) is wanted
    with pytest.raises(TypeError, match="only one value becomes a number of SymPy"):
        sympy.sympify(mdqr.ones(2, precision=mdqr.dd))
