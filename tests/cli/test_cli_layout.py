"""Files of other layouts: delimiters, comments, missing fields, the standard input."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys

import pytest
from cli_runs import LONGLEY, estimates, exact_fit, write

TABLE = LONGLEY.read_text()
NAMES = TABLE.partition("\n")[0].split(",")


@pytest.fixture
def plain(run):
    """The estimates from the file as it is."""
    _, out, _ = run("lstsq", LONGLEY, "--target", "employed")
    return estimates(out)


@pytest.mark.parametrize(
    ("between", "option"),
    [(";", ";"), ("\t", "tab"), ("\t", "\\t"), ("|", "|"), ("  ", "blanks"), (" \t", "blanks")],
)
def test_delimiters(run, tmp_path, plain, between, option):
    path = tmp_path / "data.txt"
    path.write_text(TABLE.replace(",", between))
    code, out, _ = run("lstsq", path, "--target", "employed", "--delimiter", option)
    assert code == 0
    assert estimates(out) == plain


def test_lines_to_skip_and_comments(run, tmp_path, plain):
    path = tmp_path / "data.txt"
    path.write_text(f"Longley, 1967\n\n{TABLE.replace(chr(10), ' # NIST' + chr(10))}# the end\n")
    arguments = ("--target", "employed", "--skip-rows", 2, "--comments", "#")
    code, out, _ = run("lstsq", path, *arguments)
    assert code == 0
    assert estimates(out) == plain


@pytest.mark.parametrize("stream", ["bytes", "text"])
def test_standard_input(run, monkeypatch, plain, stream):
    binary = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + TABLE.encode()))
    monkeypatch.setattr(sys, "stdin", binary if stream == "bytes" else io.StringIO(TABLE))
    code, out, _ = run("lstsq", "-", "--target", "employed")
    assert code == 0
    assert estimates(out) == plain
    assert "standard input: 16 rows" in out


def test_errors_name_the_standard_input(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("x,y\n1,a\n"))
    code, _, err = run("lstsq", "-")
    assert code == 2
    assert err.startswith("mdqr: standard input, line 2, column 2 (y): cannot read 'a'")


def test_rows_with_missing_fields_are_dropped(run, tmp_path):
    rows = [["x", "u", "y"], [1, 2, 3], [2, "", 5], ["NA", 1, 1], [3, 4, "nan"], [4, 1, "6.5"]]
    rows += [[5, "?", 7], [6, 9, "."], [7, 3, "9.25"]]
    path = write(tmp_path / "data.csv", rows)
    kept = write(tmp_path / "kept.csv", [rows[i] for i in (0, 1, 2, 5, 6, 8)])
    report = tmp_path / "fit.json"
    arguments = ("--features", "x", "--target", "y", "--drop-missing")
    code, out, _ = run("lstsq", path, *arguments, "--output", report)
    assert code == 0
    assert "5 rows, 2 coefficients, 3 degrees of freedom, 3 rows dropped" in out
    assert json.loads(report.read_text())["rows_dropped"] == 3
    _, wanted, _ = run("lstsq", kept, "--features", "x", "--target", "y")
    assert estimates(out) == estimates(wanted)
    exact = exact_fit(kept, "y", ["x"])
    assert float(estimates(out)[2][1]) == float(exact[1])


@pytest.mark.parametrize("field", ["", "NA", "nan", "."])
def test_missing_fields_are_named(run, tmp_path, field):
    path = write(tmp_path / "data.csv", [["x", "y"], [1, 2], [2, field], [3, 4]])
    code, _, err = run("lstsq", path)
    assert code == 2
    assert re.search(r"line 3, column 2 \(y\): .*; --drop-missing leaves such rows out$", err)


def test_too_few_rows_are_left(run, tmp_path):
    path = write(tmp_path / "data.csv", [["x", "y"], [1, 2], [2, "NA"]])
    code, _, err = run("lstsq", path, "--drop-missing")
    assert code == 2
    assert "1 rows do not determine 2 coefficients" in err


@pytest.mark.parametrize(
    ("between", "option"), [(";", "';'"), ("\t", "tab"), ("|", r"'\|'"), (" ", "blanks")]
)
def test_one_column_that_looks_like_more(run, tmp_path, between, option):
    path = tmp_path / "data.csv"
    path.write_text(f"x{between}y\n1{between}2\n")
    code, _, err = run("lstsq", path)
    assert code == 2
    assert re.search(rf"line 1: there is one column, .*; give --delimiter {option} if", err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--delimiter", "ab"], "the delimiter must be one character, tab or blanks; got 'ab'"),
        (["--delimiter", '"'], "the delimiter must be one character"),
        (["--skip-rows", "-1"], "wanted an integer from 0; got '-1'"),
        (["--comments", ""], "the start of a comment must not be empty"),
    ],
)
def test_layouts_that_are_none(run, capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        run("lstsq", LONGLEY, *arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_commas_comments_and_compression(run, tmp_path, plain):
    lines = TABLE.replace(",", ";").replace(".", ",").splitlines()
    text = "! Longley\n" + "\n".join(f"{line} # {i}" for i, line in enumerate(lines)) + "\n"
    with gzip.open(tmp_path / "data.csv.gz", "wb") as stream:
        stream.write(text.encode("utf-16"))
    layout = ("--delimiter", ";", "--decimal", ",", "--comments", "!", "--comments", "#")
    code, out, _ = run(
        *("lstsq", tmp_path / "data.csv.gz", "--target", "employed"),
        *(*layout, "--encoding", "utf-16"),
    )
    assert code == 0
    assert estimates(out) == plain


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (
            "// by hand\nx,y\n1,2\n",
            [],
            "give --comments '//' if it is a comment, or --delimiter blanks",
        ),
        ("//\nx,y\n1,2\n", [], "give --comments '//' if it is a comment\n"),
        ("sep=;\nx;y\n1;2\n", [], "give --skip-rows 1 --delimiter ';'\n"),
        (
            "x,y\n1,2,\n",
            [],
            "the row has 3 fields, the first row has 2; it ends with a delimiter\n",
        ),
        ("x,y,\n1,2,\n", [], "the last column has no name, as where lines end with a delimiter"),
        ("x;y\n1,5;2\n", ["--delimiter", ";"], "is that a decimal comma? give --decimal ,\n"),
        ("x;y\n1.5;2\n", ["--delimiter", ";", "--decimal", ","], "a number has no point"),
        ("x;y\n1,234;2\n", ["--delimiter", ";"], "give --thousands ',', or --decimal , if"),
        ("x,y\n1,2 # a\n", [], "does a comment begin there? give --comments '#'\n"),
        ("#1,2\n#3,4\n", [], "except for comments that begin with '#'; give another --comments"),
        ("x;y\n1;2\n", ["--thousands", ";", "--delimiter", ";"], "between fields"),
        ("x,y\n1,2\n", ["--decimal", ","], "needs another character between fields, such as ';'"),
        ("x,y\n1,\xff\n", [], "is not UTF-8 text"),
        ("x,y\n1_0,2\n", [], "cannot read '1_0' as a number"),
    ],
)
def test_messages_name_the_option_that_reads_the_file(run, tmp_path, text, arguments, message):
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode("latin-1"))
    code, _, err = run("lstsq", path, *arguments)
    assert code == 2
    assert message in err


def test_errors_of_usage_are_short(run, capsys):
    for arguments in (["--foo"], ["--encoding", "none"], ["--poly", "x"]):
        with pytest.raises(SystemExit) as caught:
            run("lstsq", LONGLEY, *arguments)
        assert caught.value.code == 2
        assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_zero_is_said_to_be_small(run, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y\n0.1,0.2\n0.2,0.4\n0.3,0.6\n0.7,1.4\n")
    _, out, _ = run("lstsq", path)
    assert re.search(r"^intercept +0 +\? \(below \d\.\de-6\d\)$", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (
            "# by hand\nx;y\n# and\n1.000,5;2\n2.000;3 # a\n3;5\n",
            "--delimiter ; --decimal , --thousands .",
        ),
        ("#x,y\n1000.5,2\n2000,3\n3,5\n", ""),
        ("x,y\n1000.5,2\n2000,3\n3,5\n4,none\n", "--max-rows 3"),
        ("% by hand\n     x y\n1000.52\n2000. 3\n3     5\n", "--widths 6,2"),
    ],
)
def test_comments_thousands_and_widths(run, tmp_path, text, arguments):
    path = tmp_path / "data.txt"
    path.write_text(text)
    plain = tmp_path / "plain.csv"
    plain.write_text("x,y\n1000.5,2\n2000,3\n3,5\n")
    wanted = estimates(run("lstsq", plain)[1])
    code, out, err = run("lstsq", path, *arguments.split())
    assert (code, err) == (0, "")
    assert estimates(out) == wanted
