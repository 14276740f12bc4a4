"""One bound of the package, how it is made too small while the package runs, and what notices."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

BITS = 10
SHRUNK = 2.0**-BITS
# The eps of od is 2**8 times what its products err by, that of d twice: bounds in eps are looser.
NOT_OD = ("d", "dd", "qd")
# That of hd is 2**19 times that.
NOT_HD = ("d", "dd", "qd", "od")


@dataclass(frozen=True)
class Mutant:
    """A bound that is made too small.

    Attributes
    ----------
    target : str
        Where it is derived: ``module:name``, a function, a method, a property or a constant.
    judges : tuple
        What has to notice; see `judges`.
    part : str
        The place of the bound in what the target returns: names of attributes and indices with
        dots between, "" for all of it. With `argument` in that argument.
    argument : str
        The parameter of the target that is changed, in place of what it returns.
    kind : {"factor", "log2", "digits", "below"}
        Whether the bound is a number, a logarithm to base 2, a count of decimal digits, or bounds
        something from below.
    survives : str
        Why nothing notices; "" for mutants that have to be noticed.
    precisions : tuple of str
        Those that it is tried in; () for all.
    """

    target: str
    judges: tuple[Any, ...]
    part: str = ""
    argument: str = ""
    kind: str = "factor"
    survives: str = ""
    precisions: tuple[str, ...] = ()

    def __str__(self) -> str:
        module, _, path = self.target.partition(":")
        place = ".".join(part for part in (self.argument, self.part) if part)
        return f"{module.rpartition('.')[2]}:{path}" + (f"[{place}]" if place else "")


def shrunk(value: Any, kind: str = "factor") -> Any:
    """Return a bound that is 2**10 times too small."""
    if value is None:
        return None
    if kind == "log2":
        return value - BITS
    if kind == "below":
        return value / SHRUNK
    if kind == "digits":
        return value - math.log10(SHRUNK)
    return value * SHRUNK


def shrunk_part(value: Any, part: str, kind: str) -> Any:
    """Return a result of which one part is shrunk: of tuples, dataclasses and what has `_replace`.

    Other objects are changed in place.
    """
    if not part:
        return shrunk(value, kind)
    first, _, rest = part.partition(".")
    if first.isdigit():
        found = list(value)
        found[int(first)] = shrunk_part(found[int(first)], rest, kind)
        return type(value)(found) if type(value) in (list, tuple) else type(value)(*found)
    inner = shrunk_part(getattr(value, first), rest, kind)
    if hasattr(value, "_replace"):
        return value._replace(**{first: inner})
    if hasattr(value, "__dataclass_fields__"):
        return replace(value, **{first: inner})
    vars(value)[first] = inner
    return value


def found(target: str) -> tuple[Any, str, Any]:
    """Return the owner of what a dotted name means, its name there, and what is stored there.

    Raises
    ------
    AttributeError
        If there is no such thing.
    """
    module, _, path = target.partition(":")
    owner: Any = importlib.import_module(module)
    *classes, name = path.split(".")
    for each in classes:
        owner = getattr(owner, each)
    if inspect.isclass(owner):
        return owner, name, vars(owner)[name]
    return owner, name, getattr(owner, name)


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """Make the bound too small wherever the package, or a test, uses it."""
    owner, name, original = found(mutant.target)
    changed = _changed(mutant, original)
    if inspect.isclass(owner):
        setattr(owner, name, changed)
    else:
        _exchange(name, original, changed)
    try:
        yield
    finally:
        if inspect.isclass(owner):
            setattr(owner, name, original)
        else:
            _exchange(name, changed, original)


def _exchange(name: str, before: Any, after: Any) -> None:
    """Put `after` in the place of `before` in every module that has imported it by name."""
    for module in list(sys.modules.values()):
        space = getattr(module, "__dict__", {})
        if space.get(name) is before:
            space[name] = after


def _changed(mutant: Mutant, original: Any) -> Any:
    """Return what is put in the place of a function, a property or a constant."""
    if isinstance(original, functools.cached_property):
        changed = functools.cached_property(_wrapped(mutant, original.func))
        changed.__set_name__(object, mutant.target.rpartition(".")[2].rpartition(":")[2])
        return changed
    if isinstance(original, property):
        return property(_wrapped(mutant, original.fget))
    if isinstance(original, classmethod):
        return classmethod(_wrapped(mutant, original.__func__))
    if isinstance(original, staticmethod):
        return staticmethod(_wrapped(mutant, original.__func__))
    if callable(original):
        return _wrapped(mutant, original)
    return shrunk_part(original, mutant.part, mutant.kind)


def _wrapped(mutant: Mutant, function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function) if mutant.argument else None

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        with np.errstate(all="ignore"):
            if signature is None:
                return shrunk_part(function(*args, **options), mutant.part, mutant.kind)
            bound = signature.bind(*args, **options)
            given = bound.arguments
            if mutant.argument in given:
                value = given[mutant.argument]
                given[mutant.argument] = shrunk_part(value, mutant.part, mutant.kind)
            return function(*bound.args, **bound.kwargs)

    return call
