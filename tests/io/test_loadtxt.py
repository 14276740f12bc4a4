"""The exact reader of delimited text."""

from __future__ import annotations

import csv
import io
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._convert.arrays import fraction_to_limbs
from mdqr._io import loadtxt
from mdqr._precision import PRECISIONS

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
    def exhausted(texts, limbs):
        if len(texts) < 8000:
            raise MemoryError
        return np.zeros((limbs, len(texts))), None

    monkeypatch.setattr(loadtxt, "strings_to_block", exhausted)
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
