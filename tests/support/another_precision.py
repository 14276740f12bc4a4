"""Add a precision to a copy of the source tree: `python another_precision.py TREE LIMBS`.

These are the lines that a precision takes; its kernels are compiled for one CPU level only, since
that is quicker.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def edit(file: Path, pattern: str, change: str) -> None:
    """Replace the one match of `pattern`."""
    text, count = re.subn(pattern, change, file.read_text(), flags=re.MULTILINE)
    assert count == 1, (file, pattern)
    file.write_text(text)


def add_precision(tree: Path, limbs: int) -> None:
    """Add ``mdqr.xd`` of so many limbs."""
    counts = tree / "kernels" / "include" / "mdqr" / "limb_counts.def"
    known = [int(count) for count in re.findall(r"\((\d+)\)", counts.read_text())]
    before = max(count for count in known if count < limbs)
    edit(counts, rf"^MDQR_LIMB_COUNT\({before}\)$", rf"\g<0>\nMDQR_LIMB_COUNT({limbs})")
    registry = tree / "mdqr" / "_precision.py"
    line = rf'^(\w+): Final = Precision\._make\("\w+", {before}\)$'
    (name,) = re.findall(line, registry.read_text(), flags=re.MULTILINE)
    edit(registry, line, rf'\g<0>\nxd: Final = Precision._make("xd", {limbs})')
    edit(registry, rf"(PRECISIONS: Final.*\b{name}\b)(.*)$", r"\1, xd\2")
    package = tree / "mdqr" / "__init__.py"
    edit(package, r"^from mdqr._precision import .*$", r"\g<0>, xd")
    edit(package, r'^    "qd",$', r'\g<0>\n    "xd",')
    levels = tree / "kernels" / "CMakeLists.txt"
    edit(levels, r"^if\(CMAKE_SYSTEM_PROCESSOR MATCHES .*$", "if(FALSE)")


if __name__ == "__main__":
    add_precision(Path(sys.argv[1]), int(sys.argv[2]))
