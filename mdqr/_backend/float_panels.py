"""Sizes of the float32 panels that NumPy and the kernels of CUDA factor in the same steps."""

from __future__ import annotations

# Columns of a panel, and those that a "caqr" panel factors at a time; triangles of a block of its
# tree.
CUTOFF, SMALL, FAN_IN = 128, 32, 16
# The exponent of the smallest double.
NO_FLOOR = -1074


def rows_of_block(rows: int) -> int:
    """Return the rows of the blocks of a "caqr" panel.

    Small ones spread over more multiprocessors, where the tree is no higher for it.
    """
    return 128 if 256 < rows <= 2048 or 4096 < rows <= 12288 else 256
