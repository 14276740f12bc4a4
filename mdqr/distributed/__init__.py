"""Least squares and QR of more rows than one machine holds. Experimental.

A call reads rows in chunks (`_rows.py`: arrays of Dask or in memory, lists, iterators, functions of
an index; files: `_files.py`), and runs a function of each chunk and a merge of neighbours in this
process or on Dask (`_engines.py`). `_tree.py` has R of a chunk and of stacked R, `_sums.py` what a
chunk adds to the sums of a further pass, `_refinement.py` the correction of x by these sums and the
bound of its error, `_lstsq.py` and `_info.py` the public function and its info.
"""

from mdqr.distributed._batches import map_batches
from mdqr.distributed._certify import certify_lstsq
from mdqr.distributed._dask import as_dask
from mdqr.distributed._factors import gram, qr
from mdqr.distributed._files.rows import open_rows, save_rows
from mdqr.distributed._info import DistributedLstsqInfo
from mdqr.distributed._lstsq import factor, lstsq
from mdqr.distributed._rows import Rows

__all__ = [
    "DistributedLstsqInfo",
    "Rows",
    "as_dask",
    "certify_lstsq",
    "factor",
    "gram",
    "lstsq",
    "map_batches",
    "open_rows",
    "qr",
    "save_rows",
]


def __dir__() -> list[str]:
    return sorted(__all__)
