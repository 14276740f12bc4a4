"""The page of warnings and errors quotes messages that the package has."""

from __future__ import annotations

import ast
import re
import warnings

import pytest
from doc_pages import ROOT

import mdqr

PAGE = (ROOT / "docs" / "reference" / "warnings.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| `")]
QUOTED = [quote for row in ROWS for quote in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def source() -> str:
    """All strings of the package, whose inserted values are stars."""
    found = []
    for path in sorted((ROOT / "mdqr").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            if isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else "*" for p in node.values)
                found.append("".join(map(str, parts)))
    return "\n".join(found)


@pytest.fixture(scope="module")
def messages() -> str:
    return source()


@pytest.mark.parametrize("quote", QUOTED)
def test_a_quoted_message_is_one_of_the_package(messages, quote):
    """Numbers, quoted texts and a name at the front may come from values."""
    words = re.split(r"\d[\d.]*|'[^']*'", quote.removeprefix("a "))
    parts = [part.strip(" ;") for part in words if len(part.split()) > 1]
    assert parts
    assert [part for part in parts if part not in messages] == []


def test_named_classes_are_those_of_the_library():
    classes = set(re.findall(r"`(\w+(?:Warning|Error))`", PAGE))
    known = {"LinAlgError", "TypeError", "ValueError", "MemoryError", "UserWarning"}
    assert classes - known == {"PrecisionWarning", "DataPrecisionWarning", "RuntimeWarning"}
    assert issubclass(mdqr.DataPrecisionWarning, mdqr.PrecisionWarning)
    assert issubclass(mdqr.PrecisionWarning, RuntimeWarning)


def test_short_entries_are_exact():
    with warnings.catch_warnings():
        warnings.simplefilter("error", mdqr.DataPrecisionWarning)
        mdqr.linalg.solve([[0.5, 0.5], [0.5, 0.5 + 2.0**-20]], [1, 2], precision=mdqr.dd)
