"""Files as other programs write them: comments, commas, exponents, encodings, compression."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc

import numpy as np
import pytest
from array_cases import same_bits
from hypothesis import given
from hypothesis import strategies as st

import mdqr

QUOTED = [False, True]  # a quote somewhere sends a file the slow way


def read(text, *, quoted=False, **options):
    if quoted:
        text += '"7"' + (options.get("delimiter", ",") or " ") + "8\n"
    options.setdefault("precision", mdqr.qd)
    found = mdqr.loadtxt(io.StringIO(text), **options)
    return found[:-1] if quoted and options.get("max_rows") is None else found


def exact(rows):
    return mdqr.array(rows, precision=mdqr.qd)


@pytest.mark.parametrize("quoted", QUOTED)
def test_comments_of_several_kinds(quoted):
    text = "! head\n1,2 # one\n#\n3,4 !# two # three\n% 5,6\n"
    options = {"comments": ["!", "#", "%"], "quoted": quoted}
    assert same_bits(read(text, **options), exact([[1, 2], [3, 4]]))
    assert same_bits(read("1,2 /* 3\n", comments=("/", "/*"), quoted=quoted), exact([[1, 2]]))
    with pytest.raises(ValueError, match=r"line 5, column 1.*cannot read '% 5'"):
        read(text, comments=["!", "#"], quoted=quoted)
    for comments in ([""], ["#", 3], [None], ["#\n"], '"'):
        with pytest.raises(ValueError, match="comments must be"):
            read("1\n", comments=comments)


@pytest.mark.parametrize("quoted", QUOTED)
@pytest.mark.parametrize("sign", ["", "+", "-"])
def test_exponents_of_fortran(sign, quoted):
    texts = ["0.2250D+01", "1.d-3", ".5D7", "3D0", "2d-12"]
    text = "\n".join(f"{sign}{t}, {t} " for t in texts) + "\n"
    wanted = [[sign + t.lower().replace("d", "e"), t.lower().replace("d", "e")] for t in texts]
    assert same_bits(read(text, quoted=quoted), exact(wanted))


@pytest.mark.parametrize("quoted", QUOTED)
def test_digits_of_hexadecimal_floats_are_no_exponents(quoted):
    text = "0x1d5,0x1.8d1p0\n0xd.d1p+3,0x.8d1\n"
    wanted = [["0x1d5", "0x1.8d1p0"], ["0xd.d1p+3", "0x.8d1"]]
    assert same_bits(read(text, quoted=quoted), exact(wanted))


@pytest.mark.parametrize("quoted", QUOTED)
@pytest.mark.parametrize("cell", ["1_000", "1_0.5", "1e1_0", "D5", "1D", "1.5d+", "1dd2", "d"])
def test_fields_that_only_look_like_numbers_are_refused(cell, quoted):
    with pytest.raises(
        ValueError, match=rf"line 2, column 1: cannot read '{cell}'".replace("+", ".")
    ):
        read(f"1,2\n{cell},3\n", quoted=quoted)


@given(
    st.lists(
        st.tuples(st.integers(-(10**40), 10**40), st.integers(0, 30), st.integers(-20, 20)),
        min_size=1,
        max_size=6,
    ),
    st.booleans(),
)
def test_decimal_commas(numbers, quoted):
    cells = []
    for digits, places, power in numbers:
        text = f"{abs(digits):0{places + 1}d}"
        whole, fraction = text[: len(text) - places], text[len(text) - places :]
        cells.append(("-" if digits < 0 else "") + f"{whole}.{fraction}e{power}")
    text = "".join(f"{cell.replace('.', ',')};{i}\n" for i, cell in enumerate(cells))
    wanted = exact([[cell, str(i)] for i, cell in enumerate(cells)])
    assert same_bits(read(text, delimiter=";", decimal=",", quoted=quoted), wanted)


@pytest.mark.parametrize("quoted", QUOTED)
def test_points_are_no_part_of_numbers_with_decimal_commas(quoted):
    """1.500 is one and a half, or fifteen hundred."""
    options = {"delimiter": ";", "decimal": ",", "quoted": quoted}
    thousands = r"give thousands='\.'"
    for cell, hint in {"1.500": thousands, "1.234,5": thousands, "1,2.3": "no point"}.items():
        with pytest.raises(ValueError, match=f"line 1, column 2: cannot read '{cell}'.*{hint}"):
            read(f"1,5;{cell}\n", **options)
    a = read("Jahr;x.y\n1,5;-,5\nk.A.;1,5e3\n", header=True, missing="k.A.", **options)
    assert a.to_numpy().tolist()[0] == [1.5, -0.5]
    assert np.isnan(a.to_numpy()[1, 0])
    assert float(a[1, 1]) == 1500
    b = read("a.b;c,d\n1,5;2\n", header=True, usecols=["c,d", "a.b"], **options)
    assert b.to_numpy().tolist() == [[2.0, 1.5]]


def test_a_decimal_comma_is_suggested():
    with pytest.raises(ValueError, match=r"cannot read '1,5'.*a decimal comma\? give decimal=','"):
        read("1,5;2\n", delimiter=";")
    for options in ({}, {"delimiter": "."}, {"delimiter": ";", "comments": ".."}):
        with pytest.raises(ValueError, match="needs another character between fields"):
            read("1,5\n", decimal=",", **options)
    with pytest.raises(ValueError, match=r"decimal must be '\.' or ','"):
        read("1;5\n", decimal=";")


@pytest.mark.parametrize("quoted", QUOTED)
def test_numbers_that_mean_a_missing_value(quoted):
    """They were read as numbers where a line had no quotes."""
    a = read("1,-999\n-999,2\n-9,-9990\n", missing=["-999"], quoted=quoted).to_numpy()
    np.testing.assert_array_equal(a, [[1, np.nan], [np.nan, 2], [-9, -9990]])


@pytest.mark.parametrize("quoted", QUOTED)
def test_rows_are_counted(quoted):
    text = "x,y\n\n1,2\n# none\n3,4\n5,6\nthe end\n"
    for count in range(4):
        a = read(text, header=True, comments="#", max_rows=count, quoted=quoted)
        assert same_bits(a, exact([[1, 2], [3, 4], [5, 6]])[:count])
    many = "".join(f"{i},{i}\n" for i in range(9000))
    assert read(many, max_rows=5000, quoted=quoted).shape == (5000, 2)
    assert read("1,2\n", max_rows=9, quoted=False).shape == (1, 2)
    with pytest.raises(ValueError, match="max_rows must not be negative"):
        read("1\n", max_rows=-1)
    with pytest.raises(TypeError):
        read("1\n", max_rows=1.5)


OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@pytest.mark.parametrize("end", OPENERS)
def test_compressed_files(tmp_path, end):
    text = "x,y\n" + "".join(f"{i}.1,1e-{i % 40}\n" for i in range(20000))
    path = tmp_path / f"table.csv{end}"
    with OPENERS[end](path, "wt") as stream:
        stream.write(text)
    found = mdqr.loadtxt(path, precision="dd", header=True)
    assert same_bits(found, mdqr.loadtxt(io.StringIO(text), precision="dd", header=True))
    with OPENERS[end](path, "rb") as stream:
        assert same_bits(mdqr.loadtxt(stream, precision="dd", header=True), found)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"no archive at all", whole[:9] + whole[40:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"table\.csv\{end}: the compressed file is damaged"):
            mdqr.loadtxt(path, precision="dd", header=True)


@pytest.mark.parametrize("end", OPENERS)
def test_written_files_are_compressed_by_their_names(tmp_path, end):
    a = mdqr.random.normal((3, 2), precision="qd", rng=1)
    mdqr.savetxt(tmp_path / f"a.csv{end}", a)
    mdqr.mmwrite(str(tmp_path / f"a.mtx{end}"), a)
    for name in ("csv", "mtx"):
        with OPENERS[end](tmp_path / f"a.{name}{end}", "rt") as stream:
            assert len(stream.readlines()) >= 3
    assert same_bits(mdqr.loadtxt(tmp_path / f"a.csv{end}", precision="qd"), a)
    assert same_bits(mdqr.mmread(tmp_path / f"a.mtx{end}", precision="qd"), a)


@pytest.mark.parametrize("end", OPENERS)
@pytest.mark.parametrize("line", [b"1\n", b"1"])
def test_small_files_do_not_fill_the_memory(tmp_path, end, line, monkeypatch):
    """The limits are 64 MiB and a hundredfold where nothing is changed."""
    monkeypatch.setattr("mdqr._io.opened._FREE", 1 << 16)
    monkeypatch.setattr("mdqr._io.opened._GROWTH", 1)
    path = tmp_path / f"bomb.txt{end}"
    with OPENERS[end](path, "wb") as stream:
        for _ in range(4):
            stream.write(line * (2**20 // len(line)))
    tracemalloc.start()
    with pytest.raises(ValueError, match="the file holds more than"):
        mdqr.loadtxt(path, precision="od")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1", "utf-8-sig", "cp1252"])
def test_encodings(tmp_path, encoding):
    text = "größe,y\r\n0.1,2\r\n\r\n3,1e-30\r\n"
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    wanted = exact([["0.1", "2"], ["3", "1e-30"]])
    options = {"precision": mdqr.qd, "header": True, "usecols": ["größe", "y"]}
    assert same_bits(mdqr.loadtxt(path, encoding=encoding, **options), wanted)
    with path.open("rb") as stream:
        assert same_bits(mdqr.loadtxt(stream, encoding=encoding, **options), wanted)
        assert not stream.closed
    if encoding not in ("utf-8-sig", "utf-16-le"):
        with pytest.raises(ValueError, match=r"is not UTF-8 text.*encoding='latin-1' or 'utf-16'"):
            mdqr.loadtxt(path, **options)
    with pytest.raises(ValueError, match="is not UTF-16 text"):
        mdqr.loadtxt([b"1\n2", b"3"], encoding="utf-16", precision="qd")
    with pytest.raises(LookupError, match="unknown encoding"):
        mdqr.loadtxt(path, encoding="none", **options)
