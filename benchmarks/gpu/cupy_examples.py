"""Small calls of CuPy that need the kernels that mdqr needed, found from sources of kernels.

A kernel of CuPy's own has its operands in its signature. An example of
`mdqr._backend.cuda.runtime.examples` counts only if CuPy makes the very source for it.
"""

from __future__ import annotations

import re
import threading
import time
import traceback
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from mdqr._backend.cuda.runtime import examples

_SIGNATURE = re.compile(r"__global__ void (\w+)\((.*?)\)\s*\{", re.DOTALL)
_ARRAY = re.compile(r"(const )?CArray<([\w: ]+(?:<\w+>)?), (\d+), ([01]), [01]> (\w+)")
_NUMBER = re.compile(r"const ([\w: ]+(?:<\w+>)?) (\w+)$")
_TYPES = {
    "bool": "?", "signed char": "b", "unsigned char": "B", "short": "h", "int": "i",
    "unsigned int": "I", "long long": "q", "unsigned long long": "Q", "float": "f", "double": "d",
    "thrust::complex<float>": "F", "thrust::complex<double>": "D",
}  # fmt: skip
_WEAK = ("bool", "int", "float", "complex")
_ALSO = {"copy": ("concatenate", "copied", "copyto", "full")}
# Kernels of masks; the first two count their entries.
_MASKS = ("bsum_shfl", "scan_naive", "getitem_mask", "scatter_update_mask")
_INDEXING = {
    "take": ("take", "take_middle", "take_both"),
    "prepare_array_indexing": ("take_both", "take_along"),
    "scatter_update": ("put", "put_both"),
}
_WORDS = {"?": "bool", "f": "float", "d": "float", "F": "complex", "D": "complex"}


class Loaded:
    """Notes the kernels that CuPy compiles or loads on this thread, for which line of mdqr.

    Attributes
    ----------
    kernels : list
        Their sources, the seconds that each took, and the line.
    """

    def __init__(self, cupy: Any) -> None:
        self.kernels: list[tuple[str, float, str]] = []
        self._load = cupy.cuda.compiler._compile_module_with_cache
        self._thread = threading.get_ident()
        cupy.cuda.compiler._compile_module_with_cache = self

    def __call__(self, source: str, *arguments: Any, **options: Any) -> Any:
        """Compile or load."""
        begin = time.perf_counter()
        found = self._load(source, *arguments, **options)
        if threading.get_ident() == self._thread:
            frames = [f for f in traceback.extract_stack() if "/mdqr/" in f.filename]
            place = (
                f"{frames[-1].filename.split('/mdqr/')[-1]}:{frames[-1].lineno}" if frames else ""
            )
            self.kernels.append((source, time.perf_counter() - begin, place))
        return found


def signature_of(source: str) -> str:
    """Return the name and parameters of a kernel in one line."""
    found = _SIGNATURE.search(source)
    return f"{found[1]}({found[2]})" if found else source[:200]


def candidates(source: str) -> list[str]:
    """Return examples that may need a kernel."""
    found = _SIGNATURE.search(source)
    if found is None:
        return []
    name, _, types = found[1].removeprefix("cupy_").partition("__")
    tokens = types.split("_") if types else []
    given: list[str] = []
    out: list[str] = []
    for parameter in re.split(r", (?=const |CArray|CIndexer)", found[2].strip()):
        array, number = _ARRAY.match(parameter), _NUMBER.match(parameter)
        token = tokens[len(given) + len(out)] if len(given) + len(out) < len(tokens) else ""
        if array is not None:
            word = f"{_TYPES[array[2]]}{array[3]}{'' if array[4] == '1' else chr(39)}"
            is_read = array[1] or array[5] == "_raw__where"
            (given if is_read else out).append(word)
        elif number is not None:
            given.append(_number(token, _TYPES[number[1]]))
    if "_block_stride" in found[2]:
        places = [(axis, axes) for axes in _axes(range(1, 5)) for axis in ("all", 0, 1, -1)]
        return [f"{name}@{axis} {given[0][0]}{axes} ->" for axis, axes in places]
    if name in _MASKS:
        kind = (given[0] if name == "getitem_mask" else out[-1])[0]
        call = "put_mask" if name == "scatter_update_mask" else "take_mask"
        shapes = [(n, m) for n in (1, 2, 3) for m in range(1, n + 1)]
        return [
            f"{call} d{n} ?{m} -> {r}".rstrip() for n, m in shapes for r in _results(call, kind)
        ]
    if name in _INDEXING:
        kind = (given + out)[0 if name != "scatter_update" else -1][0]
        return [
            f"{call} {kind}{axes} q{count} -> {result}".rstrip()
            for call in _INDEXING[name]
            for axes in _axes(range(1, 5))
            for count in (1, 2, 3)
            for result in _results(call, kind)
        ]
    return [" ".join([n, *given, "->", *out]) for n in (name, *_ALSO.get(name, ()))]


def _axes(counts: Iterable[int]) -> list[str]:
    return [f"{count}{strided}" for count in counts for strided in ("", "'")]


def _results(call: str, kind: str) -> list[str]:
    if call.startswith("take"):
        return [""]
    number = {"?": "bool", "d": "float", "D": "complex"}.get(kind, "int")
    return [number, *(f"{kind}{axes}{strided}" for axes in range(5) for strided in ("", "'"))]


def _number(token: str, kind: str) -> str:
    if token and token not in _WEAK:
        return f"={np.dtype(token).char}"
    return token or _WORDS.get(kind, "int")


def confirmed(cupy: Any, wanted: Iterable[str]) -> dict[str, str]:
    """Return an example for each source that has one; in a process without kernels."""
    found: dict[str, str] = {}
    compile = cupy.cuda.compiler._compile_module_with_cache

    def load(source: str, *arguments: Any, **options: Any) -> Any:
        found.setdefault(source, text)
        return compile(source, *arguments, **options)

    cupy.cuda.compiler._compile_module_with_cache = load
    for source in wanted:
        for text in candidates(source):
            if source in found:
                break
            with suppress(Exception):  # there may be no such function
                examples.run(cupy, text)
    return {source: found[source] for source in wanted if source in found}
