"""The kernel calls of `protocol.py` on the CPU: NumPy blocks handed to `_mdqr_host`."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from math import prod
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdqr._backend.blocks import (
    batched,
    broadcast_shapes,
    fill_with_identity,
    float_matmul,
    from_native,
    matrices,
    or_nan,
    order_of,
    real_abs,
    reflect,
    reflections,
    to_native,
    unfolded,
    unsolved,
)
from mdqr._backend.host import window as host_window
from mdqr._backend.host.balance import Balance
from mdqr._backend.host.exact import Buffers, ExactProducts
from mdqr._backend.host.paths import Paths
from mdqr._backend.host.series import SeriesOrders
from mdqr._backend.protocol import FloatFactors, PanelOut
from mdqr._backend.small_systems import MOST_COLUMNS, SmallSolution
from mdqr._backend.sources import check_digests, kernels_folder
from mdqr._limbs.planes import (
    Kind,
    broadcast,
    first_limbs,
    held_limbs,
    set_unit_diagonal,
    value_shape,
)

Block = NDArray[np.float64]

_TRIANGULAR_TILE = 32
# Of fewer doubles a copy takes less time than a broadcast view.
_FEW = 2000


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
    _respect_environment(_mdqr_host)
    return _mdqr_host


@cache
def _respect_environment(module: ModuleType) -> None:
    """Take no more threads than OMP_NUM_THREADS, which Dask and batch systems set, allows."""
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if "MDQR_NUM_THREADS" not in os.environ and asked.isdecimal() and int(asked) > 0:
        module.set_num_threads(min(int(asked), module.num_threads()))


def _spread(block: Block, is_complex: bool, shape: tuple[int, ...]) -> Block:
    """Return a block whose values have `shape`: of few a copy, made in less time than a view."""
    front = 1 + is_complex
    if block.shape[front:] == shape or prod(shape) >= _FEW:
        return broadcast(block, is_complex, shape)
    found = np.empty((*block.shape[:front], *shape))
    missing = len(shape) - (block.ndim - front)
    found[...] = block.reshape(block.shape[:front] + (1,) * missing + block.shape[front:])
    return found


@cache
def backend() -> HostBackend:
    """Return the only instance."""
    extension()
    return HostBackend()


class HostBackend(Balance, ExactProducts, Paths, SeriesOrders):
    """The CPU; see `mdqr._backend.protocol.Backend` for what each call computes."""

    name = "cpu"
    xp: ModuleType = np

    def __init__(self) -> None:
        import _mdqr_host

        self._kernels = _mdqr_host
        self._buffers = Buffers()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the name of the only instance, so that copies and pickles are that instance."""
        return backend, ()

    def unary(self, op: str, x: Block, *, kind: Kind, out: Block | None = None) -> Block:
        """Apply `op` to every element."""
        limbs, is_complex = kind
        if op == "abs" and not is_complex:
            return real_abs(np, x, limbs, out)
        if out is None:
            front = (2, limbs) if is_complex and op != "abs" else (limbs,)
            out = np.empty((*front, *x.shape[1 + is_complex :]))
        if out.size:
            self._kernels.unary(op, out, x, *kind)
        return out

    def binary(self, op: str, x: Block, y: Block, *, kind: Kind, out: Block | None = None) -> Block:
        """Apply `op` to the broadcast pairs."""
        limbs, is_complex = kind
        front = 1 + is_complex
        shape = x.shape[front:]
        # Most operands have one shape, and a call on one value shall cost little else.
        if shape != y.shape[front:] or (is_complex and not (x.strides[0] and y.strides[0])):
            shape = broadcast_shapes(shape, y.shape[front:])
            x, y = _spread(x, is_complex, shape), _spread(y, is_complex, shape)
        if out is None:
            out = np.empty((2, limbs, *shape) if is_complex else (limbs, *shape))
        if out.size:
            self._kernels.binary(op, out, x, y, limbs, is_complex)
        return out

    def held_limbs(self, blocks: Sequence[Block], are_complex: Sequence[bool]) -> NDArray[np.int64]:
        """Return the number of leading limbs that hold all there is, of each block."""
        held = [held_limbs(*pair) for pair in zip(blocks, are_complex, strict=True)]
        return np.array(held, dtype=np.int64)

    def compare(self, x: Block, y: Block) -> NDArray[np.int8]:
        """Return the sign of the exact difference, 2 if unordered."""
        shape = broadcast_shapes(x.shape[1:], y.shape[1:])
        out = np.empty(shape, dtype=np.int8)
        if out.size:
            limbs = max(len(x), len(y))
            x, y = broadcast(x, False, shape), broadcast(y, False, shape)
            self._kernels.compare(out, x, y, limbs)
        return out

    def ldexp(self, x: Block, exponent: NDArray[np.int64], *, is_complex: bool = False) -> Block:
        """Multiply by powers of two."""
        exponent = np.asarray(exponent, dtype=np.int64)
        shape = x.shape[1 + is_complex :]
        if exponent.shape != shape and (exponent.size != 1 or exponent.ndim > len(shape)):
            shape = broadcast_shapes(shape, exponent.shape)
            x = _spread(x, is_complex, shape)
        if not exponent.any():
            return x.copy()
        result = np.empty(x.shape)
        if result.size:
            out = result
            if is_complex:
                # The kernel takes real blocks: here the parts are their first axis.
                out, x, shape = out.swapaxes(0, 1), x.swapaxes(0, 1), (2, *shape)
            if exponent.shape != shape:
                few = result.size < _FEW
                exponent = np.full(shape, exponent) if few else np.broadcast_to(exponent, shape)
            self._kernels.ldexp(out, x, exponent, len(x))
        return result

    def reduce(self, op: str, x: Block, *, kind: Kind) -> Block:
        """Reduce the last axis."""
        is_complex = kind.is_complex
        out = np.empty(kind.planes(value_shape(x, is_complex)[:-1]))
        if x.size:
            self._kernels.reduce(op, out, x, *kind)
        else:
            # The planes of an empty NumPy array may have no distance, which reads as real.
            fill_with_identity(out, op, is_complex)
        return out

    def cumsum(self, x: Block, *, kind: Kind) -> Block:
        """Return running sums along the last axis."""
        is_complex = kind.is_complex
        out = np.empty(kind.planes(value_shape(x, is_complex)))
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
        if limbs == 1:
            found = float_matmul(np, a, b, is_complex, conj_a, conj_b, c, subtract)
            if out is None:
                return np.ascontiguousarray(found)
            out[...] = found
            return out
        batch, (x, y, *addend) = matrices(is_complex, *((a, b) if c is None else (a, b, c)))
        shape, front = (a.shape[-2], b.shape[-1]), (2, limbs) if is_complex else (limbs,)
        if out is None:
            target = np.empty((*front, prod(batch), *shape))
            result = target if len(batch) == 1 else target.reshape((*front, *batch, *shape))
        else:
            # Reshaping may copy where `out` is strided: then the result is written back.
            target, result = batched(out, batch, 2, is_complex), out
        if result.size:
            self._kernels.matmul(target, addend, x, y, *kind, conj_a, conj_b, subtract)
            if out is not None and not np.may_share_memory(target, out):
                out[...] = target.reshape(out.shape)
        return result

    def recorded(
        self,
        key: Hashable,
        operands: Sequence[Block],
        work: Callable[..., list[Block]],
    ) -> list[Block]:
        """Return ``work(self, *operands)``."""
        return work(self, *operands)

    def multiply(
        self,
        a: NDArray[Any],
        b: NDArray[Any],
        out: NDArray[Any],
        *,
        conj_a: bool = False,
        subtract: bool = False,
    ) -> None:
        """Write ``a @ b`` of float64 or complex128 matrices to `out`, or subtract it."""
        with np.errstate(all="ignore"):
            a = a.conj() if conj_a else a
            if subtract:
                out -= a @ b
            else:
                np.matmul(a, b, out=out)

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
        if limbs == 1:
            # The first limb of a normalised pair is the sum rounded to one limb.
            pair = self.residual(terms, a, b, kind=Kind(2, is_complex), conj_a=conj_a)
            return first_limbs(pair, is_complex, 1).copy()
        signs, added = zip(*terms, strict=True) if terms else ((), ())
        batch, (x, y, *addends) = matrices(is_complex, a, b, *added)
        front = (2, limbs) if is_complex else (limbs,)
        result = np.empty((*front, prod(batch), a.shape[-2], b.shape[-1]))
        if result.size:
            self._kernels.residual(result, signs, addends, x, y, *kind, conj_a)
        return result.reshape((*front, *batch, *result.shape[-2:]))

    def qr_panel(self, a: Block, *, kind: Kind, out: PanelOut | None = None) -> PanelOut:
        """Factor panels by Householder reflections."""
        batch, (a,) = matrices(kind.is_complex, a)
        m, w = a.shape[-2:]
        cores = (m, w), (w,), (w, w)
        h, tau, t = [np.empty(kind.planes((prod(batch), *core))) for core in cores]
        if h.size:
            self._kernels.qr_panel(h, tau, t, a, *kind)
        results = zip((h, tau, t), cores, strict=True)
        h, tau, t = [x.reshape(kind.planes((*batch, *core))) for x, core in results]
        if out is None:
            out = PanelOut(h, tau, np.empty_like(h), t)
        else:
            out.h[...], out.tau[...], out.t[...] = h, tau, t
        out.v[...] = 0.0
        np.copyto(out.v, h, where=np.tri(m, w, k=-1, dtype=bool))
        set_unit_diagonal(out.v, kind.is_complex)
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
        reflect(self.matmul, v, t, x, kind=kind, adjoint=adjoint, unit=unit)

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
        for v, t in reflections(vs, ts, adjoint=adjoint):
            self.reflect(v, t, x[..., x.shape[-2] - v.shape[-2] :, :], kind=kind, adjoint=adjoint)

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
        return host_window.columns_of(below, kind.limbs)

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
        """Return the order of the tiles of a triangle; 16 and 64 are not faster."""
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
        batch, (a, b) = matrices(kind.is_complex, a, b)
        out = np.empty(kind.planes((prod(batch), *b.shape[-2:])))
        if out.size:
            self._kernels.solve_triangular_tile(out, a, b, *kind, lower, unit_diagonal)
        return out.reshape(kind.planes((*batch, *b.shape[-2:])))

    def invert_triangle(self, r: NDArray[Any]) -> NDArray[Any]:
        """Return the inverse of a matrix: an upper triangle is its own U."""
        return np.asarray(or_nan(np, np.linalg.inv, r))

    def cholesky_floats(self, a: NDArray[Any]) -> NDArray[Any]:
        """Return the Cholesky factor of a float64 or complex128 matrix."""
        return np.asarray(or_nan(np, np.linalg.cholesky, a.conj().T)).conj().T.copy()

    def lu_floats(self, a: NDArray[Any]) -> FloatFactors:
        """Return L and U of a float64 or complex128 matrix."""
        is_complex, n = a.dtype.kind == "c", len(a)
        block = from_native(np, a, is_complex)[..., None, :, :].copy()
        swaps = np.zeros((1, n), dtype=np.int64)
        self.lu_panel(block, swaps, 0, n, kind=Kind(1, is_complex))
        found = to_native(np, block[..., 0, :, :], is_complex), swaps[0]
        return FloatFactors(*found, order_of(swaps[0], n))

    def invert_factors(self, packed: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the inverses of L and of U."""
        lower = np.tril(packed, -1) + np.eye(len(packed), dtype=packed.dtype)
        return self.invert_triangle(lower.T).T, self.invert_triangle(np.triu(packed))

    invert_floats = invert_triangle

    def lu_panel(
        self, a: Block, places: NDArray[np.int64], first: int, last: int, *, kind: Kind
    ) -> None:
        """Eliminate in columns from `first` to `last`."""
        if a.size:
            self._kernels.lu_panel(a, places, *kind, first, last)

    def cholesky_panel(self, a: Block, *, kind: Kind) -> Block:
        """Return the first rows of Cholesky factors."""
        batch, (a,) = matrices(kind.is_complex, a)
        out = np.empty(kind.planes(a.shape[kind.lead :]))
        if out.size:
            self._kernels.cholesky_panel(out, a, *kind)
        return out.reshape(kind.planes((*batch, *a.shape[-2:])))

    def small_unknowns(self, columns: int, *, kind: Kind) -> int:
        """Return the most unknowns of square systems for one call."""
        return MOST_COLUMNS

    def solve_small(self, a: Block, b: Block, *, kind: Kind) -> SmallSolution:
        """Solve small square systems."""
        batch, (a, b) = matrices(kind.is_complex, a, b)
        found = unsolved(np, a, b, kind, None)
        self._kernels.solve_small(
            found.error, found.condition, found.steps, found.status, found.x, a, b, *kind
        )
        return unfolded(found, batch, kind)

    def lstsq_small(self, a: Block, b: Block, *, kind: Kind) -> SmallSolution:
        """Solve small least-squares problems."""
        batch, (a, b) = matrices(kind.is_complex, a, b)
        rest = kind.empty(np, (prod(batch), *b.shape[-2:]))
        found = unsolved(np, a, b, kind, rest)
        self._kernels.lstsq_small(
            found.error, found.condition, found.steps, found.status, found.x, rest, a, b, *kind
        )
        return unfolded(found, batch, kind)
