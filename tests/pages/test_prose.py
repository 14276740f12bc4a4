"""Prose keeps to docs/developer/vocabulary.md: patterns are counted, and ceilings only fall."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
# Records of what was done, and pages written by a program.
RECORDS = {"long-runs.md", "gpu-runs.md", "rejected.md", "numpy.md", "vocabulary.md"}
PAGES = [ROOT / name for name in TOP]
PAGES += [p for p in sorted((ROOT / "docs").rglob("*.md")) if p.name not in RECORDS]
PAGES = [page for page in PAGES if not {"gallery", "_build"} & set(page.parts)]
FIRST = [p for p in PAGES if p.parent.name in ("tutorial", "howto") or p.name == "README.md"]
FIRST += [ROOT / "docs" / "index.md"]
FOLDED = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
NOT_PROSE = re.compile(r"\s*(\||#|!\[|:|---|\+\+\+|\(|\$\$| {4}\S|[a-z_]+:)")
QUESTIONS = {"what", "how", "whether", "where", "which", "when", "who", "whose", "why"}

PATTERNS = {
    "what ... as a subject": r"(?:^|[.;:(]\s+|,\s)[Ww]hat\s+(?:is|are|was|has|the|an?|it|no|can)\b",
    "what ... leaves": r"\bwhat\b[^.;:]{0,40}\b(?:leaves?|left)\b|\b(?:is|are) left\b",
    "a thing that says": r"\b(?:says?|tells?|knows?|asks?)\b",
    "the work": r"\bthe work\b",
    "beside": r"\bbeside\b",
    "that of": r"\b(?:that|those) of\b",
    "is no": r"\b(?:is|are) no (?!longer|more)\w+",
    "right to": r"\bright to\b",
    "errs": r"\berrs?\b",
    "some N": r"\bsome \d",
    "but for": r"\bbut for\b|\ball but\b",
    "far sizes": r"\bfar (?:sizes|scales|apart)\b|\bwild\b",
    "wanted": r"\bwant(?:s|ed)?\b",
    "way": r"\bways?\b",
    "serves": r"\bserves?\b",
    "stands": r"\bstands?\b",
    "mostly": r"\bas a rule\b|\bmostly\b",
    "there is": r"\bthere (?:is|are)\b",
    "anew": r"\banew\b|\bafresh\b",
    "in place of": r"\bin (?:the )?place of\b",
    "shall": r"\bshall\b",
}
# In pages, and in docstrings; ``python tests/pages/test_prose.py`` counts.
CEILINGS = {
    "what ... as a subject": (4, 42),
    "what ... leaves": (1, 80),
    "a thing that says": (7, 101),
    "the work": (0, 46),
    "beside": (1, 17),
    "that of": (1, 207),
    "is no": (1, 14),
    "right to": (0, 6),
    "errs": (0, 1),
    "some N": (0, 3),
    "but for": (0, 22),
    "far sizes": (0, 13),
    "wanted": (0, 30),
    "way": (2, 21),
    "serves": (0, 7),
    "stands": (1, 37),
    "mostly": (0, 0),
    "there is": (2, 75),
    "anew": (0, 1),
    "in place of": (0, 0),
    "shall": (0, 0),
}


def sentences(text: str) -> list[str]:
    """Split a paragraph; code, links and formulas are one word each."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\{[\w:-]+\}`[^`]*`|``.+?``|`[^`]*`|\$[^$]+\$", "CODE", text)
    text = re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*]{1,2}", "", re.sub(r"\s+", " ", text))
    parts = re.split(r"(?<=[.!?])[\")]*\s(?=[A-Z\"(\d])", text)
    # An initial, as of an author, ends no sentence.
    joined: list[str] = []
    for part in parts:
        if joined and re.search(r"\b[A-Z]\.$", joined[-1]):
            joined[-1] += " " + part
        else:
            joined.append(part)
    return [part.strip() for part in joined if len(part.split()) > 2]


@cache
def of_page(page: Path) -> list[str]:
    """Return the sentences of a page without code, tables and headings."""
    text = re.sub(r"\A---\n.*?\n---\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"^[-*] |^\d\. ", "\n", FOLDED.sub("", text), flags=re.MULTILINE)
    lines = ["" if NOT_PROSE.match(line) else line for line in text.split("\n")]
    return [s for part in re.split(r"\n\s*\n", "\n".join(lines)) for s in sentences(part)]


@cache
def docstrings() -> list[str]:
    """Return all docstrings of the package."""
    found = []
    for path in sorted((ROOT / "mdqr").rglob("*.py")):
        found += documented(ast.parse(path.read_text()))  # a tree is large: none is kept
    return found


def documented(node: ast.AST) -> list[str]:
    """Return the docstrings of a module, class or function and those within, not of expressions."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    text = ast.get_docstring(node) if isinstance(node, kinds) else None
    found = [text] if text else []
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            found += documented(child)
    return found


@cache
def counted() -> dict[str, tuple[int, int]]:
    """Count the patterns, in pages and in docstrings."""
    bodies = (
        "\n".join(s for page in PAGES for s in of_page(page)),
        "\n".join(s for text in docstrings() for s in sentences(text)),
    )
    found = {k: [len(re.findall(p, b, re.MULTILINE)) for b in bodies] for k, p in PATTERNS.items()}
    return {name: (pages, texts) for name, (pages, texts) in found.items()}


def long_share(pages: list[Path], most: int) -> float:
    """Return the share of sentences with more than `most` words."""
    lengths = [len(re.findall(r"[A-Za-z0-9]\S*", s)) for page in pages for s in of_page(page)]
    return sum(length > most for length in lengths) / len(lengths)


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_of_dialect_are_few(name):
    """Replace the words as the table says. Where fewer are left, lower the ceiling."""
    pages, texts = counted()[name]
    assert pages <= CEILINGS[name][0]
    assert texts <= CEILINGS[name][1]


def test_sentences_are_short_where_a_reader_begins():
    assert long_share(FIRST, 30) <= 0.02
    assert long_share(PAGES, 30) <= 0.05


def test_docstrings_begin_with_no_question():
    firsts = [re.sub(r"\W", "", text.split()[0]).lower() for text in docstrings()]
    assert len(firsts) > 3000
    assert sum(word in QUESTIONS for word in firsts) <= 0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("What is left of r counts.", "what ... as a subject"),
        ("If a cell is no number, the call\nraises.", "is no"),
        ("The message tells the way out.", "way"),
    ],
)
def test_patterns_are_found(text, name):
    assert any(re.search(PATTERNS[name], sentence) for sentence in sentences(text))


if __name__ == "__main__":
    for name, numbers in counted().items():
        print(f'    "{name}": {numbers},')
