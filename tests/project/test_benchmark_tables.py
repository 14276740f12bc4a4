"""The pages that benchmarks write: every row is shown, and figures are those of their rows."""

from __future__ import annotations

import json

import pytest
from benchmark_pages import ABOUT, RESULTS, load


@pytest.fixture(scope="module")
def tables():
    return load("tensorcore.pages")


@pytest.fixture(scope="module")
def paper(tables):
    return tables.figures.paper


@pytest.fixture
def row(tables):
    """Make a row of a run."""

    def make(group, what, size, value, unit="ms", who="mdqr", precision="fp16", aim=None):
        return tables.Row(group, what, who, precision, size, value, unit, aim)

    return make


def line_of(page, title, start):
    """Return the cells of the line of a section that starts with a name."""
    section = page.split(f"\n## {title}")[1].split("\n## ")[0]
    (line,) = [x for x in section.splitlines() if x.startswith(f"| {start} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture
def page(tables):
    """Make the page of rows."""
    results = load("common.rows").Results

    def make(rows, failures=()):
        return tables.BENCHMARKS["tensorcore"].page(results(rows, dict(failures), ABOUT))

    return make


@pytest.mark.parametrize(
    "group", ["cpu", "gallery", "gpu", "tensorcore", "texts", "update-cpu", "update-cuda"]
)
def test_recorded_pages_are_those_of_the_recorded_rows(group):
    benchmark = load(load("__main__").GROUPS[group]).BENCHMARKS[group]
    source = RESULTS / f"{benchmark.name}.json"
    results = load("common.rows").read(source, benchmark.row_of)
    assert benchmark.page(results) == source.with_suffix(".md").read_text()


def test_the_page_of_small_calls_is_that_of_its_records():
    history = load("cpu.history")
    content = json.loads(history.FILE.read_text())
    assert history.page(content) == history.FILE.with_suffix(".md").read_text()
    assert content["calls"] == list(history.calls())
    assert all(list(each["microseconds"]) == content["calls"] for each in content["records"])


def test_every_row_is_shown(tables, page):
    source = RESULTS / "tensorcore.json"
    rows, _, _ = load("common.rows").read(source, tables.BENCHMARKS["tensorcore"].row_of)
    text = page(rows)
    # Errors of approximations are shown as what they are above the best, rates of fp16 alone, and
    # panels by the library at some sizes.
    shown = [r for r in rows if r.unit not in ("times", "TFLOP/s") or r.precision == "fp16"]
    shown = [row for row in shown if row.what != "Q and R, geqrf"]
    assert all(tables.number(row.value) in text for row in shown if row.unit != "times")
    assert text.count(" | met |") + text.count(" | missed |") >= sum(
        row.aim is not None for row in rows
    )


def test_rows_that_no_section_knows_come_at_the_end(page, row):
    found = [
        row("another", "thing", "4x2", 3.25, "s"),
        row("another", "thing", "8x2", 4.5, "s"),
        row("another", "thing", "8x2", 0.5, "times faster"),
        row("factorisations", "new", "4x2", 1.5),
    ]
    text = page(found, {"group": "Traceback: it broke"})
    assert "## Further: another" in text
    assert "| what | by | precision | unit | 4x2 | 8x2 |" in text
    assert "| thing | mdqr | fp16 | s | 3.25 | 4.5 |" in text
    assert "| thing | mdqr | fp16 | times faster |  | 0.5 |" in text
    assert "| new | mdqr | fp16 | ms | 1.5 |" in text
    assert "## Group failed" in text
    assert "it broke" in text


def test_sections_without_rows_are_left_out(page):
    assert "##" not in page([])


def test_aims(page, row):
    gain = "times faster"
    found = [
        row("factorisations", "geqrf / caqr", "4x2", 6.0, gain, aim=5.0),
        row("factorisations", "geqrf / cholesky", "4x2", 4.0, gain, aim=5.0),
        row("orthonormal", "root mean square of columns", "4x2", 1e-7, "", aim=1e-6),
    ]
    text = page(found)
    assert line_of(text, "Against the aims", "geqrf / caqr")[-1] == "met"
    assert line_of(text, "Against the aims", "geqrf / cholesky")[-1] == "missed"
    assert line_of(text, "Against the aims", "root mean square of columns")[-1] == "met"


def test_the_panel_and_its_share_of_the_fastest_product(page, row):
    found = [
        row("products", "A B", "1000x1000x1000", 800.0, "TFLOP/s", "cuBLAS"),
        row("products", "A B", "1000x1000x1000", 900.0, "TFLOP/s", "cuBLAS", "fp32"),
        row("factorisations", "Q and R, caqr", "4000x1000", 1.0),
        row("factorisations", "Q and R, caqr", "4000x1000", 7.0, "TFLOP/s"),
        row("factorisations", "geqrf / caqr", "4000x1000", 5.0, "times faster"),
    ]
    # 2 * 4000 * 1000^2 operations in a millisecond are 8 TFLOP/s.
    text = page(found)
    assert line_of(text, "Figure 6", "4000x1000")[1:4] == ["5", "7", "0.01"]


def test_figures_7_8_and_9(page, row):
    by = [f"panel {i}, update {o}" for i in ("fp16", "fp32") for o in ("fp16", "fp32")]
    size = "8x4, cluster 1e+05"
    found = [row("switches", "Q and R, caqr", "8x4", k, precision=p) for k, p in enumerate(by, 1)]
    found += [
        row("least squares", "direct", size, 9.0, who="cuSOLVER", precision="float64"),
        row("least squares", "cgls, 12 iterations", size, 2.0),
        row("least squares", "float64 direct / mdqr", size, 4.5, "times faster"),
        row("least squares", "direct, 100 iterations", size, 3.0, precision="fp16x2"),
        row("least squares", "A^T r, relative", size, 1e-15, ""),
        row("solutions", "direct", "8x4, 1e3", 1e-16, "", "cuSOLVER", "float64"),
        row("solutions", "R^-1 Q^T b", "8x4, 1e3", 1e-3, ""),
        row("solutions", "cgls, 7 iterations", "8x4, 1e3", 2e-16, ""),
    ]
    text = page(found)
    assert line_of(text, "Figure 7", "8x4") == ["8x4", "1", "2", "3", "4"]
    lines = [x for x in text.splitlines() if x.startswith("| cluster 1e+05 |")]
    assert lines == [
        "| cluster 1e+05 | 2 | 12 | 4.5 | 3 | 100, then float64 | 9 |",
        "| cluster 1e+05 | 1e-15 |",
    ]
    assert line_of(text, "Figure 9", "8x4, 1e3")[1:] == ["1e-16", "0.001", "2e-16", "7"]
    assert "Further" not in text


def test_conditions_with_and_without_another_pass(page, row):
    found = [
        row("conditions", "orthogonality", "8x4, 1e3", 2e-7, "", "cuSOLVER", "float32"),
        row("conditions", "orthogonality", "8x4, 1e3", 5e-3, ""),
        row("conditions", "orthogonality", "8x4, 1e3", 3e-7, "", precision="fp16, 2 passes"),
    ]
    text = page(found)
    lines = [x for x in text.splitlines() if x.startswith("| 1e3 |")]
    assert lines == ["| 1e3 | 2e-07 | 0.005 |", "| 1e3 | 2e-07 | 3e-07 (2) |"]


def test_the_estimates_are_those_of_the_paper(paper):
    """What its text says of figures 1 and 2, from its own table 3."""
    geqrf = paper.TABLE_3[paper.COLUMNS].geqrf
    # "Only by around 30 %", "no better than geqrf": of panels up to 1024 columns.
    with_tensor_cores, without = (paper.householder(paper.TABLE_3, 1024, x) for x in (True, False))
    assert 1.2 < with_tensor_cores / without < 1.4
    assert with_tensor_cores < geqrf
    speed = paper.recursive(paper.TABLE_3, 128, True)
    assert paper.as_householder(speed) / geqrf == pytest.approx(1.37, abs=0.02)
    with_caqr = paper.recursive(paper.TABLE_3, 128, True, paper.CAQR_PANEL)
    assert with_caqr == pytest.approx(paper.CAQR_ESTIMATE, abs=0.5)


def test_table_3_and_what_it_leads_to(page, paper, row):
    """The rows of the paper's own machine give the paper's numbers twice."""
    found = []
    for k, rates in paper.TABLE_3.items():
        for what, size, values in (
            ("A^T B", f"{k}x{paper.ROWS}x{k}", (rates.inner_low, rates.inner)),
            ("A B", f"{paper.ROWS}x{k}x{k}", (rates.outer_low, rates.outer)),
        ):
            for value, precision in zip(values, ("fp16", "fp32"), strict=True):
                found.append(row("products", what, size, value, "TFLOP/s", "cuBLAS", precision))
        ms = 2e-9 * k * k * (paper.ROWS - k / 3) / rates.geqrf
        size = f"{paper.ROWS}x{k}"
        found.append(row("factorisations", "geqrf", size, ms, who="cuSOLVER", precision="float32"))
    for size, ms in ((f"{paper.ROWS}x128", 3.25), (f"{paper.ROWS}x{paper.COLUMNS}", 672)):
        found.append(row("factorisations", "Q and R, caqr", size, ms))
    text = page(found)
    assert line_of(text, "Table 3", "1024") == [
        "1024", "72.4 / 72.4", "12.4 / 12.4", "77.6 / 77.6", "12.8 / 12.8", "0.79 / 0.79",
    ]  # fmt: skip
    for cell in line_of(text, "Figures 1 and 2", "128")[1:]:
        one, other = cell.split(" / ")
        assert one == other
    assert "formula (7) gives 27.2 TFLOP/s" in text
    assert "measured are 26.2." in text
