"""Square roots of matrices: Newton's corrections from float64, and bounds by a contraction.

``(c + U)**2 = c + Z`` for c = 0, or for c = 1 where Z is small: then U has its own small units.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._matrix.given import first_limbs, frobenius
from mdqr.linalg._matrix.refined.bases import LEAST, Basis, Vectors, eigenvectors, schur_vectors
from mdqr.linalg._matrix.refined.operators import Bounded, Operator
from mdqr.linalg._matrix.refined.refinement import (
    Refined,
    in_two_ways,
    joined,
    native,
    of_places,
    over_places,
)
from mdqr.linalg._shared.operands import square_of
from mdqr.linalg._spectral.disks import SLACK


class Within(NamedTuple):
    """Bounds of errors E.

    `entries` bound the error of each entry, `basis` the moduli of ``V^-1 E V`` for each kind of
    vectors; `right` is true where all eigenvalues of the exact root have proven positive real
    parts.
    """

    entries: np.ndarray
    basis: list[np.ndarray]
    right: np.ndarray


class SquareRoots:
    """Roots U of matrices ``(batch, n, n)`` of entries near 1 or smaller.

    Parameters
    ----------
    backend : Backend
        Where they live.
    z : MDArray
        The matrices Z, real or complex.
    shift : int
        0 or 1.
    before : SquareRoots or None
        The roots that ``c + Z`` are, whose vectors are taken again.

    Attributes
    ----------
    z, shift : MDArray, int
        The parameters.
    value : MDArray
        The roots U, complex where a real matrix has negative eigenvalues.
    last : numpy.ndarray
        The last relative corrections.
    """

    def __init__(
        self, backend: Backend, z: MDArray, shift: int = 0, before: SquareRoots | None = None
    ) -> None:
        self.z, self.shift = z, shift
        if before is None:
            self._found = _first(backend, z, shift)
        else:
            self._found = [
                (places, one.following(backend, of_places(z, places), shift))
                for places, one in before._found
            ]
        self.value = joined(self._found)
        self.last = over_places(self._found, (len(z),), lambda one, _: one.last)

    def error(self, of_z: np.ndarray, basis: list[np.ndarray] | None = None) -> Within:
        """Return bounds of the errors of U where Z has errors of at most `of_z` in each entry.

        `basis` are bounds for `before`, to which these errors are added.
        """
        entries, right = np.full(self.z.shape, np.inf), np.zeros(len(self.z), dtype=bool)
        found = []
        for i, (places, one) in enumerate(self._found):
            part, is_right = one.error(of_z[places], None if basis is None else basis[i])
            entries[places], right[places] = part.entries, is_right
            found.append(part.basis)
        return Within(entries, found, right)


def _first(backend: Backend, z: MDArray, shift: int) -> list[tuple[np.ndarray, _Roots]]:
    vectors, values = eigenvectors(first_limbs(z))
    on_axis = (values.imag == 0) & (values.real < -shift)
    is_complex = z.is_complex or bool(on_axis.any())

    def attempt(places: np.ndarray, schur: bool) -> _Roots:
        part = of_places(z, places)
        if schur:
            found, t = schur_vectors(backend, first_limbs(part))
        else:
            found, t = vectors, values[..., None] * np.eye(z.shape[-1])
        return _Roots(backend, part, shift, found, t, is_complex)

    return in_two_ways(len(z), z.precision.eps, attempt)


class ScaledRoots:
    """Roots of matrices of any size, which are scaled by powers of four.

    Attributes
    ----------
    value : MDArray
        The roots.
    last : numpy.ndarray
        The last relative corrections.
    """

    def __init__(self, backend: Backend, a: MDArray) -> None:
        top = host_block(scaling.top_exponents(a._block, a.is_complex)) // 2
        self._top = top[:, None, None]
        powers = backend.xp.asarray(self._top)
        scaled = a._like(backend.ldexp(a._block, -2 * powers, is_complex=a.is_complex))
        self._found = SquareRoots(backend, scaled)
        value = self._found.value
        self.value = value._like(backend.ldexp(value._block, powers, is_complex=value.is_complex))
        self.last = self._found.last

    def error(self, of_a: np.ndarray) -> Within:
        """Return bounds as `SquareRoots.error`; `basis` is for the scaled matrices."""
        with np.errstate(over="ignore"):
            found = self._found.error(np.ldexp(of_a, -2 * self._top))
            return found._replace(entries=np.ldexp(found.entries, self._top))


class _Roots:
    """Roots of matrices with vectors of one kind."""

    def __init__(
        self,
        backend: Backend,
        z: MDArray,
        shift: int,
        vectors: Vectors,
        t: np.ndarray,
        is_complex: bool,
    ) -> None:
        self._backend, self._shift, self._vectors = backend, shift, vectors
        kind = self._kind = Kind(z.precision.limbs, is_complex)
        self._z = planes.complexify(z._block) if kind.is_complex > z.is_complex else z._block
        with np.errstate(all="ignore"):
            root = triangular_root(t, shift)
            start = vectors.v @ root @ vectors.w
            start = start if is_complex else start.real
            same = self._basis(start)
            # The triangle of the root itself: that of the start has errors of vectors.
            same = same._replace(t=root + shift * np.eye(t.shape[-1]))
            self._root = root
            solve = Operator(same, same).solve
            self._found = Refined(backend, start, kind, self._residual, solve)
        self.value, self.last = self._found.value, self._found.last
        if (np.diagonal(root, axis1=-2, axis2=-1) == -shift).any():
            # Zeros have no corrections: roots may be wrong by the root of what is left.
            rest = native(self._residual(self.value._block, self._kind), is_complex)
            left, size = (abs(x).max(axis=(-2, -1)) for x in (rest, first_limbs(z)))
            with np.errstate(all="ignore"):
                self.last = np.maximum(self.last, np.sqrt(np.where(left > 0, left / size, 0.0)))

    def _residual(self, u: Block, kind: Kind) -> Block:
        z = planes.first_limbs(self._z, kind.is_complex, kind.limbs)
        terms = [(1, z)] + [(-1, u)] * (2 * self._shift)
        return self._backend.residual(terms, u, u, kind=kind)

    def _basis(self, u: np.ndarray) -> Basis:
        one = self._shift * np.eye(u.shape[-1])
        return self._vectors.of(u + one, 2.0**-52 * (abs(u) + one) + LEAST)

    def following(self, backend: Backend, z: MDArray, shift: int) -> _Roots:
        """Return roots of the roots, or of what they differ from I by."""
        t = self._root
        if shift > self._shift:
            t = t - np.eye(t.shape[-1])
        return _Roots(backend, z, shift, self._vectors, t, z.is_complex)

    @np.errstate(all="ignore")
    def error(self, of_z: np.ndarray, basis: np.ndarray | None) -> tuple[Bounded, np.ndarray]:
        """Return bounds where Z has errors: ``E X + X E + E**2 = R`` of the exact Z, X = c + U.

        Errors ``V Y W`` of Z have an image ``(I + J) Y (I + J)``.
        """
        u, n, eps = first_limbs(self.value), self._z.shape[-1], self.value.precision.eps
        r = native(self._residual(self.value._block, self._kind), self._kind.is_complex)
        of_u, z = abs(u), abs(native(self._z, self._kind.is_complex))
        few = (8 * n + 64) * square_of(eps)
        lost = (eps + 2.0**-51) * abs(r) + few * (of_u @ of_u + z + 2 * of_u) + LEAST
        same = self._basis(u)
        image: np.ndarray | float = 0.0
        if basis is not None:
            one = np.eye(n) + same.j
            image = SLACK * one @ basis @ one
        square = (1 + frobenius(same.j)) ** 3
        bounded = Operator(same, same).bounded(r, lost + of_z, square, image)
        return bounded, right_half_plane(same, bounded.norm)


@np.errstate(all="ignore")
def right_half_plane(basis: Basis, y: np.ndarray) -> np.ndarray:
    """Return True if ``X + V Y W`` has eigenvalues with positive real parts, Y of a norm up to y.

    They are eigenvalues of the pencil ``T + P - s (I + J)`` with ``P = G + (I + J) Y (I + J)``.
    Between T and it none crosses the imaginary axis, as moduli of the inverse of ``T - s`` are at
    most the entries of the inverse of M, which has the diagonal ``Re diag(T)`` and minus the moduli
    above it.
    """
    j, g = frobenius(basis.j), frobenius(basis.g)
    p = g + (1 + j) ** 2 * y
    reach = (frobenius(basis.t) + p) / (1 - j)
    return is_apart(basis, basis.values.real, p + reach * j)


@np.errstate(all="ignore")
def is_apart(basis: Basis, distances: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return True for each matrix of which no ``T + P - s`` is singular, P of a norm up to p.

    `distances` are lower bounds of the distances of the diagonal of T from all s.
    """
    n, above = basis.t.shape[-1], abs(basis.above())
    inverse = np.zeros(distances.shape)
    for i in range(n - 1, -1, -1):
        inverse[:, i] = (1 + (above[:, i] * inverse).sum(axis=-1)) / distances[:, i]
    reached = SLACK * inverse.max(axis=-1, initial=0.0) * np.sqrt(n) * p
    is_near = np.asarray(frobenius(basis.j) < 1)
    return is_near & (distances > 0).all(axis=-1) & (reached < 1)


@np.errstate(all="ignore")
def triangular_root(t: np.ndarray, shift: int) -> np.ndarray:
    """Return U with ``(c + U)**2 = c + T`` for upper triangular matrices, by superdiagonals."""
    n = t.shape[-1]
    values = np.diagonal(t, axis1=-2, axis2=-1)
    roots = np.sqrt(shift + values.astype(complex))
    r = roots[..., None] * np.eye(n)
    for k in range(1, n):
        i = np.arange(n - k)
        inner = np.einsum("...kn,...nk->...k", r[..., i, :], r[..., :, i + k])
        wanted, sums = t[..., i, i + k] - inner, roots[..., i] + roots[..., i + k]
        r[..., i, i + k] = np.where(wanted == 0, 0.0, wanted / sums)
    u = values / (1 + roots) if shift else roots
    r[..., np.arange(n), np.arange(n)] = u
    return np.asarray(r)
