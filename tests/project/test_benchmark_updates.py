"""The pages of updates that benchmarks write, and the decisions that they replay."""

from __future__ import annotations

import pytest
from benchmark_pages import ABOUT, RESULTS, load


@pytest.fixture
def cells():
    """Measured cells of one table, in seconds."""
    paper = load("update.paper").cells()
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
    lines = load("update.tables").lines(list(map(load("update.paper").row_of, cells)))
    page = "\n".join(lines)
    assert page.index("## float32") < page.index("## dd")
    rows = [line for line in lines if line.startswith("| 4000 x 3000 | 0 | 200 |")]
    assert [row.split(" | ")[3:6] for row in rows] == [["200", "300", "100"]] * 2
    assert "- dd: 2 of 2 aims met; gains from 2.00 to 2.00; `auto` at least 0.98 for R" in page


def test_runs_are_joined(cells, tmp_path):
    """Later rows replace earlier ones, and what was left out replaces nothing."""
    row_of, files = load("update.paper").row_of, load("common.rows")
    key = ("precision", "table", "kind", "m", "n", "k", "p", "full", "update")
    left_out = row_of({name: cells[0][name] for name in key} | {"skipped": 1})
    rows, faster = list(map(row_of, cells)), row_of(cells[1] | {"update thin": 0.05})
    runs = [
        files.Results(rows, {}, ABOUT | {"command": "first"}),
        files.Results([left_out, faster], {}, ABOUT | {"command": "second"}),
    ]
    results = files.joined(runs)
    assert results.about["command"] == "first; second"
    assert results.rows == [rows[0], faster, *rows[2:]]
    path = tmp_path / "update-cuda.json"
    load("update.tables").BENCHMARKS["update-cuda"].write(results, path)
    assert files.read(path, row_of) == results
    assert "`first`\n`second`" in path.with_suffix(".md").read_text()


@pytest.mark.parametrize("name", ["float32", "dd", "qd"])
def test_decisions_are_replayed(name):
    """The rates explain times that were made by them, and the choice then loses nothing."""
    replay, model = load("update.replay"), load("update.model")
    cost = replay.cost
    engine = model.engine_of(name, "cuda")
    rows = []
    for cell in load("update.paper").cells()[::5]:
        fresh = cost.seconds(engine, model.fresh_work(cell))
        row = {"precision": name, **cell._asdict(), "fresh": fresh}
        for form in ("R", "thin") if cell.kind in ("insert col", "delete row") else ("R",):
            row[f"update {form}"] = cost.seconds(engine, model.works(engine, cell, form).update)
        rows.append(row)
    for row in rows:
        for made in replay.replayed(engine, row):
            assert abs(made.ratio - 1) <= 1e-12
            works = model.works(engine, replay.cell_of(row), made.name)
            assert abs(made.fresh / cost.seconds(engine, works.refactor) - 1) <= 1e-12
            assert made.loss(made.by_model) <= 1 + 1e-12
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
    return load("update.replay").measured(RESULTS / "update-cuda.json")


@pytest.mark.parametrize("name", ["float32", "dd", "qd"])
def test_the_rates_decide_rightly_where_it_was_measured(recorded, name):
    """Never slower than a fresh factorisation by more than a tenth."""
    replay, model = load("update.replay"), load("update.model")
    rows = [row for row in recorded if row["precision"] == name]
    assert len(rows) > 140
    engine = model.engine_of(name, "cuda")
    decisions = [made for row in rows for made in replay.replayed(engine, row)]
    assert min(made.gain for made in decisions) >= 0.9
