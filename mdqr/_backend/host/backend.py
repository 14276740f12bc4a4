"""The kernel calls of `protocol.py` on the CPU: NumPy blocks handed to `_mdqr_host`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdqr._backend.blocks import (
    batched,
    broadcast_shapes,
    fill_with_identity,
    float_matmul,
    matrix_shape,
    real_abs,
    reflections,
)
from mdqr._backend.host import powers
from mdqr._backend.host import window as host_window
from mdqr._backend.protocol import Balanced, PanelOut, SmallSolution
from mdqr._backend.sources import check_digests, kernels_folder
from mdqr._limbs.kind import Kind
from mdqr._limbs.planes import broadcast, negate, value_shape

Block = NDArray[np.float64]

_TRIANGULAR_TILE = 32


@cache
def extension() -> ModuleType:
    """Return the compiled module, or raise ImportError with the way out."""
    try:
        import _mdqr_host
    except ModuleNotFoundError as error:
        raise ImportError(
            "arithmetic on CPU arrays needs the compiled extension _mdqr_host; "
            "run `pip install .` in the source tree, or install mdqr from a wheel"
        ) from error
    check_digests(_mdqr_host.digests, kernels_folder())
    return _mdqr_host


@cache
def backend() -> HostBackend:
    """Return the only instance."""
    extension()
    return HostBackend()


class HostBackend:
    """The CPU; see `mdqr._backend.protocol.Backend` for what each call computes."""

    name = "cpu"
    xp: ModuleType = np

    def __init__(self) -> None:
        import _mdqr_host

        self._kernels = _mdqr_host

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are the only instance."""
        return backend, ()

    def unary(self, op: str, x: Block, *, kind: Kind, out: Block | None = None) -> Block:
        """Apply `op` to every element."""
        limbs, is_complex = kind
        if op == "abs" and not is_complex:
            return real_abs(np, x, limbs, out)
        shape = value_shape(x, is_complex)
        if out is None:
            out = Kind(limbs, is_complex and op != "abs").empty(np, shape)
        if out.size:
            self._kernels.unary(op, out, x, *kind)
        return out

    def binary(self, op: str, x: Block, y: Block, *, kind: Kind, out: Block | None = None) -> Block:
        """Apply `op` to the broadcast pairs."""
        is_complex = kind.is_complex
        shape = broadcast_shapes(value_shape(x, is_complex), value_shape(y, is_complex))
        if out is None:
            out = kind.empty(np, shape)
        x, y = broadcast(x, is_complex, shape), broadcast(y, is_complex, shape)
        if out.size:
            self._kernels.binary(op, out, x, y, *kind)
        return out

    def compare(self, x: Block, y: Block) -> NDArray[np.int8]:
        """Return the sign of the exact difference, 2 if unordered."""
        shape = broadcast_shapes(x.shape[1:], y.shape[1:])
        out = np.empty(shape, dtype=np.int8)
        if out.size:
            limbs = max(len(x), len(y))
            x, y = broadcast(x, False, shape), broadcast(y, False, shape)
            self._kernels.compare(out, x, y, limbs)
        return out

    def ldexp(self, x: Block, exponent: NDArray[np.int64]) -> Block:
        """Multiply by powers of two."""
        shape = broadcast_shapes(x.shape[1:], exponent.shape)
        out = np.empty((len(x), *shape))
        if out.size:
            exponent = np.broadcast_to(np.asarray(exponent, dtype=np.int64), shape)
            self._kernels.ldexp(out, broadcast(x, False, shape), exponent, len(x))
        return out

    def balance_triangle(
        self, a: Block, *, is_complex: bool, lower: bool, unit_diagonal: bool
    ) -> Balanced:
        """Multiply rows and columns of triangles by powers of two."""
        return powers.balance_triangle(self.ldexp, a, is_complex, lower, unit_diagonal)

    def balance_columns(
        self, x: Block, rows: NDArray[np.int64] | None, *, is_complex: bool
    ) -> tuple[Block, NDArray[np.int64]]:
        """Multiply rows by given powers of two, columns by others."""
        return powers.balance_columns(self.ldexp, x, rows, is_complex)

    def scale(
        self, x: Block, rows: NDArray[np.int64], columns: NDArray[np.int64], *, is_complex: bool
    ) -> tuple[Block, NDArray[np.int64]]:
        """Multiply by powers of two, and tell whether something is not finite."""
        return powers.scale(self.ldexp, x, rows, columns, is_complex)

    def reduce(self, op: str, x: Block, *, kind: Kind) -> Block:
        """Reduce the last axis."""
        is_complex = kind.is_complex
        out = kind.empty(np, value_shape(x, is_complex)[:-1])
        if x.size:
            self._kernels.reduce(op, out, x, *kind)
        else:
            # The planes of an empty NumPy array may have no distance, which reads as real.
            fill_with_identity(out, op, is_complex)
        return out

    def cumsum(self, x: Block, *, kind: Kind) -> Block:
        """Return running sums along the last axis."""
        is_complex = kind.is_complex
        out = kind.empty(np, value_shape(x, is_complex))
        if out.size:
            self._kernels.cumsum(out, x, *kind)
        return out

    def argreduce(self, op: str, x: Block) -> NDArray[np.int64]:
        """Return the position of the first maximum or minimum along the last axis."""
        out = np.empty(x.shape[1:-1], dtype=np.int64)
        if out.size:
            self._kernels.argreduce(op == "max", out, x, len(x))
        return out

    def matmul(
        self,
        a: Block,
        b: Block,
        *,
        kind: Kind,
        conj_a: bool = False,
        conj_b: bool = False,
        c: Block | None = None,
        subtract: bool = False,
        out: Block | None = None,
    ) -> Block:
        """Return ``c + a @ b`` or ``c - a @ b``."""
        limbs, is_complex = kind
        blocks = [a, b] if c is None else [a, b, c]
        batch, m, n = matrix_shape(blocks, is_complex)
        result = kind.empty(np, (*batch, m, n)) if out is None else out
        if not result.size:
            return result
        if limbs == 1:
            result[...] = float_matmul(np, a, b, is_complex, conj_a, conj_b, c, subtract)
            return result
        x, y = (batched(v, batch, 2, is_complex) for v in (a, b))
        addend = [] if c is None else [batched(c, batch, 2, is_complex)]
        # Reshaping may copy where `out` is strided: then the result is written back.
        target = batched(result, batch, 2, is_complex)
        self._kernels.matmul(target, addend, x, y, *kind, conj_a, conj_b, subtract)
        if not np.may_share_memory(target, result):
            result[...] = target.reshape(result.shape)
        return result

    def residual(
        self,
        terms: Sequence[tuple[int, Block]],
        a: Block,
        b: Block,
        *,
        kind: Kind,
        conj_a: bool = False,
    ) -> Block:
        """Return ``sum(sign * term) - a @ b`` as if in twice the limbs, rounded once."""
        limbs, is_complex = kind
        batch, m, n = matrix_shape([a, b, *(term for _, term in terms)], is_complex)
        result = kind.empty(np, (*batch, m, n))
        if not result.size:
            return result
        if limbs == 1:
            # The first limb of a normalised pair is the sum rounded to one limb.
            pair = self.residual(terms, a, b, kind=Kind(2, is_complex), conj_a=conj_a)
            result[...] = pair[:, :1] if is_complex else pair[:1]
            return result
        x, y = (batched(v, batch, 2, is_complex) for v in (a, b))
        addends = [batched(term, batch, 2, is_complex) for _, term in terms]
        target = batched(result, batch, 2, is_complex)
        self._kernels.residual(target, [sign for sign, _ in terms], addends, x, y, *kind, conj_a)
        return result

    def qr_panel(self, a: Block, *, kind: Kind, out: PanelOut | None = None) -> PanelOut:
        """Factor panels by Householder reflections."""
        is_complex = kind.is_complex
        shape = value_shape(a, is_complex)
        batch, m, w = shape[:-2], *shape[-2:]
        h = kind.empty(np, shape)
        tau = kind.empty(np, (*batch, w))
        t = kind.empty(np, (*batch, w, w))
        if h.size:
            self._kernels.qr_panel(
                batched(h, batch, 2, is_complex), batched(tau, batch, 1, is_complex),
                batched(t, batch, 2, is_complex), batched(a, batch, 2, is_complex),
                *kind,
            )  # fmt: skip
        if out is None:
            out = PanelOut(h, tau, np.empty_like(h), t)
        else:
            out.h[...], out.tau[...], out.t[...] = h, tau, t
        out.v[...] = 0.0
        np.copyto(out.v, h, where=np.tri(m, w, k=-1, dtype=bool))
        diagonal = np.einsum("...ii->...i", out.v[..., :w, :])
        diagonal[(0, 0) if is_complex else 0] = 1.0
        return out

    def reflect(
        self,
        v: Block,
        t: Block,
        x: Block,
        *,
        kind: Kind,
        adjoint: bool,
        unit: int = 0,
    ) -> None:
        """Replace `x` by its product with a block of reflectors."""
        is_complex = kind.is_complex
        below, rest = v[..., unit:, :].swapaxes(-1, -2), x[..., unit:, unit:]
        w = self.matmul(below, rest, conj_a=True, kind=kind)
        if unit:
            top = v[..., :unit, :].swapaxes(-1, -2)
            if is_complex:
                top = np.stack([top[0], negate(top[1], False)])
            w = np.concatenate([np.broadcast_to(top, (*w.shape[:-1], unit)), w], axis=-1)
        transposed = t.swapaxes(-1, -2) if adjoint else t
        w = self.matmul(transposed, w, conj_a=adjoint, kind=kind)
        self.matmul(v, w, c=x, subtract=True, out=x, kind=kind)

    def reflect_all(
        self,
        vs: Sequence[Block],
        ts: Sequence[Block],
        x: Block,
        *,
        kind: Kind,
        adjoint: bool,
    ) -> None:
        """Replace `x` by its product with Q, tile by tile."""
        options: dict[str, Any] = {"kind": kind, "adjoint": adjoint}
        for v, t in reflections(vs, ts, adjoint=adjoint):
            self.reflect(v, t, x[..., x.shape[-2] - v.shape[-2] :, :], **options)

    def window(
        self,
        r: Block,
        left: Block,
        right: Block | None,
        *,
        below: int,
        kind: Kind,
    ) -> None:
        """Make windows triangular, and multiply what belongs to them."""
        host_window.reduce(self, (r, left, right), below, kind)

    def window_columns(self, below: int, *, kind: Kind) -> int:
        """Return how many columns windows get; 0 where panels are better."""
        limbs = kind.limbs
        return host_window.columns_of(below, limbs)

    def forms_windows(self, below: int, *, limbs: int) -> bool:
        """Return whether E is formed."""
        return host_window.is_formed(below, limbs)

    def form_window(self, r: Block, out: Block, *, below: int, kind: Kind) -> None:
        """Make windows triangular, or reduce columns, and write E to `out`."""
        host_window.form(r, out, below, kind)

    def rise(self, z: Block, left: Block, right: Block | None, *, kind: Kind) -> None:
        """Reduce columns from their ends upwards, and multiply what belongs to them."""
        host_window.reduce(self, (z, left, right), 0, kind)

    def reflectors(self, raw: Block, tau: Block) -> None:
        """Return nothing: NumPy has only factorisations."""

    def triangular_tile(self, order: int, columns: int, *, kind: Kind) -> int:
        """Return the order of the tiles of a triangle; 16 and 64 are no faster."""
        return _TRIANGULAR_TILE

    def solve_triangular_tile(
        self,
        a: Block,
        b: Block,
        *,
        kind: Kind,
        lower: bool,
        unit_diagonal: bool,
    ) -> Block:
        """Solve for triangular tiles by substitution."""
        is_complex = kind.is_complex
        batch, m, n = matrix_shape([a, b], is_complex)
        out = kind.empty(np, (*batch, m, n))
        if out.size:
            self._kernels.solve_triangular_tile(
                batched(out, batch, 2, is_complex), batched(a, batch, 2, is_complex),
                batched(b, batch, 2, is_complex), *kind, lower, unit_diagonal,
            )  # fmt: skip
        return out

    def solve_small(self, a: Block, b: Block, *, kind: Kind) -> SmallSolution:
        """Solve small square systems."""
        batch, n, k = matrix_shape([a, b], kind.is_complex)
        found = _unsolved(batch, n, k, kind, None)
        x, left, right = (batched(v, batch, 2, kind.is_complex) for v in (found.x, a, b))
        self._kernels.solve_small(*_measures(found), x, left, right, *kind)
        return found

    def lstsq_small(self, a: Block, b: Block, *, kind: Kind) -> SmallSolution:
        """Solve small least-squares problems."""
        batch, m, k = matrix_shape([a, b], kind.is_complex)
        residual = kind.empty(np, (*batch, m, k))
        found = _unsolved(batch, a.shape[-1], k, kind, residual)
        blocks = (found.x, residual, a, b)
        x, rest, left, right = (batched(v, batch, 2, kind.is_complex) for v in blocks)
        self._kernels.lstsq_small(*_measures(found), x, rest, left, right, *kind)
        return found


def _unsolved(
    batch: tuple[int, ...], n: int, k: int, kind: Kind, residual: Block | None
) -> SmallSolution:
    x, error, condition = kind.empty(np, (*batch, n, k)), np.empty((*batch, n, k)), np.empty(batch)
    steps, status = np.empty(batch, dtype=np.int64), np.empty(batch, dtype=np.int64)
    return SmallSolution(x, error, condition, steps, status, residual)


def _measures(found: SmallSolution) -> tuple[Any, Any, Any, Any]:
    """Return what small systems write besides blocks, with one batch axis."""
    plain = (values.reshape(-1) for values in (found.condition, found.steps, found.status))
    condition, steps, status = plain
    return found.error.reshape(-1, *found.error.shape[-2:]), condition, steps, status
