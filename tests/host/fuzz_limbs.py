"""Calls with any limbs in any rounding mode: no crash and no hang.

    python tests/host/fuzz_limbs.py --count 50000 --seed 1

Users may write into ``a.limbs``, so what a call gets need not be normalised. Where the thread does
not round to nearest, a call raises FloatingPointError or has the outcome that it has in nearest.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import io
import pickle
import signal
import sys
import time
import warnings
from collections import Counter

import numpy as np

import mdqr
from mdqr._precision import PRECISIONS

MODES = {"downward": 0x400, "upward": 0x800, "to zero": 0xC00}  # of fesetround on x86
SECONDS = 60  # of one case, with room for sanitizers

EDGES = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1e-300, 2.0**-900, 1.0, -1.0, 0.1, 2.0**53]
EDGES += [1e15, -1e15, 1e300, 2.0**1020, 1e308, -1e308, sys.float_info.max, np.inf, -np.inf, np.nan]


class Hang(BaseException):
    """A case that does not end."""


def limbs_of(rng: np.random.Generator, count: int, shape: tuple[int, ...]) -> np.ndarray:
    """Limbs of one kind: edges, any doubles, overlapping or rising ones, bits."""
    kind = rng.integers(6)
    size = (count, *shape)
    if kind == 0:
        return rng.choice(EDGES, size)
    if kind == 1:
        return rng.integers(0, 2**64, size, dtype=np.uint64).view(np.float64)
    order = np.arange(count).reshape(-1, *(1,) * len(shape))
    apart = rng.choice([-1074, -300, -60, -53, -52, -20, 0, 20, 53, 300])
    with np.errstate(all="ignore"):
        values = rng.uniform(-1, 1, size) * 2.0 ** np.clip(order * float(apart), -1074, 1023)
    if kind == 2:
        values[rng.integers(count)] *= -1.0
    if kind == 3:
        values[rng.integers(count)] = rng.choice(EDGES)
    if kind == 4:  # that cancel
        values[-1] = -values[0]
    return values


def array_of(rng: np.random.Generator, shape: tuple[int, ...]) -> mdqr.MDArray:
    precision = PRECISIONS[rng.integers(len(PRECISIONS))]
    parts = 2 if rng.integers(4) == 0 else 1
    blocks = [limbs_of(rng, precision.limbs, shape) for _ in range(parts)]
    if parts == 2:
        return mdqr.from_limbs(np.stack(blocks), dtype=complex, normalize=False)
    return mdqr.from_limbs(blocks[0], normalize=False)


def saved(a):
    file = io.BytesIO()
    mdqr.save(file, a)
    file.seek(0)
    return mdqr.load(file)


def written(a):
    file = io.StringIO()
    mdqr.savetxt(file, a)
    file.seek(0)
    return mdqr.loadtxt(file, precision=a.precision)


def named(function, *names):
    return {name: lambda a, b, n, name=name: getattr(function, name)(a) for name in names}


def paired(function, *names):
    return {name: lambda a, b, n, name=name: getattr(function, name)(a, b) for name in names}


UNARY = """
    abs negative sqrt rint floor ceil trunc exp expm1 exp2 log log1p log2 log10 sin cos tan
    arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh cbrt gamma lgamma erf erfc
    sign signbit isfinite isinf isnan nan_to_num sum prod mean std var max min argmax argmin
    cumsum sort argsort unique diff median conj real imag angle square reciprocal any all
"""
BINARY = """
    add subtract multiply divide power arctan2 hypot logaddexp copysign nextafter remainder
    floor_divide maximum minimum fmod ldexp equal less less_equal dot vdot outer inner kron
    allclose isclose array_equal where concatenate
"""
LINALG = """
    qr lu svd svdvals eigh eigvalsh eig eigvals det slogdet inv pinv cond cholesky norm
    matrix_rank lu_factor qr_factor schur
"""

CALLS = {
    "repr": lambda a, b, n: repr(a),
    "str": lambda a, b, n: str(a),
    "html": lambda a, b, n: a._repr_html_(),
    "to_strings": lambda a, b, n: a.to_strings(),
    "digits": lambda a, b, n: a.to_strings(digits=1 + n % 700),
    "format": lambda a, b, n: format(a.ravel()[0], f".{n % 400}{'efg'[n % 3]}"),
    "savetxt": lambda a, b, n: written(a),
    "save": lambda a, b, n: saved(a),
    "pickle": lambda a, b, n: pickle.loads(pickle.dumps(a)),
    "to_numpy": lambda a, b, n: a.to_numpy(),
    "astype": lambda a, b, n: a.astype(PRECISIONS[n % len(PRECISIONS)]),
    "to_fractions": lambda a, b, n: a.to_fractions(),
    "to_mpmath": lambda a, b, n: [str(x) for x in a.to_mpmath().ravel()],
    "from_limbs": lambda a, b, n: mdqr.from_limbs(
        a.limbs, dtype=complex if a.is_complex else float
    ),
    "array": lambda a, b, n: mdqr.array(a, precision=PRECISIONS[n % len(PRECISIONS)]),
    "list": lambda a, b, n: mdqr.array([a.ravel()[0], 1.5, "0.1"], precision=a.precision),
    "float": lambda a, b, n: float(a.ravel()[0]),
    "int": lambda a, b, n: int(a.ravel()[0]),
    "complex": lambda a, b, n: complex(a.ravel()[0]),
    "round": lambda a, b, n: mdqr.round(a, n % 700 - 350),
    "far round": lambda a, b, n: mdqr.round(a, 10**9 if n % 2 else -(10**9)),
    "scalar": lambda a, b, n: a.ravel()[0] * b.ravel()[0] + 1.5,
    "order": lambda a, b, n: a.ravel()[0] < b.ravel()[0],
    "matmul": lambda a, b, n: a.reshape(2, -1) @ b.reshape(2, -1).T,
    "exact": lambda a, b, n: mdqr.linalg.matmul(
        a.reshape(2, -1), b.reshape(2, -1).T, method="exact"
    ),
    "solve": lambda a, b, n: mdqr.linalg.solve(a.ravel()[:4].reshape(2, 2), b.ravel()[:2]),
    "lstsq": lambda a, b, n: mdqr.linalg.lstsq(a.reshape(-1, 2), b.reshape(-1, 2)[:, 0]),
    "triangular": lambda a, b, n: mdqr.linalg.solve_triangular(
        a.ravel()[:4].reshape(2, 2), b.ravel()[:2]
    ),
    "uniform": lambda a, b, n: mdqr.random.uniform(3, precision=a.precision, rng=n),
    "normal": lambda a, b, n: mdqr.random.normal(3, precision=a.precision, rng=n),
    "linspace": lambda a, b, n: mdqr.linspace(0, 1, 1 + n % 9, precision=a.precision),
    "texts": lambda a, b, n: mdqr.array([f"{n}.1e{n % 600 - 300}"], precision=a.precision),
    **named(mdqr, *(name for name in UNARY.split() if hasattr(mdqr, name))),
    **paired(mdqr, *(name for name in BINARY.split() if hasattr(mdqr, name))),
}
for name in LINALG.split():
    if hasattr(mdqr.linalg, name):
        CALLS[name] = lambda a, b, n, name=name: getattr(mdqr.linalg, name)(
            a.ravel()[:4].reshape(2, 2)
        )


def frozen(x: object) -> object:
    """What tells two outcomes apart."""
    if isinstance(x, mdqr.MDArray):
        return x.limbs.tobytes()
    if isinstance(x, np.ndarray) and x.dtype != object:
        return x.tobytes()
    if isinstance(x, (tuple, list)):
        return tuple(map(frozen, x))
    if isinstance(x, np.ndarray):
        return tuple(map(repr, x.ravel().tolist()))
    return repr(x) if isinstance(x, (str, int, float, complex, np.generic)) else type(x)


def outcome(call, a, b, n) -> object:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return frozen(call(a.copy(), b.copy(), n))
    except Exception as error:
        return type(error)


def one_case(seed: int, index: int, libm: ctypes.CDLL | None) -> tuple[str, object]:
    """Run a case; return its call and how it ended."""
    rng = np.random.default_rng([seed, index])
    shape = [(4,), (2, 2), (6,), (2, 4)][rng.integers(4)]
    a, b = array_of(rng, shape), array_of(rng, shape)
    name = list(CALLS)[rng.integers(len(CALLS))]
    n = int(rng.integers(0, 10**6))
    found = outcome(CALLS[name], a, b, n)
    mode = [*MODES, *[None] * 6][rng.integers(9)]
    if mode is None or libm is None:
        return name, found
    libm.fesetround(MODES[mode])
    try:
        other = outcome(CALLS[name], a, b, n)
    finally:
        libm.fesetround(0)
    if other not in (FloatingPointError, found):
        raise AssertionError(f"case {index} of seed {seed}: {name} differs where one rounds {mode}")
    return name, other


def run(count: int, seed: int, start: int = 0) -> Counter[str]:
    """Run cases and count how they ended."""
    libm = ctypes.CDLL("libm.so.6") if sys.platform == "linux" else None

    def end(*_):
        raise Hang

    signal.signal(signal.SIGALRM, end)
    ends: Counter[str] = Counter()
    slowest = 0.0, "none"
    for index in range(start, start + count):
        signal.alarm(SECONDS)
        began = time.perf_counter()
        try:
            name, found = one_case(seed, index, libm)
        except BaseException:
            print(f"case {index} of seed {seed}", file=sys.stderr)
            raise
        finally:
            signal.alarm(0)
        slowest = max(slowest, (time.perf_counter() - began, name))
        ends[found.__name__ if isinstance(found, type) else "a result"] += 1
        if index % 5000 == 4999:
            print(f"{index + 1} cases", flush=True)
    print(f"{count} cases, no crash, no hang; slowest {slowest[0]:.2f} s ({slowest[1]})")
    return ends


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    options = parser.parse_args()
    faulthandler.enable()
    for ending, times in run(options.count, options.seed, options.start).most_common():
        print(f"{times:8d} {ending}")
