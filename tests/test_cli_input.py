"""The command line with bad input, `mdqr info`, progress and exit codes."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time

import pytest
from cli_runs import LONGLEY, ROOT, write

from mdqr import _cli
from mdqr._precision import PRECISIONS


@pytest.fixture
def run(capsys):
    def runner(*arguments):
        code = _cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return runner


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("x,y\n1,2\n3,four\n", [], r"line 3, column 2 \(y\): cannot read 'four' as a number"),
        ("x,y\n1,2\n\n3,\n", [], r"line 4, column 2 \(y\): the cell is empty"),
        ("x,y\n1,2\n3,4,5\n", [], r"line 3, column 3: the row has 3 fields"),
        ("x,y\n1,2\nnan,4\n", [], r"line 3, column 1 \(x\): not a finite number"),
        ("x,y\n1,2\n3,1e999\n", [], r"line 3, column 2 \(y\): not a finite number"),
        ("x,y\n1,2\n3,1+2j\n", [], r"line 3, column 2 \(y\): a complex number; wanted a real"),
        ("x,y\n1,2\n3,1+0j\n", [], r"data\.csv: there are complex numbers"),
        (
            "x,w,y\n1,1,2\n3,-1,4\n",
            ["--weights", "w"],
            r"line 3, column 2 \(w\): a negative weight",
        ),
        ("x,y\n1,2\n", ["--target", "z"], r"line 1: no column is called 'z'; there are x, y"),
        ("x,y\n1,2\n", ["--features", "y"], r"column 'y' is used twice"),
        ("x,x,y\n1,2,3\n", [], r"column 'x' is used twice"),
        ("x,u,y\n1,2,3\n", ["--poly", "2"], r"--poly needs one column.*2 \(x, u\); name it with"),
        ("x,y\n1,2\n3,4\n", ["--poly", "2"], r"2 rows do not determine 3 coefficients"),
        ("x,y\n1,2\n", ["--poly", "0", "--no-intercept"], r"the model has no coefficient"),
        ("", [], r"data\.csv: the file is empty"),
        ("x,y\n\xff,2\n", [], r"data\.csv: the file is not UTF-8"),
    ],
)
def test_bad_input_is_named(run, tmp_path, text, arguments, message):
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode("latin-1"))
    code, out, err = run("lstsq", path, *arguments)
    assert code == 2
    assert out == ""
    assert re.search(message, err)
    assert err.startswith("mdqr: ")
    assert err.count("\n") == 1


def test_missing_file(run, tmp_path):
    code, _, err = run("lstsq", tmp_path / "none.csv")
    assert code == 2
    assert re.search(r"mdqr: .*none\.csv: No such file", err)


def test_output_that_cannot_be_written(run, tmp_path):
    code, out, err = run("lstsq", LONGLEY, "--output", tmp_path / "none" / "x.csv")
    assert code == 2
    assert "coefficient" in out
    assert re.search(r"mdqr: .*x\.csv: No such file", err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "x.txt"], r"'x\.txt' must end in \.csv, \.json, \.npz"),
        (["--poly", "-1"], r"expected one argument|the degree must be"),
        (["--poly", "two"], r"the degree must be an integer from 0; got 'two'"),
        (["--precision", "td"], r"invalid choice: 'td'"),
    ],
)
def test_bad_options(run, capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        run("lstsq", LONGLEY, *arguments)
    assert stop.value.code == 2
    assert re.search(message, capsys.readouterr().err)


def test_dependent_columns(run, tmp_path):
    rows = [(x, 2 * x, x * x) for x in range(9)]
    path = write(tmp_path / "data.csv", [("x", "twice", "y"), *rows])
    code, out, err = run("lstsq", path)
    assert code == 1
    assert out == ""
    assert re.search(r"rank deficient: column \d \((intercept|x|twice)\) ", err)


def test_interrupt(run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_cli, "solve", interrupted)
    assert run("lstsq", LONGLEY) == (130, "", "mdqr: interrupted\n")


# -- the rest --------------------------------------------------------------------------------


def test_info(run):
    code, out, _ = run("info")
    assert code == 0
    for precision in PRECISIONS:
        row = rf"^{precision} +{precision.limbs} +{precision.bits} +{precision.digits} "
        assert re.search(row, out, re.MULTILINE)
    assert re.search(r"^cpu .*level \w+, \d+ threads", out, re.MULTILINE)
    assert re.search(r"^gpu ", out, re.MULTILINE)


def test_as_a_module():
    result = subprocess.run(
        [sys.executable, "-m", "mdqr", "lstsq", "nothing.csv"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr == "mdqr: nothing.csv: No such file or directory\n"
    assert result.stdout == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_only_on_a_terminal_and_when_slow(monkeypatch):
    for stream, pause, shown in [
        (Terminal(), 1.1, True),
        (Terminal(), 0.0, False),
        (io.StringIO(), 1.1, False),
    ]:
        monkeypatch.setattr(sys, "stderr", stream)
        with _cli._Progress() as progress:
            progress("reading", 1, None)
            progress("qr", 1, 4)
            time.sleep(pause)
            progress("qr", 2, 4)
        assert ("qr" in stream.getvalue()) == shown
