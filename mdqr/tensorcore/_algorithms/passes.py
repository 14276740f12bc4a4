"""Factoring a matrix, and its Q again until that is orthonormal to the accuracy of float32."""

from __future__ import annotations

from functools import partial
from math import log10, sqrt
from typing import Any, NoReturn

import numpy as np

from mdqr._backend.float_panels import CUTOFF
from mdqr._errors import warn_of_precision
from mdqr._limbs.planes import Block
from mdqr.tensorcore._algorithms.correction import CLOSE, correct, departure_of, rms_limit
from mdqr.tensorcore._algorithms.recursive import gram_schmidt, panel_of
from mdqr.tensorcore._algorithms.reflections import PanelBreakdown, householder
from mdqr.tensorcore._algorithms.triangles import triangular_product
from mdqr.tensorcore._engine.protocol import PROBES, Engine
from mdqr.tensorcore._plan import Plan

# "Twice is enough" (L. Giraud, J. Langou, M. Rozloznik 2005) for a first Q that is far from
# singular; more where columns of it were lost or nearly depend on others.
_MOST_PASSES = 5
# After so many that did not reach it, by reflections: they are orthogonal whatever Q is.
_DIRECT_PASSES = 3
# What is left of a column of norm 1 that depends on others are rounding errors, some 2^-20:
# often along the column itself, so that another pass would find the same again.
_FLOOR = -32


class Passes:
    """The factorisations of one matrix.

    Attributes
    ----------
    made : int
        How many, corrections included.
    replaced : int
        Columns that left nothing, and were replaced by directions orthogonal to the others.
    departure : float
        Estimate of the Frobenius norm of ``Q.T @ Q - I`` after the last of several passes.
    """

    def __init__(self, engine: Engine, plan: Plan, q: Block, r: Block | None) -> None:
        self._engine, self._plan = engine, plan
        self._q, self._r = q, r
        self.made, self.departure = 0, 0.0
        self._gone: set[int] = set()

    @property
    def replaced(self) -> int:
        """The number of columns that were replaced."""
        return len(self._gone)

    @property
    def limit(self) -> float:
        """The value of `departure` if Q has the accuracy of float32."""
        n = self._q.shape[1]
        return rms_limit(n) * sqrt(n)

    @property
    def reached(self) -> bool:
        """True if Q has it."""
        return self.departure <= self.limit

    def first(self) -> None:
        """Factor once."""
        if self._r is not None and self._q.shape[1]:
            self._as_planned(self._r)
        self.made = 1

    def _as_planned(self, r: Block) -> None:
        engine, plan = self._engine, self._plan
        if plan.method == "householder":
            householder(engine, self._q, r, plan.form, plan.panel)
        else:
            gram_schmidt(engine, self._q, r, plan.form, panel_of(engine, plan.panel))

    def repeat(self) -> None:
        """Factor until Q is orthonormal to the accuracy of float32.

        A Q that nearly is gets there by products. Others are factored again, with panels of
        float64 sums.
        """
        self._factor()
        while self.made < _MOST_PASSES:
            if not self._correct() and self._factor():
                continue
            self.departure = departure(self._engine, self._q)
            if self.reached:
                break

    def _factor(self) -> int:
        """Factor Q, and return how many of its columns random ones took the place of."""
        engine, plan, (_, k) = self._engine, self._plan, self._q.shape
        first = self.made == 0
        r = engine.matrix(k, k, zero=True)
        reflected = self.made >= _DIRECT_PASSES
        if k and first:
            self._as_planned(r)
        elif k and reflected:
            householder(engine, self._q, r, plan.fine, "geqrf")
        elif k:
            panel = partial(engine.cholesky, floor=_FLOOR)
            gram_schmidt(engine, self._q, r, plan.fine, panel)
        self._put(r)
        self.made += 1
        zero = finish(engine, plan, r, r)
        if not zero:
            return 0
        (places,) = engine.xp.nonzero(engine.xp.diagonal(r) == 0)
        self._gone.update(places.tolist())
        # A zero on the diagonal of R leaves no zero in a Q by Householder reflections: it stays.
        if reflected or (first and (plan.panel == "geqrf" or plan.method == "householder")):
            return 0
        self._replace(places)
        return zero

    def _correct(self) -> bool:
        """Correct Q if it is close enough, and say so; one panel is rather factored."""
        engine, (_, k) = self._engine, self._q.shape
        if k <= CUTOFF:
            return False
        found = departure_of(engine, self._q, self._plan.fine)
        if not found.size <= CLOSE:
            return False
        correct(engine, found, self._q, self._r, self._plan.form)
        self.made += 1
        return True

    def _put(self, r: Block) -> None:
        """Multiply what there is of R by that of the last pass."""
        if self._r is not None:
            fine, first = self._plan.fine, self.made == 0
            self._r[...] = r if first else triangular_product(self._engine, r, self._r, fine)

    def _replace(self, places: Block) -> None:
        """Put vectors of random signs where columns of Q are zero; their rows of R are zero."""
        xp, q = self._engine.xp, self._q
        shape = len(q), len(places)
        signs = np.random.default_rng(self.made).integers(0, 2, shape, dtype=np.int8)
        length = np.float32(1 / sqrt(len(q)))
        q[:, places] = xp.asarray(np.where(signs, length, -length))

    def warn(self) -> None:
        """Warn if the accuracy of float32 was not reached."""
        if not self.reached:
            warn_of_precision(
                f"tensorcore.{self._plan.call}",
                f"norm(Q.T @ Q - I) is about {self.departure:.1e} after "
                f"{self.made} passes, where float32 can hold {self.limit:.1e}; "
                "use mdqr.linalg.qr",
                digits=max(-log10(self.departure), 0.0),
            )


def finish(engine: Engine, plan: Plan, r: Block, big: Block) -> int:
    """Synchronize, raise if something is not finite, and return the zeros on the diagonal.

    `big` is `r` with the scales of the columns undone.

    Raises
    ------
    PanelBreakdown
        If Q R of some panel may not be its columns.
    """
    xp = engine.xp
    zero = (xp.diagonal(r) == 0).sum()
    report, (zero, finite) = engine.report(zero, xp.isfinite(big).all())
    if report.not_finite:
        raise np.linalg.LinAlgError(f"{plan.call}: a has entries that are not finite")
    if report.lossy:
        raise PanelBreakdown
    if not finite:
        _raise_overflow(plan, bool(xp.isfinite(r).all()), big.dtype)
    return int(zero)


def rescaled(engine: Engine, plan: Plan, r: Block, exponents: Block, dtype: Any) -> Block:
    """Return `r` in a type, the scales of its columns undone."""
    big = r if dtype == np.float32 else r.astype(np.float64, order="F")
    if not plan.scale:
        return big
    return engine.xp.ldexp(big, exponents.astype(np.int32))


def _raise_overflow(plan: Plan, scaled_is_finite: bool, dtype: Any) -> NoReturn:
    if scaled_is_finite:
        raise np.linalg.LinAlgError(
            f"{plan.call}: R does not fit {dtype}; divide a by a power of two"
            + (", or give it as float64" if dtype == np.float32 else "")
        )
    raise np.linalg.LinAlgError(
        f'{plan.call}: a product overflowed in compute="{plan.compute}"'
        + ("" if plan.scale else "; use scale=True")
    )


def departure(engine: Engine, q: Block) -> float:
    """Return an estimate of the Frobenius norm of ``q.T @ q - I``, products in float64."""
    _, (found,) = engine.report(engine.departures(q).sum())
    return sqrt(float(found) / PROBES)
