"""Runs of the command line, and the exact rational answers to compare with."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import flint

ROOT = Path(__file__).resolve().parents[2]
LONGLEY = ROOT / "examples" / "longley.csv"

# NIST StRD, certified values
CERTIFIED = {
    "intercept": ("-3482258.63459582", "890420.383607373"),
    "deflator": ("15.0618722713733", "84.9149257747669"),
    "gnp": ("-0.0358191792925910", "0.0334910077722432"),
    "unemployed": ("-2.02022980381683", "0.488399681651699"),
    "armed_forces": ("-1.03322686717359", "0.214274163161675"),
    "population": ("-0.0511041056535807", "0.226073200069370"),
    "year": ("1829.15146461355", "455.478499142212"),
}


def exact_fit(path, target, features, *, degree=None, intercept=True, weights=None):
    """Return the exact rational coefficients of a model of the decimals in a file."""
    with open(path, encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))

    def column(name):
        values = [Fraction(row[name]) for row in rows]
        return [flint.fmpq(v.numerator, v.denominator) for v in values]

    ones = [flint.fmpq(1)] * len(rows)
    if degree is None:
        columns = [column(name) for name in features]
    else:
        points = column(features[0])
        columns = [[x**k for x in points] for k in range(1, degree + 1)]
    if intercept:
        columns.insert(0, ones)
    b, w = column(target), ones if weights is None else column(weights)
    n, m = len(columns), len(rows)
    left = flint.fmpq_mat(n, m, [x * t for c in columns for x, t in zip(c, w, strict=True)])
    a = flint.fmpq_mat(m, n, [columns[j][i] for i in range(m) for j in range(n)])
    x = (left * a).solve(left * flint.fmpq_mat(m, 1, b))
    return [Fraction(int(x[i, 0].p), int(x[i, 0].q)) for i in range(n)]


def last_place(text):
    """Return one unit in the last place of a decimal."""
    digits, _, power = text.partition("e")
    return Fraction(10) ** (int(power or 0) - len(digits.partition(".")[2]))


def assert_true(texts, exact):
    for text, value in zip(texts, exact, strict=True):
        assert abs(Fraction(text) - value) <= last_place(text), (text, float(value))


def estimates(out):
    """Return the first table of a report: names, digits, estimates."""
    lines = out.split("\n\n")[1].splitlines()
    assert lines[0].split() == ["coefficient", "digits", "estimate"]
    return list(zip(*(line.split() for line in lines[1:]), strict=True))


def write(path, rows):
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return path
