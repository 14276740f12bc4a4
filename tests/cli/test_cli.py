"""``mdqr lstsq``: what it prints and writes is true of the file."""

from __future__ import annotations

import json
import math
import random
import re
from fractions import Fraction

import numpy as np
import pytest
from cli_runs import CERTIFIED, LONGLEY, assert_true, estimates, exact_fit, last_place, write

import mdqr
from mdqr._precision import PRECISIONS

HIGH = [precision for precision in PRECISIONS if precision.limbs > 1]


@pytest.fixture
def noisy(tmp_path):
    """Decimals that no float64 holds, weights among them."""
    rng = random.Random(20)
    rows = [
        (f"{-8.7 + i * 0.1673:.5f}", f"{rng.random():.6f}", f"{rng.random() + 0.01:.3f}")
        for i in range(30)
    ]
    return write(tmp_path / "noisy.csv", [("x", "y", "w"), *rows])


# -- the fit ---------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", HIGH, ids=str)
def test_longley(run, precision):
    code, out, err = run("lstsq", LONGLEY, "--target", "employed", "--precision", precision)
    assert (code, err) == (0, "")
    names, digits, texts = estimates(out)
    assert list(names) == list(CERTIFIED)
    assert_true(texts, exact_fit(LONGLEY, "employed", names[1:]))
    # rounding of the deflator, not representable in binary, costs at most five digits
    assert all(precision.digits - 5 <= int(d) <= precision.digits for d in digits)
    for text, count in zip(texts, digits, strict=True):
        assert len(text.lstrip("-0.").replace(".", "")) == int(count)
    for name, (_, error) in CERTIFIED.items():
        assert re.search(rf"^{name} +{re.escape(error[:-1])}\d* ", out, re.MULTILINE)
    assert "employed = intercept + deflator + gnp" in out
    assert "longley.csv: 16 rows, 7 coefficients, 9 degrees of freedom" in out
    assert re.search(r"residual standard deviation +304\.854073561965\n", out)
    assert re.search(r"R\^2 +0\.995479004577296\n", out)
    assert re.search(rf"method +refine in {precision} \({precision.digits} digits\)", out)
    assert re.search(r"seconds +[0-9.e-]+ \(float64: ", out)


def test_double_precision_beside(run):
    code, out, _ = run("lstsq", LONGLEY)
    assert code == 0
    lines = out.split("\n\n")[2].splitlines()
    assert re.split(" {2,}", lines[0]) == [
        "coefficient",
        "standard error",
        "float64 estimate",
        "true digits",
    ]
    for line, (estimate, _) in zip(lines[1:], CERTIFIED.values(), strict=True):
        _, _, plain, digits = line.split()
        relative = abs(float(plain) / float(estimate) - 1)
        assert relative < 1e-6
        # the certified values end after 15 digits
        assert relative < 10.0 ** -int(digits) + 1e-14
        assert 5 < int(digits) < 16


@pytest.mark.parametrize("precision", HIGH, ids=str)
@pytest.mark.parametrize(
    ("degree", "weights", "intercept"), [(7, None, True), (4, "w", True), (3, None, False)]
)
def test_polynomial_of_decimals(run, noisy, precision, degree, weights, intercept):
    arguments = ["--target", "y", "--features", "x", "--poly", degree, "--precision", precision]
    if weights:
        arguments += ["--weights", weights]
    if not intercept:
        arguments += ["--no-intercept"]
    code, out, _ = run("lstsq", noisy, *arguments)
    assert code == 0
    names, digits, texts = estimates(out)
    powers = ["x", *(f"x^{k}" for k in range(2, degree + 1))]
    assert list(names) == ["intercept"] * intercept + powers
    exact = exact_fit(noisy, "y", ["x"], degree=degree, intercept=intercept, weights=weights)
    assert_true(texts, exact)
    assert min(map(int, digits)) >= precision.digits - 13
    assert (", weighted" in out) == bool(weights)


@pytest.mark.parametrize("precision", HIGH, ids=str)
def test_exact_fit_of_integers(run, tmp_path, precision):
    rows = [(x, sum(x**k for k in range(6))) for x in range(21)]
    path = write(tmp_path / "wampler1.csv", [("x", "y"), *rows])
    code, out, _ = run("lstsq", path, "--poly", 5, "--precision", precision)
    assert code == 0
    _, digits, texts = estimates(out)
    assert_true(texts, [Fraction(1)] * 6)
    assert set(map(int, digits)) <= {precision.digits - 1, precision.digits}
    assert re.search(r"R\^2 +1\.00000000000000\n", out)
    below = re.findall(r" below (\S+e-\d+)", out)
    assert len(below) == 7
    assert max(map(float, below)) < 1e10 * precision.eps


def test_exact_fit_of_decimals(run, tmp_path):
    # the residual vanishes, so the covariance says nothing about the rounding of the data
    rows = [(x, f"{sum(Fraction(x, 10) ** k for k in range(3)) * 100}e-2") for x in range(9)]
    path = write(tmp_path / "exact.csv", [("x", "y"), *rows])
    code, out, _ = run("lstsq", path, "--poly", 2)
    assert code == 0
    assert_true(estimates(out)[2], [Fraction(1), Fraction(1, 10), Fraction(1, 100)])


def test_saturated_model(run, tmp_path):
    path = write(tmp_path / "two.csv", [("x", "y"), ("0.1", "0.3"), ("0.2", "0.7")])
    code, out, _ = run("lstsq", path)
    assert code == 0
    assert_true(estimates(out)[2], [Fraction(-1, 10), Fraction(4)])
    assert "0 degrees of freedom" in out
    assert re.search(r"residual standard deviation +\?\n", out)


def test_rows_without_weight_are_no_degrees_of_freedom(run, tmp_path):
    rows = [("x", "y", "w"), (1, 2, 1), (2, 3, 4), (3, 5, 0), (4, 4, 1)]
    path, output = write(tmp_path / "w.csv", rows), tmp_path / "o.json"
    code, out, _ = run("lstsq", path, "--target", "y", "--weights", "w", "--output", output)
    assert code == 0
    assert "w.csv: 4 rows (3 of positive weight), 2 coefficients, 1 degree of freedom, weig" in out
    content = json.loads(output.read_text())
    assert content["rows"] == 4
    assert content["rows_of_positive_weight"] == 3
    assert content["degrees_of_freedom"] == 1
    # the same fit without the row
    short = write(tmp_path / "s.csv", [row for row in rows if row[2] != 0])
    again = run("lstsq", short, "--target", "y", "--weights", "w")[1]
    assert out.split("\n\n")[1:3] == again.split("\n\n")[1:3]
    assert "s.csv: 3 rows, 2 coefficients, 1 degree of freedom" in again


def test_exact_fit_with_rows_without_weight(run, tmp_path):
    rows = [(x, x * x + 1 + (x == 3), x != 3) for x in range(4)]
    path = write(tmp_path / "w.csv", [("x", "y", "w"), *((x, y, int(w)) for x, y, w in rows)])
    options = ("--target", "y", "--features", "x", "--weights", "w")
    code, out, _ = run("lstsq", path, *options, "--poly", 2)
    assert code == 0
    # as many rows as coefficients: nothing is left to bound a residual
    assert "0 degrees of freedom" in out
    assert "below" not in out
    code, _, err = run("lstsq", path, *options, "--poly", 3)
    assert code == 2
    assert "w.csv: 3 rows of positive weight do not determine 4 coefficients" in err


@pytest.mark.parametrize("names", [["intercept"], ["intercept", "(intercept)"]])
def test_a_column_called_intercept(run, tmp_path, names):
    rows = [(*(i, i * i)[: len(names)], i**3 % 7) for i in range(8)]
    path, output = write(tmp_path / "i.csv", [(*names, "y"), *rows]), tmp_path / "o.json"
    code, out, _ = run("lstsq", path, "--output", output)
    assert code == 0
    constant = f"({names[-1]})"
    assert list(estimates(out)[0]) == [constant, *names]
    written = [row["name"] for row in json.loads(output.read_text())["coefficients"]]
    assert written == [constant, *names]
    assert_true(estimates(out)[2], exact_fit(path, "y", names))
    assert list(estimates(run("lstsq", path, "--no-intercept")[1])[0]) == names


@pytest.mark.parametrize("shift", [0, 1000])
def test_r_squared_of_a_column_of_ones(run, tmp_path, shift):
    """Its digits count from the total about the mean, whatever the constant column is called."""
    rng = random.Random(3)
    rows = [(1, f"{rng.random():.6f}", f"{rng.random() + shift:.30f}") for _ in range(20)]
    path = write(tmp_path / "ones.csv", [("one", "x", "y"), *rows])

    def r_squared(*arguments):
        return re.search(r"R\^2 +(\S+)", run("lstsq", path, *arguments)[1])[1]

    assert r_squared("--no-intercept", "--precision", "d") == r_squared(
        "--features", "x", "--precision", "d"
    )


def test_r_squared_of_a_column_that_is_constant_where_rows_count(run, tmp_path):
    """A row of weight zero hid the constant, and the total about the mean, from the digits."""
    rows = [(1, 1, "100000001", 1), (1, 2, "100000002.1", 1), (1, 3, "100000002.9", 1)]
    rows = [("c", "x", "y", "w"), *rows, (1, 4, "100000004", 1)]
    options = ("--no-intercept", "--weights", "w", "--target", "y", "--precision", "d")

    def r_squared(rows):
        path = write(tmp_path / "c.csv", rows)
        return re.search(r"R\^2 +(\S+)", run("lstsq", path, *options)[1])[1]

    text = r_squared([*rows, (5, 5, 7, 0)])
    assert text == r_squared(rows)
    # the sums of squares about the line and about the mean, both exact
    exact = 1 - Fraction("0.018") / Fraction("4.82")
    assert len(text) >= 6
    assert_true([text], [exact])


def test_float64_column_is_what_a_careful_user_gets(run, tmp_path):
    """The plain numpy.linalg.lstsq took the powers for dependent and had no digit right."""
    rng = random.Random(1)
    points = [round(-8.8 + 5.7 * rng.random(), 9) for _ in range(82)]
    rows = [(x, f"{0.8 + 0.1 * math.sin(x) + rng.gauss(0, 0.003):.4f}") for x in points]
    path = write(tmp_path / "filip.csv", [("x", "y"), *rows])
    code, out, _ = run("lstsq", path, "--poly", 10)
    assert code == 0
    assert re.search(r"^float64 +numpy\.linalg\.lstsq, columns of norm 1, rcond=0$", out, re.M)
    plain = [line.split()[2:] for line in out.split("\n\n")[2].splitlines()[1:]]
    for (text, digits), exact in zip(plain, exact_fit(path, "y", ["x"], degree=10), strict=True):
        error = abs(Fraction(float(text)) / exact - 1)
        assert int(digits) >= 5
        assert Fraction(1, 10 ** (int(digits) + 1)) <= error <= Fraction(1, 10 ** int(digits))


def test_float64_digits_are_no_more_than_is_known(run, tmp_path, steep):
    """In precision d both solutions may be wrong alike."""
    exact = exact_fit(steep, "y", ["x"], degree=4)
    _, out, _ = run("lstsq", steep, "--poly", 4, "--precision", "d")
    plain = [line.split()[-2:] for line in out.split("\n\n")[2].splitlines()[1:]]
    for (text, digits), value in zip(plain, exact, strict=True):
        assert abs(Fraction(float(text)) / value - 1) <= Fraction(1, 10 ** int(digits))


def test_choice_of_columns(run, tmp_path):
    path = write(
        tmp_path / "t.csv",
        [('"a,b"', "note", "c", "y"), (1, "one", 2, 3), (2, "two", 1, 3), (3, "", 3, 6)],
    )
    code, out, _ = run("lstsq", path, "--features", '"a,b",c', "--no-intercept")
    assert code == 0
    assert "y = a,b + c" in out
    code, out, _ = run("lstsq", path, "--target", "c", "--features", "y", "--features", '"a,b"')
    assert code == 0
    assert "c = intercept + y + a,b" in out


@pytest.fixture
def steep(tmp_path):
    """Powers of x near 1000: the condition of degree 12 is about 1e28."""
    rows = [(x, f"0.{x * x * 37 % 101}") for x in range(1000, 1040)]
    return write(tmp_path / "steep.csv", [("x", "y"), *rows])


@pytest.mark.parametrize("precision", HIGH)
def test_digits_are_those_of_the_library(run, precision):
    """Tenths are rounded; wholes and halves are exact."""
    _, out, _ = run("lstsq", LONGLEY, "--precision", precision)
    data = mdqr.loadtxt(LONGLEY, precision=precision, header=True)
    a = mdqr.concatenate([mdqr.ones((16, 1), precision=precision), data[:, :6]], axis=1)
    rounded = 2.0**-precision.bits * (a.to_numpy() % 0.5 != 0)
    info = mdqr.linalg.lstsq(a, data[:, 6], data_error={"a_rtol": rounded, "b_rtol": 0}).info
    digits = np.array(estimates(out)[1], dtype=float)
    assert (abs(digits - info.data_digits) <= 1).all()


@pytest.mark.parametrize("degree", [8, 10, 12])
def test_missing_digits_are_not_printed(run, steep, degree):
    _, out, err = run("lstsq", steep, "--poly", degree, "--precision", "dd")
    _, digits, texts = estimates(out)
    exact = exact_fit(steep, "y", ["x"], degree=degree)
    pairs = [(t, e) for t, e in zip(texts, exact, strict=True) if t != "?"]
    assert_true(*zip(*pairs, strict=True))
    assert all((t == "?") == (d == "0") for t, d in zip(texts, digits, strict=True))
    # All are right for the entries as stored, whose rounding leaves few of them.
    assert "digits are correct" not in err
    assert degree < 12 or max(map(int, digits)) < 10


@pytest.mark.parametrize("degree", [4, 8, 10, 11, 12])
def test_statistics_have_true_digits(run, steep, degree):
    def statistics(precision):
        _, out, _ = run("lstsq", steep, "--poly", degree, "--precision", precision)
        beside = [line.split()[1] for line in out.split("\n\n")[2].splitlines()[1:]]
        return [*beside, *re.findall(r"^(?:residual.*|R.2) +(\S+)$", out, re.MULTILINE)]

    rough, fine = statistics("dd"), statistics("od")
    assert len(rough) == len(fine) == degree + 3
    assert "?" not in fine
    for text, reference in zip(rough, fine, strict=True):
        if text != "?":
            # the reference is itself rounded, to 15 digits
            assert abs(Fraction(text) - Fraction(reference)) <= last_place(text) * Fraction(3, 2)
    assert (rough[0] == "?") == (degree == 12)
    assert len(rough[-1]) > 4


# -- without a header ------------------------------------------------------------------------


@pytest.fixture
def bare(tmp_path):
    return write(tmp_path / "bare.csv", [(1, 2), (2, 3), (3, 5), (4, 4)])


def test_a_first_line_of_numbers_is_no_header(run, bare):
    code, out, err = run("lstsq", bare)
    assert (code, out) == (2, "")
    assert re.search(r"bare\.csv, line 1: .*are all numbers; give --no-header .* or --header", err)


def test_no_header(run, bare):
    code, out, _ = run("lstsq", bare, "--no-header")
    assert code == 0
    assert "c1 = intercept + c0\n" in out
    assert "bare.csv: 4 rows, 2 coefficients" in out
    assert_true(estimates(out)[2], [Fraction(3, 2), Fraction(4, 5)])
    assert "c0 = intercept + c1\n" in run("lstsq", bare, "--no-header", "--target", "c0")[1]


def test_names_that_are_numbers(run, bare, tmp_path):
    code, out, _ = run("lstsq", bare, "--header")
    assert code == 0
    assert "2 = intercept + 1\n" in out
    assert "bare.csv: 3 rows, 2 coefficients" in out
    for names, code in [
        (("2019", "2020"), 2),
        (("", "1e3"), 2),
        (("2019", "y"), 0),
        (("", "y"), 0),
    ]:
        path = write(tmp_path / "names.csv", [names, (1, 2), (2, 3), (3, 5)])
        assert run("lstsq", path)[0] == code
