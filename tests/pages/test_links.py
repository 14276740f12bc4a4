"""The search for dead links in the pages of the docs, which `.ci/docs` calls."""

from __future__ import annotations

import subprocess
import sys

import links
import pytest

OTHER = '<h1 id="a b">x</h1><a name="old"></a>'


def site(folder, index):
    (folder / "sub").mkdir()
    (folder / "index.html").write_text(index)
    (folder / "sub" / "other.html").write_text(OTHER)
    (folder / "figure.svg").write_text("<svg/>")
    return folder


@pytest.mark.parametrize(
    "link",
    [
        *("sub/other.html", "sub/other.html#a%20b", "sub/other.html#old", "#here", "#", "./"),
        *("figure.svg", "figure.svg#part", "index.html?x=1#here", "data:image/png;base64,AA=="),
    ],
)
def test_links_that_lead_somewhere(tmp_path, link):
    index = f'<p id="here"><a href="{link}">x</a></p>'
    assert links.check(site(tmp_path, index)) == ([], [])


@pytest.mark.parametrize(
    "link",
    ["gone.html", "sub/other.html#gone", "#gone", "sub", "/index.html", "../index.html", "sub/"],
)
@pytest.mark.parametrize("tag", ["a href", "img src"])
def test_links_that_are_dead(tmp_path, link, tag):
    found, _ = links.check(site(tmp_path, f'<{tag}="{link}">'))
    assert found == [f"index.html: {link}"]


def test_addresses_elsewhere_are_listed_once(tmp_path):
    index = (
        '<a href="https://x.org/a#b"></a><a href="https://x.org/a"></a><a href="mailto:x@y"></a>'
    )
    assert links.check(site(tmp_path, index)) == ([], ["https://x.org/a", "mailto:x@y"])


@pytest.mark.parametrize("dead", [True, False])
def test_the_program_fails_for_dead_links(tmp_path, dead):
    folder = site(tmp_path, f'<a href="{"gone" if dead else "figure.svg"}"></a>')
    done = subprocess.run(
        [sys.executable, links.__file__, folder], capture_output=True, text=True, check=False
    )
    assert bool(done.returncode) is dead
    assert ("index.html: gone" in done.stderr) is dead
