"""Fourier transforms, beside mpmath and FLINT."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import flint
import mpmath
import numpy as np

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Job
from benchmarks.common.runner import Benchmark, Options
from benchmarks.cpu.peers import at_bits
from mdqr._precision import Precision

SIZES = (1024, 4096, 4099, 65536)  # the third one is prime
BESIDE = 4096
BATCH = 256


def draw(shape: tuple[int, ...], p: Precision) -> mdqr.MDArray:
    """Return complex numbers with all limbs."""
    return mdqr.random.normal(shape, precision=p, dtype=complex, rng=1)


def sizes(options: Options) -> Iterator[Job]:
    """Transforms of one vector, and of many."""
    for p in PRECISIONS:
        for n in SIZES[:1] if options.quick else SIZES:
            yield Job("fft", "mdqr", p.name, str(n), partial(mdqr.fft.fft, draw((n,), p)))
        n = 64 if options.quick else 1024
        x = draw((BATCH, n), p)
        yield Job("fft", "mdqr", p.name, f"{BATCH} x {n}", partial(mdqr.fft.fft, x))


def in_flint(x: mdqr.MDArray, p: Precision) -> Any:
    """Return a call of `flint.acb.dft` at the bits of a precision."""
    parts = (part.to_strings(p.digits + 5) for part in (x.real, x.imag))
    before = flint.ctx.prec
    flint.ctx.prec = p.bits
    values = [flint.acb(a, b) for a, b in zip(*parts, strict=True)]
    flint.ctx.prec = before

    def call() -> Any:
        with flint.ctx.workprec(p.bits):
            return flint.acb.dft(values)

    return call


def radix_two(x: list[Any], roots: list[Any]) -> list[Any]:
    """Return the transform of a power of two of numbers of mpmath."""
    n = len(x)
    if n == 1:
        return x
    even, odd = (radix_two(x[i::2], roots) for i in (0, 1))
    step = 2 * len(roots) // n
    odd = [roots[k * step] * y for k, y in enumerate(odd)]
    pairs = list(zip(even, odd, strict=True))
    return [a + b for a, b in pairs] + [a - b for a, b in pairs]


def peers(options: Options) -> Iterator[Job]:
    """Transforms of a power of two; of mpmath by a loop of radix two with its roots given."""
    n = 64 if options.quick else BESIDE
    for p in PRECISIONS[1:]:
        x = draw((n,), p)
        yield Job("fft", "mdqr", p.name, str(n), partial(mdqr.fft.fft, x))
        yield Job("fft", "python-flint", p.name, str(n), in_flint(x, p))
        with mpmath.workprec(p.bits):
            roots = [mpmath.expjpi(mpmath.mpf(-2 * k) / n) for k in range(n // 2)]
        call = partial(radix_two, list(x.to_mpmath()), roots)
        yield Job("fft", "mpmath", p.name, str(n), at_bits(p, call))
    yield Job("fft", "numpy", "d", str(n), partial(np.fft.fft, x.to_numpy()))


BENCHMARKS = {
    "fft": Benchmark("fft", "Fourier transforms on a CPU", {"sizes": sizes, "peers": peers})
}
