"""Many independent problems, in pieces."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from mdqr._array.array import MDArray
from mdqr._errors import shown
from mdqr._functions.sequences import concatenate
from mdqr._progress import Progress, Report, with_report
from mdqr._stability import experimental
from mdqr.distributed._engines import engine_for
from mdqr.distributed._rows import Source, integer_from


@experimental
def map_batches(
    function: Callable[..., Any],
    /,
    *args: Any,
    rows: int = 64,
    errors: Literal["raise", "keep"] = "raise",
    scheduler: Any = None,
    progress: Progress = None,
    **options: Any,
) -> Any:
    """Call a function on pieces of a batch, and join the results in their order.

    Parameters
    ----------
    function : callable
        Called as ``function(*args, **options)`` with pieces of the batch.
    *args : object
        Arrays with the length of the first array are cut along their first axis; all else is passed
        on as it is.
    rows : int, default: 64
        How many problems a piece has. Where results depend on the company of a problem, as the
        steps of `mdqr.series.track` do in their last digits, a fixed number makes runs repeatable.
    errors : {"raise", "keep"}, default: "raise"
        "keep" returns a list with a result or an exception for each piece.
    scheduler, progress : optional
        As in `lstsq`; the stage is "batches".
    **options : object
        Passed on.

    Returns
    -------
    MDArray, numpy.ndarray, tuple or list
        Arrays are joined along their first axis; tuples, named ones too, and dictionaries field by
        field, and keep their types. Anything else, also as a field, is a list with one for each
        piece.

    Raises
    ------
    ValueError
        If no argument is an array, or an option is none.
    Exception
        What `function` raises for the first piece that fails, with a note of its indices.

    Examples
    --------
    >>> import mdqr
    >>> from mdqr import distributed as md
    >>> a = mdqr.random.normal((10, 3, 3), precision=mdqr.qd, rng=0)
    >>> b = mdqr.random.normal((10, 3, 1), precision=mdqr.qd, rng=1)
    >>> x = md.map_batches(mdqr.linalg.solve, a, b, rows=4)
    >>> mdqr.array_equal(x, mdqr.linalg.solve(a, b))
    True
    """
    if not (progress is None or isinstance(progress, Report)):
        with_all = _Call(function, args, options)
        return with_report(_with_progress, {
            "call": with_all, "rows": rows, "errors": errors, "scheduler": scheduler,
            "progress": progress,
        })  # fmt: skip
    call = _Call(function, args, options)
    return _with_progress(call, rows=rows, errors=errors, scheduler=scheduler, progress=progress)


class _Call:
    """The function with all arguments, of which arrays of the batch are cut."""

    def __init__(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.function, self.args, self.options = function, args, options

    def piece(self, part: slice, length: int) -> tuple[Any, ...]:
        """Return the arguments of some problems."""
        return tuple(x[part] if _length(x) == length else x for x in self.args)

    def __call__(self, *args: Any) -> Any:
        """Return the result of a piece, or its exception."""
        try:
            return self.function(*args, **self.options)
        except Exception as error:
            return _Failure(_carried(error))


def _carried(error: Exception) -> Exception:
    """Return an exception, or its text in another one if processes cannot hand it on."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _Failure:
    """An exception as a result."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _length(x: Any) -> int | None:
    is_array = isinstance(x, (MDArray, np.ndarray)) and x.ndim > 0
    return int(x.shape[0]) if is_array else None


def _with_progress(call: _Call, /, *, rows: int, errors: str, scheduler: Any, progress: Any) -> Any:
    name = "map_batches"
    if not callable(call.function):
        raise TypeError(f"{name}: function must be callable; got {shown(call.function)}")
    if errors not in ("raise", "keep"):
        raise ValueError(f'{name}: errors must be "raise" or "keep"; got {shown(errors)}')
    rows = integer_from(1, rows, f"{name}: rows")
    length = next((n for x in call.args if (n := _length(x)) is not None), None)
    if length is None:
        raise ValueError(f"{name}: no argument is an array with a batch axis")
    starts = range(0, max(length, 1), rows)
    engine = engine_for(name, scheduler, Source((), len(starts)))
    light = _Call(call.function, (), call.options)
    made = []
    for done, start in enumerate(starts, 1):
        piece = call.piece(slice(start, start + rows), length)
        made.append(engine.submit(f"mdqr-batch-{done - 1}", light, *piece))
        if progress is not None:
            progress("batches", done, len(starts))
    found = engine.result(engine.submit("mdqr-batches", list, made))
    if errors == "keep":
        return [x.error if isinstance(x, _Failure) else x for x in found]
    for start, result in zip(starts, found, strict=True):
        if isinstance(result, _Failure):
            result.error.add_note(
                f"{name}: problems {start} to {min(start + rows, length) - 1} of {length}"
            )
            raise result.error
    return _joined(found)


def _joined(found: list[Any]) -> Any:
    """Join arrays, or tuples and dictionaries of them."""
    kind, first = type(found[0]), found[0]
    if all(isinstance(x, MDArray) and x.ndim for x in found):
        return concatenate(found)
    if all(isinstance(x, np.ndarray) and x.ndim for x in found):
        return np.concatenate(found)
    if any(type(x) is not kind for x in found):
        return found
    if kind is dict and all(x.keys() == first.keys() for x in found):
        return {key: _joined([x[key] for x in found]) for key in first}
    is_named = issubclass(kind, tuple) and hasattr(kind, "_make")
    if (kind is tuple or is_named) and all(len(x) == len(first) for x in found):
        parts = (_joined(list(fields)) for fields in zip(*found, strict=True))
        return kind._make(parts) if is_named else tuple(parts)
    return found
