"""Which precisions have elementary functions, for tests of much else beside them."""

from mdqr._precision import MOST_OF_FUNCTIONS


def has_functions(precision):
    return precision.limbs <= MOST_OF_FUNCTIONS
