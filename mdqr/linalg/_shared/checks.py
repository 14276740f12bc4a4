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

ErrorCallback = Callable[[], NoReturn]


class Checks:
    """Conditions that must hold.

    One that is known on the host is checked at once; one on a device at the next `settle`. With
    `ignore` none is: what is lost gives infinities or NaN.
    """

    def __init__(self, *, ignore: bool = False) -> None:
        self._ignore = ignore
        self._pending: list[tuple[Block, bool, tuple[ErrorCallback, ...]]] = []

    def require(self, holds: Block, callback: ErrorCallback) -> None:
        """Call `callback`, which raises, unless the 0-d bool `holds` is true."""
        if self._ignore:
            return
        if not isinstance(holds, (np.ndarray, np.generic)):
            self._pending.append((holds, True, (callback,)))
        elif not holds:
            callback()

    def refuse(self, faults: Block, *callbacks: ErrorCallback) -> None:
        """Call the callback of the first of the int64 `faults` that is not 0."""
        if self._ignore:
            return
        if isinstance(faults, (np.ndarray, np.generic)):
            _check(np.asarray(faults), False, callbacks)
        else:
            self._pending.append((faults, False, callbacks))

    def require_finite(self, function: str, name: str, block: Block, is_complex: bool) -> None:
        """Demand finite values."""
        self.require(
            scaling.finite(block, is_complex),
            lambda: raise_nonfinite(function, name, block, is_complex),
        )

    def require_in_range(
        self, function: str, name: str, block: Block, is_complex: bool, advice: str = ""
    ) -> None:
        """Demand that nothing overflowed in `block`, computed from finite values."""
        self.require(
            scaling.finite(block, is_complex),
            lambda: raise_out_of_range(function, name, block, is_complex, advice),
        )

    def require_first(self, holds: Block, callback: ErrorCallback) -> None:
        """Require a condition before all pending ones, which mean nothing without it."""
        pending, self._pending = self._pending, []
        self.require(holds, callback)
        self._pending += pending

    def settle(self, *values: Block) -> tuple[np.ndarray, ...]:
        """Return `values` on the host, once all conditions hold; one transfer in all."""
        pending, self._pending = self._pending, []
        if not pending:
            return fetch(*values) if values else ()
        found = fetch(*[flags for flags, _, _ in pending], *values)
        for flags, (_, good, callbacks) in zip(found, pending, strict=False):
            _check(flags, good, callbacks)
        return found[len(pending) :]


def _check(flags: np.ndarray, good: bool, callbacks: tuple[ErrorCallback, ...]) -> None:
    for flag, callback in zip(flags.ravel(), callbacks, strict=True):
        if bool(flag) != good:
            callback()


def fetch(*values: Block) -> tuple[np.ndarray, ...]:
    """Return small bool, int64 or float64 arrays in host memory, by one transfer."""
    for value in values:
        if not isinstance(value, (np.ndarray, np.generic)):
            break
    else:
        return tuple(map(np.asarray, values))
    if len(values) == 1:
        return (np.asarray(host_block(values[0])),)
    on_device = [value for value in values if not isinstance(value, (np.ndarray, np.generic))]
    xp = planes.namespace(on_device[0])
    rows = [_packed(value) for value in on_device]
    packed = host_block(rows[0] if len(rows) == 1 else xp.concatenate(rows))
    parts = iter(np.split(packed, np.cumsum([value.size for value in on_device])[:-1]))
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


def raise_nonfinite(function: str, name: str, block: Block, is_complex: bool) -> NoReturn:
    """Raise the LinAlgError that names the first column of `block` that is not finite."""
    raise np.linalg.LinAlgError(
        f"{function}: {where_not_finite(name, block, is_complex)} is NaN or infinite; "
        "remove or replace these entries first"
    )


def raise_out_of_range(
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
