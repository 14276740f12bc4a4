"""Quick means that can fail: tried first where the result is looked at anyway, then never again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

from mdqr._backend.protocol import Block
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._update.engine import Engine

_T = TypeVar("_T")
_Self = TypeVar("_Self", bound=Any)
_P = ParamSpec("_P")


class Doubtful(Exception):
    """What was computed by quick means has to be done again."""


class SureChecks(Checks):
    """Conditions that are looked at only if quick means have not failed.

    Parameters
    ----------
    engine : Engine
        What they belong to.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    def settle(self, *values: Block) -> tuple[Any, ...]:
        """Do what `Checks.settle` does; raise `Doubtful` first."""
        if self._engine.doubtful is not None:
            self.require((self._engine.doubtful == 0).all(), _complain)
            # Nothing else means anything if this does not hold.
            self._pending[:] = self._pending[-1:] + self._pending[:-1]
        return super().settle(*values)


def _complain() -> NoReturn:
    raise Doubtful


def attempted(engine: Engine, call: Callable[[], _T]) -> _T:
    """Return ``call()``, by quick means if they do not fail."""
    engine.quick = True
    try:
        return call()
    except Doubtful:
        engine.quick = False
        return call()
    finally:
        engine.quick = False


def quickly(
    method: Callable[Concatenate[_Self, _P], None],
) -> Callable[Concatenate[_Self, _P], None]:
    """Make a method try quick means, of an object with a `_fit` that changes only on success.

    Warnings have three more frames between them and the caller.
    """

    @wraps(method)
    def call(self: _Self, /, *arguments: _P.args, **options: _P.kwargs) -> None:
        attempted(self._fit.engine, lambda: method(self, *arguments, **options))

    return call
