"""Calls of SciPy with ``SCIPY_ARRAY_API=1``, in qd and in od: how far the answers are apart.

The differences, relative to the answers in od, are printed as JSON, and those of what mpmath knows.
"""

from __future__ import annotations

import json
import os

if __name__ == "__main__":  # SciPy reads it as it is imported
    os.environ["SCIPY_ARRAY_API"] = "1"

import mpmath
import numpy as np
from scipy import differentiate, fft, integrate, linalg, signal, special, stats
from scipy.optimize import elementwise

import mdqr


def _sample(precision):
    return mdqr.arange(1, 13, precision=precision) / 7


def _root(p):
    bracket = (p(1), p(2))
    return elementwise.find_root(
        lambda x: x**3 - 2, bracket, tolerances={"xrtol": p.eps, "fatol": p.eps**2}
    ).x


def _minimum(p):
    found = elementwise.find_minimum(
        lambda x: mdqr.exp(x) - 2 * x, (p(0), p("0.5"), p(2)), tolerances={"xrtol": p.eps}
    )
    return found.f_x


# Functions with tables or constants of doubles.
LOSSY = {
    "integrate.fixed_quad": lambda p: integrate.fixed_quad(mdqr.exp, p(0), p(1), n=20)[0],
    "integrate.cubature": lambda p: (
        integrate.cubature(
            lambda x: mdqr.exp(x[:, 0]),
            *(mdqr.array([x], precision=p) for x in (0, 1)),
            rtol=1e-30,
            max_subdivisions=20,
        ).estimate
    ),
    "integrate.nsum": lambda p: integrate.nsum(lambda k: 1 / k**2, p(1), p(np.inf)).sum,
    "differentiate.derivative": lambda p: differentiate.derivative(mdqr.exp, p(0)).df,
    "signal.gauss_spline": lambda p: signal.gauss_spline(_sample(p), 3),
    "signal.gausspulse": lambda p: signal.gausspulse(_sample(p), fc=5),
}
REFUSED = {
    "linalg.eigh": lambda p: linalg.eigh(mdqr.eye(3, precision=p)),
    "linalg.solve": lambda p: linalg.solve(mdqr.eye(3, precision=p), _sample(p)[:3]),
    "linalg.expm": lambda p: linalg.expm(mdqr.eye(3, precision=p)),
    "signal.savgol_filter": lambda p: signal.savgol_filter(_sample(p), 5, 2),
}

CALLS = {
    "fft.fft": lambda p: fft.fft(_sample(p)),
    "fft.ifft": lambda p: fft.ifft(_sample(p)),
    "fft.rfft": lambda p: fft.rfft(_sample(p)),
    "fft.irfft": lambda p: fft.irfft(_sample(p)),
    "fft.fftn": lambda p: fft.fftn(_sample(p).reshape(3, 4)),
    "fft.fftshift": lambda p: fft.fftshift(_sample(p)),
    "integrate.tanhsinh": lambda p: (
        integrate.tanhsinh(mdqr.exp, p(0), p(1), rtol=p.eps, maxlevel=12).integral
    ),
    "integrate.trapezoid": lambda p: integrate.trapezoid(_sample(p) ** 2, _sample(p)),
    "integrate.cumulative_trapezoid": lambda p: integrate.cumulative_trapezoid(_sample(p)),
    "optimize.elementwise.find_root": _root,
    "optimize.elementwise.find_minimum": _minimum,
    "signal.freqz": lambda p: signal.freqz(_sample(p), worN=_sample(p))[1],
    "stats.gmean": lambda p: stats.gmean(_sample(p)),
    "stats.hmean": lambda p: stats.hmean(_sample(p)),
    "stats.pmean": lambda p: stats.pmean(_sample(p), 3),
    "stats.zscore": lambda p: stats.zscore(_sample(p) ** 2),
    "stats.moment": lambda p: stats.moment(_sample(p) ** 2, 4),
    "stats.skew": lambda p: stats.skew(_sample(p) ** 2),
    "stats.kurtosis": lambda p: stats.kurtosis(_sample(p) ** 2),
    "stats.sem": lambda p: stats.sem(_sample(p)),
    "stats.iqr": lambda p: stats.iqr(_sample(p) ** 2),
    "stats.entropy": lambda p: stats.entropy(_sample(p)),
    "special.logsumexp": lambda p: special.logsumexp(_sample(p)),
    "special.softmax": lambda p: special.softmax(_sample(p)),
    **{
        f"special.{name}": lambda p, name=name: getattr(special, name)(_sample(p) / 2)
        for name in mdqr.array_api.special.__all__
        if name not in ("xlogy", "xlog1py", "rel_entr")
    },
    **{
        f"special.{name}": lambda p, name=name: getattr(special, name)(_sample(p), _sample(p) ** 2)
        for name in ("xlogy", "xlog1py", "rel_entr")
    },
}


def known():
    """Return what mpmath knows of some calls, in its precision."""
    points = [mpmath.mpf(k) / 7 for k in range(1, 13)]
    width = (mpmath.pi * 5 / 2) ** 2 / (4 * mpmath.log(10) * 6 / 20)
    return {
        # In qd and od they have the same constants: their difference shows nothing.
        "integrate.fixed_quad": mpmath.e - 1,
        "integrate.cubature": mpmath.e - 1,
        "integrate.nsum": mpmath.pi**2 / 6,
        "differentiate.derivative": mpmath.mpf(1),
        "signal.gauss_spline": [
            mpmath.sqrt(3 / (2 * mpmath.pi)) * mpmath.exp(-1.5 * x**2) for x in points
        ],
        "signal.gausspulse": [
            mpmath.exp(-width * x**2) * mpmath.cos(10 * mpmath.pi * x) for x in points
        ],
        "integrate.tanhsinh": mpmath.e - 1,
        "optimize.elementwise.find_root": mpmath.cbrt(2),
        "optimize.elementwise.find_minimum": 2 - 2 * mpmath.log(2),
        "special.erf": [mpmath.erf(mpmath.mpf(k) / 14) for k in range(1, 13)],
        "special.gammaln": [mpmath.loggamma(mpmath.mpf(k) / 14) for k in range(1, 13)],
        "special.ndtr": [mpmath.ncdf(mpmath.mpf(k) / 14) for k in range(1, 13)],
        "stats.gmean": mpmath.factorial(12) ** (mpmath.mpf(1) / 12) / 7,
    }


def _distance(got, wanted) -> float:
    apart = np.max(np.abs(np.asarray(got - wanted)))
    return float(apart / np.max(np.abs(np.asarray(wanted))))


@mpmath.workdps(140)
def distances() -> dict[str, float | str]:
    """Return the differences by name, a string where a call raises."""
    found: dict[str, float | str] = {}
    exactly = known()
    for name, call in (CALLS | LOSSY | REFUSED).items():
        try:
            values = call(mdqr.qd), call(mdqr.od)
        except Exception as error:  # reported with its name
            found[name] = f"{type(error).__name__}: {error}"
            continue
        if not all(isinstance(value, mdqr.MDArray) for value in values):
            found[name] = f"{type(values[0]).__name__} in place of an MDArray"
            continue
        got, wanted = (value.to_mpmath() for value in values)
        exact = [np.array(exactly[name], dtype=object)] if name in exactly else []
        found[name] = max(_distance(got, each) for each in [wanted, *exact])
    return found


if __name__ == "__main__":
    print(json.dumps(distances()))
