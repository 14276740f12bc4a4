"""Find dead links in pages of HTML, and list those that lead elsewhere: ``links.py FOLDER``.

Links within the folder have to lead to a file, and with a fragment to an element of that id.
Nothing is fetched.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

LINKS = ("href", "src")


class Page(HTMLParser):
    """What a page links to, and the places that a link to it may name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect ids and links."""
        for name, value in attrs:
            if name == "id" or (tag, name) == ("a", "name"):
                self.places.add(value or "")
            elif name in LINKS:
                self.links.append(value or "")


def check(folder: Path) -> tuple[list[str], list[str]]:
    """Return what is wrong with the links in a folder, and the addresses outside of it."""
    folder = folder.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    dead, outside = set(), set()
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                outside.add(urldefrag(link).url)
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            found = target.is_relative_to(folder) and target.is_file()
            if found and target in pages:
                found = unquote(parts.fragment) in pages[target].places
            if not found:
                dead.add(f"{path.relative_to(folder)}: {link}")
    return sorted(dead), sorted(outside)


def main() -> None:
    """Print both, and fail if a link is dead."""
    dead, outside = check(Path(sys.argv[1]))
    print("addresses elsewhere, not fetched:", *outside, sep="\n  ")
    if dead:
        sys.exit("\n  ".join(["dead links:", *dead]))


if __name__ == "__main__":
    main()
