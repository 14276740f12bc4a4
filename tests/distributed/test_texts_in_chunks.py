"""Text files of any line ends and encodings, cut anywhere, give the numbers of the whole file."""

from __future__ import annotations

import codecs

import numpy as np
import pytest

import mdqr
from mdqr import distributed as md

LINES = ["0.1,1,2.3e-4", "-7,2,0.5", "3.25,3,1e-7", "4.4,4,9.75", "55,5,-0.125"]
WHOLE = mdqr.loadtxt(LINES, precision="qd")


def chunks_of(path, **options):
    rows = md.open_rows(path, precision="qd", **options)
    return [rows[i] for i in range(len(rows))]


def require_whole(chunks, whole=WHOLE):
    found = mdqr.concatenate(chunks)
    assert found.shape == whole.shape
    assert mdqr.array_equal(found, whole)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"], ids=repr)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32-be", "latin-1"])
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_line_ends_and_encodings(tmp_path, end, encoding, header, last, monkeypatch):
    """Also read by so few bytes that blocks end between a return and its newline."""
    path = tmp_path / "x.csv"
    lines = ["x,y,ü"] * header + LINES
    text = end.join(lines) + end * last
    path.write_bytes(text.encode(encoding))
    if encoding == "utf-32-be":
        path.write_bytes(codecs.BOM_UTF32_BE + path.read_bytes())
    options = {"header": header, "b": "ü" if header else None}
    # UTF-8 is the default, with a mark or without.
    options |= {} if encoding.startswith("utf-8") else {"encoding": encoding}
    for size in (8, 52, 2**24):
        monkeypatch.setattr("mdqr.distributed._files.text._BYTES", size)
        for rows in (1, 2, 5, 9):
            chunks = chunks_of(path, rows=rows, **options)
            assert len(chunks) == -(-5 // rows)
            if header:
                chunks = [mdqr.column_stack(chunk) for chunk in chunks]
            require_whole(chunks)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"], ids=repr)
def test_chunks_of_blank_lines_and_comments_have_no_rows(tmp_path, end):
    path = tmp_path / "x.csv"
    lines = ["", "# a comment", "", *LINES[:2], "", "  ", "", "# more", *LINES[2:], "", "", ""]
    path.write_bytes(end.join(lines).encode())
    for rows in range(1, 14):
        chunks = chunks_of(path, rows=rows)
        assert all(chunk.shape[1] == 3 for chunk in chunks)
        require_whole(chunks)
    assert [len(x) for x in chunks_of(path, rows=2)] == [2, 0, 0, 2, 1, 0]
    fit = md.lstsq(md.open_rows(path, precision="qd", rows=2, b=-1))
    assert mdqr.array_equal(fit.x, mdqr.linalg.lstsq(WHOLE[:, :2], WHOLE[:, 2]).x)
    # With names before the rows, and blank lines before these.
    path.write_bytes(end.join(["", "x,y,z", "", *lines[3:]]).encode())
    for rows in (1, 2, 3, 13):
        chunks = chunks_of(path, rows=rows, header=True, b="z", comments="#")
        require_whole([mdqr.column_stack(x) for x in chunks])


def test_files_without_rows(tmp_path):
    path = tmp_path / "x.csv"
    for content in ("", "\n\n", "# nothing\n"):
        path.write_text(content)
        with pytest.raises(ValueError, match=r"x\.csv: the file is empty"):
            md.open_rows(path, precision="qd")
    path.write_text("x,y\n")
    rows = md.open_rows(path, precision="qd", header=True)
    assert len(rows) == 0
    with pytest.raises(np.linalg.LinAlgError, match="there are no rows"):
        md.lstsq(rows)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"], ids=repr)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_faults_are_named_by_the_line_of_the_file(tmp_path, end, encoding):
    path = tmp_path / "line 7.csv"
    for bad, text in [
        ("4.4,x line 3,9.75", r"line 7\.csv, line 6, column 2: cannot read 'x line 3' as a number"),
        ("4.4,4", r"line 7\.csv, line 6, column 3: the row has 2 fields, the first row has 3"),
    ]:
        lines = ["", "", *LINES[:3], bad, *LINES[4:]]
        path.write_bytes(end.join(lines).encode(encoding))
        with pytest.raises(ValueError, match=f"^lstsq: chunk 1: .*{text}") as error:
            md.lstsq(md.open_rows(path, precision="qd", rows=2, b=0, encoding=encoding))
        assert "header=True" not in str(error.value)
    # A chunk of another width by itself, and the first row.
    path.write_bytes(end.join([*LINES[:2], "1,2", "3,4", *LINES[4:]]).encode(encoding))
    rows = md.open_rows(path, precision="qd", rows=2, b=0, encoding=encoding)
    with pytest.raises(ValueError, match=r"chunk 1: .*lines from 3 on: the rows have 2 fields"):
        md.lstsq(rows)
    path.write_bytes(end.join(["x,y,z", *LINES]).encode(encoding))
    with pytest.raises(ValueError, match=r"line 1, column 1: cannot read 'x' .*header=True"):
        md.open_rows(path, precision="qd", encoding=encoding)


def test_a_cut_file_is_told_in_any_encoding(tmp_path):
    path = tmp_path / "x.csv"
    for encoding in ("utf-8", "utf-16"):
        path.write_bytes("\r\n".join(LINES * 9).encode(encoding))
        rows = md.open_rows(path, precision="qd", rows=10, b=0, encoding=encoding)
        path.write_bytes("\r\n".join(LINES * 5).encode(encoding))
        with pytest.raises(OSError, match=r"chunk 2: .*has been cut off .* before line 25"):
            md.lstsq(rows)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_told_from_the_default(tmp_path, encoding):
    path = tmp_path / "x.csv"
    path.write_bytes("\n".join(LINES).encode(encoding))
    with pytest.raises(ValueError, match=r"x\.csv begins with .*encoding='utf-") as error:
        md.open_rows(path, precision="qd")
    advised = str(error.value).rpartition("=")[2].strip("'")
    require_whole(chunks_of(path, rows=2, encoding=advised))


def test_text_of_another_encoding_is_named_by_its_lines(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("\n".join([*LINES[:4], "1,2,\xe9"]).encode("latin-1"))
    rows = md.open_rows(path, precision="qd", rows=2, b=0)
    with pytest.raises(ValueError, match=r"chunk 2: .*lines from 5 on: the file is not UTF-8 text"):
        md.lstsq(rows)
    with pytest.raises(ValueError, match="write the file as UTF-8"):
        md.open_rows(path, precision="qd", encoding="cp037")
    with pytest.raises(LookupError, match="unknown encoding"):
        md.open_rows(path, precision="qd", encoding="utf-9")


def test_options_that_chunks_cannot_have_are_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("\n".join(LINES))
    for name, value in [("skiprows", 1), ("max_rows", 1), ("usecols", [0]), ("delimeter", ";")]:
        with pytest.raises(TypeError, match=f"the options header, .*; got {name}"):
            md.open_rows(path, precision="qd", **{name: value})
    for rows in (0, 2.5, True):
        with pytest.raises(ValueError, match="rows must be an integer from 1 on"):
            md.open_rows(path, precision="qd", rows=rows)
    with pytest.raises(ValueError, match="b='z' is the name of a column, which needs header=True"):
        md.open_rows(path, precision="qd", b="z")


def test_a_cell_far_down_a_file(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"1,2\n" * 7_000_000 + b"1,1..2\n")
    rows = md.open_rows(path, precision="qd", b=-1)
    assert len(rows) == 71
    with pytest.raises(ValueError, match=r"x\.csv, line 7000001, column 2: cannot read '1\.\.2'"):
        rows[70]
