"""State of `UpdatableLstsq` in pickles: the factors, the data and the rows that wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr._backend import for_block
from mdqr._limbs.device import device_of, host_block, place
from mdqr._limbs.planes import Block, Kind
from mdqr._pickles import State
from mdqr._precision import from_file
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._update.arithmetic.blocks import Planes
from mdqr.linalg._update.arithmetic.engine import Engine
from mdqr.linalg._update.arithmetic.matrices import Constants
from mdqr.linalg._update.fit import Fit
from mdqr.linalg._update.operands import Numbers, float_engine

_ARRAYS = ("r", "q", "data", "squares", "beta", "cut", "peak")
_NUMBERS = ("m", "n", "keep_q", "lost", "changes", "steps")
_FLOATS = ("float32", "float64", "complex64", "complex128")


def state(numbers: Numbers, fit: Fit, waiting: tuple[Block, ...]) -> dict[str, Any]:
    """Return the state for a pickle; "floats" is the type of one limb, None for more."""
    inputs, engine, known = numbers.inputs, fit.engine, fit.constants
    return {
        "precision": inputs and inputs.precision.name,
        "work": inputs and inputs.work.name,
        "complex": engine.kind.is_complex,
        "floats": None if engine.kind.limbs > 1 else engine.dtype.name,
        "device": device_of(fit.r).partition(":")[0],
        **{name: getattr(fit, name) for name in _NUMBERS},
        **{name: _host(getattr(fit, name)) for name in _ARRAYS},
        "constants": known and [_host(known.first), _host(known.same)],
        "waiting": [_host(rows) for rows in waiting],
    }


def _host(block: Block | None) -> np.ndarray | None:
    if block is None or isinstance(block, np.generic):
        return None if block is None else np.asarray(block)
    return host_block(block)


def restored(held: State) -> tuple[Numbers, Fit, tuple[Block, ...]]:
    """Return the objects of a state.

    Raises
    ------
    ValueError
        If it does not fit together, or the device is not there.
    """
    device = held.checked("device", ("cpu", "cuda").__contains__)
    numbers = _numbers(held, device)
    engine = numbers.engine
    m, n = (held.checked(name, _is_count) for name in ("m", "n"))
    k = held.checked("squares", np.ndarray).shape[-1]
    rows = min(m, n)
    _require(held, engine, "r", rows, n + k)
    optional = {"q": (m, rows), "data": (m, n + k)}
    for name, shape in optional.items():
        if held[name] is not None:
            _require(held, engine, name, *shape)
    if held.checked("keep_q", bool) != (held["q"] is not None):
        raise ValueError("this pickle is damaged: Q is missing, or not wanted")
    held.array("squares", np.float64, engine.kind.limbs, k)
    held.array("beta", np.int64, k)
    held.array("cut", bool)
    if held["peak"] is not None:
        held.array("peak", np.int64, n + k)
    values: dict[str, Any] = {
        name: place(np.asarray(held[name]), device) for name in _ARRAYS if held[name] is not None
    }
    fit = Fit(
        engine,
        values["r"],
        values.get("q"),
        values.get("data"),
        values["squares"],
        values["beta"],
        m,
        n,
        held["keep_q"],
        values["cut"],
        peak=values.get("peak"),
        lost=held.checked("lost", (float, int, np.floating)),
        changes=held.checked("changes", _is_count),
        # Pickles without it counted changes of all rows.
        steps=held.checked("steps" if "steps" in held else "changes", _is_count),
        constants=_constants(held, engine, n, device),
    )
    waiting = []
    for rows_held in held.checked("waiting", list):
        _require(State(waiting=rows_held), engine, "waiting", None, n + k)
        waiting.append(place(rows_held, device))
    return numbers, fit, tuple(waiting)


def _numbers(held: State, device: str) -> Numbers:
    field, floats, inputs = held.checked("complex", bool), held["floats"], None
    if held["precision"] is not None:
        precision, work = (from_file(held[name]) for name in ("precision", "work"))
        inputs = Inputs(precision, work, field, [])
    if floats is None:
        if inputs is None or inputs.work.limbs < 2:
            raise ValueError("this pickle is damaged: it has neither a precision nor a type")
        kind = Kind(inputs.work.limbs, field)
        sample = place(np.zeros(kind.planes((0, 0))), device)
        return Numbers(Planes(for_block(sample), kind), inputs, sample)
    dtype = np.dtype(held.checked("floats", _FLOATS.__contains__))
    if (dtype.kind == "c") != field or (inputs is not None and inputs.work.limbs > 1):
        raise ValueError("this pickle is damaged: the type is not that of the precision")
    sample = place(np.zeros((0, 0), dtype), device)
    return Numbers(float_engine(for_block(sample), dtype), inputs, sample)


def _constants(held: State, engine: Engine, n: int, device: str) -> Constants | None:
    if held["constants"] is None:
        return None
    parts = dict(zip(("first", "same"), held.checked("constants", list), strict=True))
    _require(State(parts), engine, "first", 1, n)
    State(parts).array("same", bool, n)
    return Constants(*(place(x, device) for x in parts.values()))


def _require(held: State, engine: Engine, name: str, *shape: int | None) -> None:
    """Raise ValueError unless a matrix is one of the arithmetic, of a shape."""
    limbs, field = engine.kind.limbs, engine.kind.is_complex
    front = () if limbs == 1 else ((2, limbs) if field else (limbs,))
    held.array(name, engine.dtype, *front, *shape)


def _is_count(x: Any) -> bool:
    return type(x) is int and x >= 0
