"""Problems to be solved: unknowns, parameters, and the exact terms in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mdqr.series._systems.polynomial import Gaussian
from mdqr.series._systems.system import System
from mdqr.series._systems.terms import Terms, exact

# Times that weights are changed, and the largest change of units.
_WEIGHTED, _LARGEST = 20, 900
# Random multiples of equations have so many parts of one.
_MULTIPLES = 1 << 16


@dataclass(frozen=True)
class Problem:
    """Equations in unknowns and parameters.

    Attributes
    ----------
    variables : tuple of str
        The unknowns.
    parameters : tuple of str
        The parameters, in the order of their values.
    terms : Terms
        In the unknowns and, behind them, the parameters.
    """

    variables: tuple[str, ...]
    parameters: tuple[str, ...]
    terms: Terms

    @classmethod
    def of(cls, system: System, parameters: Sequence[str] | None) -> Problem:
        """Return the problem of a system.

        Raises
        ------
        ValueError
            If a parameter is unknown, all names are parameters, an equation has no unknown, or the
            equations are fewer than the unknowns.
        """
        found: dict[tuple[int, ...], Gaussian] = {}
        for powers, place, row in zip(
            system._exponents.tolist(), system._equation.tolist(), exact(system), strict=True
        ):
            for order, value in enumerate(row):
                key = (place, *powers, order)
                found[key] = found[key] + value if key in found else value
        names = (*system.variables, system.parameter)
        terms = Terms.grouped(found, len(names), system.equations)
        moving = bool(terms.exponents[:, -1].any())
        if parameters is None:
            parameters = (system.parameter,) if moving else ()
        elif isinstance(parameters, str):
            raise TypeError("parameters must be a list of names")
        chosen = tuple(parameters)
        wrong = [name for name in chosen if name not in names]
        if wrong or len(set(chosen)) < len(chosen):
            raise ValueError(f"parameters must be different names of {', '.join(names)}")
        if moving and system.parameter not in chosen:
            raise ValueError(f"the equations depend on {system.parameter}: it must be a parameter")
        unknowns = tuple(name for name in system.variables if name not in chosen)
        columns = [names.index(name) for name in (*unknowns, *chosen)]
        problem = cls(unknowns, chosen, Terms.ordered(terms, columns))
        problem._check()
        return problem

    def _check(self) -> None:
        n, m = len(self.variables), self.terms.equations
        if not n:
            raise ValueError("all names are parameters: there is no unknown")
        if m < n:
            raise ValueError(
                f"{m} equations in {n} unknowns have no isolated solutions; add {n - m} linear "
                "equations with random coefficients: they slice the set of solutions"
            )
        without = [i for i, degree in enumerate(self.degrees) if degree < 1]
        if without:
            raise ValueError(f"equation {without[0]} has no unknown")

    @cached_property
    def degrees(self) -> list[int]:
        """The degrees of the equations in the unknowns."""
        found = np.zeros(self.terms.equations, int)
        np.maximum.at(
            found, self.terms.equation, self.terms.exponents[:, : len(self.variables)].sum(axis=1)
        )
        return [int(degree) for degree in found]

    def at(self, values: Sequence[Gaussian]) -> Terms:
        """Return the terms in the unknowns, with values for the parameters.

        Raises
        ------
        ValueError
            If an equation loses all its unknowns.
        """
        n = len(self.variables)
        found: dict[tuple[int, ...], Gaussian] = {}
        for place, powers, value in zip(
            self.terms.equation.tolist(),
            self.terms.exponents.tolist(),
            self.terms.coefficients,
            strict=True,
        ):
            for base, power in zip(values, powers[n:], strict=True):
                for _ in range(power):
                    value = value * base
            key = (place, *powers[:n])
            found[key] = found[key] + value if key in found else value
        terms = Terms.grouped(found, n, self.terms.equations)
        without = np.flatnonzero(terms.degrees < 1)
        if without.size:
            raise ValueError(f"equation {without[0]} has no unknown at these parameters")
        return terms


def units(terms: Terms) -> np.ndarray:
    """Return exponents k so that ``x_j = 2**k_j y_j`` brings coefficients near one size.

    The least sum of the moduli of their logarithms, up to a factor of each equation: a coefficient
    of another size, as cancellation leaves it, counts for little. By least squares with weights.
    """
    n, m = terms.variables, terms.equations
    sizes = np.array([_log2(value) for value in terms.coefficients])
    rows = np.zeros((len(sizes), m))
    rows[np.arange(len(sizes)), terms.equation] = 1.0
    table = np.concatenate([rows, terms.exponents], axis=1)
    weights: np.ndarray = np.ones(len(sizes))
    found = np.zeros(m + n)
    for _ in range(_WEIGHTED):
        found = np.linalg.lstsq(table * weights[:, None], -sizes * weights, rcond=1e-10)[0]
        weights = 1.0 / np.sqrt(np.maximum(abs(table @ found + sizes), 0.5))
    found = found[m:]
    return np.rint(np.clip(found, -_LARGEST, _LARGEST)).astype(int) if n else found.astype(int)


def in_units(terms: Terms, powers: np.ndarray) -> Terms:
    """Return terms in ``y`` with ``x_j = 2**powers_j y_j``."""
    shifts = (terms.exponents[:, : len(powers)] @ powers).tolist()
    scaled = []
    for value, shift in zip(terms.coefficients, shifts, strict=True):
        factor = Fraction(2) ** shift
        scaled.append(Gaussian(value.real * factor, value.imag * factor))
    return Terms(terms.exponents, scaled, terms.equation, terms.equations)


def units_near(moduli: np.ndarray) -> np.ndarray:
    """Return exponents of powers of two near numbers ``(n,)``; zeros have the least one."""
    least = moduli[moduli > 0].min(initial=np.inf)
    if not np.isfinite(least):
        return np.zeros(len(moduli), int)
    return np.rint(np.log2(np.where(moduli > 0, moduli, least))).astype(int)


def squared(terms: Terms, rng: np.random.Generator) -> Terms:
    """Return as many equations as unknowns: each one of them, plus random multiples of the rest.

    The least degrees come last, so that degrees stay as small as they can.
    """
    n, m = terms.variables, terms.equations
    if m == n:
        return terms
    order = np.argsort(-terms.degrees, kind="stable")
    place = np.empty(m, int)
    place[order] = np.arange(m)
    # Exact, with short numbers, but not so few of them that two are alike by chance.
    factors = rng.integers(-_MULTIPLES, _MULTIPLES, (n, m, 2))
    found: dict[tuple[int, ...], Gaussian] = {}
    for equation, powers, value in zip(
        terms.equation.tolist(), terms.exponents.tolist(), terms.coefficients, strict=True
    ):
        own = int(place[equation])
        for row in range(n):
            if own == row:
                part = value
            elif own >= n:
                re, im = (Fraction(2 * int(f) + 1, 2 * _MULTIPLES) for f in factors[row, own])
                part = value * Gaussian(re, im)
            else:
                continue
            key = (row, *powers)
            found[key] = found[key] + part if key in found else part
    return Terms.grouped(found, n, n)


def _log2(value: Gaussian) -> float:
    """Return the binary logarithm of a coefficient, to a bit."""
    size = max(abs(value.real), abs(value.imag))
    return float(size.numerator.bit_length() - size.denominator.bit_length())
