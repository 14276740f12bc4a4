"""Overloads have all parameters of what they stand for, in its order and with its defaults."""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import Any

import pytest

from tests.api.surface import MODULES


def overloaded() -> dict[str, Callable[..., Any]]:
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isroutine(value) and typing.get_overloads(inspect.unwrap(value)):
                found[f"{module.__name__}.{name}"] = inspect.unwrap(value)
    return found


def parameters(function: Callable[..., Any]) -> Iterator[Parameter]:
    """Return all parameters, the keys of ``**options: Unpack[...]`` in its place."""
    for each in inspect.signature(function).parameters.values():
        if each.kind is not Parameter.VAR_KEYWORD:
            yield each
            continue
        name = str(each.annotation).removeprefix("Unpack[").removesuffix("]")
        for key in function.__globals__[name].__annotations__:
            yield Parameter(key, Parameter.KEYWORD_ONLY)


OVERLOADED = overloaded()
NEEDS_PRECISION = tuple(
    f"mdqr.{name}" for name in ["zeros", "ones", "empty", "eye", "random.uniform", "random.normal"]
)


def test_there_are_overloads() -> None:
    assert {"mdqr.linalg.svd", "mdqr.linalg.qr", "mdqr.polyfit"} <= OVERLOADED.keys()


@pytest.mark.parametrize("name", OVERLOADED)
def test_overloads_have_every_parameter(name: str) -> None:
    wanted = {each.name: each for each in parameters(OVERLOADED[name])}
    for overload in typing.get_overloads(OVERLOADED[name]):
        given = {each.name: each for each in parameters(overload)}
        assert list(given) == list(wanted) or given.keys() == wanted.keys()
        for key, each in given.items():
            # Positional parameters may be keywords alone in one of several overloads.
            kinds = {wanted[key].kind, Parameter.KEYWORD_ONLY}
            assert (
                each.kind in kinds
                if wanted[key].kind is not Parameter.POSITIONAL_ONLY
                else (each.kind is Parameter.POSITIONAL_ONLY)
            )
            assert each.default in (wanted[key].default, Parameter.empty, ...)


@pytest.mark.parametrize("name", OVERLOADED)
def test_one_overload_takes_the_defaults(name: str) -> None:
    required = {p.name for p in parameters(OVERLOADED[name]) if p.default is Parameter.empty}
    needed = []
    for overload in typing.get_overloads(OVERLOADED[name]):
        given = inspect.signature(overload).parameters.values()
        needs = {p.name for p in given if p.default is Parameter.empty}
        needed.append({each for each in needs if each != "options"})
    # The precision is required unless a dtype says it.
    either = [required | {"precision"}, required | {"dtype"}]
    assert required in needed or (name in NEEDS_PRECISION and needed == either)


@pytest.mark.parametrize("name", NEEDS_PRECISION)
def test_what_type_checkers_refuse_raises(name: str) -> None:
    with pytest.raises(TypeError, match="needs a precision"):
        OVERLOADED[name](2)
