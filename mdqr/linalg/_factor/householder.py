"""Blocked Householder factorisation over the backend: compact WY, recursive panels.

Everything here works on raw blocks. The reflectors of one tile are ``I - V T V^H`` with unit
lower trapezoidal V (C. Bischof and C. Van Loan 1987; R. Schreiber and C. Van Loan 1989); a tile
is factored by halves (E. Elmroth and F. Gustavson 2000), so that all but the leaves are products.
Vectors have ``v[0] = 1`` before T or any product is formed, which keeps the factorisation
columnwise stable under products with normwise errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mdqr._backend.blocks import broadcast_shapes, from_native, reflect, reflections, to_native
from mdqr._backend.protocol import Backend, PanelOut, Reflectors
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._shared import tuning


@dataclass
class Factors:
    """A factorisation with implicit Q.

    `h` is in LAPACK's storage: R on and above the diagonal, the vectors below it. `vs` has the unit
    lower trapezoidal V and `ts` the triangular T of each tile; both are empty if Q is not
    requested, and where one limb has `library` instead.
    """

    backend: Backend
    kind: Kind
    h: Block
    tau: Block
    vs: list[Block] = field(default_factory=list)
    ts: list[Block] = field(default_factory=list)
    unit = True
    library: Reflectors | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.h.shape[-2])

    @property
    def count(self) -> int:
        """Number of reflectors, ``min(m, n)``."""
        return int(self.tau.shape[-1])

    def adjoint_multiply(self, a: Block, b: Block) -> Block:
        """Return ``a^H b``."""
        return self.backend.matmul(a.swapaxes(-1, -2), b, conj_a=True, kind=self.kind)

    def reflect(self, v: Block, t: Block, x: Block, *, adjoint: bool, unit: int = 0) -> None:
        """Replace `x` by ``(I - V T V^H) x``, or by ``(I - V T^H V^H) x`` if `adjoint`."""
        options: dict[str, Any] = {"adjoint": adjoint, "unit": unit, "kind": self.kind}
        if self._goes_through_residues(v, int(x.shape[-1])):
            reflect(partial(exact.matmul, self.backend), v, t, x, **options)
        else:
            self.backend.reflect(v, t, x, **options)

    def _goes_through_residues(self, v: Block, columns: int) -> bool:
        """Return whether products of a tile with so many columns go through residues."""
        rows, width = (int(length) for length in v.shape[-2:])
        return tuning.is_wide_tile(self.backend, self.kind, width, rows, columns)

    def apply_qh(self, x: Block) -> Block:
        """Return ``Q^H x`` for `x` with all rows."""
        return self._apply(x, adjoint=True)

    def apply_q(self, x: Block) -> Block:
        """Return ``Q x`` for `x` with all rows."""
        return self._apply(x, adjoint=False)

    def _apply(self, x: Block, *, adjoint: bool) -> Block:
        y = self.work_copy(x)
        if self.library is not None:
            xp = self.backend.xp
            found = self.library.apply(to_native(xp, y, self.kind.is_complex), adjoint=adjoint)
            return from_native(xp, found, self.kind.is_complex)
        if self.vs and self._goes_through_residues(self.vs[0], int(y.shape[-1])):
            for v, t in reflections(self.vs, self.ts, adjoint=adjoint):
                self.reflect(v, t, y[..., self.rows - v.shape[-2] :, :], adjoint=adjoint)
        else:
            self.backend.reflect_all(self.vs, self.ts, y, adjoint=adjoint, kind=self.kind)
        return y

    def work_copy(self, x: Block) -> Block:
        """Return a copy of `x` with all limbs and the batch of the factorisation."""
        front = self.kind.lead
        batch = broadcast_shapes(self.h.shape[front:-2], x.shape[front:-2])
        y = self.kind.zeros(self.backend.xp, (*batch, *x.shape[-2:]))
        held = y[:, : x.shape[1]] if self.kind.is_complex else y[: len(x)]
        held[...] = planes.broadcast(x, self.kind.is_complex, y.shape[front:])
        return y

    def form_q(self, columns: int) -> Block:
        """Return the first `columns` columns of Q, at least as many as the reflectors.

        Tiles are applied from the last to the first, each to the part that is not yet trivial.
        """
        if self.library is not None:
            return from_native(self.backend.xp, self.library.form(columns), self.kind.is_complex)
        shape = self.h.shape[self.kind.lead : -1]
        q = self.kind.identity(self.backend.xp, (*shape, columns))
        for v, t in reflections(self.vs, self.ts, adjoint=False):
            start = self.rows - v.shape[-2]
            self.reflect(v, t, q[..., start:, start:], adjoint=False, unit=v.shape[-1])
        return q

    def form_r(self, rows: int) -> Block:
        """Return the first `rows` rows of R, with zeros below the diagonal."""
        return self.backend.xp.triu(self.h[..., :rows, :])


def factor(
    backend: Backend,
    work: Block,
    *,
    kind: Kind,
    tile: int | None = None,
    keep_q: bool = True,
    report: Reporter | None = None,
) -> Factors:
    """Factor the matrices ``(..., m, n)`` in `work`, which is overwritten.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    work : Block
        Matrices with columns scaled near 1; it becomes `Factors.h`.
    kind : Kind
        That of `work`.
    tile : int, optional
        Number of columns of a tile; by default from the static table.
    keep_q : bool, optional
        Whether Q will be wanted: keep V and T of each tile.
    report : callable, optional
        Called as ``report("factor", done, total)`` after each tile.

    Returns
    -------
    Factors
        The factorisation.
    """
    limbs = kind.limbs
    m, n = work.shape[-2:]
    count = min(m, n)
    tau = backend.xp.zeros((*work.shape[:-2], count))
    factors = Factors(backend, kind, work, tau)
    if limbs == 1 and count:
        _factor_by_lapack(factors)
    leaf = tuning.leaf_width(backend, limbs)
    start = 0
    while start < count:
        width = tile or tuning.tile_width(backend, kind, count, m - start, n - start)
        stop = min(start + width, count)
        wanted = keep_q and factors.library is None
        if wanted or limbs > 1:
            columns = slice(start, stop)
            v, t = (
                _forward_tile(factors, columns)
                if limbs == 1
                else factor_tile(factors, columns, leaf)
            )
        if wanted:
            factors.vs.append(v)
            factors.ts.append(t)
        if report is not None:
            report("factor", stop, count)
        start = stop
    return factors


def factor_tile(factors: Factors, columns: slice, leaf: int) -> tuple[Block, Block]:
    """Factor one tile and apply its reflectors to all columns behind it; return V and T."""
    rows = factors.h[..., columns.start :, :]
    panel = rows[..., columns]
    width = panel.shape[-1]
    new = factors.backend.xp.empty if width <= leaf else factors.backend.xp.zeros
    v, t = new(panel.shape), new((*panel.shape[:-2], width, width))
    _factor_columns(factors, PanelOut(panel, factors.tau[..., columns], v, t), leaf)
    if columns.stop < rows.shape[-1]:
        factors.reflect(v, t, rows[..., columns.stop :], adjoint=True)
    return v, t


def _factor_columns(factors: Factors, panel: PanelOut, leaf: int) -> None:
    """Factor the columns ``panel.h`` by halves; V and T are zero where halves do not meet.

    The T of both halves merge by ``T12 = -T1 (V1^H V2) T2``.
    """
    h, tau, v, t = panel
    width = h.shape[-1]
    if width <= leaf:
        factors.backend.qr_panel(h, kind=factors.kind, out=panel)
        return
    half = leaf * ((width + 2 * leaf - 1) // (2 * leaf))
    v1, t1 = v[..., :half], t[..., :half, :half]
    _factor_columns(factors, PanelOut(h[..., :half], tau[..., :half], v1, t1), leaf)
    factors.reflect(v1, t1, h[..., half:], adjoint=True)
    below = slice(half, None)
    v2, t2 = v[..., below, half:], t[..., below, half:]
    _factor_columns(factors, PanelOut(h[..., below, half:], tau[..., half:], v2, t2), leaf)
    cross = factors.adjoint_multiply(v1[..., below, :], v2)
    matmul, kind = factors.backend.matmul, factors.kind
    matmul(matmul(t1, cross, kind=kind), t2, subtract=True, out=t[..., :half, half:], kind=kind)


def _factor_by_lapack(factors: Factors) -> None:
    """Fill `h` and `tau` of one limb by LAPACK, and `library` where the device has one."""
    backend, xp, field = factors.backend, factors.backend.xp, factors.kind.is_complex
    raw, tau = xp.linalg.qr(to_native(xp, factors.h, field), mode="raw")
    factors.h[...] = from_native(xp, raw.swapaxes(-1, -2), field)
    factors.tau[...] = from_native(xp, tau, field)
    factors.library = backend.reflectors(raw, tau)


def _forward_tile(factors: Factors, columns: slice) -> tuple[Block, Block]:
    """Return V and T of one tile of one limb: ``(I + D U) T = D``.

    D holds tau, and U is the part of ``V^H V`` above the diagonal.
    """
    xp, field = factors.backend.xp, factors.kind.is_complex
    v = xp.tril(factors.h[..., columns.start :, columns], -1)
    planes.set_unit_diagonal(v, field)
    gram = to_native(xp, factors.adjoint_multiply(v, v), field)
    tau = to_native(xp, factors.tau[..., columns], field)[..., :, None]
    one = xp.eye(v.shape[-1])
    return v, from_native(xp, xp.linalg.solve(tau * xp.triu(gram, 1) + one, tau * one), field)
