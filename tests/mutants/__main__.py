"""Make every bound too small in turn: ``python -m tests.mutants [--quick] [--only NAME]``."""

from __future__ import annotations

import sys
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS), str(_TESTS / "support")]

from mutants.run import main  # noqa: E402

if __name__ == "__main__":
    main()
