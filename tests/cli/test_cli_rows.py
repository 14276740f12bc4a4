"""Predictions with bands, residuals and plots."""

from __future__ import annotations

import csv
import json
import random
import re
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from cli_runs import exact_fit, last_place, write

import mdqr
from mdqr._functions.statistics.student import t_quantile


@pytest.fixture
def data(tmp_path):
    rng = random.Random(5)
    rows = [["x", "y", "w"]]
    for i in range(20):
        x = Fraction(i, 8)
        y = 1 + x + x**2 / 2 + Fraction(rng.randrange(-999, 999), 5000)
        rows.append([float(x), float(y), rng.choice([1, 2, 4])])
    return write(tmp_path / "data.csv", rows)


@pytest.fixture
def points(tmp_path):
    return write(tmp_path / "points.csv", [["note", "x"], ["a", "0.1"], ["b", "-1"], ["c", "7.5"]])


def columns(path):
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


@pytest.mark.parametrize("precision", ["dd", "od"])
@pytest.mark.parametrize("weights", [None, "w"])
def test_predictions(run, tmp_path, data, points, precision, weights):
    report = tmp_path / "fit.json"
    arguments = ["--features", "x", "--target", "y", "--poly", 2, "--precision", precision]
    arguments += [] if weights is None else ["--weights", weights]
    code, out, _ = run(
        *("lstsq", data, *arguments, "--predict", points, "--level", "0.9", "--output", report)
    )
    assert code == 0
    content = json.loads(report.read_text())
    records = content["predictions"]
    assert content["confidence_level"] == 0.9
    assert [record["line"] for record in records] == [2, 3, 4]

    exact = exact_fit(data, "y", ["x"], degree=2, weights=weights)
    for record, x in zip(records, ("0.1", "-1", "7.5"), strict=True):
        value = sum(c * Fraction(x) ** k for k, c in enumerate(exact))
        assert abs(Fraction(record["value"]) - value) <= last_place(record["value"])
        assert record["digits"] > {"dd": 24, "od": 119}[precision]
        assert record["value"] in out

    # the textbook's formulas in float64
    table = columns(data)
    w = np.ones(20) if weights is None else table["w"]
    a, new = np.vander(table["x"], 3), np.vander([0.1, -1, 7.5], 3)
    inverse = np.linalg.inv(a.T @ (w[:, None] * a))
    rest = table["y"] - a @ (inverse @ (a.T @ (w * table["y"])))
    variance = (w * rest**2).sum() / 17
    mean = np.sqrt(variance * np.einsum("ij,jk,ik->i", new, inverse, new))
    t = scipy.stats.t.ppf(0.95, 17)
    for name, wanted in (
        ("standard_error", mean),
        ("confidence_half_width", t * mean),
        ("prediction_half_width", t * np.sqrt(variance + mean**2)),
    ):
        found = [float(record[name]) for record in records]
        np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_predictions_of_a_formula(run, tmp_path, data, points):
    report = tmp_path / "fit.json"
    model = ("--formula", "y ~ x + I(x**2)", "--predict", points, "--output", report)
    assert run("lstsq", data, *model)[0] == 0
    by_formula = json.loads(report.read_text())["predictions"]
    model = ("--target", "y", "--features", "x", "--poly", 2, "--predict", points)
    assert run("lstsq", data, *model, "--output", report)[0] == 0
    for one, other in zip(by_formula, json.loads(report.read_text())["predictions"], strict=True):
        few = min(one["digits"], other["digits"]) - 1
        found = [mdqr.od(record["value"]).to_strings(few).item() for record in (one, other)]
        assert found[0] == found[1]


@pytest.mark.parametrize("weights", [None, "w"])
def test_residuals(run, tmp_path, data, weights):
    report = tmp_path / "fit.json"
    arguments = ["--features", "x", "--target", "y"]
    arguments += [] if weights is None else ["--weights", weights]
    code, out, _ = run("lstsq", data, *arguments, "--residuals", "--output", report)
    assert code == 0
    assert re.search(r"\n\nresiduals\n\nline +observed +fitted +residual +digits", out)
    records = json.loads(report.read_text())["residuals"]
    first, slope = exact_fit(data, "y", ["x"], weights=weights)
    table = columns(data)
    w = np.ones(20) if weights is None else table["w"]
    a = np.vander(table["x"], 2)
    leverage = w * np.einsum("ij,jk,ik->i", a, np.linalg.inv(a.T @ (w[:, None] * a)), a)
    exact = []
    with data.open() as stream:
        for record, row in zip(records, csv.DictReader(stream), strict=True):
            rest = Fraction(row["y"]) - first - slope * Fraction(row["x"])
            exact.append(float(rest))
            assert Fraction(record["observed"]) == Fraction(row["y"])
            fitted = Fraction(row["y"]) - rest
            assert abs(Fraction(record["fitted"]) - fitted) <= last_place(record["fitted"])
            assert abs(Fraction(record["residual"]) - rest) <= last_place(record["residual"])
            assert record["digits"] > 50
    variance = (w * np.array(exact) ** 2).sum() / 18
    wanted = np.array(exact) * np.sqrt(w / (variance * (1 - leverage)))
    found = [float(record["standardized"]) for record in records]
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_tables_of_rows_in_files(run, tmp_path, data, points):
    arguments = ("--features", "x", "--target", "y", "--residuals", "--predict", points)
    path = tmp_path / "fit.csv"
    code, out, _ = run("lstsq", data, *arguments, "--output", path)
    assert code == 0
    for name, rows in (("fit.predictions.csv", 3), ("fit.residuals.csv", 20)):
        assert f"written to {tmp_path / name}" in out
        with (tmp_path / name).open() as stream:
            assert len(list(csv.DictReader(stream))) == rows
    path = tmp_path / "fit.npz"
    assert run("lstsq", data, *arguments, "--output", path)[0] == 0
    with np.load(path, allow_pickle=False) as found:
        values = mdqr.from_limbs(found["prediction_limbs"])
        beta = mdqr.from_limbs(found["limbs"])
        assert found["prediction_digits"].min() > 50
        assert found["residual_limbs"].shape == (4, 20)
    new = mdqr.array([["1", "0.1"], ["1", "-1"], ["1", "7.5"]], precision=mdqr.qd)
    assert mdqr.abs(values - new @ beta).max() < 1e-60


def test_bands_without_degrees_of_freedom(run, tmp_path, points):
    path = write(tmp_path / "two.csv", [["x", "y"], [0, 1], [1, 3]])
    report = tmp_path / "fit.json"
    code, out, _ = run("lstsq", path, "--predict", points, "--residuals", "--output", report)
    assert code == 0
    content = json.loads(report.read_text())
    assert [record["value"][:3] for record in content["predictions"]] == ["1.2", "-1.", "16."]
    for record in content["predictions"]:
        assert record["standard_error"] is None
        assert record["confidence_half_width"] is None
    assert all(record["standardized"] is None for record in content["residuals"])
    assert "?" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z\n1\n", "line 1: no column is called 'x'; there are z"),
        ("x\n1\nq\n", r"points.csv, line 3, column 1 (x): cannot read 'q'"),
        ("x\n1\nnan\n", r"line 3, column 1 (x): not a finite number"),
    ],
)
def test_rows_that_cannot_be_predicted(run, tmp_path, data, points, text, message):
    points.write_text(text)
    code, out, err = run("lstsq", data, "--features", "x", "--target", "y", "--predict", points)
    assert code == 2
    assert out == ""
    assert message in err


def test_options_of_rows(run, data, capsys):
    code, _, err = run("lstsq", "-", "--predict", "-")
    assert code == 2
    assert "the standard input has the data already; name a file" in err
    for arguments, message in (
        (["--level", "1.5"], "the level must lie between 0 and 1; got '1.5'"),
        (["--level", "x"], "the level must lie between 0 and 1; got 'x'"),
        (["--plot", "a.txt"], "'a.txt' must end in .pdf, .png, .svg"),
    ):
        with pytest.raises(SystemExit):
            run("lstsq", data, *arguments)
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 71, 5000, 10**6])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.95, 0.9999])
def test_quantiles(degrees, level):
    """SciPy's argument has an error of 1e-16, and its quantile more where the tail is thin."""
    wanted = scipy.stats.t.ppf((1 + level) / 2, degrees)
    assert t_quantile(level, degrees) == pytest.approx(wanted, rel=1e-11)


def test_no_quantile_without_degrees_of_freedom():
    assert np.isnan(t_quantile(0.95, 0))


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("model", [["--poly", "2", "--features", "x"], ["--features", "x,w"]])
def test_plots(run, tmp_path, data, ending, model):
    path = tmp_path / f"fit.{ending}"
    code, out, _ = run("lstsq", data, "--target", "y", *model, "--plot", path)
    assert code == 0
    assert f"written to {path}" in out
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert path.read_bytes().startswith(begins[ending])
    if ending == "svg":
        assert path.stat().st_size > 10_000


def test_a_plot_that_cannot_be_written_or_drawn(run, tmp_path, data, monkeypatch):
    arguments = ("lstsq", data, "--target", "y", "--features", "x", "--plot")
    code, _, err = run(*arguments, tmp_path / "none" / "a.png")
    assert code == 2
    assert "a.png: No such file" in err
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = run(*arguments, tmp_path / "a.png")
    assert code == 1
    assert 'plots need matplotlib: pip install "mdqr[plot]"' in err
