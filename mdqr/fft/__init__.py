"""Fourier transforms of any length in any precision, with NumPy's names and signatures."""

from mdqr.fft._bounds import error_bound
from mdqr.fft._frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from mdqr.fft._functions import fft, fftn, hfft, ifft, ifftn, ihfft, irfft, irfftn, rfft, rfftn
from mdqr.fft._two import fft2, ifft2, irfft2, rfft2

__all__ = [
    "error_bound",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def __dir__() -> list[str]:
    return sorted(__all__)
