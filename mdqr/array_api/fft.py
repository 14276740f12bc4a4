"""The fft extension: the functions of `mdqr.fft` with the signatures of the array API."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Any

import mdqr
from mdqr._core.dtypes import DType
from mdqr._errors import shown
from mdqr._precision import Precision, qd
from mdqr.array_api import _dispatch as dispatch
from mdqr.array_api._dtypes import device_name, known

ours = mdqr.fft

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def _call(name: str, x: Any, *others: Any, **options: Any) -> Any:
    return getattr(ours, name)(*dispatch.of_floats(name, x), *others, **options)


def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Return discrete Fourier transforms."""
    return _call("fft", x, n=n, axis=axis, norm=norm)


def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Return inverse Fourier transforms."""
    return _call("ifft", x, n=n, axis=axis, norm=norm)


def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Return the first halves of transforms of real numbers."""
    return _call("rfft", x, n=n, axis=axis, norm=norm)


def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Return the real numbers with given first halves of transforms."""
    return _call("irfft", x, n=n, axis=axis, norm=norm)


def hfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Return real transforms of numbers whose second half is conjugate to the first."""
    return _call("hfft", x, n=n, axis=axis, norm=norm)


def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Return the first halves of numbers with given real transforms."""
    return _call("ihfft", x, n=n, axis=axis, norm=norm)


def fftn(
    x: Any,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Any:
    """Return Fourier transforms along axes."""
    return _call("fftn", x, s=s, axes=axes, norm=norm)


def ifftn(
    x: Any,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Any:
    """Return inverse Fourier transforms along axes."""
    return _call("ifftn", x, s=s, axes=axes, norm=norm)


def rfftn(
    x: Any,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Any:
    """Return transforms of real numbers along axes."""
    return _call("rfftn", x, s=s, axes=axes, norm=norm)


def irfftn(
    x: Any,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Any:
    """Return the real numbers with given transforms along axes."""
    return _call("irfftn", x, s=s, axes=axes, norm=norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None, precision: Precision = qd
) -> Any:
    """Return the frequencies of `fft`."""
    kind = precision if dtype is None else known(dtype)
    if isinstance(kind, DType) and not kind.is_complex:
        kind = kind.precision
    if not isinstance(kind, Precision):
        raise ValueError(f"fftfreq: dtype must be a real floating-point type; got {shown(dtype)}")
    return ours.fftfreq(n, d, precision=kind, device=device_name(device))


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None, precision: Precision = qd
) -> Any:
    """Return the frequencies of `rfft`."""
    kind = precision if dtype is None else known(dtype)
    if isinstance(kind, DType) and not kind.is_complex:
        kind = kind.precision
    if not isinstance(kind, Precision):
        raise ValueError(f"rfftfreq: dtype must be a real floating-point type; got {shown(dtype)}")
    return ours.rfftfreq(n, d, precision=kind, device=device_name(device))


def fftshift(x: Any, /, *, axes: int | Sequence[int] | None = None) -> Any:
    """Return values with the one of frequency 0 in the middle."""
    return _call("fftshift", x, axes)


def ifftshift(x: Any, /, *, axes: int | Sequence[int] | None = None) -> Any:
    """Return values in the order before `fftshift`."""
    return _call("ifftshift", x, axes)


def of_precision(precision: Precision) -> ModuleType:
    """Return the extension whose frequencies have another precision than qd by default."""
    made = ModuleType(__name__, __doc__)
    vars(made).update({name: globals()[name] for name in (*__all__, "__all__", "__dir__")})
    for function in (fftfreq, rfftfreq):
        vars(made)[function.__name__] = partial(function, precision=precision)
    return made
