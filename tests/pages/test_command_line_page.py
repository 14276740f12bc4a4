"""The page of the command line has every command, group and option of the parser."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from mdqr._cli.main import _parser

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "command-line.md"
CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "docs" / "_ext")!r})
extensions = ["command_line", "myst_parser"]
myst_enable_extensions = ["colon_fence"]
"""


def commands() -> dict[str, argparse.ArgumentParser]:
    parser = _parser()
    (found,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return {"": parser, **found.choices}


def actions() -> list[tuple[str, argparse.Action]]:
    """The options, each with its command; ``--help`` counts once."""
    return [
        (name, action)
        for name, parser in commands().items()
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction)
        if not name or not isinstance(action, argparse._HelpAction)
    ]


def test_each_group_of_options_stands_on_the_page_once():
    found = re.findall(r"^:{3,}\{command\} ?(\w*)(?:\n:group: (.+))?", PAGE.read_text(), re.M)
    wanted = [(name, "") for name in commands()]
    for name, parser in commands().items():
        titles = {group.title for group in parser._action_groups if group._group_actions}
        wanted += [(name, title) for title in titles - {"positional arguments", "options"}]
    assert sorted(found) == sorted(wanted)


def test_each_option_says_what_it_is():
    assert all(action.help for _, action in actions())
    assert len(actions()) > 25


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("sphinx", reason="Sphinx is in the extra docs")
    pytest.importorskip("myst_parser", reason="myst-parser is in the extra docs")
    folder = tmp_path_factory.mktemp("page")
    (folder / "conf.py").write_text(CONF)
    (folder / "index.md").write_text(PAGE.read_text())
    build = [sys.executable, "-m", "sphinx", "-q", "-b", "html", folder, folder / "html"]
    subprocess.run(build, cwd=ROOT, check=True)
    return (folder / "html" / "index.html").read_text()


def anchor(command: str, option: str) -> str:
    kind = "" if option.startswith("-") else "arg"
    return "-".join(filter(None, ["cmdoption-mdqr", command, kind, option.lstrip("-")]))


def test_each_option_has_its_place(built):
    places = set(re.findall(r'id="(cmdoption-[^"]+)"', built))
    assert places == {
        anchor(command, name)
        for command, action in actions()
        for name in action.option_strings or [action.metavar]
    }


def test_an_option_is_told_with_value_help_and_notes(built):
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", built)).split())
    assert "--precision {d,dd,qd,od,hd}" in text
    assert "--skip-rows COUNT" in text
    assert "Lines to skip at the beginning, before the header." in text
    assert "Start of a comment, such as #; may be given several times; default: the first" in text
    assert "mdqr series FILE --start NUMBER[,NUMBER...] --degree DEGREE [options]" in text


REFUSED = {
    ":::{command} lstsq\n\n--no-such\n: x\n:::": "nothing here is called --no-such",
    ":::{command} lstsq\n:group: no such\n:::": "has no group 'no such'",
    ":::{command} train\n:::": "no command 'train'",
}


def test_what_the_parser_has_not_is_refused(built, tmp_path):
    (tmp_path / "conf.py").write_text(CONF)
    (tmp_path / "index.md").write_text("\n\n".join(["# x", *REFUSED, ""]))
    build = [sys.executable, "-m", "sphinx", "-q", "-b", "html", tmp_path, tmp_path / "html"]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert [message for message in REFUSED.values() if message not in done.stderr] == []
