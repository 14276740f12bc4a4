"""The command line with bad input, `mdqr info`, progress and exit codes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
import types

import pytest
from cli_runs import LONGLEY, ROOT, write

from mdqr._backend.cuda.runtime import cubins
from mdqr._cli import main
from mdqr._precision import PRECISIONS
from mdqr._progress import Bar

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
        ("1,2\n2,3\n", [], r"line 1: the names of the columns are all numbers; give --no-header"),
        (
            "x,y\n1,2\n",
            ["--no-header"],
            r"line 1, column 1 \(c0\): cannot read 'x'.*; if the first .* leave out --no-header$",
        ),
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


def test_advice_names_the_options_of_the_command_line(run, tmp_path):
    path = write(tmp_path / "steep.csv", [("x", "y"), *((x, x % 7) for x in range(1000, 1040))])
    code, _, err = run("lstsq", path, "--poly", 9, "--precision", "d")
    assert code == 1
    assert re.search(r"column \d \(x\S*\) depends .*; --precision dd tells them apart if ", err)
    assert "mdqr." not in err


def test_interrupt(run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "solve", interrupted)
    assert run("lstsq", LONGLEY) == (130, "", "mdqr: interrupted\n")


# -- what reads the output -------------------------------------------------------------------


def command(*arguments, stdout=subprocess.PIPE, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "mdqr", *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("what", ["lstsq", "info", "--help"])
def test_a_reader_that_goes_away_is_no_error(tmp_path, what, unbuffered):
    """As in `mdqr lstsq FILE | head`."""
    output = tmp_path / "o.json"
    options = [LONGLEY, "--output", output] if what == "lstsq" else []
    reader, writer = os.pipe()
    os.close(reader)
    process = command(what, *options, stdout=writer, PYTHONUNBUFFERED=unbuffered)
    os.close(writer)
    assert process.communicate()[1] == b""
    assert process.returncode == 0
    assert output.exists() == (what == "lstsq")


@pytest.fixture
def full():
    """A file on a disk that is full, which Linux has."""
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as file:
        yield file


@pytest.mark.parametrize("what", [["lstsq", LONGLEY], ["info"], ["--help"]], ids=str)
def test_a_full_disk_is_named(full, what):
    process = command(*what, stdout=full)
    error = process.communicate()[1]
    assert error == b"mdqr: standard output: No space left on device\n"
    assert process.returncode == 2


def test_errors_that_cannot_be_written_keep_the_exit_code(full):
    process = subprocess.Popen(
        [sys.executable, "-m", "mdqr", "lstsq", "nothing.csv"], stderr=full, cwd=ROOT
    )
    assert process.wait() == 2


def test_closed_standard_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main.main(["info"]) == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_that_the_terminal_cannot_show(tmp_path, encoding):
    path = write(tmp_path / "é.csv", [("é€", "y"), (1, 2), (2, 3), (3, 5)])
    process = command("lstsq", path, "--output", tmp_path / "o.json", PYTHONIOENCODING=encoding)
    out, error = process.communicate()
    assert (process.returncode, error) == (0, b"")
    assert "y = intercept + é€".encode(encoding, "backslashreplace") in out
    assert json.loads((tmp_path / "o.json").read_bytes())["coefficients"][1]["name"] == "é€"


HOSTILE = "\x1b[31mred\x07\r\u202e\x9b2J\udce9"


def test_escape_codes_do_not_reach_the_terminal(run, tmp_path):
    name = HOSTILE.replace("\udce9", "")
    path = tmp_path / "data.csv"
    quoted = f'"{name}"'
    text = f'{quoted},"two\nlines",y\n' + "".join(
        f"{i},{i * i},{y}\n" for i, y in enumerate((3, 1, 4, 1, 5, 9))
    )
    path.write_text(text, encoding="utf-8", newline="")
    code, out, err = run("lstsq", path, "--output", tmp_path / "o.json")
    assert (code, err) == (0, "")
    assert r"y = intercept + \x1b[31mred\x07\r\u202e\x9b2J + two\nlines" in out
    path.write_text(text + "x,1,2\n", encoding="utf-8", newline="")
    outputs = [out, *run("lstsq", path)[1:], *run("lstsq", path, "--target", name + "z")[1:]]
    path.write_text(text + "1,1,2,3\n", encoding="utf-8", newline="")
    outputs += [
        *run("lstsq", path)[1:],
        *run("lstsq", path, "--features", f"{quoted},{quoted}")[1:],
    ]
    outputs += run("lstsq", tmp_path / HOSTILE)[1:]
    assert sum(r"\x1b[31mred" in text for text in outputs) == 5
    assert all(c.isprintable() or c == "\n" for text in outputs for c in text)


def test_plots_show_names_as_they_are(run, tmp_path):
    """Without mathematics of matplotlib, or warnings of glyphs that no font has."""
    path = tmp_path / "data.csv"
    path.write_text("a\x1b,$\\frac$\n1,2\n2,4.1\n3,6\n", encoding="utf-8")
    assert run("lstsq", path, "--plot", tmp_path / "fit.svg")[0::2] == (0, "")


def test_file_names_that_are_no_text(run, tmp_path):
    path = write(tmp_path / "\udce9.csv", [("x", "y"), (1, 2), (2, 3), (3, 5)])
    code, out, _ = run("lstsq", path, "--output", tmp_path / "o.json")
    assert code == 0
    assert r"\udce9.csv: 3 rows" in out
    assert json.loads((tmp_path / "o.json").read_text())["file"] == str(path)


def test_no_memory_is_said(run, monkeypatch):
    def exhausted(*_):
        raise MemoryError

    monkeypatch.setattr(main, "solve", exhausted)
    assert run("lstsq", LONGLEY) == (
        1,
        "",
        "mdqr: not enough memory; give fewer --features or a lower --precision\n",
    )


# -- the rest --------------------------------------------------------------------------------


def test_info(run):
    code, out, _ = run("info")
    assert code == 0
    for precision in PRECISIONS:
        row = rf"^{precision} +{precision.limbs} +{precision.bits} +{precision.digits} "
        assert re.search(row, out, re.MULTILINE)
    assert re.search(r"^cpu .*level \w+, \d+ threads", out, re.MULTILINE)
    assert re.search(r"^gpu ", out, re.MULTILINE)
    assert re.search(r"^kernels +(none|\d+) compiled", out, re.MULTILINE)


def test_kernels_are_compiled_for_an_architecture(run, monkeypatch, tmp_path):
    nvrtc = types.SimpleNamespace(getVersion=lambda: (13, 0))
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(nvrtc=nvrtc))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    asked = []

    class Cubins:
        architectures = (80, 90)

        def __init__(self, library):
            pass

        def expect(self, modules, target):
            asked.append((len(modules), target.arch))
            return [types.SimpleNamespace(result=lambda: None)] * (len(modules) - 1)

    monkeypatch.setattr(cubins, "Cubins", Cubins)
    monkeypatch.setenv("CUPY_CACHE_DIR", str(tmp_path))
    code, out, err = run("compile", "--device", "sm_89", "--precision", "dd", "qr", "svd")
    assert (code, err) == (0, "")
    count, arch = asked[0]
    assert arch == "sm_80"
    assert out == f"{count - 1} kernels compiled, 1 were there: {tmp_path / 'mdqr'}\n"
    run("compile", "--device", "sm_90")
    assert asked[1][0] > count
    assert asked[1][1] == "sm_90"


def test_archives_of_kernels_are_unpacked_alone(run, monkeypatch, tmp_path):
    asked, file = [], tmp_path / "kernels.tar.xz"
    monkeypatch.setattr(main, "unpack_kernels", lambda *given: asked.append(given) or (3, 1))
    code, out, _ = run("compile", "--unpack", str(file), "--device", "sm_90")
    assert (code, asked) == (0, [(file, "sm_90")])
    assert out.startswith("3 kernels unpacked, 1 were there: ")
    for more in (["qr"], ["--precision", "dd"], ["--archive", "x"]):
        code, _, err = run("compile", "--unpack", str(file), *more)
        assert code == 2
        assert "--device alone" in err


def test_kernels_of_no_function_and_no_device(run, no_cupy):
    code, _, err = run("compile", "sqrt")
    assert code == 2
    assert "sqrt is none of the functions with kernels: cholesky," in err
    code, _, err = run("compile", "qr")
    assert code == 1
    assert 'pip install "mdqr[cuda13]"' in err


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
        with Bar() as progress:
            progress("reading", 1, None)
            progress("qr", 1, 4)
            time.sleep(pause)
            progress("qr", 2, 4)
        assert ("qr" in stream.getvalue()) == shown
