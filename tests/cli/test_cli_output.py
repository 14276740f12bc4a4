"""Files of the results of the command line."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from fractions import Fraction

import numpy as np
from cli_runs import CERTIFIED, LONGLEY, assert_true, estimates, exact_fit, write

import mdqr


def test_output_csv(run, tmp_path):
    path = tmp_path / "out.csv"
    code, out, _ = run("lstsq", LONGLEY, "--output", path)
    assert code == 0
    assert f"written to {path}" in out
    assert "standard_error_below" in path.read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert [row["coefficient"] for row in rows] == list(CERTIFIED)
    names, digits, texts = estimates(out)
    assert [row["estimate"] for row in rows] == list(texts)
    assert [row["digits"] for row in rows] == list(digits)
    assert all(row["standard_error_below"] == "" for row in rows)
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
    assert content["coefficients"][0]["standard_error_below"] is None


def test_files_of_exact_fits_have_the_bounds_of_the_table(run, tmp_path):
    rows = [(x, sum(x**k for k in range(6))) for x in range(21)]
    path = write(tmp_path / "wampler1.csv", [("x", "y"), *rows])
    outputs = [tmp_path / f"o{suffix}" for suffix in (".json", ".csv", ".npz")]
    for output in outputs:
        code, out, _ = run("lstsq", path, "--poly", 5, "--output", output)
        assert code == 0
    *errors, std = re.findall(r" below (\S+e-\d+)", out)
    content = json.loads(outputs[0].read_text())
    assert [row["standard_error_below"] for row in content["coefficients"]] == errors
    assert content["residual_std_below"] == std
    rows = list(csv.DictReader(io.StringIO(outputs[1].read_text())))
    assert [row["standard_error_below"] for row in rows] == errors
    with np.load(outputs[2]) as content:
        assert content["standard_error_digits"] == content["residual_std_digits"] == 0
        assert content["r_squared_digits"] == 15
        # the texts are rounded up
        bounds = [*content["standard_error_bounds"], content["residual_std_bound"]]
        for bound, text in zip(bounds, [*errors, std], strict=True):
            assert bound <= float(text) <= 1.1 * bound


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
