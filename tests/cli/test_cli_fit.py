"""``mdqr fit``: certified fits, text, JSON, plots, and what is wrong with a command."""

from __future__ import annotations

import io
import json
import sys
from fractions import Fraction
from pathlib import Path

import matplotlib
import pytest
from cli_runs import assert_true, write

from mdqr._cli.main import main

NIST = json.loads(
    (Path(__file__).parents[1] / "optimize" / "nist.json").read_text(encoding="utf-8")
)
EXPRESSIONS = {
    "Misra1a": ("b1*(1 - exp(-b2*x))", "b1,b2"),
    "MGH10": ("b1 * np.exp(b2/(x + b3))", "b1,b2,b3"),
    "DanWood": ("b1*x**b2", "b1,b2"),
    "Roszman1": ("b1 - b2*x - arctan(b3/(x - b4))/pi", "b1,b2,b3,b4"),
    "MGH09": ("b1*(x**2 + b2*x)/(x**2 + x*b3 + b4)", "b1,b2,b3,b4"),
}


def start_of(name, which=1):
    names = EXPRESSIONS[name][1].split(",")
    pairs = zip(names, NIST[name]["start"][which], strict=True)
    return ",".join(f"{n}={value}" for n, value in pairs)


@pytest.fixture
def files(tmp_path):
    for name in EXPRESSIONS:
        rows = zip(NIST[name]["y"], NIST[name]["x"][0], strict=True)
        write(tmp_path / f"{name}.csv", [("y", "x"), *rows])
    return tmp_path


def table_of(out):
    lines = out.split("\n\n")[1].splitlines()
    assert lines[0].split() == ["parameter", "digits", "estimate", "standard", "error"]
    return list(zip(*(line.split() for line in lines[1:]), strict=True))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_certified_sets(name, files, capsys):
    model, _ = EXPRESSIONS[name]
    command = ["fit", str(files / f"{name}.csv"), "--model", model, "--start", start_of(name)]
    assert main([*command, "--target", "y"]) == 0
    out, err = capsys.readouterr()
    names, digits, estimates, errors = table_of(out)
    assert ",".join(names) == EXPRESSIONS[name][1]
    assert min(map(int, digits)) > 54
    assert_true(estimates, [Fraction(v) for v in NIST[name]["minimum"]])
    for text, certified in zip(errors, NIST[name]["deviations"], strict=True):
        assert float(text) == pytest.approx(float(certified), rel=1e-9)
    assert "newton in qd (63 digits)" in out
    assert err == ""


def test_json_in_other_precisions(files, capsys):
    output = files / "fit.json"
    for precision, least in (("d", 13), ("dd", 28), ("od", 100)):
        command = ["fit", str(files / "Misra1a.csv"), "--model", EXPRESSIONS["Misra1a"][0]]
        command += ["--start", start_of("Misra1a"), "--target", "y", "--precision", precision]
        assert main([*command, "--output", str(output)]) == 0
        found = json.loads(output.read_text(encoding="utf-8"))
        assert found["precision"] == precision
        assert found["success"] is True
        assert min(p["digits"] for p in found["parameters"]) >= least
        texts = [p["estimate"][:60] for p in found["parameters"]]
        assert_true(texts, [Fraction(v) for v in NIST["Misra1a"]["minimum"]])
        assert found["residual_std"].startswith("0.1018787633")
    assert "written to" in capsys.readouterr().out


@pytest.mark.parametrize("model", ["b1*(1 - exp(-b2*x))", "b1*(1 - exp(-b2*x*z))"])
def test_plots(files, model, capsys):
    matplotlib.use("Agg")
    rows = zip(NIST["Misra1a"]["y"], NIST["Misra1a"]["x"][0], [1] * 14, strict=True)
    file = write(files / "plot.csv", [("y", "x", "z"), *rows])
    output = files / "fit.svg"
    command = ["fit", str(file), "--model", model, "--start", start_of("Misra1a")]
    assert main([*command, "--target", "y", "--plot", str(output)]) == 0
    assert output.read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_weights_and_missing_rows(tmp_path, capsys):
    rows = [("x", "w", "y"), (0, 1, "2.1"), (1, 4, "1.3"), (2, 1, "0.7"), (3, 1, ""), (4, 2, "0.2")]
    file = write(tmp_path / "w.csv", rows)
    command = ["fit", str(file), "--model", "a*exp(-b*x)", "--start", "a=2,b=0.5"]
    assert main([*command, "--weights", "w", "--drop-missing"]) == 0
    out = capsys.readouterr().out
    assert "4 rows, 2 parameters, 2 degrees of freedom, 1 rows dropped, weighted" in out


def test_standard_input(files, capsys, monkeypatch):
    text = io.StringIO((files / "DanWood.csv").read_text(encoding="utf-8"))
    monkeypatch.setattr(sys, "stdin", text)
    command = ["fit", "-", "--model", "b1*x**b2", "--start", "b1=1,b2=5", "--target", "y"]
    assert main(command) == 0
    assert "standard input: 6 rows" in capsys.readouterr().out


def test_a_fit_that_fails_has_no_digits(tmp_path, capsys):
    file = write(tmp_path / "flat.csv", [("x", "y"), *((k, 0) for k in range(6))])
    assert main(["fit", str(file), "--model", "a*b*exp(-x)", "--start", "a=1,b=2"]) in (0, 1)
    out, err = capsys.readouterr()
    assert "?" in out
    assert "mdqr: warning: curve_fit: " in err
    assert "p[" not in err


@pytest.mark.parametrize(
    ("model", "start", "more", "message"),
    [
        ("b1*x +", "b1=1", [], "cannot read 'b1*x +' as an expression"),
        ("b1*x", "b1=1,b2=2", [], "the parameter b2 of --start is not in the model"),
        ("b1*z", "b1=1", [], "'z' in the model is no column, and no parameter of --start"),
        ("b1*x", "b1=1,x=2", [], "'x' is a parameter and a column"),
        ("b1*x*y", "b1=1", [], "the model names all columns"),
        ("b1*y", "b1=1", ["--target", "y"], "is the target, and in the model"),
        ("b1*x", "b1=1", ["--target", "q"], "q"),
        ("b1*foo(x)", "b1=1", [], "'foo' is no function of formulas"),
        ("b1*exp(x, 2)", "b1=1", [], "has no meaning in a formula"),
        ("b1*x[0]", "b1=1", [], "has no meaning in a formula"),
        ("b1*(lambda: x)()", "b1=1", [], "has no meaning in a formula"),
        ("__import__('os').system(b1)*x", "b1=1", [], "no function of formulas"),
        ("b1*'x'", "b1=1", [], "has no meaning in a formula"),
        ("b1*x*b2*b3*b4*b5*b6*b7", ",".join(f"b{k}=1" for k in range(1, 8)), [],
         "6 rows do not determine 7 parameters"),
        ("b1*log(-x)", "b1=1", [], "Residuals are not finite in the initial point"),
        ("b1*x", "b1=1", ["--weights", "w"], "w"),
    ],
)  # fmt: skip
def test_wrong_models(files, capsys, model, start, more, message):
    command = ["fit", str(files / "DanWood.csv"), "--model", model, "--start", start, *more]
    assert main(command) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--start", "b1=1"], "--model"),
        (["--model", "b1*x"], "--start"),
        (["--model", "b1*x", "--start", "b1"], "wanted NAME=NUMBER; got 'b1'"),
        (["--model", "b1*x", "--start", "b1=one"], "b1 is no number: 'one'"),
        (["--model", "b1*x", "--start", "b1=1,b1=2"], "b1 has two values"),
        (["--model", "b1*x", "--start", "2b=1"], "wanted NAME=NUMBER"),
        (["--model", "b1*x", "--start", "b1=1", "--precision", "td"], "invalid choice"),
        (["--model", "b1*x", "--start", "b1=1", "--output", "a.txt"], "must end in .json"),
        (["--model", "b1*x", "--start", "b1=1", "--plot", "a.txt"], "must end in"),
    ],
)
def test_wrong_options(files, capsys, arguments, message):
    with pytest.raises(SystemExit, match="2"):
        main(["fit", str(files / "DanWood.csv"), *arguments])
    assert message in capsys.readouterr().err
