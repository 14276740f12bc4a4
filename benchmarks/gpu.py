"""Speed and accuracy of the CUDA kernels, against the ceilings of the device and other programs.

    python benchmarks/gpu.py [--quick] [--only GROUP ...] [--output FOLDER] [--commit HASH]

A full run writes gpu.json and gpu.md to benchmarks/results. A quick or partial one prints its
tables, and writes only where --output says. A group that fails is reported; the exit code tells.
"""

from __future__ import annotations

import gpu_arrays
import gpu_factors
from gpu_run import Groups, main

GROUPS: Groups = {
    "ceilings": gpu_arrays.ceilings,
    "factorisations": gpu_factors.factorisations,
    "accuracy": gpu_factors.accuracy,
    "phases": gpu_factors.phases,
    "substitution": gpu_factors.substitution,
    "products": gpu_arrays.products,
    "batched": gpu_factors.batched,
    "bandwidth": gpu_arrays.bandwidth,
}

if __name__ == "__main__":
    main(GROUPS, "gpu", "Benchmarks of the CUDA kernels.")
