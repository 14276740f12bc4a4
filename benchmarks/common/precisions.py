"""The precisions that all groups measure; hexa-double has a group of its own, `hexa`."""

from mdqr._precision import precisions_with_functions

PRECISIONS = tuple(precisions_with_functions())
