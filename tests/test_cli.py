"""``mdqr lstsq``: what it prints and writes is true of the file."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
from fractions import Fraction

import numpy as np
import pytest
from cli_runs import CERTIFIED, LONGLEY, assert_true, estimates, exact_fit, last_place, write

import mdqr
from mdqr import _cli
from mdqr._precision import PRECISIONS

HIGH = [precision for precision in PRECISIONS if precision.limbs > 1]


@pytest.fixture
def run(capsys):
    def runner(*arguments):
        code = _cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return runner


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
    assert re.search(rf"method +householder in {precision} \({precision.digits} digits\)", out)
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


@pytest.mark.parametrize("degree", [8, 10, 12])
def test_missing_digits_are_not_printed(run, steep, degree):
    _, out, err = run("lstsq", steep, "--poly", degree, "--precision", "dd")
    _, digits, texts = estimates(out)
    exact = exact_fit(steep, "y", ["x"], degree=degree)
    pairs = [(t, e) for t, e in zip(texts, exact, strict=True) if t != "?"]
    assert_true(*zip(*pairs, strict=True))
    assert all((t == "?") == (d == "0") for t, d in zip(texts, digits, strict=True))
    if degree == 12:
        assert "mdqr: warning: lstsq: about" in err
        assert max(map(int, digits)) < 10


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


# -- output files ----------------------------------------------------------------------------


def test_output_csv(run, tmp_path):
    path = tmp_path / "out.csv"
    code, out, _ = run("lstsq", LONGLEY, "--output", path)
    assert code == 0
    assert f"written to {path}" in out
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert [row["coefficient"] for row in rows] == list(CERTIFIED)
    names, digits, texts = estimates(out)
    assert [row["estimate"] for row in rows] == list(texts)
    assert [row["digits"] for row in rows] == list(digits)
    assert {row["coefficient"]: row["standard_error"][:-1] for row in rows} == {
        name: error[:-1] for name, (_, error) in CERTIFIED.items()
    }
    assert all(math.isfinite(float(row["float64"])) for row in rows)
    assert len(names) == 7


def test_output_json(run, tmp_path):
    path = tmp_path / "out.json"
    assert run("lstsq", LONGLEY, "--output", path)[0] == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["precision"] == "qd"
    assert content["rows"] == 16
    assert content["degrees_of_freedom"] == 9
    assert content["weighted"] is False
    assert content["residual_std"] == "304.854073561965"
    assert content["r_squared"] == "0.995479004577296"
    assert content["warnings"] == []
    assert 1e4 < content["condition"] < 1e10
    exact = exact_fit(LONGLEY, "employed", list(CERTIFIED)[1:])
    assert_true([row["estimate"] for row in content["coefficients"]], exact)
    assert [row["name"] for row in content["coefficients"]] == list(CERTIFIED)


def test_output_json_without_degrees_of_freedom(run, tmp_path):
    data = write(tmp_path / "two.csv", [("x", "y"), (1, 3), (2, 5)])
    path = tmp_path / "OUT.JSON"
    assert run("lstsq", data, "--output", path)[0] == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["residual_std"] is None
    assert content["coefficients"][0]["standard_error"] is None


def test_output_npz(run, tmp_path):
    path = tmp_path / "out.npz"
    assert run("lstsq", LONGLEY, "--output", path, "--precision", "od")[0] == 0
    with np.load(path, allow_pickle=False) as content:
        x = mdqr.from_limbs(content["limbs"])
        assert content["names"].tolist() == list(CERTIFIED)
        assert content["precision"] == "od"
        digits = content["digits"]
        assert content["standard_error_limbs"].shape == (8, 7)
    exact = exact_fit(LONGLEY, "employed", list(CERTIFIED)[1:])
    for value, wanted, count in zip(x.to_fractions(), exact, digits, strict=True):
        assert abs(value / wanted - 1) <= Fraction(10) ** (1 - int(count))
