"""Run a group: ``python -m benchmarks GROUP [--quick] [--only PART ...] [--output FILE.json]``.

A full run writes NAME.json and NAME.md to benchmarks/results. A quick or partial one prints its
page, and writes only where --output says. A part that fails is reported; the exit code tells.
With --read, the results of some files are joined and their page is made again.
"""

from __future__ import annotations

import sys
from importlib import import_module

GROUPS = {
    "cpu": "cpu.speed",
    "accuracy": "cpu.accuracy",
    "fits": "cpu.fits",
    "nonlinear": "cpu.nonlinear",
    "systems": "cpu.systems",
    "dense": "cpu.dense",
    "products": "cpu.products",
    "hexa": "cpu.hexa",
    "elementary": "cpu.elementary",
    "series": "cpu.series",
    "paths": "cpu.paths",
    "fft": "cpu.fft",
    "texts": "cpu.texts",
    "gallery": "cpu.gallery",
    "history": "cpu.history",
    "distributed": "cpu.chunks",
    "gpu": "gpu.factors",
    "gpu-products": "gpu.products",
    "gpu-systems": "gpu.systems",
    "gpu-series": "gpu.series",
    "gpu-paths": "gpu.paths",
    "gpu-fits": "gpu.fits",
    "gpu-middle": "gpu.middle",
    "windows": "gpu.windows",
    "tensorcore": "tensorcore.pages",
    "update-cpu": "update.tables",
    "update-cuda": "update.tables",
    "figures": "figures.command",
}


def main() -> int:
    """Run the group that the first argument names."""
    if len(sys.argv) < 2 or sys.argv[1] not in GROUPS:
        print(f"{__doc__}\nGroups: {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    module = import_module(f"benchmarks.{GROUPS[sys.argv[1]]}")
    return module.BENCHMARKS[sys.argv[1]].main(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
