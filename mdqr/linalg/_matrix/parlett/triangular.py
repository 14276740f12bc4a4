"""Functions of triangular matrices: Taylor series of diagonal blocks, and Parlett's recurrence."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr.linalg._factor.triangular import substitute
from mdqr.linalg._general.subspaces.qr_algorithm import triangular
from mdqr.linalg._general.subspaces.reflections import reorder
from mdqr.linalg._matrix.given import first_limbs, frobenius
from mdqr.linalg._matrix.parlett.clusters import Disk, clusters
from mdqr.linalg._matrix.parlett.samples import Samples
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._shared.operands import precision_for

# Circles to choose from, each of twice the radius of the one before.
_RADII = 48
# Powers of a block that the choice looks at.
_POWERS = 64


def function_of(backend: Backend, a: MDArray, samples: Samples) -> MDArray:
    """Return the function of one complex matrix ``(n, n)``, in host memory."""
    kind, precision = Kind(a.precision.limbs, True), a.precision
    t, q = triangular(backend, a._block, kind)
    native = first_limbs(MDArray._wrap(t, precision, True))
    labels, disks = clusters(samples, np.diagonal(native), float(abs(native).max()))
    reorder(backend, t, q, labels, kind)
    f = _Recurrence(backend, t, np.sort(labels), disks, samples).value
    left = MDArray._wrap(q, precision, True)
    return matmul(matmul(left, MDArray._wrap(f, precision, True)), left.conj().mT)


class _Recurrence:
    """The function of a triangular matrix whose diagonal is sorted by labels."""

    def __init__(
        self,
        backend: Backend,
        t: Block,
        labels: np.ndarray,
        disks: list[Disk],
        samples: Samples,
    ) -> None:
        n = int(t.shape[-1])
        self._backend, self._t, self._samples = backend, t, samples
        self._kind = Kind(int(t.shape[1]), True)
        self.value = self._kind.zeros(np, (n, n))
        starts = [*np.flatnonzero(np.diff(labels, prepend=-1)).tolist(), n]
        singles = [i for i, j in pairwise(starts) if j == i + 1]
        if singles:
            diagonal = planes.diagonal(t)[..., singles]
            values = samples.at(self._array(diagonal.copy()))
            planes.diagonal(self.value)[..., singles] = values._block
        for (i, j), disk in zip(pairwise(starts), disks, strict=True):
            rows = slice(i, j)
            if j > i + 1:
                self.value[..., rows, rows] = self._of_block(t[..., rows, rows], disk)
            if i:
                self._above(rows)

    def _array(self, block: Block) -> MDArray:
        return MDArray._wrap(block, precision_for(self._kind.limbs), True)

    def _above(self, columns: slice) -> None:
        """Find what is above a diagonal block: ``T X - X T_j = F T_j - T F_j``, by columns.

        B. N. Parlett, A recurrence among the elements of functions of triangular matrices, 1976.
        """
        backend, kind, t, f = self._backend, self._kind, self._t, self.value
        start, stop = columns.start, columns.stop
        before = slice(0, start)
        wide = np.concatenate([f[..., before, before], t[..., before, columns]], axis=-1)
        corner = planes.negate(f[..., columns, columns], True)
        tall = np.concatenate([t[..., before, columns], corner], axis=-2)
        rest = backend.matmul(wide, tall, kind=kind)
        moved = t[..., before, before].copy()
        one, given = planes.diagonal(moved), planes.diagonal(t)
        for j in range(start, stop):
            one[...] = backend.binary(
                "subtract", given[..., before], given[..., j : j + 1], kind=kind
            )
            column = rest[..., j - start : j - start + 1]
            if j > start:
                known = slice(start, j)
                product = backend.matmul(f[..., before, known], t[..., known, j : j + 1], kind=kind)
                column = backend.binary("add", column, product, kind=kind)
            f[..., before, j : j + 1] = substitute(backend, moved, column, kind=kind, lower=False)

    def _of_block(self, t: Block, disk: Disk) -> Block:
        """Return the function of a block whose eigenvalues are close, by its Taylor series."""
        n = int(t.shape[-1])
        if not np.triu(t, 1).any():
            found = self._kind.zeros(np, (n, n))
            values = self._samples.at(self._array(planes.diagonal(t).copy()))
            planes.diagonal(found)[...] = values._block
            return found
        one = self._array(self._kind.identity(np, (n, n)))
        moved = self._array(t.copy()) - one * disk.center
        radius, powers = self._chosen(disk, first_limbs(moved))
        terms = self._samples.coefficients(disk.center, radius, powers)
        total, scaled = one * terms[-1], moved / radius
        for k in range(len(terms) - 2, -1, -1):
            total = matmul(total, scaled) + one * terms[k]
        return np.triu(total._block)

    @np.errstate(all="ignore")
    def _chosen(self, disk: Disk, moved: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the radius with the smallest errors, and norms of powers over that radius.

        A coefficient has the error of the largest value on the circle, and of arguments relative
        to the radius; it is multiplied by a power of the block over the radius.
        """
        radii = disk.radius * 2.0 ** np.arange(_RADII)
        largest = self._samples.largest(disk.center, radii)
        size = float(abs(moved).max())
        powers = _powers(moved / size, _POWERS)
        growth = [(powers * (size / radius) ** np.arange(_POWERS)).max() for radius in radii]
        errors = largest * (1 + abs(disk.center) / radii) * np.array(growth)
        errors = np.where(np.isnan(errors), np.inf, errors)
        best = int(errors.argmin())
        if not np.isfinite(errors[best]):
            raise np.linalg.LinAlgError(
                "funm: func is not analytic next to eigenvalues that are close together"
            )
        return float(radii[best]), _powers(moved / radii[best], self._samples.most)


def _powers(x: np.ndarray, count: int) -> np.ndarray:
    """Return Frobenius norms of powers from 0 on; those behind the last large one are zero."""
    found, power = np.zeros(count), np.eye(len(x), dtype=complex)
    for k in range(count):
        found[k] = frobenius(power)
        if not 2.0**-1000 < found[k] < np.inf:
            break
        power = power @ x
    return found
