"""Algebraic Riccati equations: Newton's corrections from float64, and bounds by a contraction.

With ``G = B R^-1 B^H`` and continuous time they are ``Q + A^H X + X A - X G X = 0``. The
corrections solve Lyapunov equations of the closed loop ``A - G X``.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._limbs.scaling import powers_of_two
from mdqr.linalg._matrix.given import first_limbs, frobenius
from mdqr.linalg._matrix.refined.bases import (
    LEAST,
    adjoint_vectors,
    eigenvectors,
    schur_vectors,
)
from mdqr.linalg._matrix.refined.operators import Operator
from mdqr.linalg._matrix.refined.refinement import (
    InTwoWays,
    Refined,
    native,
    of_places,
)
from mdqr.linalg._matrix.refined.square_roots import right_half_plane
from mdqr.linalg._shared.operands import square_of
from mdqr.linalg._spectral.disks import SLACK


class Riccati(NamedTuple):
    """Matrices A, G and Q ``(batch, n, n)`` of one field; G may have twice the limbs."""

    backend: Backend
    a: MDArray
    g: MDArray
    q: MDArray

    @property
    def kind(self) -> Kind:
        """The kind of their numbers."""
        return Kind(self.a.precision.limbs, self.a.is_complex)

    def at(self, places: np.ndarray) -> Riccati:
        """Return the equations at places of the batch."""
        return self._replace(
            a=of_places(self.a, places), g=of_places(self.g, places), q=of_places(self.q, places)
        )

    def loop(self, x: Block, kind: Kind) -> tuple[Block, Block]:
        """Return the product G X, and its rounding errors."""
        backend, xp, field = self.backend, self.backend.xp, kind.is_complex
        g = planes.first_limbs(self.g._block, field, kind.limbs)
        limbs = slice(kind.limbs, 2 * kind.limbs)
        lower = self.g._block[(*(slice(None),) * field, limbs)]
        parts = [g, planes.widen(lower, field, kind.limbs)] if lower.size else [g]
        product = backend.matmul(g, x, kind=kind)
        rest = backend.residual(
            [(-1, product)],
            planes.negate(xp.concatenate(parts, axis=-1), field),
            xp.concatenate([x] * len(parts), axis=-2),
            kind=kind,
        )
        return product, rest


class ErrorsOfData(NamedTuple):
    """Bounds of the errors of the entries of A, G and Q."""

    a: np.ndarray
    g: np.ndarray
    q: np.ndarray


class RiccatiSolution(Protocol):
    """Solutions for some matrices of a batch, as `Attempt`."""

    value: MDArray
    last: np.ndarray
    steps: int

    def __init__(self, equation: Riccati, schur: bool) -> None: ...

    def error(self, errors: ErrorsOfData) -> np.ndarray:
        """Return bounds of the errors of entries, for errors of the data."""


class RiccatiSolutions(InTwoWays):
    """The stabilizing solutions X ``(batch, n, n)``; errors of the data are `ErrorsOfData`."""

    def __init__(self, equation: Riccati, solution: type[RiccatiSolution]) -> None:
        def attempt(places: np.ndarray, schur: bool) -> RiccatiSolution:
            return solution(equation.at(places), schur)

        super().__init__(len(equation.q), equation.q.precision.eps, attempt)


class Continuous:
    """Solutions of ``Q + A^H X + X A - X G X = 0`` with vectors of one kind."""

    def __init__(self, equation: Riccati, schur: bool) -> None:
        self._equation = equation
        a, g, q = (first_limbs(x) for x in (equation.a, equation.g, equation.q))
        with np.errstate(all="ignore"):
            start = _stabilizing(a, g, q)
            closed = a - g @ start
        if not equation.kind.is_complex:
            start, closed = start.real, closed.real
        self._vectors = (
            schur_vectors(equation.backend, closed) if schur else eigenvectors(closed)
        )[0]
        operator = self._operator(closed, np.zeros(a.shape))
        self._found = Refined(
            equation.backend, start, equation.kind, self._residual, lambda r: operator.solve(-r)
        )
        self.value, self.steps = hermitian_part(self._found.value), self._found.steps
        self.last = np.where(operator.is_singular, np.inf, self._found.last)

    def _residual(self, x: Block, kind: Kind) -> Block:
        """Return ``Q + A^H X + X A - X G X``, G X as a product and its rounding errors."""
        backend, xp, field = self._equation.backend, self._equation.backend.xp, kind.is_complex
        a, q = (
            planes.first_limbs(each._block, field, kind.limbs)
            for each in (self._equation.a, self._equation.q)
        )
        product, rest = self._equation.loop(x, kind)
        minus = planes.negate(x, field)
        wide = [planes.negate(planes.adjoint(a, field), field), minus, x, x]
        tall = [x, a, product, rest]
        return backend.residual(
            [(1, q)], xp.concatenate(wide, axis=-1), xp.concatenate(tall, axis=-2), kind=kind
        )

    def _operator(self, closed: np.ndarray, rest: np.ndarray) -> Operator:
        right = self._vectors.of(closed, rest)
        left = adjoint_vectors(self._vectors)
        return Operator(left.of(closed.conj().swapaxes(-1, -2), rest.swapaxes(-1, -2)), right)

    @np.errstate(all="ignore")
    def error(self, errors: ErrorsOfData) -> np.ndarray:
        """Return bounds of E, ``L E - E G E = -F`` with F the residual of the exact data."""
        equation, value = self._equation, self.value
        a, g, q, x = (first_limbs(each) for each in (equation.a, equation.g, equation.q, value))
        r = native(self._residual(value._block, equation.kind), equation.kind.is_complex)
        eps, n = value.precision.eps, x.shape[-1]
        of_a, of_g, size = abs(a), abs(g), abs(x)
        turned = of_a.swapaxes(-1, -2)
        terms = abs(q) + turned @ size + size @ of_a + 2 * size @ of_g @ size
        lost = (eps + 2.0**-51) * abs(r) + (16 * n + 128) * square_of(eps) * terms + LEAST
        moved = errors.a.swapaxes(-1, -2) @ size
        lost = lost + errors.q + moved + moved.swapaxes(-1, -2) + size @ errors.g @ size
        rest = (n + 12) * 2.0**-51 * (of_a + of_g @ size) + errors.a + errors.g @ size + LEAST
        operator = self._operator(a - g @ x, SLACK * rest)
        left, right = operator.left, operator.right
        v, w = left.vectors.v, right.vectors.w
        coupling = abs(w @ g @ v) + abs(w) @ (4 * (n + 8) * 2.0**-51 * of_g + errors.g) @ abs(v)
        both = (1 + frobenius(left.j)) * (1 + frobenius(right.j))
        bounded = operator.bounded(-r, lost, SLACK * both * frobenius(coupling))
        # G E in the basis of the closed loop.
        added = frobenius(coupling) * bounded.norm * (1 + frobenius(right.j))
        mirrored = right._replace(t=-right.t)
        stable = right_half_plane(mirrored, SLACK * added)
        return np.where(stable[:, None, None], bounded.entries, np.inf)


def hermitian_part(x: MDArray) -> MDArray:
    """Return ``(x + x^H) / 2``, which is Hermitian whatever is rounded."""
    half: MDArray = (x + x.conj().mT) * 0.5
    return half


def _stabilizing(a: np.ndarray, g: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return solutions in float64 by the stable subspace of the Hamiltonian matrix.

    Powers of two make solutions of about 1.
    """
    n = a.shape[-1]
    of_a, of_g, of_q = (abs(x).max(axis=(-2, -1), initial=0.0) for x in (a, g, q))
    power = np.rint(np.log2(np.maximum(np.sqrt(of_q / of_g), of_a / of_g)))
    scale = powers_of_two(np.where(abs(power) < 500, power, 0.0))[:, None, None]
    g, q = g * scale, q / scale
    upper = np.concatenate([a, -g], axis=-1)
    lower = np.concatenate([-q, -a.conj().swapaxes(-1, -2)], axis=-1)
    try:
        values, vectors = np.linalg.eig(np.concatenate([upper, lower], axis=-2))
        order = np.argsort(values.real, axis=-1)[:, None, :n]
        stable = np.take_along_axis(vectors, order, axis=-1)
        x = np.linalg.solve(stable[:, :n].swapaxes(-1, -2), stable[:, n:].swapaxes(-1, -2))
    except np.linalg.LinAlgError:
        return np.full(a.shape, np.nan)
    return np.asarray(scale / 2 * (x.conj() + x.swapaxes(-1, -2)))
