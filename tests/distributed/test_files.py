"""Rows in files come back to the bit, and what is wrong with a file is named."""

from __future__ import annotations

import numpy as np
import pytest

import mdqr
from mdqr import distributed as md


def rows(precision, *, is_complex=False):
    a = mdqr.random.normal((50, 4), precision=precision, rng=0)
    b = mdqr.random.normal((50, 2), precision=precision, rng=1)
    if is_complex:
        a, b = a + 1j * a[::-1], b - 2j * b
    return a, b


LIBRARIES = {"zarr": "zarr", "h5": "h5py", "parquet": "pyarrow"}


@pytest.mark.parametrize("suffix", LIBRARIES)
@pytest.mark.parametrize("precision", [mdqr.dd, mdqr.qd, mdqr.od], ids=str)
@pytest.mark.parametrize("is_complex", [False, True])
def test_limbs_come_back(tmp_path, suffix, precision, is_complex):
    pytest.importorskip(LIBRARIES[suffix])
    a, b = rows(precision, is_complex=is_complex)
    path = tmp_path / f"rows.{suffix}"
    md.save_rows([(a[:20], b[:20]), (a[20:20], b[20:20]), (a[20:], b[20:])], path)
    found = md.open_rows(path)
    assert [len(found[i][0]) for i in range(len(found))] == [20, 0, 30]
    assert mdqr.array_equal(mdqr.concatenate([found[i][0] for i in range(3)]), a)
    assert mdqr.array_equal(mdqr.concatenate([found[i][1] for i in range(3)]), b)
    assert mdqr.array_equal(md.lstsq(found).x, md.lstsq([(a, b)]).x)
    with pytest.raises(FileExistsError):
        md.save_rows([(a, b)], path)
    with pytest.raises(IndexError):
        found[3]


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_what_was_not_finished_has_no_name(tmp_path, suffix):
    pytest.importorskip(LIBRARIES[suffix])
    a, b = rows(mdqr.qd)
    path, part = tmp_path / f"rows.{suffix}", tmp_path / f"rows.{suffix}.part"
    with pytest.raises(ValueError, match="chunk 1: shapes"):
        md.save_rows([(a, b), (a[:, :2], b)], path)
    assert part.exists()
    assert not path.exists()
    part.rename(path)
    with pytest.raises(ValueError, match="not to its end"):
        md.open_rows(path)


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_files_that_are_cut_off_are_told(tmp_path, suffix):
    """No row is made of nothing."""
    pytest.importorskip(LIBRARIES[suffix])
    a, b = rows(mdqr.od)
    path = tmp_path / f"rows.{suffix}"
    md.save_rows([(a[:20], b[:20]), (a[20:], b[20:])], path)
    if suffix == "zarr":
        for damage in ("cut", "lost"):
            (piece,) = [x for x in (path / "c").rglob("*") if x.is_file()]
            if damage == "lost":
                piece.unlink()
            else:
                piece.write_bytes(piece.read_bytes()[:1000])
            with pytest.raises(Exception, match=r"chunk 0.*(cannot be read|NaN)"):
                md.lstsq(md.open_rows(path))
        return
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises((OSError, ValueError), match=r"rows\.|truncated|[Mm]agic|footer"):
        md.lstsq(md.open_rows(path))


def test_columns_of_texts_in_parquet_are_exact(tmp_path):
    arrow, parquet = (pytest.importorskip(x) for x in ("pyarrow", "pyarrow.parquet"))
    texts = [f"0.{i:03d}" for i in range(1, 90)]
    sides = [f"{i}.1e-3" for i in range(1, 90)]
    path = tmp_path / "rows.parquet"
    columns = {"t": texts, "one": [1.0] * 89, "y": sides}
    parquet.write_table(arrow.table(columns), path, row_group_size=40)
    found = md.open_rows(path, precision="od", b="y")
    t, y = (mdqr.array(x, precision=mdqr.od) for x in (texts, sides))
    assert [len(found[i][1]) for i in range(3)] == [40, 40, 9]
    assert mdqr.array_equal(mdqr.concatenate([found[i][0][:, 0] for i in range(3)]), t)
    assert mdqr.array_equal(mdqr.concatenate([found[i][1] for i in range(3)]), y)
    for wrong, text in [("1..2", "'1..2' is no number"), (None, "None is no number")]:
        sides[70] = wrong
        parquet.write_table(arrow.table(columns), path, row_group_size=40)
        found = md.open_rows(path, precision="od", b="y")
        with pytest.raises(
            ValueError, match=rf"chunk 1: .*rows.parquet, row 70, column 'y': {text}"
        ):
            md.lstsq(found)
    with pytest.raises(ValueError, match="no column 'z'"):
        md.open_rows(path, precision="od", b="z")


def write(path, lines, header="t,one,y\n"):
    path.write_text(header + "".join(lines))


def test_decimals_are_read_exactly_in_chunks(tmp_path):
    lines = [f"0.{i:03d},1,{i}.1e-3\n" for i in range(1, 200)]
    path = tmp_path / "rows.csv"
    write(path, lines)
    whole = mdqr.loadtxt(path, precision=mdqr.od, header=True)
    for count in (7, 64, 1000):
        found = md.open_rows(path, precision="od", b="y", header=True, rows=count)
        assert mdqr.array_equal(
            mdqr.concatenate([found[i][0] for i in range(len(found))]), whole[:, :2]
        )
        assert mdqr.array_equal(md.lstsq(found).x, md.lstsq([(whole[:, :2], whole[:, 2])]).x)


def test_unreadable_cells_are_named_by_their_line(tmp_path):
    lines = [f"0.{i:03d},1,{i}.1e-3\n" for i in range(1, 200)]
    lines[150] = "0.5,1,1..2\n"
    path = tmp_path / "rows.csv"
    write(path, lines)
    found = md.open_rows(path, precision="qd", b=-1, header=True, rows=40)
    with pytest.raises(ValueError, match=r"chunk 3: .*rows.csv, line 152, column 3"):
        md.lstsq(found)


def test_a_text_that_is_cut_off_is_told(tmp_path):
    path = tmp_path / "rows.csv"
    write(path, [f"0.{i:03d},1,{i}.1e-3\n" for i in range(1, 200)])
    found = md.open_rows(path, precision="qd", b="y", header=True, rows=40)
    path.write_bytes(path.read_bytes()[:1500])
    with pytest.raises(OSError, match=r"chunk 2: .*rows.csv has been cut off .* before line 95"):
        md.lstsq(found)


def test_files_that_are_none(tmp_path):
    with pytest.raises(ValueError, match="path must end in"):
        md.open_rows(tmp_path / "rows.xls")
    with pytest.raises(ValueError, match="precision="):
        md.open_rows(tmp_path / "rows.csv")
    zarr = pytest.importorskip("zarr")
    path = tmp_path / "plain.zarr"
    zarr.create_array(store=str(path), data=np.zeros((3, 3)))
    with pytest.raises(ValueError, match="not written by save_rows"):
        md.open_rows(path)


def test_columns_of_text_by_name_and_index(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('"t, s",one,y\n0.1,1,2\n0.2,1,3\n0.4,1,5.5\n')
    by_name, by_index = (
        md.lstsq(md.open_rows(path, precision="d", b=b, header=True)).x for b in ("y", -1)
    )
    assert mdqr.array_equal(by_name, by_index)
    exact = np.linalg.lstsq([[0.1, 1], [0.2, 1], [0.4, 1]], [2, 3, 5.5])[0]
    assert np.allclose(by_name.to_numpy(), exact)
    for b, error in ((7, ValueError), (-9, ValueError), (True, TypeError)):
        with pytest.raises(error, match="open_rows: b"):
            md.lstsq(md.open_rows(path, precision="d", b=b, header=True))
