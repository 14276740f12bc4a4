"""The only places where an algorithm waits for a device: values that decide, and errors.

Reading one value of a CuPy array stops the host until the device has computed it. Conditions that
must hold are therefore collected, and read together with the values that the next decision needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block

Complaint = Callable[[], NoReturn]


class Checks:
    """Conditions that must hold.

    One that is known on the host is looked at once; one on a device at the next `settle`.
    """

    def __init__(self) -> None:
        self._pending: list[tuple[Block, bool, tuple[Complaint, ...]]] = []

    def require(self, holds: Block, complain: Complaint) -> None:
        """Call `complain`, which raises, unless the 0-d bool `holds` is true."""
        self._add(holds, True, complain)

    def refuse(self, faults: Block, *complaints: Complaint) -> None:
        """Call the complaint of the first of the int64 `faults` that is not 0."""
        self._add(faults, False, *complaints)

    def require_finite(self, function: str, name: str, block: Block, is_complex: bool) -> None:
        """Demand finite values."""
        self.require(
            scaling.finite(block, is_complex),
            lambda: complain_of_special(function, name, block, is_complex),
        )

    def require_in_range(
        self, function: str, name: str, block: Block, is_complex: bool, advice: str = ""
    ) -> None:
        """Demand that nothing overflowed in `block`, computed from finite values."""
        self.require(
            scaling.finite(block, is_complex),
            lambda: complain_of_range(function, name, block, is_complex, advice),
        )

    def _add(self, flags: Block, good: bool, *complaints: Complaint) -> None:
        if isinstance(flags, (np.ndarray, np.generic)):
            _look(np.asarray(flags), good, complaints)
        else:
            self._pending.append((flags, good, complaints))

    def settle(self, *values: Block) -> tuple[np.ndarray, ...]:
        """Return `values` on the host, after a look at all conditions; one transfer in all."""
        pending, self._pending = self._pending, []
        found = fetch(*[flags for flags, _, _ in pending], *values)
        for flags, (_, good, complaints) in zip(found, pending, strict=False):
            _look(flags, good, complaints)
        return found[len(pending) :]


def _look(flags: np.ndarray, good: bool, complaints: tuple[Complaint, ...]) -> None:
    for flag, complain in zip(flags.ravel(), complaints, strict=True):
        if bool(flag) != good:
            complain()


def fetch(*values: Block) -> tuple[np.ndarray, ...]:
    """Return small bool, int64 or float64 arrays in host memory, by one transfer."""
    away = [value for value in values if not isinstance(value, (np.ndarray, np.generic))]
    if not away:
        return tuple(map(np.asarray, values))
    xp = planes.namespace(away[0])
    rows = [_packed(value) for value in away]
    packed = host_block(rows[0] if len(rows) == 1 else xp.concatenate(rows))
    parts = iter(np.split(packed, np.cumsum([value.size for value in away])[:-1]))
    return tuple(
        np.asarray(value)
        if isinstance(value, (np.ndarray, np.generic))
        else _unpacked(next(parts), value)
        for value in values
    )


def _packed(value: Block) -> Block:
    """Return the values as a row of int64: the bits of floats, 0 and 1 for bools."""
    xp = planes.namespace(value)
    row = value.ravel()
    if row.dtype == xp.int64:
        return row
    return row.view(xp.int64) if row.dtype == xp.float64 else row.astype(xp.int64)


def _unpacked(row: np.ndarray, value: Block) -> np.ndarray:
    dtype = np.dtype(value.dtype)
    found = row.view(np.float64) if dtype == np.float64 else row.astype(dtype)
    return found.reshape(value.shape)


def complain_of_special(function: str, name: str, block: Block, is_complex: bool) -> NoReturn:
    """Raise the LinAlgError that names the first column of `block` that is not finite."""
    raise np.linalg.LinAlgError(
        f"{function}: {where_not_finite(name, block, is_complex)} is NaN or infinite; "
        "remove or mend these entries first"
    )


def complain_of_range(
    function: str, name: str, block: Block, is_complex: bool, advice: str = ""
) -> NoReturn:
    """Raise the LinAlgError that names the first column of `block` that overflowed."""
    where = where_not_finite(name, block, is_complex)
    raise np.linalg.LinAlgError(f"{function}: {where} is beyond the largest double{advice}")


def where_not_finite(name: str, block: Block, is_complex: bool) -> str:
    """Return words that say where the first value lies that is not finite, by columns."""
    bad = ~planes.namespace(block).isfinite(scaling.leading(block, is_complex))
    *batch, column, row = first_true(bad.swapaxes(-1, -2))
    return f"the entry in row {row}, column {column} of {name}{of_batch(tuple(batch))}"


def of_batch(index: tuple[int, ...]) -> str:
    """Return "" for a single matrix, else words for the place in the batch."""
    return f" (matrix {index if len(index) > 1 else index[0]} of the batch)" if index else ""


def first_true(flags: Block) -> tuple[int, ...]:
    """Return the index of the first true flag."""
    (place,) = fetch(planes.namespace(flags).argwhere(flags)[0])
    return tuple(place.tolist())
