"""Powers of two: exponents of rows and columns, and the search for entries that are not finite."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from mdqr._backend.host import powers
from mdqr._backend.host.powers import ABSENT as ABSENT
from mdqr._backend.host.powers import exponents_of as exponents_of
from mdqr._backend.host.powers import largest as largest
from mdqr._backend.host.powers import magnitude_bits as magnitude_bits
from mdqr._backend.protocol import Backend, Block
from mdqr._limbs import planes
from mdqr.linalg._shared.checks import Checks, fetch


def shifted(backend: Backend, block: Block, exponent: Block, is_complex: bool) -> Block:
    """Return ``block * 2**exponent``."""
    return powers.shifted(backend.ldexp, block, exponent, is_complex)


def leading(block: Block, is_complex: bool) -> Block:
    """Return the magnitudes of the leading limbs: the larger one of both parts if complex."""
    if not is_complex:
        return abs(block[0])
    xp = planes.namespace(block)
    return xp.maximum(abs(block[0, 0]), abs(block[1, 0]))


def exponents(bits: Block, axis: int) -> Block:
    """Return `exponents_of` the maximum of `bits` along `axis`."""
    return exponents_of(largest(bits, axis, 0))


def column_exponents(block: Block, is_complex: bool) -> Block:
    """Return the exponents of the columns of matrices ``(..., m, n)`` as ``(..., n)``."""
    return exponents(magnitude_bits(block, is_complex), -2)


def finite(block: Block, is_complex: bool) -> Block:
    """Return whether every value is finite, a 0-d bool."""
    xp = planes.namespace(block)
    return xp.isfinite(block[:, 0] if is_complex else block[0]).all()


def require_finite(
    checks: Checks, function: str, name: str, block: Block, is_complex: bool
) -> None:
    """Demand finite values."""
    checks.require(
        finite(block, is_complex), lambda: complain_of_special(function, name, block, is_complex)
    )


def complain_of_special(function: str, name: str, block: Block, is_complex: bool) -> NoReturn:
    """Raise the LinAlgError that names the first column of `block` that is not finite."""
    raise np.linalg.LinAlgError(
        f"{function}: {where_not_finite(name, block, is_complex)} is NaN or infinite; "
        "remove or mend these entries first"
    )


def require_in_range(
    checks: Checks, function: str, name: str, block: Block, is_complex: bool, advice: str = ""
) -> None:
    """Demand that nothing overflowed in `block`, computed from finite values."""
    checks.require(
        finite(block, is_complex),
        lambda: complain_of_range(function, name, block, is_complex, advice),
    )


def complain_of_range(
    function: str, name: str, block: Block, is_complex: bool, advice: str = ""
) -> NoReturn:
    """Raise the LinAlgError that names the first column of `block` that overflowed."""
    where = where_not_finite(name, block, is_complex)
    raise np.linalg.LinAlgError(f"{function}: {where} is beyond the largest double{advice}")


def where_not_finite(name: str, block: Block, is_complex: bool) -> str:
    """Return words that say where the first value lies that is not finite, by columns."""
    xp = planes.namespace(block)
    bad = ~xp.isfinite(leading(block, is_complex))
    *batch, column, row = first_true(bad.swapaxes(-1, -2))
    return f"the entry in row {row}, column {column} of {name}{of_batch(tuple(batch))}"


def of_batch(index: tuple[int, ...]) -> str:
    """Return "" for a single matrix, else words for the place in the batch."""
    return f" (matrix {index if len(index) > 1 else index[0]} of the batch)" if index else ""


def first_true(flags: Block) -> tuple[int, ...]:
    """Return the index of the first true flag."""
    xp = planes.namespace(flags)
    (place,) = fetch(xp.argwhere(flags)[0])
    return tuple(place.tolist())
