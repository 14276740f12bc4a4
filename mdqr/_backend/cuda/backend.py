"""The CUDA backend: the calls of `mdqr._backend.protocol.Backend` by kernels/cuda."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from types import ModuleType
from typing import Any

from mdqr._backend.blocks import reflections, replace_products
from mdqr._backend.cuda import elementwise, reductions
from mdqr._backend.cuda.factor import balance, panel, reflect, triangular, window
from mdqr._backend.cuda.products import products
from mdqr._backend.cuda.runtime.kernels import CupyKernels, Kernels
from mdqr._backend.protocol import Balanced, PanelOut, Reflectors
from mdqr._limbs.planes import Block, Kind

# Matrices of a batch that are handed to cuSOLVER one by one.
_FEW_MATRICES = 8


@cache
def backend() -> CudaBackend:
    """Return the only instance."""
    return CudaBackend(CupyKernels())


class CudaBackend:
    """NVIDIA GPUs; see `mdqr._backend.protocol.Backend` for what each call computes."""

    name = "cuda"

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.xp: ModuleType = kernels.xp

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are the only instance."""
        return backend, ()

    def unary(self, op: str, x: Block, *, kind: Kind, out: Block | None = None) -> Block:
        """Apply `op` to every element."""
        return elementwise.unary(self.kernels, op, x, kind, out)

    def binary(self, op: str, x: Block, y: Block, *, kind: Kind, out: Block | None = None) -> Block:
        """Apply `op` to the broadcast pairs."""
        return elementwise.binary(self.kernels, op, x, y, kind, out)

    def compare(self, x: Block, y: Block) -> Block:
        """Return the sign of the exact difference, 2 if unordered."""
        return elementwise.compare(self.kernels, x, y)

    def ldexp(self, x: Block, exponent: Block, *, is_complex: bool = False) -> Block:
        """Multiply by powers of two."""
        if is_complex:
            return self.xp.stack([self.ldexp(part, exponent) for part in x])
        return elementwise.ldexp(self.kernels, x, exponent)

    def balance_triangle(
        self, a: Block, *, is_complex: bool, lower: bool, unit_diagonal: bool
    ) -> Balanced:
        """Multiply rows and columns of triangles by powers of two."""
        return balance.triangle(self.kernels, a, is_complex, lower, unit_diagonal)

    def balance_columns(
        self, x: Block, rows: Block | None, *, is_complex: bool
    ) -> tuple[Block, Block]:
        """Multiply rows by given powers of two, columns by others."""
        return balance.columns(self.kernels, x, rows, is_complex)

    def scale(
        self, x: Block, rows: Block, columns: Block, *, is_complex: bool
    ) -> tuple[Block, Block]:
        """Multiply by powers of two, and tell whether something is not finite."""
        return balance.scale(self.kernels, x, rows, columns, is_complex)

    def reduce(self, op: str, x: Block, *, kind: Kind) -> Block:
        """Reduce the last axis."""
        return reductions.reduce(self.kernels, op, x, kind)

    def cumsum(self, x: Block, *, kind: Kind) -> Block:
        """Return running sums along the last axis."""
        return reductions.cumsum(self.kernels, x, kind)

    def argreduce(self, op: str, x: Block) -> Block:
        """Return the position of the first maximum or minimum along the last axis."""
        return reductions.argreduce(self.kernels, op, x)

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
        return products.matmul(self.kernels, a, b, kind, conj_a, conj_b, c, subtract, out)

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
        return products.residual(self.kernels, terms, a, b, kind, conj_a)

    def qr_panel(self, a: Block, *, kind: Kind, out: PanelOut | None = None) -> PanelOut:
        """Factor panels by Householder reflections."""
        return panel.qr_panel(self.kernels, a, kind, out)

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
        products.reflect(self.kernels, v, t, x, kind, adjoint)

    def reflect_all(
        self,
        vs: Sequence[Block],
        ts: Sequence[Block],
        x: Block,
        *,
        kind: Kind,
        adjoint: bool,
    ) -> None:
        """Replace `x` by its product with Q: a few columns by one launch, many tile by tile."""
        limbs, is_complex = kind
        if limbs > 1 and reflect.serves(vs, x, is_complex):
            reflect.reflect_all(self.kernels, vs, ts, x, kind, adjoint)
            return
        for v, t in reflections(vs, ts, adjoint=adjoint):
            rows = x[..., x.shape[-2] - v.shape[-2] :, :]
            products.reflect(self.kernels, v, t, rows, kind, adjoint)

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
        e = self.xp.empty((*r.shape[:-1], r.shape[-2]))
        window.factor(self.kernels, r, e, below, kind)
        replace_products(self, e, left, right, kind)

    def window_columns(self, below: int, *, kind: Kind) -> int:
        """Return how many columns windows get; 0 where panels are better."""
        return window.columns_of(below, kind)

    def forms_windows(self, below: int, *, limbs: int) -> bool:
        """Return True: one block of threads makes E, and products apply it."""
        return True

    def form_window(self, r: Block, out: Block, *, below: int, kind: Kind) -> None:
        """Make windows triangular, or reduce columns, and write E to `out`."""
        if below:
            window.factor(self.kernels, r, out, below, kind)
        else:
            window.rise(self.kernels, r, out, kind)

    def rise(self, z: Block, left: Block, right: Block | None, *, kind: Kind) -> None:
        """Reduce columns from their ends upwards, and multiply what belongs to them."""
        e = self.xp.empty((*z.shape[:-1], z.shape[-2]))
        window.rise(self.kernels, z, e, kind)
        replace_products(self, e, left, right, kind)

    def reflectors(self, raw: Block, tau: Block) -> Reflectors | None:
        """Return Q by cuSOLVER, matrix by matrix."""
        few = prod(raw.shape[:-2]) <= _FEW_MATRICES
        return self.kernels.reflectors(raw, tau) if few else None

    def triangular_tile(self, order: int, columns: int, *, kind: Kind) -> int:
        """Return the order of the tiles of a triangle."""
        return triangular.order_of_tiles(order, columns, kind)

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
        return triangular.solve(self.kernels, a, b, kind, lower, unit_diagonal)
