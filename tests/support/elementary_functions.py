"""Operations that kinds of numbers do not have."""

from mdqr._backend.protocol import ELEMENTARY_BINARY, ELEMENTARY_UNARY, REAL_ONLY
from mdqr._precision import MOST_OF_FUNCTIONS


def missing_operations(kind):
    """Return the operations that numbers of a kind do not have."""
    missing = set(REAL_ONLY) if kind.is_complex else set()
    if kind.limbs > MOST_OF_FUNCTIONS:
        missing |= {*ELEMENTARY_UNARY, *ELEMENTARY_BINARY}
    return missing
