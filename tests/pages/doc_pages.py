"""The code of the docs' pages: found in their fences, and run as one session a page."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>python|console|\{code-cell\}[^\n]*)\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """Code of a page; `kind` is "python", for cells of notebooks too, or "console"."""

    kind: str
    text: str


def blocks(page: Path) -> list[Block]:
    """The blocks of code of a page that run."""
    found = []
    for match in _FENCE.finditer(page.read_text()):
        indent = len(match["indent"])
        text = "".join(line[indent:] for line in match["text"].splitlines(keepends=True))
        options = re.match(r"(:.*\n)*", text)  # of a cell
        kind = "console" if match["kind"] == "console" else "python"
        found.append(Block(kind, text[options.end() :] if kind == "python" else text))
    return found


def run_python(text: str, names: dict[str, object], source: str) -> None:
    """Run a block with the names of those before it; what it shows must come.

    Functions called ``test_...`` are called, as pytest would.
    """
    if ">>>" not in text:
        before = set(names)
        exec(compile(text, source, "exec"), names)
        for name in names.keys() - before:
            if name.startswith("test_"):
                names[name]()
        return
    test = doctest.DocTestParser().get_doctest(text, names, source, source, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=sys.stderr.write, clear_globs=False)
    names.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, f"{source}: results differ, see above"
