"""What the tests of benchmarks share: their modules, and the head of a page."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
ABOUT = dict.fromkeys(
    ("command", "date", "commit", "device", "driver", "CUDA", "CuPy", "Python", "mdqr"), "-"
)


def load(name):
    """Import a module of the benchmarks, which import each other by name."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(BENCHMARKS))
