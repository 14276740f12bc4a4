"""The tree itself: sizes, and words that must not stand in it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mdqr._precision import PRECISIONS

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (".ci", ".github", "benchmarks", "docs", "examples", "kernels", "mdqr", "tests")
TEXT = {".py", ".hpp", ".cpp", ".cu", ".def", ".cmake", ".txt", ".toml", ".md", ".csv", ".json", ""}
TEXT |= {".cff", ".yml"}
GENERATED = ROOT / "docs" / "gallery"
FILES = sorted(
    path
    for top in (ROOT, *(ROOT / folder for folder in FOLDERS))
    for path in (top.glob("*") if top == ROOT else top.rglob("*"))
    if path.is_file() and path.suffix in TEXT and "__pycache__" not in path.parts
    if GENERATED not in path.parents
)
CODE = [path for path in FILES if path.suffix in {".py", ".hpp", ".cpp", ".cu"}]
PYTHON = [path for path in CODE if path.suffix == ".py"]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_tree_was_found():
    names = {name_of(path) for path in FILES}
    assert {"README.md", "mdqr/__init__.py", ".ci/run", ".github/workflows/tests.yml"} <= names


def offenders(found: dict[str, object]) -> dict[str, object]:
    return {name: what for name, what in found.items() if what}


def python_code(text: str) -> set[int]:
    """Numbers of the lines of code: no docstrings, comments, imports and blank lines."""
    return code_of(text, list(statements(ast.parse(text))))


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield all statements; expressions, which are most of a tree, are not searched."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            if not isinstance(child, ast.ExceptHandler | ast.match_case):
                yield child
            yield from statements(child)


def code_of(text: str, nodes: list[ast.stmt]) -> set[int]:
    skipped: set[int] = set()
    for node in nodes:
        imports = isinstance(node, ast.Import | ast.ImportFrom)
        constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if imports or (constant and isinstance(node.value.value, str)):
            skipped |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(text.splitlines(), 1)
    return {i for i, line in lines if line.strip() and line.strip()[0] != "#"} - skipped


def kernel_code(text: str) -> set[int]:
    """The same of C++: `//` comments and directives that include."""
    lines = enumerate(text.splitlines(), 1)
    return {i for i, line in lines if not re.match(r"\s*(//|#\s*(include|pragma)|$)", line)}


@cache
def python_facts(path: Path) -> tuple[set[int], list[tuple[str, range]], list[int]]:
    """Return what is kept of a tree, which is large.

    Lines of code; names and lines of functions; in the package, lines that list all precisions.
    """
    text = path.read_text()
    tree = ast.parse(text)
    nodes = list(statements(tree))
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    lists = precision_lists(tree) if name_of(path).startswith("mdqr/") else []
    spans = [(n.name, range(n.lineno, n.end_lineno + 1)) for n in functions]
    return code_of(text, nodes), spans, lists


def code(path: Path) -> set[int]:
    return python_facts(path)[0] if path.suffix == ".py" else kernel_code(path.read_text())


def test_files_are_short():
    """But for tables of constants, which a script writes."""
    written = [path for path in CODE if not path.read_text().startswith("// Written by ")]
    assert len(CODE) - len(written) == 1
    lengths = {name_of(path): len(code(path)) for path in written}
    assert {name: lines for name, lines in lengths.items() if lines > 300} == {}


def test_only_code_counts():
    text = """\"\"\"Doc.\n\nMore.\"\"\"\nimport a\n\n# why\nx = (\n    1\n)\n"""
    assert len(python_code(text)) == 3
    assert len(kernel_code("#include <a>\n// why\n\nint x;  // one\n#define Y 1\n")) == 2


def long_functions(path: Path) -> list[str]:
    lines, spans, _ = python_facts(path)
    return [name for name, span in spans if len(span) > 50 and len(lines & set(span)) > 50]


def test_functions_are_short():
    assert offenders({name_of(path): long_functions(path) for path in PYTHON}) == {}


def test_linalg_names_cuda_in_one_file_and_loads_it_for_arrays_of_cupy():
    """A machine without a GPU reads and imports no module of CUDA for linear algebra."""
    linalg = [path for path in PYTHON if name_of(path).startswith("mdqr/linalg/")]
    naming = {name_of(path) for path in linalg if "_backend.cuda" in path.read_text()}
    assert naming == {"mdqr/linalg/_update/arithmetic/cuda_floats.py"}
    text = "import sys, mdqr.linalg; print(*(x for x in sys.modules if '_backend.cuda' in x))"
    found = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == []


def test_linalg_decides_by_backend_in_one_file():
    """Choices that were measured on one machine are changed for another in one place."""
    linalg = [path for path in PYTHON if name_of(path).startswith("mdqr/linalg/")]
    reading = {name_of(path) for path in linalg if "backend.name" in path.read_text()}
    assert reading == {"mdqr/linalg/_shared/tuning.py"}


def test_no_path_of_one_machine():
    top_folders = "|".join(("home", "root", "tmp", "usr", "opt", "Users", "work", "mnt"))
    pattern = re.compile(rf"(?<![\w.>/)!])/(?:{top_folders})/\w\S*")
    assert offenders({name_of(path): pattern.findall(path.read_text()) for path in FILES}) == {}


def test_nothing_is_unfinished():
    words = "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3, "NotImplemented" + "Error"))
    pattern = re.compile(rf"\b(?:{words})\b")
    assert offenders({name_of(path): pattern.findall(path.read_text()) for path in FILES}) == {}


def untidy_lines(text: str) -> list[str]:
    end = [] if not text or text.endswith("\n") else ["no newline at the end"]
    return [line for line in text.split("\n") if line != line.rstrip()] + end


def test_lines_end_without_blanks_and_files_with_a_newline():
    assert offenders({name_of(path): untidy_lines(path.read_text()) for path in FILES}) == {}


def listed(node: ast.AST) -> set[object]:
    """The constants and names in a display such as ``[1, 2]`` or ``{"d": x}``."""
    elements = getattr(node, "keys", None) or getattr(node, "elts", None) or []
    return {
        getattr(element, "value", None)
        if isinstance(element, ast.Constant)
        else getattr(element, "attr", getattr(element, "id", None))
        for element in elements
    }


def precision_lists(tree: ast.AST) -> list[int]:
    """Lines with a display of all limb counts or all names above d."""
    wanted = [{getattr(p, key) for p in PRECISIONS[1:]} for key in ("limbs", "name")]
    displays = (ast.List, ast.Tuple, ast.Set, ast.Dict)
    nodes = [node for node in ast.walk(tree) if isinstance(node, displays)]
    return [node.lineno for node in nodes if any(names <= listed(node) for names in wanted)]


def test_precisions_are_taken_from_the_registry():
    """Another limb count needs kernels and a line in the registry, and no change of Python."""
    exempt = {"mdqr/_precision.py", "mdqr/__init__.py"}
    package = [path for path in PYTHON if name_of(path).startswith("mdqr/")]
    found = {name_of(path): python_facts(path)[2] for path in package}
    assert exempt <= set(found)
    assert {name for name, lines in found.items() if lines} == exempt


def test_readme_is_short_and_has_one_test_command():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 100
    assert len(re.findall(r"^[^#`\n]*python -m pytest", text, flags=re.MULTILINE)) == 1
