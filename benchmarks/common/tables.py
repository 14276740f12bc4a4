"""Rows looked up by what they say, and Markdown tables made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.common.environment import machine
from benchmarks.common.rows import Results, Row


def number(value: float | None, digits: int = 3) -> str:
    """Return a number of so many digits; nothing for None."""
    return "" if value is None else f"{value:.{digits}g}"


class Found:
    """The rows of a run, and which of them were asked for."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self._used: set[int] = set()

    def row(self, group: str, size: str | None = None, **wanted: str) -> Row | None:
        """Return the first row of a group with a size and other fields as given."""
        for i, row in enumerate(self.rows):
            if row.group != group or (size is not None and row.size != size):
                continue
            if all(getattr(row, name) == value for name, value in wanted.items()):
                self._used.add(i)
                return row
        return None

    def value(self, group: str, size: str | None = None, **wanted: str) -> float | None:
        """Return its value, if there is one."""
        row = self.row(group, size, **wanted)
        return None if row is None else row.value

    def text(self, group: str, size: str | None = None, **wanted: str) -> str:
        """Return it as text."""
        return number(self.value(group, size, **wanted))

    def group(self, name: str) -> list[Row]:
        """Return the rows of a group, which counts as asking for none of them."""
        return [row for row in self.rows if row.group == name]

    def sizes(self, group: str) -> list[str]:
        """Return the sizes of a group in the order of the run."""
        return list(dict.fromkeys(row.size for row in self.group(group)))

    def unused(self) -> list[Row]:
        """Return the rows that nobody asked for."""
        return [row for i, row in enumerate(self.rows) if i not in self._used]


def grid(head: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Return a table without the columns and lines that have nothing but a name."""
    cells = [line for line in cells if any(line[1:])]
    if not cells:
        return []
    kept = [i for i in range(len(head)) if i == 0 or any(line[i] for line in cells)]
    marks = ["--:" if i and is_number(cells, i) else "---" for i in kept]
    lines = [[head[i] for i in kept], *([line[i] for i in kept] for line in cells)]
    text = [f"| {' | '.join(line)} |" for line in lines]
    return [text[0], f"|{'|'.join(marks)}|", *text[1:]]


def is_number(cells: Sequence[Sequence[str]], column: int) -> bool:
    """Return whether a column has numbers wherever it has something."""
    return all(line[column].removeprefix("-")[:1].isdigit() for line in cells if line[column])


def titled(title: str, lines: list[str]) -> list[str]:
    """Return a table under a line of text, or nothing if there is no table."""
    return [title, "", *lines] if lines else []


def joined(*tables: list[str]) -> list[str]:
    """Return tables one below the other."""
    lines = [line for lines in tables if lines for line in (*lines, "")]
    return lines[:-1]


def section(title: str, *tables: list[str]) -> list[str]:
    """Return tables under a heading, or nothing if there is none."""
    lines = joined(*tables)
    return ["", f"## {title}", "", *lines] if lines else []


def by_group(rows: Sequence[Row]) -> list[str]:
    """Return one table a group."""
    lines = []
    for group in dict.fromkeys(row.group for row in rows):
        cells = [
            [row.what, row.who, row.precision, row.size, f"{number(row.value)} {row.unit}", aim]
            for row in rows
            if row.group == group
            for aim in [
                "" if row.aim is None else f"{row.aim:.3g} {'met' if row.met else 'missed'}"
            ]
        ]
        table = grid(["what", "by", "precision", "size", "value", "aim"], cells)
        lines += section(group.capitalize(), table)
    return lines


def page(title: str, results: Results, lines: list[str]) -> str:
    """Return a Markdown page: where it was run, `lines`, and what failed; untitled, `lines`."""
    about = results.about
    head = [f"# {title}", "", *(f"`{command}`" for command in about["command"].split("; "))]
    head += ["", f"Medians. {about['date']}, commit {about['commit']}. {machine(about)}."]
    head = head if title else []
    for group, error in results.failures.items():
        lines = lines + section(f"{group.capitalize()} failed", ["```", error.rstrip(), "```"])
    return "\n".join([*head, *lines]) + "\n"
