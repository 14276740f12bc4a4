"""Shortest solutions of systems with fewer rows than columns, with proven bounds.

``x = A^H y`` with ``A A^H y = b``: y is refined by ``y += X X^H (b - A A^H y)`` with an approximate
inverse X of R, ``A^H = Q R``, in float64, or by substitution with R in working precision
(corrected seminormal equations, A. Bjorck 1987). Once y has all limbs, ``A^H y`` and ``b - A x``
are evaluated as if in twice as many, and what is missing of y is found from them in the same way.
x is rounded once: it has all digits, where y alone would leave as many missing as the condition.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mdqr._backend.blocks import native_abs
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block
from mdqr.linalg._inverse.rounds import approximate_inverse
from mdqr.linalg._shared.operands import precision_for, square_of
from mdqr.linalg._solve.answer import Answer, Part
from mdqr.linalg._solve.householder.augmented import Solution
from mdqr.linalg._solve.householder.componentwise import lowest_bits, of_products
from mdqr.linalg._solve.problem import SMALL, Conditioned, Problem
from mdqr.linalg._solve.system import Scaled
from mdqr.linalg._solve.wide import Basis, Wide

_LEVELS = (2, 4)
_MOST_STEPS, _MOST_ROUNDS = 100, 6
# Nothing here is below, and the exponent of what a limb may lose.
_LEAST, _LOST = 2.0**-1000, -1074
# The exponent of the largest unknowns y.
_HIGHEST = 900
# The rest should be so much smaller than eps, so that x is nearly always rounded correctly.
_WANTED = 2.0**-30
# Of exact y so many bits at the end are zeros.
_SPARE = 16
# A step or a bound that is not smaller by this factor changes rounding errors.
_PROGRESS = 0.5


class _MinimumNorm(Answer):
    """The shortest solutions of a system, and what is known of their errors.

    Parameters
    ----------
    problem : Problem
        The problem, of a `Wide` system.
    basis : Basis
        What refines, and bounds errors.
    method : str
        As `LstsqInfo` has it.
    condition : numpy.ndarray
        That of each matrix.
    rank : numpy.ndarray, optional
        The ranks.
    """

    def __init__(
        self,
        problem: Problem,
        basis: Basis,
        method: str,
        condition: np.ndarray,
        rank: np.ndarray | None = None,
    ) -> None:
        self.method = method
        system, given = problem.system, problem.given
        assert isinstance(system, Wide)
        # It is asked for later, and the operands may be changed before.
        self._given = given.copy()
        c, powers = system.backend.balance_columns(
            given, system.tall.powers, is_complex=system.kind.is_complex
        )
        if problem.is_empty:
            solution, error = _of_nothing(system, c)
        else:
            c, powers = _in_range(basis, condition, c, powers)
            solution, error = _Refinement(system, basis, given, c, powers).solved()
        part = Part(given, c, powers, solution, error)
        super().__init__(system, [part], problem.inputs, condition, rank)

    def settle_range(self) -> None:
        """Look closely at components near the ends of the range; LinAlgError beyond the largest."""
        if not self.promised:
            self._unknowns, self.kept = self._settled(in_range=True)

    @property
    def b(self) -> Scaled:
        """The right-hand sides in the rows of the weights, the largest of each column near 1."""
        system = self.system
        near, own = system.backend.balance_columns(
            self._given, system.rows, is_complex=system.kind.is_complex
        )
        return Scaled(near, -own)

    @property
    def r(self) -> Scaled:
        """The residual of rounding x, as `b`."""
        system, field = self.system, self.system.kind.is_complex
        assert isinstance(system, Wide)
        (part,) = self._parts
        x = system.lowered(part.solution.x)
        r = system.backend.residual([(1, part.b)], system.a, x, kind=system.kind)
        rows = -system.tall.powers if system.rows is None else system.rows - system.tall.powers
        near, own = system.backend.balance_columns(r, rows, is_complex=field)
        return Scaled(near, -own - part.powers)


@np.errstate(all="ignore")
def solve(problem: Problem) -> Answer | None:
    """Solve by an approximate inverse in float64; None unless all have all digits."""
    system = problem.system
    assert isinstance(system, Wide)
    made = approximate_inverse(
        system.backend, system.tall.a, system.checks, kind=system.kind, most=1
    )
    if made is None or not made[1].all():
        return None
    inverse = made[0]
    if not (inverse.condition * problem.limit < SMALL).all():
        return None
    system.tell("factor", system.tall.columns, system.tall.columns)
    system.tell("condition", 1, 1)
    basis = Basis.of_inverse(system, inverse)
    found = _MinimumNorm(problem, basis, "refine", inverse.condition)
    return found if found.promised else None


@np.errstate(all="ignore")
def solve_factored(problem: Problem, conditioned: Conditioned) -> Answer:
    """Solve by the factors of the work; a component beyond the largest double is an error."""
    assert isinstance(problem.system, Wide)
    basis = Basis.of_factors(problem.system)
    found = _MinimumNorm(problem, basis, "householder", *conditioned[1:])
    found.settle_range()
    return found


def _of_nothing(system: Wide, c: Block) -> tuple[Solution, Block]:
    """Return the solution without equations or right-hand sides: zeros."""
    shape = planes.value_shape(c, system.kind.is_complex)
    x = system.kind.zeros(system.backend.xp, (*shape[:-2], system.columns, shape[-1]))
    size = system.size(x)
    return Solution(x, c, c, [scaling.largest(size, -2, 0.0)]), size


def _in_range(basis: Basis, condition: np.ndarray, c: Block, powers: Block) -> tuple[Block, Block]:
    """Return c and its powers of two, columns divided by powers of two so that y is in range.

    ``y = X X^H c`` grows with the square of the condition, which more than 9 limbs have room for,
    and doubles have not.
    """
    if (condition < 2.0 ** (_HIGHEST // 2)).all():
        return c, powers
    xp, is_complex = basis.system.backend.xp, basis.system.kind.is_complex
    lengths = scaling.norms(basis.x, (-2, -1))[..., None], basis.image(c).max(axis=-2)
    excess = sum(xp.frexp(length)[1] for length in lengths) - _HIGHEST
    shift = -xp.where(excess > 0, excess, 0)
    lowered = basis.system.backend.ldexp(c, shift[..., None, :], is_complex=is_complex)
    return lowered, powers + shift


class _Evaluated(NamedTuple):
    """Approximations y, and v of x, and what they leave.

    `w` is ``A^H y - v`` and `s` is ``c - A v``, as if in twice the limbs and rounded once.
    """

    y: Block
    v: Block
    w: Block
    s: Block


class _Correction(NamedTuple):
    """The corrections of y, in so many limbs, and of x beyond v, and the rest of c."""

    low: Block
    h: Block
    rest: Block
    limbs: int


class _Level:
    """Corrections of y in so many limbs, from the residuals ``A^H y - v`` and ``c - A v``."""

    def __init__(self, system: Wide, w: Block | None, s: Block, limbs: int) -> None:
        self.kind, self.system = system.kind._replace(limbs=limbs), system
        field, first = system.kind.is_complex, planes.first_limbs
        self.a, self.s = first(system.a, field, limbs), first(s, field, limbs)
        self.adjoint = self.a.swapaxes(-1, -2)
        self.w = None if w is None else first(w, field, limbs)

    def rest(self, h: Block | None) -> Block:
        """Return the residual ``c - A (v + h)``."""
        if h is None:
            return self.s
        system, kind = self.system, self.kind
        low = system.backend.ldexp(h, system.squared, is_complex=kind.is_complex)
        return system.backend.matmul(self.a, low, c=self.s, subtract=True, kind=kind)

    def taken(self, before: Block | None, step: Block) -> _Correction:
        """Return the correction of y by the one before and a step."""
        backend, kind = self.system.backend, self.kind
        low = step if before is None else backend.binary("add", before, step, kind=kind)
        h = backend.matmul(self.adjoint, low, conj_a=True, c=self.w, kind=kind)
        return _Correction(low, h, self.rest(h), kind.limbs)


class _Reached(NamedTuple):
    """y, x and what its last rounding cut off, the bound of errors, and whether it is as wanted."""

    y: Block
    x: Block
    low: Block
    error: Block
    done: bool


@dataclass
class _Refinement:
    """A problem, not empty: c is `given` in the rows of the system, its columns near 1."""

    system: Wide
    basis: Basis
    given: Block
    c: Block
    powers: Block
    sizes: list[Block] = field(default_factory=list)

    def solved(self) -> tuple[Solution, Block]:
        """Return the solution in the units of the system, and a bound of its errors.

        That is one of the distance before the last rounding, float64 ``(..., n, k)``.
        """
        system, limbs = self.system, self.system.kind.limbs
        first: tuple[int, ...] = (limbs,)
        if self.basis.limbs == 1:
            first = (*(k for k in _LEVELS if k < limbs), max(limbs, 2))
        found = self._corrected(None, self.c, first, 53.0 * first[-1])
        y = system.rounded(found.low)
        reached = self._refined(y, 2 if self.basis.limbs == 1 else _next(limbs))
        x, low, error, y = reached.x, reached.low, reached.error, reached.y
        if not reached.done:
            exact, v = self._exact(system.rounded(y))
            x = system.backend.xp.where(exact, v, x)
            low, error = (system.backend.xp.where(exact, 0.0, each) for each in (low, error))
            x, low, error = self._extended(y, x, low, error)
        return Solution(x, y, y, self.sizes, low), error

    def _refined(self, y: Block, later: int) -> _Reached:
        """Correct y and what it leaves, in `later` limbs, until x is right or nothing changes."""
        system, limbs = self.system, self.system.kind.limbs
        wanted, x, before = _WANTED * precision_for(self.basis.system.kind.limbs).eps, None, None
        for more in reversed(range(_MOST_ROUNDS)):
            at = self._evaluated(y, x)
            found = self._corrected(at.w, at.s, (later,), 53.0 * limbs - np.log2(_WANTED))
            (x, low), error = system.add_rounded(at.v, found.h), self._bound(at, found)
            done = (error <= wanted * system.size(x)).all()
            idle = done if before is None else done | ~(error < _PROGRESS * before).any()
            done, idle = system.checks.settle(done, idle)
            if idle or not more:
                break
            y, before = system.rounded(y, found.low), error
        return _Reached(system.rounded(y, found.low), x, low, error, bool(done))

    def _extended(self, y: Block, x: Block, low: Block, error: Block) -> tuple[Block, Block, Block]:
        """Find components that are still short in the next precision, by the same factors."""
        system, xp = self.system, self.system.backend.xp
        limbs = _next(system.kind.limbs)
        short = error > _WANTED * precision_for(system.kind.limbs).eps * system.size(x)
        (some,) = system.checks.settle((short & (error < xp.inf)).any())
        if limbs == system.kind.limbs or not some:
            return x, low, error
        wide = replace(system, kind=system.kind._replace(limbs=limbs))
        y = planes.widen(y, system.kind.is_complex, limbs)
        found = replace(self, system=wide)._refined(y, _next(limbs))
        better = system.add_rounded(found.x, found.low)
        use = found.error < error
        x, low = (xp.where(use, new, old) for new, old in zip(better, (x, low), strict=True))
        return x, low, xp.where(use, found.error, error)

    def _corrected(
        self, w: Block | None, s: Block, levels: tuple[int, ...], bits: float
    ) -> _Correction:
        """Find what is missing of y until the next step would be below ``2**-bits`` of x.

        Residuals need as many limbs as hold the digits of x, and one for the next step and what
        the condition takes.
        """
        system, xp = self.system, self.system.backend.xp
        level, later = _Level(system, w, s, levels[0]), list(levels[1:])
        rest, found = level.rest(level.w), None
        (rate,) = system.checks.settle(self.basis.rate.max())
        gain, known = -np.log2(min(float(rate), _PROGRESS)), 0.0
        for _ in range(_MOST_STEPS):
            step, image = self.basis.step(rest)
            size = image.max(axis=-2)
            self.sizes.append(size)
            share = xp.where(size > 0.0, size / self.sizes[0], 0.0).max()
            (share,) = system.checks.settle(share)
            system.tell("refine", len(self.sizes) - 1, None)
            limbs, before = level.kind.limbs, known
            known = -np.log2(float(share))
            if found is not None:
                gain = known - before
                if not gain >= -np.log2(_PROGRESS):
                    if not later:
                        break
                    limbs = later.pop(0)
            while later and 53 * limbs < known + 53:
                limbs = later.pop(0)
            if limbs > level.kind.limbs:
                level = _Level(system, w, s, limbs)
            found = level.taken(None if found is None else found.low, step)
            if known + gain >= bits and not later:
                break
            rest = found.rest
        assert found is not None
        return found

    def _evaluated(self, y: Block, v: Block | None = None) -> _Evaluated:
        """Return what y and v leave; v is ``A^H y`` by default."""
        system, kind = self.system, self.system.kind
        turned = system.a.swapaxes(-1, -2)
        v = system.backend.matmul(turned, y, conj_a=True, kind=kind) if v is None else v
        w = system.backend.residual([(1, v)], turned, y, conj_a=True, kind=kind)
        s = system.backend.residual([(1, self.c)], system.a, system.lowered(v), kind=kind)
        return _Evaluated(y, v, planes.negate(w, kind.is_complex), s)

    def _bound(self, at: _Evaluated, found: _Correction) -> Block:
        """Bound the errors of ``v + h``."""
        system, xp, a = self.system, self.system.backend.xp, self.basis.a
        turned, squared = a.swapaxes(-1, -2), system.squared
        eps, own = precision_for(system.kind.limbs).eps, precision_for(found.limbs).eps
        blocks = (self.c, *at, found.low, found.h)
        c, y, v, w, s, low, h = map(native_abs, blocks, [system.kind.is_complex] * len(blocks))
        lowered = xp.ldexp(v, squared)
        f = square_of(eps) * (a @ lowered + c) + own * (a @ xp.ldexp(h, squared) + s)
        f = own * system.size(found.rest) + eps * s + self._summed(f, lowered, -1)
        g = square_of(eps) * (turned @ y + v) + own * (turned @ low + w)
        g = eps * w + self._summed(g, y, -2)
        # Columns of zeros have unknowns that are zero, and zeros are solved by zeros.
        g = xp.where((a > 0.0).any(axis=-2)[..., :, None], g, 0.0)
        held = scaling.largest(c, -2, 0.0, keepdims=True) > 0.0
        return xp.where(held, self.basis.bound(found.rest, f, g), 0.0)

    def _summed(self, error: Block, size: Block, axis: int) -> Block:
        """Return the errors of sums: as many terms as the axis has, and underflow in each."""
        factor = (self.system.a.shape[axis] + 12) * (2 if self.system.kind.is_complex else 1)
        return factor * (error + _LEAST * (1.0 + scaling.largest(size, -2, 0.0, keepdims=True)))

    def _exact(self, y: Block) -> tuple[Block, Block]:
        """Return in which columns y and v are shown to be exact, and v.

        Sums of multiples of a power of two that are smaller than that are zero.
        """
        system, xp, is_complex = self.system, self.system.backend.xp, self.system.kind.is_complex
        a, eps = self.basis.a, precision_for(system.kind.limbs).eps
        # Limbs that short numbers have not.
        least = 2.0**_SPARE * eps * scaling.leading(y, is_complex)
        at = self._evaluated(xp.where(abs(y) < least, 0.0, y))
        v, squared = system.size(at.v), system.squared
        low_a, low_c, low_y, low_v = (
            lowest_bits(block, is_complex) for block in (system.a, self.c, at.y, at.v)
        )
        lowered = xp.ldexp(v, squared)
        f = self._summed(square_of(eps) * (a @ lowered + system.size(self.c)), lowered, -1)
        turned, y_size = a.swapaxes(-1, -2), system.size(at.y)
        g = self._summed(square_of(eps) * (turned @ y_size + v), y_size, -2)
        units = xp.minimum(of_products(low_a, low_v + squared), low_c)
        exact = _is_zero(system.size(at.s), f, units)
        units = xp.minimum(of_products(low_a.swapaxes(-1, -2), low_y), low_v)
        exact &= _is_zero(system.size(at.w), g, units)
        # What was scaled, and is.
        exact &= (low_v + squared >= _LOST).all(axis=-2, keepdims=True) & self._lossless()
        return exact, at.v

    def _lossless(self) -> Block:
        """Return whether no limb fell below the smallest double when A and b were scaled."""
        system, is_complex = self.system, self.system.kind.is_complex
        rows = system.tall.powers[..., :, None]
        pairs = (
            (system.a, system.given, rows - system.powers[..., None, :]),
            (self.c, self.given, rows + self.powers[..., None, :]),
        )
        back = [
            (system.backend.ldexp(scaled, -shift, is_complex=is_complex) == given).all()
            for scaled, given, shift in pairs
        ]
        return back[0] & back[1]


def _next(limbs: int) -> int:
    """Return the limbs of the next precision, or those of the highest."""
    return precision_for(limbs).next.limbs


def _is_zero(found: Block, error: Block, units: Block) -> Block:
    """Return for each column whether what was found as 0 is, a multiple of ``2**units``."""
    xp = planes.namespace(found)
    least = xp.ldexp(xp.ones(units.shape), xp.minimum(units, 1000))
    return ((found == 0.0) & (error < least)).all(axis=-2, keepdims=True)
