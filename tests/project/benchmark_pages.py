"""What the tests of benchmarks share: the recorded results, and the head of a page."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
ABOUT = dict.fromkeys(
    ("command", "date", "commit", "device", "driver", "CUDA", "CuPy", "Python", "mdqr"), "-"
)


def load(name):
    """Import a module of the benchmarks, which are beside the package and not part of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT)
        return import_module(f"benchmarks.{name}")
