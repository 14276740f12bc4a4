"""The precisions that all groups measure; hexa-double has a group of its own, `hexa`."""

from mdqr import _precision
from mdqr._precision import MOST_OF_FUNCTIONS

PRECISIONS = tuple(p for p in _precision.PRECISIONS if p.limbs <= MOST_OF_FUNCTIONS)
