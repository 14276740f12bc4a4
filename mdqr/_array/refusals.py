"""Messages of refused conversions and missing functions: the caller, and an exact alternative."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NoReturn, cast

import numpy as np

from mdqr._errors import package_of
from mdqr._precision import PRECISIONS, Precision

# Of NumPy's functions that write or print; mdqr has its own way.
_INSTEAD = {
    "save": "mdqr.save(file, a)",
    "savez": "mdqr.savez(file, a)",
    "savez_compressed": "mdqr.savez(file, a)",
    "savetxt": "mdqr.savetxt(file, a)",
    "array2string": "str(a) within mdqr.printoptions(digits=...), or a.to_strings(digits)",
    "array_repr": "repr(a)",
    "array_str": "str(a)",
    "apply_over_axes": "a reduction with several axes, as in mdqr.sum(a, axis=(0, 1))",
    "rollaxis": "mdqr.moveaxis(a, axis, start)",
    "real_if_close": "a.real, where mdqr.isreal(a).all(),",
    "result_type": "max(a.precision, b.precision)",
}
_OF_INTEGERS = {
    *("bitwise_and", "bitwise_count", "bitwise_or", "bitwise_xor", "gcd", "invert", "lcm"),
    *("left_shift", "packbits", "right_shift", "unpackbits"),
}
# Packages whose functions are named, and the names of functions that only stand around others.
_NAMED = ("numpy", "pandas", "scipy", "sklearn", "statsmodels", "xarray", "_pytest")
_AROUND = ("wrapper", "wrapped", "inner", "inner_f", "call", "func", "f", "fun")


# Parts of pandas, and functions, that take `float` of each value of a column of objects.
_ROUNDING = ("pandas.core.nanops", "pandas.core.groupby.ops", "pandas.core.window")
_ROUNDED = frozenset({"corr", "cov", "corrwith", "autocorr", "interpolate", "cut", "qcut"})

# Functions of `scipy.optimize` that have another name here.
_FITS = {"leastsq": "least_squares", "fsolve": "root"}

# Functions of `numpy.polynomial.polynomial` that mdqr has; coefficients are in reverse order.
_POLYNOMIALS = {"polyfit": "mdqr.polyfit", "polyroots": "mdqr.linalg.roots"}

# Attributes of `numpy.ndarray` that an MDArray does not have.
_LIMBS = "a.limbs.{name} describes the storage, float64 of shape (N, *shape)"
_ABSENT = {
    **dict.fromkeys(("strides", "flags", "base", "ctypes", "data", "setflags"), _LIMBS),
    "view": "values are no bytes to be read as another type; a.limbs.view is for those",
    "byteswap": "a.limbs.byteswap is for bytes",
    "getfield": "values have no fields; a.limbs[i] is a plane of limbs",
    "resize": "arrays keep their size; a.reshape and mdqr.concatenate make others",
    "choose": "use mdqr.where, or an index of integers",
    "compress": "use an index of booleans, as in a[mask], or mdqr.take",
    **dict.fromkeys(("dump", "dumps", "tofile", "tobytes"), "use mdqr.save, or a.limbs.tobytes()"),
}


class Absent:
    """An attribute of `numpy.ndarray` that an MDArray does not have: the error names another.

    `__getattr__` would make every other attribute slower.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: object = None) -> NoReturn:
        text = _ABSENT[self._name].format(name=self._name)
        raise AttributeError(f"an MDArray has no attribute {self._name!r}: {text}")


def absent_attributes() -> dict[str, Absent]:
    """Return the descriptors of all of them by name."""
    return {name: Absent(name) for name in _ABSENT}


def missing(name: str) -> str:
    """Return what to say of a function of NumPy that mdqr does not have."""
    instead = _INSTEAD.get(name.removeprefix("numpy."))
    if instead is not None and name.startswith("numpy."):
        return f"{name} has no implementation for MDArray; {instead} keeps all digits"
    if name.removeprefix("numpy.") in _OF_INTEGERS:
        return (
            f"{name} has no implementation for MDArray, whose values are no integers; "
            f"{name} of xp.astype(a, xp.int64), with xp = mdqr.array_api, is exact"
        )
    return (
        f"{name} has no implementation for MDArray; mdqr's own functions are in mdqr and "
        f"mdqr.linalg, and {name}(a.to_numpy()) computes with the nearest float64 values"
    )


def check_for_pandas(precision: Precision, frame: FrameType | None) -> None:
    """Raise TypeError in a statistic of pandas that takes float64; `astype` may.

    Parameters
    ----------
    precision : Precision
        The precision of the values.
    frame : frame
        The caller of the conversion, of pandas.
    """
    while frame is not None and package_of(frame) == "pandas":
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith(_ROUNDING) or frame.f_code.co_name in _ROUNDED:
            raise TypeError(rounded_by_pandas(precision))
        frame = frame.f_back


def check_for_xarray(precision: Precision, frame: FrameType | None) -> None:
    """Raise TypeError where xarray rounds for an index or a dictionary, not for `to_numpy`."""
    called, outer = "", frame
    while outer is not None and package_of(outer) == "xarray":
        if outer.f_globals.get("__name__", "").startswith("xarray.plot"):
            return
        called = called if called == "safe_cast_to_index" else outer.f_code.co_name
        outer = outer.f_back
    if called == "to_numpy" or precision.limbs == 1:
        return
    raise TypeError(
        f"xarray would round an MDArray of precision {precision} to float64: indexes are labels in "
        "float64, as are dictionaries; use a.to_numpy() if the nearest float64 values are enough, "
        "or give the values as a coordinate with another name than its dimension"
    )


def rounded_by_pandas(precision: Precision) -> str:
    """Return the message for statistics that pandas forms of float64."""
    return (
        f"pandas would round the MDArrays of precision {precision} in a column to float64; "
        "mdqr.array(column).mean() and its like keep the digits, as do columns of the type "
        f"'mdqr[{precision}]' of mdqr.pandas; column.astype(float) rounds"
    )


def refused(precision: Precision) -> str:
    """Return what to say where an array of NumPy is asked for, of values of more than a double."""
    caller = _caller(sys._getframe(1).f_back)
    who = f"{caller} asks for an array of float64, and " if caller else ""
    text = (
        f"{who}an MDArray of precision {precision} is not rounded to float64 implicitly; use "
        "a.to_numpy() if the nearest float64 values are enough"
    )
    instead = _instead(caller) if caller else None
    if instead:
        return f"{text}; {instead} keeps the digits"
    if caller is None or caller.startswith(("numpy.ma.", "pandas", "xarray")):
        text += (
            f"; convert a data frame or a masked array beside it with mdqr.array(x, "
            f"precision=mdqr.{precision})"
        )
    return text


def _instead(caller: str) -> str | None:
    """Return the function of mdqr that does what another one does."""
    package, _, name = caller.rpartition(".")
    if caller == "scipy.sparse":
        return "mdqr.sparse.matmul, solve or lstsq"
    if caller in ("numpy.testing.assert_allclose", "pytest.approx"):
        return "mdqr.testing.assert_allclose(x, y, rtol=...)"
    if package == "numpy.polynomial.polynomial" and name in _POLYNOMIALS:
        return _POLYNOMIALS[name]
    if package == "numpy.testing" and name.startswith("assert"):
        return "mdqr.testing.assert_close"
    if package in ("scipy.linalg", "numpy.linalg"):
        from mdqr import linalg

        return f"mdqr.linalg.{name}" if name in linalg.__all__ else None
    if package in ("scipy.fft", "numpy.fft"):
        from mdqr import fft

        return f"mdqr.fft.{name}" if name in fft.__all__ else None
    if package == "scipy.optimize":
        from mdqr import optimize

        name = _FITS.get(name, name)
        return f"mdqr.optimize.{name}" if name in optimize.__all__ else None
    return None


def _caller(frame: FrameType | None) -> str | None:
    """Return the public name of the outermost function of the package that asks, if it is known.

    Of classes and others the name of the package.
    """
    while frame is not None and package_of(frame) in ("mdqr", "numpy") and _public(frame) is None:
        frame = frame.f_back
    outer = frame  # a helper of NumPy may be called by another package that is known
    while outer is not None and package_of(outer) in ("mdqr", "numpy"):
        outer = outer.f_back
    if outer is not None and package_of(outer) in _NAMED:
        frame = outer
    found, package, asking = None, package_of(frame), frame
    while frame is not None and package in _NAMED and package_of(frame) == package:
        found = _public(frame) or found
        frame = frame.f_back
    return found or _part_of(package, asking)


def _part_of(package: str, frame: FrameType | None) -> str | None:
    """Return the name of a package other than NumPy, or of SciPy's sparse matrices."""
    if frame is None or package not in _NAMED or package in ("numpy", "_pytest"):
        return None
    module = str(frame.f_globals.get("__name__", ""))
    return "scipy.sparse" if module.startswith("scipy.sparse.") else package


def _public(frame: FrameType) -> str | None:
    """Return where users find the function of a frame: in its package, or in a part of that."""
    called = frame.f_code.co_name
    module = str(frame.f_globals.get("__name__", ""))
    if called in _AROUND:  # around the function that it holds
        held = (frame.f_locals.get(name) for name in ("f", "func", "fun", "function"))
        inner = next((x for x in held if callable(x) and hasattr(x, "__name__")), None)
        called, module = getattr(inner, "__name__", "_"), getattr(inner, "__module__", "") or ""
    parts = module.split(".")
    if parts[0] == "_pytest":  # which is around every test
        return "pytest.approx" if parts[-1] in ("approx", "python_api") else None
    if called.startswith("_") or parts[0] not in _NAMED:
        return None
    counts = (3, 2, 1) if parts[:2] == ["numpy", "polynomial"] else (2, 1)
    places = (".".join(parts[:count]) for count in counts if not parts[:count][-1].startswith("_"))
    known = (place for place in places if callable(getattr(sys.modules.get(place), called, None)))
    place = next(known, None)
    return None if place is None else f"{place}.{called}"


def is_numpys(dtype: object) -> bool:
    """Return whether NumPy takes `dtype` for a type of its own, and mdqr not for a precision."""
    names = [precision.name for precision in PRECISIONS]
    if dtype is None or isinstance(dtype, Precision) or (isinstance(dtype, str) and dtype in names):
        return False
    try:
        np.dtype(cast("Any", dtype))
    except TypeError:
        return False
    return True


def complex_only(dtype: Any) -> type[complex]:
    """Return `complex` if a type of NumPy is that.

    Raises
    ------
    TypeError
        If it is another one.
    """
    kind = np.dtype(dtype)
    if kind == np.complex128:
        return complex
    way = "xp.astype(a, xp.int64), xp = mdqr.array_api," if kind.kind in "iu" else "a.to_numpy()"
    caller = _caller(sys._getframe(1))
    instead = _instead(caller) if caller else None
    hint = f"; {caller} asks for it: {instead} keeps the digits" if instead else ""
    raise TypeError(
        f"a.astype({kind}) would leave the precision of the array: {way} returns an array of "
        f"NumPy, a.astype(mdqr.dd) an MDArray of another precision{hint}"
    )
