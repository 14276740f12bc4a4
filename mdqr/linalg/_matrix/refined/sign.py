"""Signs of matrices, ``inv(A) sqrt(A A)``, and bounds of their errors."""

from __future__ import annotations

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Kind
from mdqr.linalg._matrix.given import first_limbs
from mdqr.linalg._matrix.refined.linear import EntryErrors, Equation, Solutions
from mdqr.linalg._matrix.refined.square_roots import SquareRoots
from mdqr.linalg._matrix.series.followed import Followed, product_errors
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._spectral.disks import SLACK


class Sign:
    """The signs of matrices ``(batch, n, n)``.

    Attributes
    ----------
    value : MDArray
        The signs, in the next higher precision.
    last : numpy.ndarray
        Relative sizes of last corrections.
    """

    def __init__(self, backend: Backend, a: MDArray) -> None:
        field = a.is_complex
        work = a.precision.next
        self._top = host_block(scaling.top_exponents(a._block, field))[:, None, None]
        block = backend.ldexp(a._block, backend.xp.asarray(-self._top), is_complex=field)
        a = MDArray._wrap(planes.widen(block, field, work.limbs), work, field)
        self._backend, self._squared = backend, matmul(a, a)
        self._roots = SquareRoots(backend, self._squared)
        root = self._roots.value
        if root.is_complex > field:
            a = MDArray._wrap(planes.complexify(a._block), work, True)
        self._a = a
        kind = Kind(work.limbs, a.is_complex)
        zeros = a._like(kind.zeros(backend.xp, a.shape))
        self._found = Solutions(Equation(backend, a, zeros, root))
        # Signs of real matrices are real: elsewhere the root is not the one with positive real
        # parts.
        self.value = self._found.value
        self.last = np.maximum(self._roots.last, self._found.last)
        if root.is_complex > field:
            self.last = np.full(len(a), np.inf)

    @np.errstate(all="ignore")
    def error(self, of_a: np.ndarray) -> np.ndarray:
        """Return bounds of the errors of entries, for errors of the entries of a."""
        of_a = np.ldexp(of_a, -self._top)
        a, exact = abs(first_limbs(self._a)), Followed.none(of_a.shape)
        rounding = product_errors(self._backend, (self._a, exact), (self._a, exact), self._squared)
        of_square = SLACK * (rounding.entries() + a @ of_a + of_a @ a + of_a @ of_a)
        root = self._roots.error(of_square)
        found = self._found.error(EntryErrors(of_a, 0 * of_a, root.entries))
        return np.where(root.right[:, None, None], found, np.inf)
