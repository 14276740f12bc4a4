"""The exact reader of delimited text."""

from __future__ import annotations

import csv
import io
import math
import tempfile
from fractions import Fraction

import numpy as np
import pytest
from array_cases import same_bits
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._convert.arrays import fraction_to_limbs
from mdqr._io import blocks, loadtxt
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays

TABLE = "name,x,y\nfirst,0.1,2\n\nsecond,1e-30,-3.5\n"


def read(text, **options):
    options.setdefault("precision", mdqr.qd)
    return mdqr.loadtxt(io.StringIO(text), **options)


DECIMALS = st.tuples(st.integers(-(10**70), 10**70), st.integers(-90, 90))


@given(
    st.lists(st.lists(DECIMALS, min_size=3, max_size=3), min_size=1, max_size=5),
    st.sampled_from(PRECISIONS),
    st.sampled_from(",;\t|"),
)
def test_every_number_is_rounded_once(rows, precision, delimiter):
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows(
        [[f"{digits}e{power}" for digits, power in row] for row in rows]
    )
    a = read(stream.getvalue(), precision=precision, delimiter=delimiter)
    assert a.shape == (len(rows), 3)
    assert a.precision is precision
    for i, row in enumerate(rows):
        for j, (digits, power) in enumerate(row):
            wanted = fraction_to_limbs(Fraction(digits) * Fraction(10) ** power, precision.limbs)
            assert [x + 0.0 for x in a.limbs[:, i, j]] == wanted


@pytest.mark.parametrize(
    ("usecols", "shape", "first"),
    [
        ("x", (2,), "0.1"),
        (2, (2,), "2"),
        (-1, (2,), "2"),
        (["y", 1], (2, 2), "2"),
        (["x"], (2, 1), "0.1"),
        (np.int64(1), (2,), "0.1"),
    ],
)
def test_columns(usecols, shape, first):
    a = read(TABLE, header=True, usecols=usecols)
    assert a.shape == shape
    assert a.limbs.reshape(4, -1)[:, 0].tolist() == mdqr.qd(first).limbs.tolist()


def test_files_of_many_kinds(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes('\ufeffsize,µ\r\n"0.5","1\r\n"\r\n'.encode())
    a = mdqr.loadtxt(path, precision="dd", header=True)
    assert a.to_numpy().tolist() == [[0.5, 1.0]]
    assert mdqr.loadtxt(str(path), precision="dd", header=True, usecols="µ").shape == (1,)
    assert read("1+2j,3\n").is_complex
    assert read("1,3\n", dtype=complex).is_complex
    assert read("x,y\n", header=True).shape == (0, 2)
    assert np.isnan(read("nan,-inf\n").to_numpy()).tolist() == [[True, False]]


def test_more_rows_than_one_chunk():
    a = read("".join(f"{i},0.1\n" for i in range(9000)) + "1j,2\n")
    assert a.shape == (9001, 2)
    assert a.is_complex
    assert a.limbs[0, 0, :9000, 0].tolist() == list(range(9000))
    assert not a.limbs[1, :, :9000].any()
    assert a.limbs[1, 0, 9000, 0] == 1.0


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (TABLE, {"header": True}, r"<text>, line 2, column 1 \(name\): cannot read 'first'"),
        ("x,y\n1,\n", {"header": True}, r"line 2, column 2 \(y\): the cell is empty"),
        ("a,b\n1,2\n", {}, r"line 1, column 1: cannot read 'a'.*pass header=True"),
        ("1,NA\n", {}, r"line 1, column 2: cannot read 'NA'.*missing there\? give missing='NA'$"),
        ("1,\n", {}, r"the cell is empty; wanted a number; is .* there\? give missing=''$"),
        ("1 2\n3 4\n", {}, r"cannot read '1 2'.*several fields\? give delimiter=None$"),
        ("1.5D+00;2\n", {}, r"cannot read .*several fields\? give delimiter=';'$"),
        ("1,2\n\n3,x\n", {}, r"line 3, column 2: cannot read 'x' as a number; .*'1\.5-2j'$"),
        ("1,2\n3\n", {}, r"line 2, column 2: the row has 1 fields, the first row has 2"),
        ("1,2\n3,4,5\n", {}, r"line 2, column 3: the row has 3 fields, the first row has 2"),
        ("", {}, "the file is empty"),
        ('1,"2\n', {}, r"line 1: unexpected end of data"),
        ("1," + "9" * 140_000 + "\n", {}, r"line 1: field larger than field limit"),
        (
            TABLE,
            {"header": True, "usecols": "z"},
            "line 1: no column is called 'z'; there are name",
        ),
        ("x,x\n1,2\n", {"header": True, "usecols": "x"}, "more than one column is called 'x'"),
        ("1,2\n", {"usecols": "x"}, "column 'x' is asked for by name, which needs header=True"),
        ("1,2\n", {"usecols": 2}, "there is no column 2; there are 2, from 0"),
        ("1,2\n", {"delimiter": "ab"}, "delimiter must be one character"),
        ("1,2\n", {"delimiter": "\n"}, "delimiter must be one character"),
        ("1,2\n", {"precision": "td"}, "precision must be one of"),
    ],
)
def test_bad_input(text, options, message):
    with pytest.raises(ValueError, match=message):
        read(text, **options)


def test_bad_files(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes(b"1,2\n\xe9,3\n")
    with pytest.raises(ValueError, match=r"latin\.csv: the file is not UTF-8"):
        mdqr.loadtxt(path, precision="dd")
    with pytest.raises(FileNotFoundError, match="nothing"):
        mdqr.loadtxt(tmp_path / "nothing.csv", precision="dd")
    with pytest.raises(TypeError, match="dtype"):
        read("1j\n", dtype=float)


def test_place_of_a_bad_cell_far_down():
    text = "".join(f"{i},0.1\n" for i in range(5000)) + "1,?\n"
    with pytest.raises(ValueError, match="line 5001, column 2: cannot read '\\?'"):
        read(text)


def test_no_memory_is_said(monkeypatch):
    plain_cells = loadtxt.plain_cells

    def exhausted(block, *arguments):
        if block.start > 1:
            raise MemoryError
        return plain_cells(block, *arguments)

    monkeypatch.setattr(loadtxt, "plain_cells", exhausted)
    monkeypatch.setattr(blocks, "_LINES", 4096)
    with pytest.raises(MemoryError, match=r"<text>: no memory after 4096 rows of numbers of 4 li"):
        read("1,2\n" * 5000)


def test_messages_cut_what_is_long():
    header = ",".join(f"{i}{'x' * 90}" for i in range(500))
    for text, options in (("\n".join([header] * 2), {}), ("x\n", {"usecols": "y" * 900})):
        with pytest.raises(ValueError, match="line") as caught:
            read(f"{header}\n{text}", header=True, **options)
        assert len(str(caught.value)) < 1500


def test_a_cell_of_joined_limbs_takes_linear_time():
    """It took minutes; `test_convert_strings.py` counts the passes."""
    assert float(read("1," + "+".join(["0x1p-5"] * 18_000) + "\n")[0, 1]) == 562.5


def test_beyond_range_is_infinite():
    assert math.isinf(float(read("1e400\n")[0, 0]))


# -- layouts of files ------------------------------------------------------------------------


def test_rows_are_skipped_and_comments_left_out():
    text = 'made by\n"a, b"\n# x,y\n1,2 # first\n\n3,4\n'
    a = read(text, skiprows=2, comments="#")
    assert a.tolist() == [[1, 2], [3, 4]]
    quoted = read('# x,y\n"1",2\n3,4 # last\n', comments="#")
    assert quoted.tolist() == [[1, 2], [3, 4]]
    named = read("note\nx,y\n1,2\n", skiprows=1, header=True, usecols="y")
    assert named.tolist() == [2]
    with pytest.raises(ValueError, match="line 4, column 1: cannot read 'x'"):
        read("a\nb\n1,2\nx,3\n", skiprows=2)
    with pytest.raises(ValueError, match="line 3: no column is called 'z'"):
        read("a\n\nx,y\n1,2\n", skiprows=1, header=True, usecols="z")


def test_fields_between_blanks():
    a = read("  1   2\t3\n4 5 6  \n", delimiter=None)
    assert a.tolist() == [[1, 2, 3], [4, 5, 6]]
    quoted = read('1 "2" 3\n4 5 6\n', delimiter=None)
    assert quoted.tolist() == a.tolist()


def test_missing_fields_are_nan():
    a = read("1,,NA\nNaN, - ,6\n", missing=["", "NA", "-"])
    assert np.array_equal(a.to_numpy(), [[1, np.nan, np.nan], [np.nan, np.nan, 6]], equal_nan=True)
    assert np.isnan(read("1,?\n", missing="?").to_numpy()[0, 1])
    with pytest.raises(ValueError, match="the cell is empty"):
        read("1,\n")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"skiprows": -1}, "skiprows"),
        ({"comments": ""}, "comments"),
        ({"comments": 3}, "comments"),
        ({"delimiter": ",,"}, "delimiter"),
        ({"skiprows": 9}, "empty"),
    ],
)
def test_layouts_that_are_none(options, match):
    with pytest.raises(ValueError, match=match):
        read("1,2\n", **options)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_many_rows_are_those_of_a_few(end):
    """Rows are split some thousand at a time, where all of them are plain."""
    fields = [f"{k % 7}.{k}e{k % 5}" for k in range(3 * 9000)]
    rows = [",".join(fields[k : k + 3]) for k in range(0, len(fields), 3)]
    wanted = mdqr.array(fields, precision=mdqr.qd).reshape(-1, 3)
    assert same_bits(read(end.join(rows)), wanted)
    rows[5000] += end  # an empty line, between plain ones
    assert same_bits(read(end.join(rows)), wanted)
    rows[8000] = ",".join(f'"{f}"' for f in rows[8000].split(","))
    assert same_bits(read(end.join(rows)), wanted)
    with pytest.raises(ValueError, match="line 5001, column 3: the row has 2 fields"):
        read(end.join([*rows[:5000], "1,2", *rows[6000:]]))


FIELDS = st.sampled_from(
    [
        *("1", "-0.25", "  2 ", "1e-7", "12345678901234567890123", "1e400", "+.5", "5.", "\x0b7"),
        *("nan", "-inf", "1_0", "0x1p3", "1+2j", "", "NA", "x", "1e", "²", "--1"),
    ]
)
LINES = st.lists(
    st.lists(FIELDS, min_size=2, max_size=2).map(",".join)
    | st.sampled_from(["", "  ", "# 1,2", "3,4 # 5", "1", "1,2,3", '"1",2', "1,2\r", "3\r4,1"]),
    max_size=6,
)


@given(
    lines=LINES,
    end=st.sampled_from(["\n", "\r\n"]),
    comments=st.sampled_from([None, "#"]),
    delimiter=st.sampled_from([",", None, ";"]),
    missing=st.sampled_from([None, "NA"]),
    usecols=st.sampled_from([None, 1, [1, 0], [0, 0]]),
    header=st.booleans(),
    skiprows=st.integers(0, 2),
)
def test_plain_lines_are_read_as_others(lines, end, usecols, delimiter, **options):
    """By the extension, block by block; and line by line in Python."""
    text = end.join(["1,2", *lines])
    if delimiter != ",":
        text = text.replace(",", delimiter or " \t")

    def outcome(stream):
        try:
            return mdqr.loadtxt(
                stream, precision="qd", usecols=usecols, delimiter=delimiter, **options
            )
        except ValueError as error:
            return str(error)

    found = outcome(io.StringIO(text, newline=""))
    # an iterator whose lines are not those of one text is read line by line
    slowly = outcome(iter(line.removesuffix("\n") for line in io.StringIO(text, newline="")))
    if isinstance(found, str):
        assert found == slowly
    else:
        assert same_bits(found, slowly)


@given(data=st.data())
def test_what_is_written_reads_back(data):
    shape = data.draw(st.sampled_from([(3,), (2, 3), (), (0, 2)]))
    dtype = data.draw(st.sampled_from([float, complex]))
    a = data.draw(arrays(mdqr.qd, shape, dtype=dtype))
    file = io.StringIO()
    names = [f"c {k}" for k in range(a.shape[-1] if a.ndim == 2 else 1)]
    mdqr.savetxt(file, a, names=names, delimiter=";")
    file.seek(0)
    again = mdqr.loadtxt(file, precision=mdqr.qd, header=True, delimiter=";", dtype=dtype)
    if a.size:
        assert again.reshape(a.shape).to_strings().tolist() == a.to_strings().tolist()


def test_writing_files(tmp_path):
    path = tmp_path / "a.csv"
    mdqr.savetxt(path, mdqr.array([[1, 2]], precision="dd") / 3, digits=5)
    assert path.read_text() == "0.33333,0.66667\n"
    for wrong, match in (
        (np.ones(2), "MDArray"),
        (mdqr.ones((1, 1, 1), precision="dd"), "two axes"),
    ):
        with pytest.raises((TypeError, ValueError), match=match):
            mdqr.savetxt(path, wrong)
    with pytest.raises(ValueError, match="names"):
        mdqr.savetxt(path, mdqr.ones(2, precision="dd"), names=["x", "y"])


# -- what files there are, and how lines end ------------------------------------------------------


def binary_file(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"0.1,2\n3,4\n")
    return path.open("rb", buffering=0)


def temporary_file(_):
    file = tempfile.NamedTemporaryFile()  # noqa: SIM115, no subclass of the classes of io
    file.write(b"0.1,2\n3,4\n")
    file.seek(0)
    return file


@pytest.mark.parametrize(
    "opened",
    [
        binary_file,
        temporary_file,
        lambda _: [b"0.1,2\n", b"3,4"],
        lambda _: ["0.1,2", "3,4"],
        lambda _: io.StringIO("\ufeff0.1,2\n3,4\n"),
        lambda _: (line for line in ["\ufeff0.1,2\n", "3,4\n"]),
    ],
    ids=["raw", "temporary", "bytes", "texts", "byte order mark", "generator"],
)
def test_anything_that_gives_lines_is_a_file(tmp_path, opened):
    file = opened(tmp_path)
    a = mdqr.loadtxt(file, precision="qd")
    assert mdqr.array_equal(a, mdqr.array([["0.1", "2"], ["3", "4"]], precision="qd"))
    if hasattr(file, "close"):
        file.close()


@pytest.mark.parametrize("file", [5, None, [1, 2]], ids=repr)
def test_what_gives_no_lines_is_refused(file):
    with pytest.raises(TypeError, match="wanted is the name of a file, a file or lines of text"):
        mdqr.loadtxt(file, precision="qd")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
@pytest.mark.parametrize("skipped", [0, 1, 7, 8, 9])
def test_skipped_lines_end_as_others(end, skipped):
    text = end.join(f"{i},1" for i in range(8))
    if skipped < 8:
        a = mdqr.loadtxt(io.BytesIO(text.encode()), precision="dd", skiprows=skipped)
        assert a[:, 0].to_numpy().tolist() == list(range(skipped, 8))
    else:
        with pytest.raises(ValueError, match="the file is empty"):
            mdqr.loadtxt(io.BytesIO(text.encode()), precision="dd", skiprows=skipped)


def test_lines_are_skipped_over_several_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "_BYTES", 10)
    data = "".join(f"{i},1\n" for i in range(100)).encode()
    for skipped in (1, 5, 50, 99):
        a = mdqr.loadtxt(io.BytesIO(data), precision="dd", skiprows=skipped, usecols=0)
        assert a.to_numpy().tolist() == list(range(skipped, 100))


def test_comments_behind_quoted_fields():
    text = '"a # b",y # names\n"3","4" # x\n5,"6"# "y"\n# "z\n'
    a = read(text, header=True, comments="#")
    assert a.to_numpy().tolist() == [[3, 4], [5, 6]]
    assert read(text, header=True, comments="#", usecols="a # b").to_numpy().tolist() == [3, 5]


def test_no_columns():
    assert read("1,2\n3,4\n", usecols=[]).shape == (2, 0)


@pytest.mark.parametrize(
    "options", [{"delimiter": d} for d in ("\n", '"', "ab", "", None)] + [{"digits": 0}], ids=str
)
def test_wrong_options_leave_a_file_as_it_is(tmp_path, options):
    path = tmp_path / "kept.csv"
    path.write_text("kept")
    with pytest.raises(ValueError, match=next(iter(options))):
        mdqr.savetxt(path, mdqr.ones((2, 2), precision="dd"), **options)
    assert path.read_text() == "kept"
