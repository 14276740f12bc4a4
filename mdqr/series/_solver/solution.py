"""Series solutions, and how many of their digits hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mdqr._array.array import MDArray
from mdqr._functions.comparison import where
from mdqr._limbs import planes
from mdqr._limbs.device import place_on_device_of
from mdqr._limbs.planes import Block
from mdqr._pickles import State, pickled
from mdqr._precision import Precision
from mdqr._typing import RadiusMethod
from mdqr.linalg import Info
from mdqr.series._analysis.pade import Pade, pade
from mdqr.series._analysis.radius import Radius, radius
from mdqr.series._arithmetic.convert import to_sympy
from mdqr.series._arithmetic.series import PowerSeries
from mdqr.series._solver.digits import perturbed
from mdqr.series._solver.equations import Equations
from mdqr.series._solver.online import Start
from mdqr.series._systems.system import System, some_names

# What limbs below the range make, at most.
_LOST = 2.0**-1070


@dataclass(eq=False, repr=False)
class SeriesInfo(Info):
    """Estimated errors and facts of a series solution; see `mdqr.linalg.Info`.

    Attributes
    ----------
    method : str
        "online" or "newton".
    iterations : int
        Steps of Newton's method; 0 for "online".
    start_steps : int
        Newton steps at the start point.
    condition : float
        Estimated condition of the Jacobian there: the norm of the matrix times the norm of its
        inverse, the worst of a batch.
    start_distance : float
        How far the solution at t0 is from the start point, relative to the larger of both, the
        largest of a batch. Unknowns count in the units in which the equations depend on them alike.
    exponent : int or numpy.ndarray
        The series were computed in s with ``t = t0 + 2**exponent s``; for a batch, of each start
        point.
    orders : list of int
        Orders that were right after each step of Newton's method; empty for "online".
    verified : Precision or None
        The precision that the digits were measured in, by solving again.
    error_bound : numpy.ndarray
        `SeriesSolution.error_bound`, float64 ``(..., n, d + 1)``.
    bound_kind : str
        "estimated".
    digits : numpy.ndarray
        Decimal digits of each coefficient, by `error_bound`: `SeriesSolution.digits` are for
        orders, relative to the largest component.
    data_error_bound, data_digits : numpy.ndarray
        NaN: errors of the coefficients of the system are not followed.
    """

    method: str = field()
    start_steps: int
    condition: float = field()
    start_distance: float
    exponent: int | np.ndarray
    orders: list[int]
    verified: Precision | None
    iterations: int = field()
    precision: Precision = field()
    bound_kind: str = "estimated"

    _more = ("start_steps", "start_distance", "exponent", "orders", "verified")


@pickled
class SeriesSolution:
    """Power series of the unknowns; made by `newton_series`.

    Attributes
    ----------
    coeffs : MDArray
        Coefficients ``(..., n, d + 1)`` of powers of ``t - t0``.
    t0 : MDArray
        Where the series are expanded, 0-d or an array of the shape of the batch.
    system : System
        What they solve.
    info : SeriesInfo
        How they were found.
    """

    coeffs: MDArray
    t0: MDArray
    system: System
    info: SeriesInfo
    _precision: Precision
    _equations: Equations
    _start: Start
    _values: Block
    _better: MDArray | None

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("SeriesSolution cannot be constructed directly; use series.newton_series")

    @classmethod
    def _make(
        cls,
        system: System,
        t0: MDArray,
        precision: Precision,
        equations: Equations,
        start: Start,
        values: Block,
        info: SeriesInfo,
    ) -> SeriesSolution:
        self = object.__new__(cls)
        self.system, self.t0, self.info = system, t0, info
        self._precision, self._equations = precision, equations
        self._start, self._values = start, values
        self._better = None
        info._lazy = {
            "sizes": lambda: self._errors[0],
            "error_bound": lambda: self._errors[1],
            "data_error_bound": None,
        }
        self.coeffs = self._given(values[..., : equations.variables, :], equations.scale.unknowns)
        return self

    def _powers(self, scale: np.ndarray) -> np.ndarray:
        """Return the powers of two that were taken out of unknowns or equations."""
        batch = planes.value_shape(self._values, self._equations.kind.is_complex)[:-2]
        return self._equations.powers(scale, batch, self._values.shape[-1])

    def _given(self, block: Block, scale: np.ndarray) -> MDArray:
        """Return numbers as the system was given."""
        powers, field = self._powers(scale), self._equations.kind.is_complex
        if powers.any():
            backend = self._equations.backend
            block = backend.ldexp(block, backend.xp.asarray(powers), is_complex=field)
        return MDArray._wrap(block, self._precision, field)

    def _compare(self, better: MDArray) -> None:
        """Take the digits from coefficients of a higher precision."""
        self._better = better
        self.__dict__.pop("_errors", None)

    def __copy__(self) -> SeriesSolution:
        copied = object.__new__(SeriesSolution)
        copied.__dict__ |= self.__dict__
        return copied

    def _state(self) -> dict[str, Any]:
        sizes, errors = self._errors
        names = ("coeffs", "t0", "system", "info")
        return {name: getattr(self, name) for name in names} | {
            "sizes": sizes,
            "errors": errors,
            "residual": self.residual(),
        }

    @classmethod
    def _restored(cls, state: State) -> SeriesSolution:
        self = object.__new__(cls)
        self.system, self.info = state.checked("system", System), state.checked("info", SeriesInfo)
        self.coeffs, self.t0 = (state.checked(name, MDArray) for name in ("coeffs", "t0"))
        shape = self.coeffs.shape
        if len(shape) < 2 or shape[-2] != len(self.system.variables) or not shape[-1]:
            raise ValueError(f"this pickle is damaged: the coefficients have the shape {shape}")
        sizes, errors = (state.array(name, np.float64, *shape) for name in ("sizes", "errors"))
        self._errors = sizes, errors
        self._precision, self._residual = self.coeffs.precision, state.checked("residual", MDArray)
        return self

    def __repr__(self) -> str:
        return (
            f"<SeriesSolution in {some_names(self.system.variables)} about t0 = {self._place}, "
            f"degree {self.degree}, {self._precision}>"
        )

    @property
    def _place(self) -> str:
        """The point of the expansion, as text."""
        if self.t0.ndim:
            return "t0"
        return f"{complex(self.t0) if self.t0.is_complex else float(self.t0):.6g}"

    @property
    def _variable(self) -> str:
        """The variable of the series, as text."""
        name = self.system.parameter
        return f"({name} - {self._place})" if self.t0.ndim or self.t0 != 0 else name

    @property
    def degree(self) -> int:
        """The last order."""
        return self.coeffs.shape[-1] - 1

    def __getitem__(self, key: str | int) -> PowerSeries:
        """Return the series of one unknown, by its name or place."""
        if isinstance(key, str):
            if key not in self.system.variables:
                raise KeyError(f"no unknown {key!r}; there are {some_names(self.system.variables)}")
            key = self.system.variables.index(key)
        return PowerSeries(self.coeffs[..., key, :], variable=self._variable)

    def __call__(self, t: Any) -> MDArray:
        """Return the values ``(..., n)`` of the truncated series at a number t."""
        point = (t if isinstance(t, MDArray) else self.t0 * 0 + t) - self.t0
        return PowerSeries(self.coeffs)(point[..., None] if point.ndim else point)

    def residual(self) -> MDArray:
        """Return the residuals of the orders of the equations, ``(..., m, d + 1)``.

        Those of overdetermined systems are what the unknowns cannot fit: each order is solved for
        by least squares, after those before it.
        """
        return self._residual.copy()

    @cached_property
    def _residual(self) -> MDArray:
        orders = [self._equations.order(self._values, k) for k in range(self.degree + 1)]
        block = self._equations.backend.xp.concatenate(orders, axis=-1)
        return self._given(block, self._equations.scale.equations)

    @cached_property
    def _errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Moduli of the coefficients, and of their errors, ``(..., n, d + 1)``."""
        powers = self._powers(self._equations.scale.unknowns)
        if self._better is None:
            sizes, errors = perturbed(self._equations, self._start, self._values, self._precision)
            if powers.any():
                lost = ((sizes > 0) | (errors > 0)) * _LOST
                with np.errstate(over="ignore"):
                    sizes, errors = (np.ldexp(each, powers) for each in (sizes, errors))
                errors = errors + lost
        else:
            found, better = (x.to_device("cpu") for x in (self.coeffs, self._better))
            # The rounding of the difference, and of what it is compared with.
            sizes, errors = abs(found).to_numpy(), abs(better - found).to_numpy() * (1 + 2.0**-20)
            if powers.any():
                # Both may have lost the same limbs, or all of them, with their scale.
                scaled = self._values[..., : self._equations.variables, :]
                scaled = MDArray._wrap(scaled, self._precision, self._equations.kind.is_complex)
                errors = errors + (scaled.to_device("cpu") != 0) * _LOST
        right = np.isfinite(sizes) & np.isfinite(errors)
        return sizes, np.where(right, errors, np.inf)

    @cached_property
    def error_bound(self) -> np.ndarray:
        """Estimated absolute errors of all coefficients, float64 ``(..., n, d + 1)``.

        Random rounding errors of all operations are carried through the linearised
        equations, order by order; the largest of four draws, times 8. With ``verify=True``, the
        differences from series in the next precision.
        """
        return self._errors[1]

    @cached_property
    def digits(self) -> np.ndarray:
        """Decimal digits of each order that hold, ``(..., d + 1)``, by `error_bound`.

        Relative to the largest component of the order; all components by themselves are in
        `error_bound`.
        """
        sizes, errors = (each.max(axis=-2) for each in self._errors)
        with np.errstate(divide="ignore", invalid="ignore"):
            digits = np.where(errors > 0, -np.log10(errors / sizes), np.inf)
        digits = np.where(np.isfinite(errors), digits, 0.0)
        return np.clip(digits, 0.0, float(self._precision.digits))

    def to_numpy(self) -> np.ndarray:
        """Return the coefficients rounded to float64 or complex128, ``(..., n, d + 1)``."""
        return self.coeffs.to_device("cpu").to_numpy()

    def to_mpmath(self) -> np.ndarray:
        """Return the coefficients as an object array of mpmath numbers, exactly."""
        return self.coeffs.to_device("cpu").to_mpmath()

    def to_sympy(self) -> dict[Any, Any]:
        """Return the polynomials in ``t - t0`` of one path, by the symbols of the unknowns.

        Raises
        ------
        ValueError
            If it is a batch.
        """
        if self.coeffs.ndim > 2:
            raise ValueError(f"to_sympy takes one path; the batch is {self.coeffs.shape[:-2]}")
        import sympy

        variable = sympy.Symbol(self.system.parameter)
        return {
            sympy.Symbol(name): to_sympy(row, variable, self.t0)
            for name, row in zip(self.system.variables, self.coeffs, strict=True)
        }

    def pade(self, L: int, M: int) -> list[Pade]:
        """Return the Pade approximants of the unknowns of one path; see `pade`."""
        return [pade(self[i], L, M) for i in range(len(self.system.variables))]

    def radius(self, method: RadiusMethod = "auto") -> Radius:
        """Return the distance of the nearest singularity from t0, of one path; see `radius`."""
        return radius(PowerSeries(self.without_noise), method)

    @property
    def without_noise(self) -> MDArray:
        """The coefficients, with zeros for those that may be rounding errors alone."""
        sizes, errors = (place_on_device_of(x, self.coeffs.limbs) for x in self._errors)
        return where(sizes <= errors, self.coeffs * 0, self.coeffs)


for _class in (SeriesInfo, SeriesSolution):
    _class.__module__ = "mdqr.series"
