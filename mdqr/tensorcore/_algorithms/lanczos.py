"""The least singular value of ``A M**-1``, by Lanczos steps along with the iteration that uses it.

An R of low precision may hold rounding errors where A has a singular value that is smaller:
``A M**-1`` then has one far below 1, or zero, and a small gradient says little of x. The gradients
of b need not show it. A random vector does: conjugate gradients for ``N y = s``,
N = ``M**-T A^T A M**-1``, leave of s in an eigenvector the value of a polynomial that is 1 at 0 and
small only near its zeros, the Ritz values. Once all of s is small they stand near every eigenvalue.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mdqr._limbs.planes import Block

# Of a random vector in n directions each has a part of 1 / sqrt(n), less than a thousandth of it
# with a probability of a thousandth: an eigenvalue that no Ritz value is near is no likelier.
_MISSED = 2.0**-10
# Squares of singular values of ``A M**-1`` below which float64 sees M as singular where A is.
_LOST = 2.0**-40


class Lanczos:
    """Conjugate gradients for ``N y = s`` with a random s of length 1.

    Whoever iterates makes the steps, and notes them here.

    Attributes
    ----------
    s : ndarray
        The random vector, ``(n, 1)``.
    x : ndarray
        The solution of ``N M x = s``, ``(n, 1)``, once no more steps are wanted.
    open : bool
        Whether more steps are wanted.
    """

    def __init__(self, xp: Any, weak: Block) -> None:
        """Start at a random vector that is large in `weak`, where R is least."""
        n = len(weak)
        random = np.random.default_rng(n).standard_normal((n, 1))
        s = weak + xp.asarray(random / np.linalg.norm(random))
        self.s: Block = s / xp.linalg.norm(s)
        self.x: Block | None = None
        self.open = True
        self._left = [1.0]
        self._steps: list[float] = []
        self._wanted = _MISSED / np.sqrt(n)

    def note(self, alpha: float, gamma: float) -> None:
        """Note the length of a step, and the square of that of what it left of s."""
        self._steps.append(alpha)
        self._left.append(gamma)
        # 1 / alpha is a Rayleigh quotient of N at least.
        if not (np.isfinite(gamma) and 0 < alpha * _LOST < 1) or self.left <= 1:
            self.open = False

    @property
    def left(self) -> float:
        """The error of s that is left, over the largest allowed."""
        return float(np.sqrt(self._left[-1])) / self._wanted

    @property
    def is_lost(self) -> bool:
        """True if float64 cannot distinguish the smallest singular value from 0."""
        return not self.open and not self.least

    @property
    def least(self) -> float:
        """The least singular value; 0 if it is not found, or float64 cannot tell it from 0."""
        return 0.0 if self.open else self._ends[0]

    @property
    def most(self) -> float:
        """The largest one, from below."""
        return self._ends[1]

    @cached_property
    def _ends(self) -> tuple[float, float]:
        if not self.left <= 1:
            return 0.0, 0.0
        alpha, gamma = np.array(self._steps), np.array(self._left)
        beta = gamma[1:] / gamma[:-1]
        diagonal = 1 / alpha
        diagonal[1:] += beta[:-1] / alpha[:-1]
        off_diagonal = np.sqrt(beta[:-1]) / alpha[:-1]
        found = np.linalg.eigvalsh(
            np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
        )
        least = float(found[0]) if found[0] > _LOST else 0.0
        return least**0.5, float(found[-1]) ** 0.5

    @property
    def image(self) -> float:
        """The length of ``A x``, where x solves ``N M x = s``: the root of ``s^T y``."""
        return float(np.sqrt(np.dot(self._steps, self._left[:-1])))
