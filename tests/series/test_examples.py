"""The example scripts run, and say what the docs say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "series"


def printed(name, capsys, **changes):
    """What the script prints, with other constants."""
    script = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    script["main"].__globals__.update(changes)
    script["main"]()
    return capsys.readouterr().out


def test_precision_and_order(capsys):
    lines = printed("precision_and_order", capsys).splitlines()[1:]
    carried = [int(re.search(r"orders up to (\d+) have", line)[1]) for line in lines]
    assert carried == [9, 31, 31, 31]
    for line in lines:
        for claimed, true in re.findall(r": (\d+) / (\d+)", line):
            assert int(claimed) <= int(true) + 1


def test_singularity(capsys):
    lines = printed("singularity", capsys, DEGREES=(16, 32, 64)).splitlines()[1:]
    rows = [list(map(float, line.split())) for line in lines]
    assert rows[-1][2] < 1e-16 < 1e-12 < rows[-1][4]


def test_katsura(capsys):
    assert "16 ends, at least 0.06 apart; 12 are real" in printed("katsura", capsys)
