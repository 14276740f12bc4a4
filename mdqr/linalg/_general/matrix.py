"""One matrix as what eigenvalues are found of: scaled, with the errors of its entries."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._general.certificate import Certified, Remainder
from mdqr.linalg._general.subspaces.balancing import balanced
from mdqr.linalg._general.subspaces.decomposition import decomposed
from mdqr.linalg._general.subspaces.newton import Basis
from mdqr.linalg._shared.data_error import Errors
from mdqr.linalg._shared.operands import precision_for, square_of

# What powers of two may take from entries of A, times vectors.
_SUBNORMAL = 2.0**-1040


class Problem(Protocol):
    """A matrix, or a pair of matrices as one, whose rows and columns are scaled.

    Columns of right vectors are those of the problem times ``2**right``, of left ones times
    ``2**left``; int64 ``(batch, n)``.
    """

    @property
    def backend(self) -> Backend:
        """The backend of the blocks."""

    @property
    def kind(self) -> Kind:
        """The kind of the work."""

    @property
    def right(self) -> np.ndarray:
        """The powers of rows of right vectors."""

    @property
    def left(self) -> np.ndarray:
        """The powers of rows of left vectors."""

    def limbs(self, wanted: int) -> int:
        """Return to how many limbs values are rounded, for so many of the answer."""

    def basis(self, *, is_real: bool, report: Reporter | None) -> Basis:
        """Return invariant subspaces."""

    def of_vectors(self, x: Block) -> Block:
        """Return what Y is the inverse of."""

    def remainder(self, found: Basis) -> Remainder:
        """Return what is left of the matrix times X."""

    def eigenvalues(self, values: Block, radii: np.ndarray, limbs: int) -> tuple[Block, np.ndarray]:
        """Return eigenvalues of the problem, to so many limbs, and bounds of their errors."""

    def radii(self, values: Block, radii: np.ndarray) -> np.ndarray:
        """Return how far eigenvalues of the problem move for bounds of those of the matrix."""

    def data_perturbation(self, inverse: np.ndarray, known: Certified) -> np.ndarray:
        """Return what errors of the entries add to Z: bounds ``(batch, n, n)``.

        `inverse` bounds the moduli of the exact inverse that Y is near.
        """


class Matrix(NamedTuple):
    """Matrices ``(batch, n, n)``, ``2**(right[j] - right[i] - top) a[i, j]``, at most about 1."""

    backend: Backend
    kind: Kind
    a: Block
    right: np.ndarray
    top: np.ndarray
    errors: Errors

    @classmethod
    def of(cls, backend: Backend, a: Block, errors: Errors, kind: Kind) -> Matrix:
        """Scale complex matrices."""
        a, powers, top = balanced(backend, a)
        return cls(backend, kind, a, powers, top, errors)

    @property
    def left(self) -> np.ndarray:
        """The powers of rows of left vectors."""
        return -self.right

    def limbs(self, wanted: int) -> int:
        """Return those of the answer: powers of two are exact."""
        return wanted

    def basis(self, *, is_real: bool, report: Reporter | None) -> Basis:
        """Return invariant subspaces."""
        return decomposed(self.backend, self.a, self.kind, is_real=is_real, report=report)

    def of_vectors(self, x: Block) -> Block:
        """Return the vectors themselves."""
        return x

    def remainder(self, found: Basis) -> Remainder:
        """Return ``A X - X M``."""
        x, m, kind = found.x, found.m, self.kind
        n, eps = int(x.shape[-1]), precision_for(kind.limbs).eps
        of_a, of_x, of_m = (native_abs(each, True) for each in (self.a, x, m))
        wide = np.concatenate([planes.widen(self.a, True, kind.limbs), x], axis=-1)
        tall = np.concatenate([planes.negate(x, True), m], axis=-2)
        r = self.backend.residual([], wide, tall, kind=kind)
        lost = (8 * n + 64) * square_of(eps) * (of_a @ of_x + of_x @ of_m)
        lost += eps * native_abs(r, True) + _SUBNORMAL
        return Remainder(r, lost, x, None)

    def eigenvalues(self, values: Block, radii: np.ndarray, limbs: int) -> tuple[Block, np.ndarray]:
        """Return values times powers of two."""
        top = self.top[:, None]
        values = self.backend.ldexp(values, top, is_complex=True)
        return values, self.radii(values, radii)

    def radii(self, values: Block, radii: np.ndarray) -> np.ndarray:
        """Return the bounds of eigenvalues for those of the scaled matrix."""
        with np.errstate(over="ignore"):
            return np.asarray(np.ldexp(radii, self.top[:, None])) + 2.0**-1070

    @np.errstate(all="ignore")
    def data_perturbation(self, inverse: np.ndarray, known: Certified) -> np.ndarray:
        """Return ``|X^-1| E |X|``, E the errors of entries."""
        of_a, of_x = (native_abs(each, True) for each in (self.a, known.start.x))
        moves = self.right[:, None, :] - self.right[:, :, None] - self.top[:, None, None]
        return np.asarray(inverse @ (self.errors.of(np, of_a, moves) + _SUBNORMAL) @ of_x)
