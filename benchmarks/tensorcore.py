"""Speed and accuracy of the tensor-core path, beside cuSOLVER: the figures of Zhang et al. 2020.

    python benchmarks/tensorcore.py [--quick] [--only GROUP ...] [--output FOLDER] [--commit HASH]

A full run writes tensorcore.json and tensorcore.md to benchmarks/results. A quick or partial one
prints its tables, and writes only where --output says. A group that fails is reported; the exit
code tells. `tensorcore_tables.py` makes the tables again from the JSON.
"""

from __future__ import annotations

import tensorcore_accuracy
import tensorcore_householder
import tensorcore_parts
import tensorcore_speed
from gpu_run import Groups, main
from tensorcore_tables import page

# A module of groups to come needs its name here; its tables are made by group, or by a section of
# their own in tensorcore_tables.py.
MODULES = (tensorcore_speed, tensorcore_accuracy, tensorcore_householder, tensorcore_parts)
GROUPS: Groups = {name: rows for module in MODULES for name, rows in module.GROUPS.items()}

if __name__ == "__main__":
    main(GROUPS, "tensorcore", "Benchmarks of the tensor-core path.", page)
