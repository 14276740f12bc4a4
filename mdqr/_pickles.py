"""Pickles: a kind, by its public name, and a dict of plain values and arrays with a format number.

They name one function, `restore`, so that modules and classes can move.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from mdqr._limbs.device import host_block, is_cuda_array, place

_T = TypeVar("_T")
Check = Callable[[Any], bool]

FORMAT = 1
# Where the class of each kind is today.
KINDS = {
    "MDArray": "mdqr._array.array",
    "Precision": "mdqr._precision",
    "Constant": "mdqr._convert.constants",
    "PrecisionWarning": "mdqr._errors",
    "DataPrecisionWarning": "mdqr._errors",
    "FInfo": "mdqr._core.dtypes",
    "TouchstoneData": "mdqr._io.touchstone",
    "UniqueAllResult": "mdqr._functions.ordering.sets",
    "UniqueCountsResult": "mdqr._functions.ordering.sets",
    "UniqueInverseResult": "mdqr._functions.ordering.sets",
    "approx.AAA": "mdqr.approx._aaa",
    "approx.BarycentricInterpolator": "mdqr.approx._weights",
    "approx.MinimaxPolynomial": "mdqr.approx._minimax",
    "array_api.DType": "mdqr._core.dtypes",
    "distributed.DistributedLstsqInfo": "mdqr.distributed._info",
    "linalg.Certificate": "mdqr.linalg._factor.certify",
    "linalg.EigInfo": "mdqr.linalg._general.results",
    "linalg.EigResult": "mdqr.linalg._general.results",
    "linalg.EighResult": "mdqr.linalg._spectral.eigh",
    "linalg.FactorInfo": "mdqr.linalg._factor.backward_error",
    "linalg.FrechetResult": "mdqr.linalg._matrix.frechet",
    "linalg.HessenbergResult": "mdqr.linalg._general.forms",
    "linalg.Info": "mdqr.linalg._shared.info",
    "linalg.LDLResult": "mdqr.linalg._factor.indefinite.ldl",
    "linalg.LUFactors": "mdqr.linalg._factor.lu",
    "linalg.LowRankResult": "mdqr.linalg._spectral.nearest",
    "linalg.LstsqInfo": "mdqr.linalg._solve.info",
    "linalg.LstsqResult": "mdqr.linalg._solve.lstsq",
    "linalg.OrdQZResult": "mdqr.linalg._general.pairs.qz",
    "linalg.PolarResult": "mdqr.linalg._spectral.nearest",
    "linalg.QRFactor": "mdqr.linalg._factor.qr_factor",
    "linalg.QRPResult": "mdqr.linalg._factor.qr",
    "linalg.QRResult": "mdqr.linalg._factor.qr",
    "linalg.QZResult": "mdqr.linalg._general.pairs.qz",
    "linalg.RQResult": "mdqr.linalg._general.forms",
    "linalg.RankInfo": "mdqr.linalg._solve.ranks.info",
    "linalg.RootsResult": "mdqr.linalg._roots.roots",
    "linalg.SVDResult": "mdqr.linalg._spectral.svd",
    "linalg.SchurResult": "mdqr.linalg._general.schur",
    "linalg.SlogdetResult": "mdqr.linalg._factor.determinant",
    "linalg.SpectralInfo": "mdqr.linalg._spectral.info",
    "linalg.UpdatableLstsq": "mdqr.linalg._update.lstsq",
    "linalg.UpdatableLstsqInfo": "mdqr.linalg._update.solution",
    "linalg.UpdateResult": "mdqr.linalg._update.operands",
    "quadrature.QuadratureInfo": "mdqr.quadrature._rule",
    "quadrature.QuadratureRule": "mdqr.quadrature._rule",
    "series.NotASolutionError": "mdqr.series._errors",
    "series.Pade": "mdqr.series._analysis.pade",
    "series.Path": "mdqr.series._solver.track",
    "series.Piece": "mdqr.series._solver.track",
    "optimize.BatchInfo": "mdqr.optimize._public.batch",
    "optimize.FitInfo": "mdqr.optimize._public.result",
    "optimize.NNLSResult": "mdqr.optimize._public.lsq_linear",
    "optimize.RootInfo": "mdqr.optimize._public.result",
    "series.PowerSeries": "mdqr.series._arithmetic.series",
    "series.Radius": "mdqr.series._analysis.radius",
    "series.Roots": "mdqr.series._analysis.pade",
    "series.SeriesInfo": "mdqr.series._solver.solution",
    "series.SeriesSolution": "mdqr.series._solver.solution",
    "series.SingularJacobianError": "mdqr.series._errors",
    "series.Solution": "mdqr.series._homotopy.solutions",
    "series.SolutionSweep": "mdqr.series._homotopy.sweeps.solution_sweep",
    "series.Solutions": "mdqr.series._homotopy.solutions",
    "series.SolveInfo": "mdqr.series._homotopy.solutions",
    "series.System": "mdqr.series._systems.system",
    "tensorcore.Basis": "mdqr.tensorcore._orthogonalize",
    "tensorcore.Factors": "mdqr.tensorcore._results",
    "tensorcore.LowRankResult": "mdqr.tensorcore._lowrank",
    "tensorcore.LstsqInfo": "mdqr.tensorcore._lstsq",
    "tensorcore.LstsqResult": "mdqr.tensorcore._lstsq",
    "tensorcore.QRInfo": "mdqr.tensorcore._results",
    "tensorcore.QRResult": "mdqr.tensorcore._results",
    "testing.Exact": "mdqr.testing._oracles",
    "testing.LstsqProblem": "mdqr.testing._problems",
}
_PLAIN = (type(None), bool, int, float, complex, str, Fraction, np.generic)


def pickled(cls: type[_T]) -> type[_T]:
    """Let objects of a class be pickled by `restore`.

    The class has `_state`, which returns plain values and arrays by name, and `_restored`, which
    makes an object of them.
    """

    def reduce(self: Any) -> tuple[Any, ...]:
        return restore, (_kind_of(type(self)), {"format": FORMAT, **_on_host(self._state())})

    changed: Any = cls
    changed.__reduce__ = reduce
    return cls


def pickled_fields(cls: type[_T]) -> type[_T]:
    """Let a named tuple, or a dataclass, be pickled by its fields."""

    def reduce(self: Any) -> tuple[Any, ...]:
        names = _names_of(type(self))
        state = {name: getattr(self, name) for name in names}
        return restore, (_kind_of(type(self)), {"format": FORMAT, **_on_host(state)})

    def restored(_: type[_T], state: State) -> _T:
        return cls(**{name: state[name] for name in _names_of(cls)})

    changed: Any = cls
    changed.__reduce__ = reduce
    changed._restored = classmethod(restored)
    return cls


def _on_host(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state with arrays of GPUs as arrays of the host, and the names of these."""
    names = [name for name, value in state.items() if is_cuda_array(value)]
    if not names:
        return state
    return state | {name: host_block(state[name]) for name in names} | {"cuda": names}


def _on_device(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state with the arrays that came from GPUs on the current one, if any."""
    names = state.get("cuda", [])
    if type(names) is not list or not all(isinstance(state.get(x), np.ndarray) for x in names):
        raise ValueError("this pickle is damaged: 'cuda' is not what it must be")
    try:
        return state | {name: place(state[name], "cuda") for name in names}
    except (ImportError, ValueError):
        return state


def _names_of(cls: Any) -> tuple[str, ...]:
    return tuple(getattr(cls, "_fields", None) or cls.__dataclass_fields__)


class State(dict[str, Any]):
    """The values of a pickle by name."""

    def __missing__(self, name: str) -> Any:
        raise ValueError(f"this pickle is damaged: it has no {name!r}")

    def checked(self, name: str, check: type | tuple[type, ...] | Check) -> Any:
        """Return a value of a type, or that passes a check."""
        value = self[name]
        right = isinstance(value, check) if isinstance(check, (type, tuple)) else check(value)
        if not right:
            raise ValueError(f"this pickle is damaged: {name!r} is not what it must be")
        return value

    def array(self, name: str, dtype: Any, *shape: int | None) -> np.ndarray:
        """Return an array of a type and a shape, None for any length."""

        def fits(value: Any) -> bool:
            return (
                isinstance(value, np.ndarray)
                and value.dtype == dtype
                and value.ndim == len(shape)
                and all(n in (None, m) for n, m in zip(shape, value.shape, strict=True))
            )

        found: np.ndarray = self.checked(name, fits)
        return found


def restore(kind: str, state: Mapping[str, Any]) -> Any:
    """Return the object of a pickle.

    Parameters
    ----------
    kind : str
        The public name of its class, without "mdqr.".
    state : dict
        Plain values and arrays by name, and the number "format".

    Raises
    ------
    ValueError
        If the pickle was written by a newer mdqr or is damaged.
    """
    if not isinstance(kind, str) or type(state) is not dict:
        raise ValueError("this pickle is damaged: it has no kind with a dict of its state")
    number = state.get("format")
    if type(number) is not int or number < 1 or not all(isinstance(name, str) for name in state):
        raise ValueError(f"this pickle of mdqr.{kind[:100]} is damaged: it has no format number")
    if number > FORMAT or kind not in KINDS:
        raise ValueError(
            f"this pickle of mdqr.{kind[:100]}, format {min(number, 10**9)}, was written by a "
            "newer mdqr: install that"
        )
    try:
        plain = all(map(_is_plain, state.values()))
    except RecursionError:  # a list that holds itself
        plain = False
    if not plain:
        raise ValueError(f"this pickle of mdqr.{kind} is damaged: it holds other than plain values")
    cls = getattr(import_module(KINDS[kind]), kind.rpartition(".")[2])
    try:
        return cls._restored(State(_on_device(dict(state))))
    except (TypeError, IndexError, KeyError, AttributeError) as error:
        raise ValueError(f"this pickle of mdqr.{kind} is damaged: {error}") from error


def _is_plain(value: Any) -> bool:
    """True for what a state may hold: values, arrays, objects of the kinds, and groups of them."""
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return all(isinstance(x, _PLAIN) for x in value.flat)
        return not value.dtype.hasobject
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(map(_is_plain, (*value, *value.values())))
    if hasattr(value, "__cuda_array_interface__"):
        return True
    cls: Any = type(value)
    return _find_kind(cls) is not None


def _kind_of(cls: Any) -> str:
    kind = _find_kind(cls)
    if kind is None:
        raise TypeError(f"{cls.__name__} objects cannot be pickled")
    return kind


@cache
def _find_kind(cls: type) -> str | None:
    """Return the kind of a class: its own, or the one of its nearest base."""
    for base in cls.__mro__:
        for kind, home in KINDS.items():
            name = kind.rpartition(".")[2]
            if name == base.__name__ and getattr(sys.modules.get(home), name, None) is base:
                return kind
    return None
