"""The pages of updates that benchmarks write, and the decisions that they replay."""

from __future__ import annotations

import json

import pytest
from benchmark_pages import ABOUT, BENCHMARKS, load


@pytest.fixture
def cells():
    """Measured cells of one table, in seconds."""
    paper = load("update_paper").cells()
    wanted = [c for c in paper if c.table == 2][:2]
    return [
        {
            "precision": name, **cell._asdict(), "paper": cell.speedup, "fresh QR": 0.2,
            "fresh": 0.2, "update R": 0.3, "update thin": 0.1, "auto R": 0.98, "auto thin": 2.0,
            "speedup": 2.0, "counted": 3.0, "aim": 1.0, "met": True, "reason": "",
        }
        for name in ("dd", "float32")
        for cell in wanted
    ]  # fmt: skip


def test_every_cell_is_shown_with_its_times(cells):
    lines = load("update_tables").lines_of(cells)
    page = "\n".join(lines)
    assert page.index("## float32") < page.index("## dd")
    rows = [line for line in lines if line.startswith("| 4000 x 3000 | 0 | 200 |")]
    assert [row.split(" | ")[3:6] for row in rows] == [["200", "300", "100"]] * 2
    assert "- dd: 2 of 2 aims met; gains from 2.00 to 2.00; `auto` at least 0.98 for R" in page


def test_runs_are_joined(cells, tmp_path):
    """Later rows replace earlier ones, and what was left out replaces nothing."""
    tables = load("update_tables")
    key = ("precision", "table", "kind", "m", "n", "k", "p", "full", "update")
    left_out = {name: cells[0][name] for name in key} | {"skipped": 1}
    faster = cells[1] | {"update thin": 0.05}
    runs = [
        {"environment": ABOUT | {"command": "first"}, "results": cells},
        {"environment": ABOUT | {"command": "second"}, "results": [left_out, faster]},
    ]
    about, rows = tables.joined(runs)
    assert about["command"] == "first; second"
    assert rows == [cells[0], faster, *cells[2:]]
    tables.keep(tmp_path, "cuda", about, rows)
    assert json.loads((tmp_path / "update-cuda.json").read_text())["results"] == rows
    assert "`first`\n`second`" in (tmp_path / "update-cuda.md").read_text()


@pytest.mark.parametrize("name", ["float32", "dd", "qd"])
def test_decisions_are_replayed(name):
    """The rates explain times that were made by them, and the choice then loses nothing."""
    replay, model = load("update_replay"), load("update_model")
    cost = replay.cost
    engine = model.engine_of(name, "cuda")
    rows = []
    for cell in load("update_paper").cells()[::5]:
        fresh = cost.seconds(engine, model.fresh_work(cell))
        row = {"precision": name, **cell._asdict(), "fresh": fresh}
        for form in ("R", "thin") if cell.kind in ("insert col", "delete row") else ("R",):
            row[f"update {form}"] = cost.seconds(engine, model.works(engine, cell, form).update)
        rows.append(row)
    for row in rows:
        for form, taken, gain, own, ratio in replay.replayed(engine, row):
            assert abs(ratio - 1) <= 1e-12
            assert own >= 1 - 1e-12
            again = cost.seconds(engine, model.works(engine, replay.cell_of(row), form).anew)
            assert gain >= (1 - 1e-12) * row["fresh"] / min(again, row[f"update {form}"])
            assert taken in ("update", "fresh")
    product, column, entry, window, call = replay.fitted(engine, rows)
    assert min(product, column, entry, window, call) >= 0
    for row in rows:
        work = model.fresh_work(replay.cell_of(row))
        explained = model.operations(engine, work) * product + work.columns * column
        explained += work.entries * entry + work.windows * window + call
        assert abs(explained / row["fresh"] - 1) <= 0.05


@pytest.fixture(scope="module")
def recorded():
    """The cells of the paper as they were measured on a GPU."""
    return json.loads((BENCHMARKS / "results" / "update-cuda.json").read_text())["results"]


def test_the_recorded_page_is_that_of_the_recorded_rows(recorded):
    page = (BENCHMARKS / "results" / "update-cuda.md").read_text()
    assert page.endswith("\n".join(load("update_tables").lines_of(recorded)).strip() + "\n")


@pytest.mark.parametrize("name", ["float32", "dd", "qd"])
def test_the_rates_decide_rightly_where_it_was_measured(recorded, name):
    """Never slower than a fresh factorisation by more than a tenth."""
    replay, model = load("update_replay"), load("update_model")
    rows = [row for row in recorded if row["precision"] == name and "speedup" in row]
    assert len(rows) > 140
    engine = model.engine_of(name, "cuda")
    gains = [gain for row in rows for _, _, gain, _, _ in replay.replayed(engine, row)]
    assert min(gains) >= 0.9
