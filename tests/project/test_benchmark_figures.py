"""The figures of the docs: those of the recorded rows, in the pages, readable on every page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from benchmark_pages import ROOT, load
from test_codebase import code

PAGES = ROOT / "docs"
TERMS = "{http://purl.org/dc/elements/1.1/}"


@pytest.fixture(scope="module")
def command():
    return load("figures.command")


@pytest.fixture(scope="module")
def recorded(command):
    return command.recorded()


def files(command):
    return sorted(command.DOCS.glob("*.svg"))


def test_files_are_those_of_the_recorded_rows(command, recorded):
    """Each keeps a hash of what it shows: `python -m benchmarks figures` draws them again."""
    found = {}
    for path in files(command):
        metadata = ElementTree.parse(path).getroot().iter(f"{TERMS}identifier")
        found[path.stem] = [element.text for element in metadata]
    expected = {n: [command.digest(f, recorded)] for n, f in command.FIGURES.items()}
    assert found == expected


def test_pages_show_every_figure_and_no_other(command):
    text = "\n".join(path.read_text() for path in PAGES.rglob("*.md"))
    named = set(re.findall(r"([\w-]+)\.svg", text)) & {path.stem for path in files(command)}
    assert named == set(command.FIGURES)
    page = (command.DOCS / "index.md").read_text()
    shown = re.findall(r"\{figure\} ([\w-]+)\.svg\n---\nalt: >-\n  \w", page)
    assert len(shown) == 9
    assert all((command.DOCS / f"{name}.svg").exists() for name in shown)


def test_captions_have_machines_and_commits(command, recorded):
    for figure in command.FIGURES.values():
        text = command.caption(figure, recorded)
        for about in (recorded[name].about for name in figure.sources):
            assert about["commit"][:7] in text
            assert about["date"][:10] in text
            assert (about.get("device") or f"{about['cpus']} cores") in text


def test_results_without_the_rows_of_a_figure_are_refused(command, recorded):
    figure = command.FIGURES["solve-times"]
    with pytest.raises(ValueError, match="no row of orders with"):
        figure.data({name: [] for name in figure.sources})


def test_figures_are_drawn_to_the_same_bytes_twice(command, recorded, tmp_path):
    pytest.importorskip("matplotlib")
    name = "price-of-digits"
    texts = []
    for _ in range(2):
        command.draw(name, recorded, tmp_path)
        texts.append((tmp_path / f"{name}.svg").read_bytes())
    assert texts[0] == texts[1]


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(weight * x for weight, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_colours_are_readable_on_light_and_dark_pages():
    """The contrast of WCAG: 3 for marks, 4 for text."""
    pytest.importorskip("matplotlib")
    style = load("figures.style")
    least = dict.fromkeys(style.COLORS.values(), 3) | {style.TEXT: 4}
    for color, wanted in least.items():
        for page in ("#ffffff", "#131416"):
            lower, upper = sorted((luminance(color) + 0.05, luminance(page) + 0.05))
            assert upper / lower >= wanted


def test_the_gallery_is_the_table_of_its_items():
    gallery = load("cpu.gallery")
    scripts = sorted(gallery.FOLDER.glob("*.py"))
    assert [path.stem for path in scripts] == sorted(f"plot_{name}" for name in gallery.ITEMS)
    assert [gallery.place(f"plot_{name}.py") for name in gallery.ITEMS] == list(range(20))
    assert {path.name: len(code(path)) for path in scripts if len(code(path)) > 80} == {}
