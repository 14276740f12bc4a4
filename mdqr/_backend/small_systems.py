"""The kernel calls for many small systems, which a backend may have."""

from __future__ import annotations

from typing import NamedTuple, Protocol, cast

from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Block, Kind

# The largest systems that the calls are for.
MOST_ROWS = 256
MOST_COLUMNS = 64
MOST_LIMBS = 16  # of which `most_digits` of kernels/include/mdqr/small/words.hpp holds a solution

# Why the status of a system is not 0, see kernels/include/mdqr/small/system.hpp.
REASONS = (
    "served",
    "not finite",
    "singular",
    "too ill-conditioned for float64",
    "no convergence",
    "a component is not proven",
    "beyond the range of doubles",
)


class SmallSolution(NamedTuple):
    """Solutions of small systems; what is not served (`status`) is NaN."""

    x: Block  # (..., n, k): a wider approximation, rounded once
    error: Block  # (..., n, k): proven bounds of the absolute errors of x
    condition: Block  # (...): estimates of the 2-norm condition of the scaled matrices
    steps: Block  # (...): int64, steps of refinement, the most of all columns
    status: Block  # (...): int64, an index of `REASONS`
    # (..., m, k): b - a x for the exact x, right to eps of its length; None for solve.
    residual: Block | None


class SmallSystems(Protocol):
    """A backend with kernels for small systems, at most `MOST_ROWS` x `MOST_COLUMNS`.

    Square ones may have up to `small_unknowns` unknowns.

    Leading dimensions of `a` and `b` broadcast, their limbs may be fewer than those of `kind`,
    that of the results, and no axis is empty. Every component of a served `x` is shown to be right
    to little more than half a unit of its last limb: ``2**-8 eps`` more, of the larger part if
    complex. All backends find the same limbs, bounds and status.
    """

    def small_unknowns(self, columns: int, *, kind: Kind) -> int:
        """Return the most unknowns of square systems with so many right-hand sides for a call."""
        ...

    def solve_small(self, a: Block, b: Block, *, kind: Kind) -> SmallSolution:
        """Solve ``a x = b`` for `a` ``(..., n, n)`` and `b` ``(..., n, k)``."""
        ...

    def lstsq_small(self, a: Block, b: Block, *, kind: Kind) -> SmallSolution:
        """Minimise ``|b - a x|`` for `a` ``(..., m, n)`` of rank n and `b` ``(..., m, k)``."""
        ...


def small_systems(backend: Backend) -> SmallSystems | None:
    """Return the backend if it has kernels for small systems."""
    return cast(SmallSystems, backend) if hasattr(backend, "solve_small") else None
