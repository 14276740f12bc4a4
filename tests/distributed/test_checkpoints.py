"""A call that was stopped goes on, also with other options, and sees rows that have changed."""

from __future__ import annotations

import numpy as np
import pytest

import mdqr
from mdqr import distributed as md
from mdqr.distributed import _tree

ROWS = 70


def problem(precision, n, seed=3):
    rng = np.random.default_rng(seed)
    t = mdqr.random.uniform((ROWS,), precision=precision, rng=rng)
    return mdqr.vander(t, n), mdqr.random.normal((ROWS,), precision=precision, rng=rng)


class Chunks:
    """Seven chunks that count their readings, and stop at one of them."""

    def __init__(self, *arrays, stop=None):
        self.arrays, self.stop, self.calls = arrays, stop, 0

    def __call__(self, i):
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt
        return tuple(x[10 * i : 10 * i + 10] for x in self.arrays)


@pytest.fixture
def factored(monkeypatch):
    """Return the places of the chunks that are factored."""
    found, leaf = [], _tree.leaf

    def counted(function, chunk, form, sides):
        found.append(chunk.place)
        return leaf(function, chunk, form, sides)

    monkeypatch.setattr(_tree, "leaf", counted)
    return found


def require_same(fit, other):
    assert mdqr.array_equal(fit.x, other.x)
    assert mdqr.array_equal(fit.info.R, other.info.R)


@pytest.mark.parametrize(("stop", "kept", "read"), [(6, 4, 15), (12, 7, 12)])
def test_a_call_that_was_stopped_goes_on(tmp_path, factored, stop, kept, read):
    """In the first pass, and in the second; each call looks at the first chunk."""
    a, b = problem(mdqr.qd, 4)
    whole = md.lstsq(md.Rows(Chunks(a, b), 7))
    with pytest.raises(KeyboardInterrupt):
        md.lstsq(md.Rows(Chunks(a, b, stop=stop), 7), checkpoint=tmp_path / "kept")
    # What was being written when the power went is written again.
    first = sorted((tmp_path / "kept").glob("factor-qd-0-*"))[0]
    first.write_bytes(first.read_bytes()[:100])
    factored.clear()
    rows = Chunks(a, b)
    require_same(md.lstsq(md.Rows(rows, 7), checkpoint=tmp_path / "kept"), whole)
    assert factored == [0, *range(kept, 7)]
    # One reading to compare, and the second pass as far as it was not done.
    assert rows.calls == read
    assert not list((tmp_path / "kept").glob("*.part"))


def test_a_checkpoint_of_several_working_precisions(tmp_path):
    a, b = problem(mdqr.dd, 36, 2)
    parts = [(a[:40], b[:40]), (a[40:], b[40:])]
    whole = md.lstsq(parts)
    for _ in range(2):
        assert mdqr.array_equal(md.lstsq(parts, checkpoint=tmp_path).x, whole.x)
    assert list(tmp_path.glob("factor-qd-*"))


@pytest.mark.parametrize("changed", ["a", "b", "weights", "without weights", "last bit"])
def test_chunks_that_have_changed_are_computed_again(tmp_path, factored, changed):
    a, b = problem(mdqr.qd, 4)
    w = np.linspace(1.0, 2.0, ROWS)
    arrays = [a, b, w]
    md.lstsq(md.Rows(Chunks(*arrays), 7), checkpoint=tmp_path)
    others = [a.copy(), b.copy(), w.copy()]
    if changed == "without weights":
        others = others[:2]
    elif changed == "last bit":
        others[1].limbs[-1, 25] = np.nextafter(others[1].limbs[-1, 25], 1.0)
    else:
        others[["a", "b", "weights"].index(changed)][25] *= 2
    factored.clear()
    fit = md.lstsq(md.Rows(Chunks(*others), 7), checkpoint=tmp_path)
    assert factored == ([*range(7)] if changed == "without weights" else [2])
    require_same(fit, md.lstsq(md.Rows(Chunks(*others), 7)))


def test_other_options_take_the_same_folder(tmp_path, factored):
    a, b = problem(mdqr.qd, 4)
    a[:, 3] = a[:, 0]
    a[0, 3] += mdqr.array("1e-20", precision="qd")
    rows = md.Rows(Chunks(a, b), 7)
    md.factor(rows, checkpoint=tmp_path)
    factored.clear()
    for options in ({"rcond": 1e-10}, {"fan_in": 3}, {"data_error": {"a_rtol": 1e-9}}):
        found = md.lstsq(rows, checkpoint=tmp_path, **options)
        one = md.lstsq(rows, **options)
        assert mdqr.array_equal(found.x, one.x)
        assert found.rank == one.rank == (3 if "rcond" in options else 4)
        if "data_error" in options:
            np.testing.assert_array_equal(found.info.data_digits, one.info.data_digits)
    # Those without a checkpoint alone.
    assert len(factored) == 3 * 7


def test_checkpoints_of_other_calls_are_refused(tmp_path):
    a, b = problem(mdqr.qd, 4)
    md.factor(md.Rows(Chunks(a, b), 7), checkpoint=tmp_path / "kept")
    for rows, options, text in [
        (md.Rows(Chunks(a, b), 6), {}, "chunks 7 there and 6 here"),
        (md.Rows(Chunks(a[:, :3], b), 7), {}, "columns 4 there and 3 here"),
        (md.Rows(Chunks(a, b), 7), {"precision": "od"}, "working precision 'qd' there and 'od'"),
        (md.Rows(Chunks(a * 1j, b), 7), {}, "complex False there and True here"),
    ]:
        for call in (md.factor, md.lstsq):
            with pytest.raises(ValueError, match=f"{text}.*give another folder, or delete"):
                call(rows, checkpoint=tmp_path / "kept", **options)
    with pytest.raises(ValueError, match="can be read again"):
        md.factor(iter([(a, b)]), checkpoint=tmp_path / "other")
    with pytest.raises(TypeError, match="path of a folder"):
        md.factor([(a, b)], checkpoint=3)
    (tmp_path / "kept" / "call.json").write_text("[")
    with pytest.raises(ValueError, match="None there"):
        md.factor(md.Rows(Chunks(a, b), 7), checkpoint=tmp_path / "kept")


@pytest.mark.parametrize("content", [b"", b"\x80", b"cno_such_module\nx\n.", b"cbuiltins\nlen\n."])
def test_results_that_cannot_be_read_are_computed_again(tmp_path, content):
    a, b = problem(mdqr.qd, 4)
    rows = md.Rows(Chunks(a, b), 7)
    whole = md.lstsq(rows, checkpoint=tmp_path)
    for path in tmp_path.glob("factor-*"):
        path.write_bytes(content)
    require_same(md.lstsq(rows, checkpoint=tmp_path), whole)
