"""An object of every public class, made of fixed data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import mdqr
from mdqr import linalg, series, tensorcore, testing

_EXPONENTS = [("d", False), ("dd", True), ("qd", False), ("od", True)]


def matrix(m: int, n: int, precision: str, is_complex: bool = False) -> mdqr.MDArray:
    """Return a well conditioned matrix whose entries fill all limbs."""
    i, j = np.arange(m)[:, None], np.arange(n)[None, :]
    whole = mdqr.array((i * 7 + j * 3) % 11 + 12 * (i == j), precision=precision)
    found = whole + mdqr.array(i + 2 * j + 1, precision=precision) / 7
    if not is_complex:
        return found
    return found + 1j * mdqr.array(i - j, precision=precision) / 3


def arrays() -> Iterator[tuple[str, mdqr.MDArray]]:
    """Yield arrays of all precisions and fields."""
    for name in ("d", "dd", "qd", "od"):
        yield f"array_{name}", matrix(2, 3, name)
        yield f"array_{name}_complex", matrix(2, 2, name, True)
    yield "array_0d", mdqr.qd("0.1")
    yield "array_empty", mdqr.zeros((0, 3), precision="dd")
    yield "array_special", mdqr.array([np.inf, -np.inf, np.nan, -0.0], precision="dd")


def plain() -> Iterator[tuple[str, Any]]:
    """Yield objects that are no results of linear algebra."""
    yield "precision", mdqr.qd
    yield "pi", mdqr.pi
    yield "constant", (2 * mdqr.pi + mdqr.e**2) / (mdqr.euler_gamma - 3) + mdqr.pi**mdqr.e
    yield "dtype", mdqr.qd(1).dtype
    yield "finfo", mdqr.finfo("dd")
    values = mdqr.array([3, 1, 3], precision="dd")
    for function in (mdqr.unique_all, mdqr.unique_counts, mdqr.unique_inverse):
        yield function.__name__, function(values)
    known = {"function": "f", "digits": 3.5, "precision": mdqr.dd, "index": (1, 2)}
    yield "warning", mdqr.PrecisionWarning("few", **known)
    yield "data_warning", mdqr.DataPrecisionWarning("few")
    yield "problem", testing.lstsq_problem("norris")
    yield "exact", testing.exact("add", mdqr.qd("0.1"), mdqr.qd("0.2"))


def results(precision: str, is_complex: bool) -> Iterator[tuple[str, Any]]:
    """Yield results of linear algebra."""
    a, b = matrix(5, 3, precision, is_complex), matrix(5, 2, precision, is_complex)
    square = matrix(3, 3, precision, is_complex)
    yield "qr", linalg.qr(a)
    yield "qr_pivoted", linalg.qr(a, pivoting=True)
    yield "qr_factor", linalg.qr_factor(a)
    yield "lu", linalg.lu_factor(square)
    yield "certificate", linalg.certify(a, *linalg.qr(a))
    yield "slogdet", linalg.slogdet(square)
    yield "lstsq", linalg.lstsq(a, b)
    yield "lstsq_vector", linalg.lstsq(a, b[:, 0], weights=[1, 2, 1, 2, 1])
    yield "lstsq_wide", linalg.lstsq(a.mT, b[:3])
    yield "lstsq_batch", linalg.lstsq(mdqr.stack([a, 2 * a]), mdqr.stack([b, b]))
    yield "lstsq_rank", linalg.lstsq(a, b, rtol=1e-9)
    yield "solve_info", linalg.solve(square, b[:3], return_info=True)[1]
    yield "svd", linalg.svd(a, full_matrices=False)
    yield "eigh", linalg.eigh(square + square.mT.conj())
    yield "eig", linalg.eig(square)
    yield "schur", linalg.schur(square)
    yield "polar", linalg.polar(square)
    yield "lowrank", linalg.lowrank(a, 2)
    yield "roots", linalg.roots(square[0])
    yield "qr_insert", linalg.qr_insert(*linalg.qr(a), b[0, :1] * mdqr.ones(3, precision="d"), 1)
    for keep_q in (False, True):
        for keep_data in (False, True):
            fit = linalg.UpdatableLstsq(a, b, keep_q=keep_q, keep_data=keep_data)
            fit.insert_rows(a[1] * 2, b[2])
            yield f"updatable_q{keep_q:d}_data{keep_data:d}", fit
    yield "updatable_info", linalg.UpdatableLstsq(a, b).info


def of_series() -> Iterator[tuple[str, Any]]:
    """Yield objects of power series."""
    system = series.System.from_strings(["x^2 + y^2 - 2 - t", "x - 0.3*y - 7/10"], ["x", "y"])
    given = series.System.from_arrays([[2], [0]], mdqr.array([1, "-1.1"], precision="dd"), [0, 0])
    solution = series.newton_series(system, [1, 1], degree=6, precision="dd")
    yield "system", system
    yield "system_given", given
    yield "solution", solution
    yield "power_series", solution["x"]
    yield "pade", solution.pade(2, 2)[0]
    yield "poles", solution.pade(2, 2)[0].poles
    yield "radius", solution.radius()
    yield "path", series.track(system, [1, 1], t_end=0.5, precision="dd")
    yield "singular", series.SingularJacobianError(1, 1e-9, 2, (3,))
    yield "no_solution", series.NotASolutionError(0.5, 2.0, 1.0)


def of_tensorcore() -> Iterator[tuple[str, Any]]:
    """Yield results of tensor cores' algorithms."""
    a = matrix(6, 3, "d").to_numpy()
    yield "tc_qr", tensorcore.qr(a.astype("float32"), keep_factors=True)
    yield "tc_basis", tensorcore.orthogonalize(a)
    yield "tc_lowrank", tensorcore.lowrank(a, 2)
    yield "tc_lstsq", tensorcore.lstsq(a, a[:, :2] + 1.0)


def every() -> Iterator[tuple[str, Any]]:
    """Yield all objects with their names."""
    yield from arrays()
    yield from plain()
    for precision, is_complex in _EXPONENTS:
        field = "_complex" if is_complex else ""
        for name, found in results(precision, is_complex):
            yield f"{name}_{precision}{field}", found
    a = matrix(5, 3, "d").to_numpy().astype("float32")
    yield "updatable_float32", linalg.UpdatableLstsq(a, a[:, 0], keep_q=True)
    yield "updatable_info_float32", linalg.UpdatableLstsq(a, a[:, 0]).info
    yield from of_series()
    yield from of_tensorcore()


def described(found: Any) -> str:
    """Return the values that users read of an object as text, in hexadecimal, limb for limb."""
    return "\n".join(_lines("", found, 0)) + "\n"


def _lines(name: str, x: Any, depth: int) -> Iterator[str]:
    if isinstance(x, mdqr.MDArray):
        yield f"{name}: {x.precision} {x.shape} {_numbers(x.limbs)}"
    elif isinstance(x, (np.ndarray, np.generic)) and x.dtype != object:
        yield f"{name}: {x.dtype} {x.shape} {_numbers(x)}"
    elif isinstance(x, (tuple, list)) and not hasattr(x, "_fields"):
        for i, value in enumerate(x):
            yield from _lines(f"{name}[{i}]", value, depth)
        if hasattr(x, "info"):
            yield from _lines(f"{name}.info", x.info, depth + 1)
    elif type(x).__module__.startswith("mdqr") and depth < 3 and not isinstance(x, _SHORT):
        yield f"{name}: {type(x).__module__}.{type(x).__name__}"
        for attribute in _READ[type(x)] if type(x) in _READ else _public(x):
            value = getattr(x, attribute)
            value = value() if attribute in _CALLED and callable(value) else value
            yield from _lines(f"{name}.{attribute}", value, depth + 1)
    else:
        yield f"{name}: {type(x).__name__} {x!r}"


def _public(x: Any) -> list[str]:
    names = [name for name in dir(x) if not name.startswith("_") and name not in _UNREAD]
    return [n for n in names if n in _CALLED or not callable(getattr(x, n))]


def _numbers(x: np.ndarray) -> str:
    if x.dtype.kind in "fc":
        whole = np.ascontiguousarray(x).view(x.real.dtype).astype(float).ravel()
        return " ".join(value.hex() for value in whole.tolist())
    return " ".join(map(str, x.ravel().tolist()))


_SHORT = (mdqr.Precision, type(mdqr.pi), type(mdqr.qd(1).dtype), BaseException)
_CALLED = {"standard_errors", "covariance", "solve", "q", "residual"}
_UNREAD = {"args", "with_traceback", "add_note"}
_READ: dict[type, tuple[str, ...]] = {
    linalg.QRFactor: ("R", "q", "shape"),
    linalg.UpdatableLstsq: ("R", "Q", "shape", "lost_digits", "solve", "info"),
}
