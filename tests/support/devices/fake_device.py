"""Blocks that are no NumPy arrays, with what mdqr uses of CuPy's: a device without a GPU."""

from __future__ import annotations

import contextlib
import sys
import types

import numpy as np

from mdqr._backend.host import backend as host
from mdqr._limbs import planes
from mdqr.linalg._shared import operands

UNARY = ("abs", "neg", "invert")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
BITWISE = ("and", "or", "xor", "lshift", "rshift")
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", *BITWISE)


def wrapped(found):
    """Return arrays as `DeviceArray`, also in tuples; CuPy has 0-d arrays instead of scalars."""
    if isinstance(found, tuple):
        return getattr(type(found), "_make", tuple)(map(wrapped, found))
    return DeviceArray(found) if isinstance(found, (np.ndarray, np.generic)) else found


def bare(given):
    if isinstance(given, (list, tuple)):
        make = getattr(type(given), "_make", type(given))
        return make(map(bare, given))
    return given.values if isinstance(given, DeviceArray) else given


def _bare_values(options):
    return {name: bare(value) for name, value in options.items()}


def on_device(function):
    """Let a function of NumPy take and return `DeviceArray` alone, as CuPy's do."""

    def call(*args, **options):
        for given in (*args, *options.values()):
            for x in given if isinstance(given, (list, tuple)) else [given]:
                assert not isinstance(x, np.ndarray), "a NumPy array met an array of a device"
        return wrapped(function(*map(bare, args), **_bare_values(options)))

    return call


class DeviceArray:
    """An array that NumPy's functions refuse, and that the host cannot read value by value."""

    __array_ufunc__ = None
    is_recorded = False
    device = types.SimpleNamespace(id=0)

    def __init__(self, values):
        self.values = np.asarray(values)

    def __getattr__(self, name):
        found = getattr(self.values, name)
        return on_device(found) if callable(found) else wrapped(found)

    def __setattr__(self, name, value):
        if name in ("real", "imag"):
            setattr(self.values, name, bare(value))
        else:
            object.__setattr__(self, name, value)

    def __getitem__(self, key):
        return wrapped(self.values[bare(key)])

    def __setitem__(self, key, value):
        self.values[bare(key)] = bare(value)

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return map(wrapped, self.values)

    def __array__(self, *_, **__):
        raise TypeError("a NumPy function met an array of a device")

    __array_function__ = __array__

    def __bool__(self):
        raise AssertionError("a device value was read on its own")

    __int__ = __float__ = __index__ = __bool__

    def get(self):
        assert not self.is_recorded, "recorded work waits for the device"
        return self.values


def _operator(name):
    def call(self, *others):
        return on_device(getattr(self.values, name))(*others)

    return call


for _name in (*UNARY, *COMPARISONS, *BINARY, *("r" + name for name in BINARY)):
    setattr(DeviceArray, f"__{_name}__", _operator(f"__{_name}__"))


def _in_place(name):
    def call(self, other):
        getattr(self.values, name)(bare(other))
        return self

    return call


for _name in ("iadd", "isub", "imul", "ixor", "iand", "ior"):
    setattr(DeviceArray, f"__{_name}__", _in_place(f"__{_name}__"))


class _Module:
    """NumPy, or a module in it, whose functions take and return `DeviceArray`."""

    ndarray = DeviceArray

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        found = getattr(self.module, name)
        if isinstance(found, types.ModuleType):
            return _Module(found)
        return on_device(found) if callable(found) and not isinstance(found, type) else found

    def asarray(self, x, **options):
        """Take arrays of the host to the device."""
        return wrapped(self.module.asarray(bare(x), **options))


class _Backend:
    name, xp = "cuda", _Module(np)

    def recorded(self, key, operands, work):
        """Let work be recorded: nothing in it may be read by the host."""
        DeviceArray.is_recorded = True
        try:
            return work(self, *operands)
        finally:
            DeviceArray.is_recorded = False

    def __getattr__(self, name):
        found = getattr(host.backend(), name)
        if name.startswith("exact_"):
            # Tables of moduli are the host's.
            return lambda *args, **options: wrapped(
                found(*map(bare, args), **_bare_values(options))
            )
        return on_device(found)


def install(monkeypatch):
    """Let `DeviceArray` blocks be computed by the host's kernels."""
    backend = _Backend()
    monkeypatch.setattr(planes, "cupy_of", lambda _: backend.xp)
    monkeypatch.setattr(
        operands,
        "for_block",
        lambda block: backend if isinstance(block, DeviceArray) else host.backend(),
    )


class CuPyArray(DeviceArray):
    """An array of CuPy, which the host may wait for."""

    def __bool__(self):
        return bool(self.values)

    def __int__(self):
        return int(self.values)

    def __float__(self):
        return float(self.values)


def install_cupy(monkeypatch):
    """Let CuPy look as if it were there, its arrays in the memory of the host."""
    monkeypatch.setitem(globals(), "DeviceArray", CuPyArray)
    cupy = _Module(np)
    cupy.ndarray = CuPyArray
    cupy.cuda = types.SimpleNamespace(
        runtime=types.SimpleNamespace(getDevice=lambda: 0, getDeviceCount=lambda: 1),
        Device=lambda _: contextlib.nullcontext(),
    )
    cupy.array = lambda x, dtype=None, order=None: CuPyArray(np.array(bare(x), dtype, order=order))
    backend = _Backend()
    backend.xp = cupy
    module = types.SimpleNamespace(backend=lambda: backend)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "mdqr._backend.cuda.backend", module)
