"""Solutions of ``A X + X B = Q`` and ``X - A X B = Q``, and bounds of their errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._matrix.given import first_limbs
from mdqr.linalg._matrix.refined.bases import (
    LEAST,
    Basis,
    Vectors,
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
from mdqr.linalg._shared.operands import square_of


class Equation(NamedTuple):
    """``A X + X B = Q``, or ``X - A X B = Q`` if `stein`; with `adjoint` B is ``A^H``.

    All are batches ``(batch, ., .)`` of one field.
    """

    backend: Backend
    a: MDArray
    b: MDArray
    q: MDArray
    stein: bool = False
    adjoint: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of their numbers."""
        return Kind(self.a.precision.limbs, self.a.is_complex)

    def at(self, places: np.ndarray) -> Equation:
        """Return the equations at places of the batch."""
        return self._replace(
            a=of_places(self.a, places), b=of_places(self.b, places), q=of_places(self.q, places)
        )

    def residual(self, x: Block, kind: Kind) -> Block:
        """Return ``Q - L(X)``, computed as if in twice the limbs, of the data's first limbs."""
        backend, xp = self.backend, self.backend.xp
        a, b, q = (
            planes.first_limbs(each._block, kind.is_complex, kind.limbs)
            for each in (self.a, self.b, self.q)
        )
        if not self.stein:
            wide, tall = xp.concatenate([a, x], axis=-1), xp.concatenate([x, b], axis=-2)
            return backend.residual([(1, q)], wide, tall, kind=kind)
        product = backend.matmul(x, b, kind=kind)
        # The product and its rounding errors side by side.
        rest = backend.residual([(-1, product)], planes.negate(x, kind.is_complex), b, kind=kind)
        minus = planes.negate(a, kind.is_complex)
        wide = xp.concatenate([minus, minus], axis=-1)
        tall = xp.concatenate([product, rest], axis=-2)
        return backend.residual([(1, q), (-1, x)], wide, tall, kind=kind)

    def terms(self, x: np.ndarray) -> np.ndarray:
        """Return the sum of the moduli of the terms of the residual, from the modulus of X."""
        a, b, q = (abs(first_limbs(each)) for each in (self.a, self.b, self.q))
        return np.asarray(q + (x + 2 * (a @ x @ b) if self.stein else a @ x + x @ b))


class EntryErrors(NamedTuple):
    """Bounds of the errors of the entries of A, B and Q."""

    a: np.ndarray
    b: np.ndarray
    q: np.ndarray


class Solutions(InTwoWays):
    """Solutions X ``(batch, m, n)``; the errors of the data are `EntryErrors`."""

    def __init__(self, equation: Equation) -> None:
        def attempt(places: np.ndarray, schur: bool) -> _Solution:
            return _Solution(equation.at(places), schur)

        super().__init__(len(equation.q), equation.q.precision.eps, attempt)


class _Solution:
    def __init__(self, equation: Equation, schur: bool) -> None:
        self._equation = equation
        a, b, q = (first_limbs(x) for x in (equation.a, equation.b, equation.q))

        def vectors(x: np.ndarray) -> Vectors:
            return schur_vectors(equation.backend, x)[0] if schur else eigenvectors(x)[0]

        self._left = vectors(a)
        self._right = adjoint_vectors(self._left) if equation.adjoint else vectors(b)
        operator = self._operator(np.zeros(a.shape), np.zeros(b.shape))
        self._found = Refined(
            equation.backend, operator.solve(q), equation.kind, equation.residual, operator.solve
        )
        self.value, self.steps = self._found.value, self._found.steps
        self.last = np.where(operator.is_singular, np.inf, self._found.last)

    def _operator(self, of_a: np.ndarray, of_b: np.ndarray) -> Operator:
        left = _basis(self._left, self._equation.a, of_a)
        return Operator(left, _basis(self._right, self._equation.b, of_b), self._equation.stein)

    @np.errstate(all="ignore")
    def error(self, errors: EntryErrors) -> np.ndarray:
        equation, x = self._equation, self.value
        a, b, size = (abs(first_limbs(each)) for each in (equation.a, equation.b, x))
        r = native(equation.residual(x._block, equation.kind), equation.kind.is_complex)
        eps, n = x.precision.eps, max(x.shape[-2:])
        lost = (eps + 2.0**-51) * abs(r) + LEAST + errors.q
        lost = lost + (16 * n + 128) * square_of(eps) * equation.terms(size)
        if equation.stein:
            lost = lost + errors.a @ size @ (b + errors.b) + a @ size @ errors.b
        else:
            lost = lost + errors.a @ size + size @ errors.b
        return self._operator(errors.a, errors.b).bounded(r, lost).entries


def _basis(vectors: Vectors, x: MDArray, errors: np.ndarray) -> Basis:
    m = first_limbs(x)
    return vectors.of(m, 2.0**-52 * abs(m) + errors + LEAST)
