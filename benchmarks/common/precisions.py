"""The precisions that all groups measure; hexa-double has a group of its own, `hexa`."""

from mdqr._precision import PRECISIONS as ALL
from mdqr._precision import hd

PRECISIONS = ALL[: ALL.index(hd)]
