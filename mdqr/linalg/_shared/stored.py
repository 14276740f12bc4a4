"""The quantities from which statistics are computed, and their state in pickles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mdqr._backend import for_block
from mdqr._backend.blocks import to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs.device import device_of, host_block, place
from mdqr._limbs.planes import Block, Kind
from mdqr._pickles import State
from mdqr._precision import Precision
from mdqr.linalg._shared.operands import Inputs, precision_for


class Measured(NamedTuple):
    """The quantities from which statistics are computed.

    `inverse` returns that of R, of the matrix with columns multiplied by ``2**powers``. `squares`
    are the sums of squares of the residuals, real ``(..., k)``, and exponents: they are in units
    of ``4**exponents``; `freedom` are the degrees of freedom, float64 ``(..., 1)``. `total` returns
    the sums of squares of b in the same way, and what rounding makes of them where b does not vary,
    float64 ``(..., k)``. `wrap` makes arrays of blocks, and is told whether they are complex.
    """

    backend: Backend
    kind: Kind
    inverse: Callable[[], Block]
    powers: Block
    squares: tuple[Block, Block]
    freedom: Block
    total: Callable[[], tuple[Block, Block, Block]]
    wrap: Callable[[Block, bool], Any]
    is_vector: bool


def stored(known: Measured) -> dict[str, Any]:
    """Return the quantities as host arrays."""
    names = ("squares", "exponents", "total", "total_exponents", "least")
    refusal: str | None = None
    inverse = np.zeros(0)
    try:
        inverse = known.inverse()
    except np.linalg.LinAlgError as error:
        refusal = str(error)
    blocks = dict(zip(names, (*known.squares, *known.total()), strict=True))
    blocks |= {"inverse": inverse, "powers": known.powers, "freedom": known.freedom}
    example = known.wrap(known.kind.zeros(known.backend.xp, (1,)), known.kind.is_complex)
    return {name: np.ascontiguousarray(host_block(block)) for name, block in blocks.items()} | {
        "refusal": refusal,
        "limbs": known.kind.limbs,
        "complex": known.kind.is_complex,
        "vector": known.is_vector,
        "device": device_of(known.powers).partition(":")[0],
        "floats": None if hasattr(example, "limbs") else example.dtype.name,
    }


def measured(state: State, precision: Precision | None) -> Measured:
    """Return the quantities of a pickle, of a result of a precision."""
    limbs, field = state.checked("limbs", int), state.checked("complex", bool)
    work = precision_for(limbs)
    kind, device = Kind(work.limbs, field), state.checked("device", ("cpu", "cuda").__contains__)
    squares = state.checked("squares", np.ndarray)
    batch = squares.shape[1:]
    columns = state.checked("powers", np.ndarray).shape[-1:]
    state.array("squares", np.float64, limbs, *(None,) * len(batch))
    _require_fit(state, "total", np.float64, (limbs, *batch))
    for name, dtype in {"exponents": np.int64, "total_exponents": np.int64, "least": float}.items():
        _require_fit(state, name, dtype, batch)
    _require_fit(state, "freedom", float, batch)
    _require_fit(state, "powers", np.int64, (*batch[:-1], *columns))
    refusal = state.checked("refusal", (str, type(None)))
    if refusal is None:
        _require_fit(state, "inverse", float, kind.planes((*batch[:-1], *columns, *columns)))
    at = {name: place(x, device) for name, x in state.items() if isinstance(x, np.ndarray)}
    backend = for_block(at["squares"])

    def inverse() -> Block:
        if refusal is not None:
            raise np.linalg.LinAlgError(refusal)
        return at["inverse"]

    return Measured(
        backend,
        kind,
        inverse,
        at["powers"],
        (at["squares"], at["exponents"]),
        at["freedom"],
        lambda: (at["total"], at["total_exponents"], at["least"]),
        _wrap(state, backend, work, precision),
        state.checked("vector", bool),
    )


def _require_fit(state: State, name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless an array of a type broadcasts to a shape, or has fewer limbs."""
    x = state.checked(name, np.ndarray)
    axes = zip(reversed(x.shape), reversed(shape), strict=False)
    if x.dtype != dtype or x.ndim > len(shape) or not all(n in (1, m) for n, m in axes):
        raise ValueError(f"this pickle is damaged: {name!r} is {x.dtype} of shape {x.shape}")


def _wrap(
    state: State, backend: Backend, work: Precision, precision: Precision | None
) -> Callable[[Block, bool], Any]:
    """Return the function that makes arrays of blocks: of a precision, or of floats."""
    name, field = state["floats"], state["complex"]
    if name is None:
        if precision is None:
            raise ValueError("this pickle is damaged: a result has no precision")
        return Inputs(precision, work, field, []).wrap
    dtype = np.dtype(state.checked("floats", _FLOATS.__contains__))

    def floats(block: Block, is_complex: bool) -> Any:
        found = to_native(backend.xp, block, is_complex) if is_complex else block[0]
        return found.astype(dtype if is_complex else np.empty(0, dtype).real.dtype)

    return floats


_FLOATS = ("float32", "float64", "complex64", "complex128")
