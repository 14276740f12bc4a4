"""Matrix products and residuals on the GPU: which kernels, with what arguments and scratch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mdqr._backend.blocks import Shape, batched, float_matmul, matrix_shape
from mdqr._backend.cuda.digits import MOST_WEIGHTS, residual_digits
from mdqr._backend.cuda.products import matvec, sliced
from mdqr._backend.cuda.products.operands import NO_VIEW, Product, Todo
from mdqr._backend.cuda.runtime.kernels import KernelCalls, Kernels, Module, fields, matrix_view
from mdqr._backend.cuda.runtime.replay import planned
from mdqr._backend.cuda.vendor.cublas import NUMBERS, C, N, T
from mdqr._limbs.planes import Block, Kind, value_shape

# Results with at most this many rows or columns are sums along rows, not tiles.
_FEW = 2

# Single warps that share the elements for the exact accumulator, and its digits in shared memory.
_ACCUMULATOR_BLOCKS = 264
_ACCUMULATOR_SHARED = 136 * 32 * 8

# As in kernels/cuda/products/residual_terms.hpp.
_MOST_TERMS = 8


def _batches(
    kernels: Kernels,
    operands: Product,
    batch: Shape,
    c: Block | None,
    subtract: bool,
    out: Block,
) -> None:
    """Write a product of blocks with any batch axes to `out`."""
    xp, is_complex = kernels.xp, operands.kind.is_complex
    a, b, target = (batched(v, batch, 2, is_complex) for v in (operands.a, operands.b, out))
    addend = None if c is None else batched(c, batch, 2, is_complex)
    product = operands._replace(a=a, b=b)
    _, m, n, _ = product.shape
    if m < n and m <= _FEW:
        transposed = None if addend is None else addend.swapaxes(-1, -2)
        _matmul(kernels, product.transposed(), transposed, subtract, target.swapaxes(-1, -2))
    else:
        _matmul(kernels, product, addend, subtract, target)
    # Reshaping copies where `out` is strided in a way that one batch axis does not show.
    if len(batch) > 1 and not xp.may_share_memory(target, out):
        out[...] = target.reshape(out.shape)


def _matmul(
    kernels: Kernels, product: Product, c: Block | None, subtract: bool, out: Block
) -> None:
    is_complex = product.kind.is_complex
    start = NO_VIEW if c is None else matrix_view(kernels, c, is_complex)
    to = matrix_view(kernels, out, is_complex)
    run = matvec.product if product.shape[2] <= _FEW else sliced.product
    todo = run(kernels, product, start, to, subtract)
    module = Module("products/accumulator", product.kind, ("MDQR_RESIDUAL=0",))
    _accumulate(kernels, module, product, todo, to, [*start, int(subtract)])


def _residual(
    kernels: Kernels, product: Product, signs: list[int], addends: list[Block], target: Block
) -> None:
    is_complex, missing = product.kind.is_complex, _MOST_TERMS - len(signs)
    views = [field for term in addends for field in matrix_view(kernels, term, is_complex)]
    packed = [len(signs), *signs, *[1] * missing, *views, *NO_VIEW * missing]
    out = matrix_view(kernels, target, is_complex)
    if residual_digits(product.kind.limbs) <= MOST_WEIGHTS:
        todo = matvec.residual(kernels, product, out, packed)
    else:
        todo = Todo.of_all(product)
    module = Module("products/accumulator", product.kind, ("MDQR_RESIDUAL=1",))
    _accumulate(kernels, module, product, todo, out, packed)


def _accumulate(
    kernels: Kernels,
    module: Module,
    product: Product,
    todo: Todo,
    out: list[int],
    ending: list[int],
) -> None:
    """Compute the elements that the kernels before have put on the list."""
    a, b = (matrix_view(kernels, x, product.kind.is_complex) for x in (product.a, product.b))
    arguments = fields(
        a, b, int(product.conj_a), int(product.conj_b), *product.shape[1:],
        todo.elements, todo.number, out, ending,
    )  # fmt: skip
    kernels.launch(
        module, "mdqr_accumulator", arguments,
        grid=(_ACCUMULATOR_BLOCKS,), threads=32, shared=_ACCUMULATOR_SHARED,
    )  # fmt: skip


def _is_transposed(x: Block) -> bool:
    """Return whether columns of a matrix are contiguous, and rows are not."""
    return bool(x.strides[0] == x.itemsize < x.strides[1])


def _in_memory(kernels: Kernels, x: Block) -> tuple[Block, int, int]:
    """Return a matrix for cuBLAS, a copy if need be, with its stride and the flag T or N."""
    if _is_transposed(x):
        return x, x.strides[1] // x.itemsize, T
    rows, columns = x.shape
    if x.strides[1] != x.itemsize or (rows > 1 and x.strides[0] < columns * x.itemsize):
        x = kernels.xp.ascontiguousarray(x)
    # The stride of a single row means nothing.
    return x, max(x.strides[0] // x.itemsize, columns), N


class Products(KernelCalls):
    """Products."""

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
        xp = self.xp
        batch, m, n = matrix_shape([a, b] if c is None else [a, b, c], is_complex)
        size = prod(batch) * m * n
        if limbs == 1 and size:
            multiply = self.kernels.multiply
            found = float_matmul(xp, a, b, is_complex, conj_a, conj_b, c, subtract, multiply)
            if out is None:
                return found
            out[...] = found
            return out
        result = kind.empty(xp, (*batch, m, n)) if out is None else out
        if not size:
            return result
        flags = ("matmul", kind, conj_a, conj_b, subtract)
        operands = [a, b, result] if c is None else [a, b, result, c]

        def launch(kernels: Kernels) -> None:
            product = Product(a, b, conj_a, conj_b, kind)
            _batches(kernels, product, batch, c, subtract, result)

        planned(self.kernels, flags, operands, launch)
        return result

    def multiply(
        self, a: Block, b: Block, out: Block, *, conj_a: bool = False, subtract: bool = False
    ) -> None:
        """Write ``a @ b`` of float64 or complex128 matrices to `out`, or subtract it."""
        kernels, (m, k), n = self.kernels, a.shape, b.shape[-1]
        if conj_a and a.dtype.kind == "c" and not _is_transposed(a):
            a = a.conj()
            conj_a = False
        # Column by column, which is how cuBLAS reads: out^T = b^T a^T.
        (b, column, right), (a, row, left) = _in_memory(kernels, b), _in_memory(kernels, a)
        if conj_a and left == T:
            left = C
        kernels.cublas.gemm(
            NUMBERS[out.dtype.char], (right, left), (n, m, k),
            (kernels.address(b), column), (kernels.address(a), row),
            (kernels.address(out), out.strides[0] // out.itemsize),
            alpha=-1.0 if subtract else 1.0, beta=float(subtract),
        )  # fmt: skip

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
        """Replace `x` by ``(I - V T V^H) x``.

        One plan for the three products: Python would take longer than a GPU for small ones.
        """
        limbs, is_complex = kind
        if not x.size:
            return
        xp = self.xp
        if limbs == 1:
            w = self.matmul(v.swapaxes(-1, -2), x, kind=kind, conj_a=True)
            factor = t.swapaxes(-1, -2) if adjoint else t
            w = self.matmul(factor, w, kind=kind, conj_a=adjoint)
            self.matmul(v, w, kind=kind, c=x, subtract=True, out=x)
            return
        *batch, _, n = value_shape(x, is_complex)
        first, second = (kind.empty(xp, (*batch, v.shape[-1], n)) for _ in range(2))

        def launch(kernels: Kernels) -> None:
            def run(a: Block, b: Block, conj_a: bool, out: Block, c: Block | None = None) -> None:
                product = Product(a, b, conj_a, False, kind)
                _batches(kernels, product, tuple(batch), c, c is not None, out)

            run(v.swapaxes(-1, -2), x, True, first)
            run(t.swapaxes(-1, -2) if adjoint else t, first, adjoint, second)
            run(v, second, False, x, x)

        planned(self.kernels, ("reflect", kind, adjoint), [v, t, x, first, second], launch)

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
        xp = self.xp
        if len(terms) > _MOST_TERMS:
            message = f"a residual takes at most {_MOST_TERMS} terms on the GPU; got {len(terms)}"
            raise ValueError(message)
        batch, m, n = matrix_shape([a, b, *(term for _, term in terms)], is_complex)
        if limbs == 1:
            # The first limb of a normalised pair is the sum rounded to one limb.
            pair = self.residual(terms, a, b, kind=Kind(2, is_complex), conj_a=conj_a)
            return pair[:, :1].copy() if is_complex else pair[:1].copy()
        result = kind.empty(xp, (*batch, m, n))
        if not prod((*batch, m, n)):
            return result
        signs = [sign for sign, _ in terms]

        def launch(kernels: Kernels) -> None:
            x, y, target = (batched(v, batch, 2, is_complex) for v in (a, b, result))
            addends = [batched(term, batch, 2, is_complex) for _, term in terms]
            product = Product(x, y, conj_a, False, kind)
            if m < n:
                product, target = product.transposed(), target.swapaxes(-1, -2)
                addends = [term.swapaxes(-1, -2) for term in addends]
            _residual(kernels, product, signs, addends, target)

        flags = ("residual", kind, conj_a, *signs)
        planned(self.kernels, flags, [result, a, b, *(term for _, term in terms)], launch)
        return result
