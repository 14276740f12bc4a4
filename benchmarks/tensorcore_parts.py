"""Where the time of the tensor-core path goes: parts of a call, and panels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
from gpu_measure import Phases, cupy, milliseconds
from gpu_run import Groups
from measure import Row
from tensorcore_measure import free, random

from mdqr.tensorcore import _input, lstsq, qr
from mdqr.tensorcore._algorithms import correction, passes
from mdqr.tensorcore._algorithms.recursive import panel_of
from mdqr.tensorcore._engine.cuda import CudaEngine

FAST = ("caqr", "cholesky")
QUICK = [(32768, 1024), (8192, 4096)]
METHODS = ("load", "round", "inner", "add", "caqr", "cholesky", "squares", "report", "doubles")


class Parts(Phases):
    """Where the time of a call goes: the methods of the engine, and some functions."""

    def of(self, call: Callable[[], Any]) -> dict[str, float]:
        """Return the milliseconds of each part of a call, after one that does not count."""
        call()
        functions = ((passes, "departure"), (passes, "departure_of"), (passes, "correct"))
        functions += ((correction, "_size"),)
        with ExitStack() as stack:
            for name in METHODS:
                timed = self.timed(name, getattr(CudaEngine, name))
                stack.enter_context(mock.patch.object(CudaEngine, name, timed))
            for module, name in functions:
                timed = self.timed(name, getattr(module, name))
                stack.enter_context(mock.patch.object(module, name, timed))
            self.boundary()
            call()
            self.boundary()
        self.events[-1][1].synchronize()
        found: dict[str, float] = {}
        for (name, first), (_, second) in pairwise(self.events):
            found[name] = found.get(name, 0.0) + cupy().cuda.get_elapsed_time(first, second)
        return found


def parts(quick: bool) -> Iterator[Row]:
    """Where the time goes, with events between the parts."""
    for m, n in QUICK if quick else [(8192, 4096), (32768, 1024), (32768, 16384)]:
        a = random(m, n)
        for panel in FAST:
            for again in (False, True):
                call = partial(qr, a, panel=panel, reorthogonalize=again)
                what = f"{panel}, {'orthonormal' if again else 'once'}: "
                for name, ms in Parts().of(call).items():
                    yield Row("parts", what + name, "mdqr", "fp16", f"{m}x{n}", ms, "ms")
        double = random(m, n, dtype=np.float64)
        for name, ms in Parts().of(partial(lstsq, double, double[:, 0])).items():
            yield Row("parts", f"least squares: {name}", "mdqr", "fp16", f"{m}x{n}", ms, "ms")
        del a, double, call
        free()


def panels(quick: bool) -> Iterator[Row]:
    """The panels alone, a launch each."""
    for m in (8192, 32768) if quick else (8192, 32768, 524288):
        base = cupy().asfortranarray(random(m, 128))
        engine = _input.engine_for(base)
        for name, width in itertools.product(FAST, (32, 128)):
            a, r = base.copy(order="F"), engine.matrix(width, width, zero=True)
            ms = milliseconds(partial(panel_of(engine, name), a[:, :width], r), 50)
            what = f"{name}, {width} columns"
            yield Row("panels", what, "mdqr", "float32", f"{m} rows", 1e3 * ms, "us")


GROUPS: Groups = {"panels": panels, "parts": parts}
