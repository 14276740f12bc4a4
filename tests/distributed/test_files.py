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


@pytest.mark.parametrize("suffix", ["zarr", "h5"])
@pytest.mark.parametrize("precision", [mdqr.dd, mdqr.qd, mdqr.od], ids=str)
@pytest.mark.parametrize("is_complex", [False, True])
def test_limbs_come_back(tmp_path, suffix, precision, is_complex):
    pytest.importorskip("zarr" if suffix == "zarr" else "h5py")
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


def test_what_was_not_finished_has_no_name(tmp_path):
    pytest.importorskip("zarr")
    a, b = rows(mdqr.qd)
    path = tmp_path / "rows.zarr"
    with pytest.raises(Exception, match="chunk 1"):
        md.save_rows([(a, b), (a[:, :2], b)], path)
    assert not path.exists()


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
