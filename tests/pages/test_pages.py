"""What the README and the pages of the docs show and say is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from benchmarks.common.rows import RESULTS, read
from benchmarks.common.runner import unknown
from benchmarks.figures.style import settings
from docs.figures import hilbert

ROOT = Path(__file__).resolve().parents[2]
WHICH_TOOL = ROOT / "docs" / "explanation" / "which-tool-when.md"
MEASURED = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in WHICH_TOOL.read_text().splitlines()
    if line.endswith(".json` |")
]


def blocks(language):
    """The blocks of the README in a language, one after the other."""
    found = re.findall(
        rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S
    )
    return "".join(found)


def test_the_lines_of_the_readme_print_what_it_says(capsys):
    exec(compile(blocks("python"), "README.md", "exec"), {})
    assert capsys.readouterr().out == blocks("text")


def test_a_figure_of_fewer_orders_is_drawn_and_never_claims_too_much(tmp_path, monkeypatch):
    """The functions assert what they draw; every third order takes a third of the time."""
    monkeypatch.setattr(hilbert, "STEP", 3 * hilbert.STEP)
    file = tmp_path / "figure.svg"
    with settings():
        figure = hilbert.draw()
        figure.savefig(file, transparent=True)
    plt.close(figure)
    assert "</svg>" in file.read_text()


@pytest.mark.long
def test_the_figure_is_drawn_and_never_claims_too_much(tmp_path):
    """The script asserts what it draws."""
    file = tmp_path / "figure.svg"
    subprocess.run([sys.executable, "-m", "docs.figures.hilbert", file], cwd=ROOT, check=True)
    assert "</svg>" in file.read_text()


@pytest.mark.parametrize("row", MEASURED, ids=" ".join)
def test_measured_times_are_those_recorded(row):
    what, size, precision, ours, other, whose, file = row
    rows = read(RESULTS / file.strip("`"), unknown).rows
    for who, value in (("mdqr", ours), (whose, other)):
        wanted = (what, size, "d" if who == "numpy" else precision, who)
        assert value in {
            f"{r.value:.2g} {r.unit}"
            for r in rows
            if (r.what, r.size, r.precision, r.who) == wanted
        }


def test_measured_times_were_found():
    assert len(MEASURED) > 15
    assert {row[5] for row in MEASURED} >= {"python-flint", "mpmath", "numpy", "xprec", "gmpy2"}


def test_pages_say_how_many_times_faster_numpy_is_in_the_records():
    """The largest of all factors, and that of the fit that is named for the smallest."""
    factors = {}
    for name in ("elementary", "host", "dense", "systems"):
        rows = read(RESULTS / f"{name}.json", unknown).rows
        floats = {(r.group, r.what, r.size): r.value for r in rows if r.who == "numpy"}
        for r in rows:
            there = floats.get((r.group, r.what, r.size))
            if r.who == "mdqr" and there:
                factor = there / r.value if r.unit.endswith("/s") else r.value / there
                factors[r.what, r.size, r.precision] = factor
    assert len(factors) > 50
    largest = max(factors, key=factors.__getitem__)
    fit = factors["lstsq, float64 data", "1000x200", "dd"]
    said = f"{fit:.0f} to {float(f'{factors[largest]:.2g}'):.0f} times faster in the recorded runs"
    assert (largest[0], largest[2], said) == (
        "log",
        "od",
        "2 to 470 times faster in the recorded runs",
    )
    assert "to 470 times (log in od) faster" in WHICH_TOOL.read_text()
    for page in ("README.md", "docs/index.md"):
        assert said in (ROOT / page).read_text()


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_files_that_pages_outside_of_the_docs_link_to_are_there(page):
    found = re.findall(r"\]\((?!\w+:)([^)#]+)", page.read_text())
    assert [link for link in found if not (ROOT / link).is_file()] == []


def test_files_that_the_page_of_the_architecture_names_are_there():
    """So that who looks for the place of a change finds it."""
    text = (ROOT / "docs/developer/architecture.md").read_text()
    named = set(re.findall(r"`([\w/.]+\.(?:py|hpp|cpp|cu|def|txt)|[\w/]+/)`", text))
    folders = [ROOT / name for name in ("mdqr", "kernels", "tests", "docs")]
    paths = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    there = [f"/{path.relative_to(ROOT).as_posix()}{'/' * path.is_dir()}" for path in paths]
    assert len(named) > 60
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in there)] == []
