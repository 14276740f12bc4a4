"""Make every bound too small in turn: ``python -m tests.mutants [--quick] [--only NAME]``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    tests = Path(__file__).resolve().parents[1]
    # The folders that pytest has on the path.
    support = tests / "support"
    sys.path[:0] = [str(tests), *map(str, (support, support / "exact", support / "devices"))]
    import_module("mutants.run").main()
