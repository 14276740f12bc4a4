"""The list of kernel calls that every backend offers.

Every algorithm of mdqr is Python over these calls and does not know which backend runs.

A *block* is the storage of an array: a float64 NumPy or CuPy array of shape ``(N, *shape)`` for
real and ``(2, N, *shape)`` for complex values (real planes, then imaginary planes). ``N`` is the
number of limbs. Any strides are allowed, including 0 (broadcast views). Inputs may have fewer
limbs than the result (``kind``): the missing ones are zero. Inputs are never changed; results are
new C-contiguous blocks unless ``out`` is given. Shapes are checked by the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import ModuleType
from typing import NamedTuple, Protocol, cast

from mdqr._limbs.planes import Block, Kind

# Functions of kernels/include/mdqr/elementary/.
ELEMENTARY_UNARY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    *("sin", "cos", "tan", "sinpi", "cospi", "arcsin", "arccos", "arctan"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt"),
    *("gamma", "lgamma", "erf", "erfc"),
)
ELEMENTARY_BINARY = ("arctan2", "power", "logaddexp")

# The operations of `Backend.unary`, `Backend.binary` and `Backend.reduce`, and those of them that
# have no complex form: the lists of kernels/include/mdqr/operations.def.
UNARY = (
    *("sqrt", "square", "reciprocal", "abs", "renormalize", "floor", "ceil", "rint"),
    *ELEMENTARY_UNARY,
)
BINARY = ("add", "subtract", "multiply", "divide", "hypot", *ELEMENTARY_BINARY)
REDUCTIONS = ("sum", "prod")
REAL_ONLY = frozenset(
    {
        *("floor", "ceil", "rint", "hypot", "sinpi", "cospi", "cbrt", "arctan2"),
        *("gamma", "lgamma", "erf", "erfc", "logaddexp"),
    }
)


class PanelOut(NamedTuple):
    """The factors of panels; see `Backend.qr_panel`."""

    h: Block
    tau: Block
    v: Block
    t: Block


class Balanced(NamedTuple):
    """A scaled triangle; see `Backend.balance_triangle`."""

    block: Block
    rows: Block
    columns: Block
    faults: Block


class ProductGraph(NamedTuple):
    """Products of nodes, int64 arrays; see `Backend.series_order`.

    Product i is that of nodes ``left[i]`` and ``right[i]``; the products of a layer begin at
    ``layers[j]``, end at ``layers[j + 1]``, and do not need each other.
    """

    left: Block
    right: Block
    layers: Block


class EquationTerms(NamedTuple):
    """Terms of equations in nodes of a graph; see `Backend.series_equations`.

    Row i has terms ``start[i]`` to ``start[i + 1]``, int64; term j is a factor times node
    ``node[j]``. `factors` ``(sets, terms, orders)`` and `constants` ``(sets, rows, orders)`` are
    blocks of series in the parameter; a batch has as many items for each set, one after the other.
    """

    start: Block
    node: Block
    factors: Block
    constants: Block


class Reflectors(Protocol):
    """Q of matrices of one limb, as float64 or complex128 arrays; see `Backend.reflectors`."""

    def form(self, columns: int) -> Block:
        """Return the first columns of Q, at least as many as the reflectors."""
        ...

    def apply(self, x: Block, *, adjoint: bool) -> Block:
        """Return ``Q x`` or ``Q^H x`` for `x` ``(..., m, p)`` of the batch of the matrices."""
        ...


class Backend(Protocol):
    """Kernel calls over blocks; see the module docstring for the conventions."""

    name: str  # "cpu" or "cuda"
    xp: ModuleType  # numpy or cupy

    def recorded(
        self, key: Hashable, operands: Sequence[Block], work: Callable[..., list[Block]]
    ) -> list[Block]:
        """Return ``work(backend, *operands)``, new arrays.

        Work that comes again with the same key and operands of the same shapes may be recorded, and
        repeated by one launch: it depends on nothing else, waits for nothing, multiplies matrices
        by the backend alone and leaves its operands as they are.
        """
        ...

    # -- elementwise -------------------------------------------------------------------------
    def unary(self, op: str, x: Block, *, kind: Kind, out: Block | None = None) -> Block:
        """Apply ``op`` to every element of `x`.

        Operations: "sqrt", "square", "reciprocal"; "abs" (complex to real: the result has no
        imaginary planes); "renormalize" (real or complex: `x` holds any number of arbitrary
        finite doubles per value in any order; the result is their sum, correctly rounded to the
        greedy form); "floor", "ceil", "rint" (real; exact; "rint" breaks ties to even); the
        elementary functions, within 4 eps, complex 10 eps normwise.
        """
        ...

    def binary(self, op: str, x: Block, y: Block, *, kind: Kind, out: Block | None = None) -> Block:
        """Apply ``op`` to the broadcast pairs; `x` and `y` are both real or both complex.

        Operations: "add", "subtract", "multiply", "divide"; "hypot", "arctan2",
        "logaddexp" (real); "power".
        """
        ...

    def held_limbs(self, blocks: Sequence[Block], are_complex: Sequence[bool]) -> Block:
        """Return the number of leading limbs that hold all there is, of each block, as int64.

        `are_complex` says which blocks are complex. Limbs behind those are zeros by their bits.
        """
        ...

    def compare(self, x: Block, y: Block) -> Block:
        """Return the sign of the exact difference of real `x` and `y` as int8; 2 if unordered.

        The limb counts may differ; infinities compare as IEEE says.
        """
        ...

    def ldexp(self, x: Block, exponent: Block, *, is_complex: bool = False) -> Block:
        """Multiply by ``2**exponent`` (int64, broadcast against the shape of the values)."""
        ...

    # -- powers of two ---------------------------------------------------------------------------
    def balance_triangle(
        self, a: Block, *, is_complex: bool, lower: bool, unit_diagonal: bool
    ) -> Balanced:
        """Multiply rows and columns of triangles ``(..., n, n)`` by powers of two.

        Returns ``(block, rows, columns, faults)``: ``block[i, j] = 2**(rows[i] + columns[j])
        a[i, j]`` in the named triangle, which alone is read, and zero elsewhere; the largest entry
        of each column, then of each row, is brought to at least 1/2 and below 1. A triangle whose
        diagonal would fall below ``2**-700`` keeps its entries, with powers 0. With
        `unit_diagonal` the diagonal counts as ones. `rows` and `columns` are int64 ``(..., n)``;
        `faults`, int64, tells whether an entry is not finite, and whether one of the diagonal is
        zero, where powers and block mean nothing.
        """
        ...

    def balance_columns(
        self, x: Block, rows: Block | None, *, is_complex: bool
    ) -> tuple[Block, Block]:
        """Multiply row i of matrices by ``2**rows[i]``, then columns, as `balance_triangle`.

        `x` holds ``(..., m, n)`` and `rows` int64 ``(..., m)``, whose leading dimensions broadcast
        to those of `x`; None stands for zeros. Returns the block and the powers of its columns,
        int64 ``(..., n)``, 0 for columns of zeros and those with an entry that is not finite.
        """
        ...

    def scale(
        self, x: Block, rows: Block, columns: Block, *, is_complex: bool
    ) -> tuple[Block, Block]:
        """Return ``2**(rows[i] - columns[j]) x[i, j]``, and whether something is not finite.

        Shapes as in `balance_columns`; the second result is int64 ``(1,)``, 0 or 1.
        """
        ...

    # -- reductions over the last axis ---------------------------------------------------------
    def reduce(self, op: str, x: Block, *, kind: Kind) -> Block:
        """Reduce the last axis: "sum" or "prod", over 8 virtual lanes and a fixed tree.

        "sum" satisfies ``|error| <= (K + 8) eps sum|x|``. An empty axis gives 0 or 1.
        """
        ...

    def cumsum(self, x: Block, *, kind: Kind) -> Block:
        """Return running sums along the last axis."""
        ...

    def argreduce(self, op: str, x: Block) -> Block:
        """Return the int64 position of the first "max" or "min" along the last axis (real).

        A NaN wins, as in NumPy. The axis is not empty.
        """
        ...

    # -- products ------------------------------------------------------------------------------
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
        """Return ``c + a @ b``, or ``c - a @ b`` if `subtract`; `c` absent means 0.

        `a` holds ``(..., m, k)``, `b` ``(..., k, n)``, `c` and the result ``(..., m, n)``; leading
        dimensions broadcast. The product satisfies ``|error| <= (k + 8) eps (|a| |b|)`` in every
        component. `out` may be the same memory as `c` and no other overlap is allowed. Dot
        products and matrix-vector products are the cases m = 1 and n = 1.
        """
        ...

    def multiply(
        self, a: Block, b: Block, out: Block, *, conj_a: bool = False, subtract: bool = False
    ) -> None:
        """Write ``a @ b`` of float64 or complex128 matrices to `out`, or subtract it from `out`.

        Of plain arrays of one type, not blocks; the rows of `out` are contiguous.
        """
        ...

    def residual(
        self,
        terms: Sequence[tuple[int, Block]],
        a: Block,
        b: Block,
        *,
        kind: Kind,
        conj_a: bool = False,
    ) -> Block:
        """Return ``sum(sign * term) - a @ b``, computed as if in ``2 * limbs`` and rounded once.

        Shapes as in `matmul`; every term has the shape of the result and `sign` is 1 or -1.
        ``|error| <= eps |result| + (k + 8) eps**2 (|a| |b| + sum |term|)``.
        """
        ...

    def series_order(
        self,
        values: Block,
        sums: Block,
        graph: ProductGraph,
        order: int,
        *,
        kind: Kind,
        again: bool = False,
    ) -> None:
        """Write one order of products of power series, from lower orders and from their factors.

        `values` ``(..., nodes, orders)`` has the products of `graph` as its last nodes, in their
        order; each becomes ``sum_j values[left, j] values[right, order - j]``. `sums` ``(...,
        products)`` gets the terms in between, ``0 < j < order``; with `again` it has them already,
        and only the two ends, which changed, are added to it: order 1 of two is a derivative.
        ``|error| <= (order + 9) eps`` of the sum of the moduli of the terms, with the same limbs
        on every device. Where a sum leaves the range of doubles it is infinite or NaN.
        """
        ...

    def series_equations(
        self, values: Block, terms: EquationTerms, order: int, *, kind: Kind
    ) -> Block:
        """Return one order ``(..., rows)`` of equations whose nodes are `values`.

        ``sum_j sum_i factors[i, j] values[node[i], order - j] + constants[order]`` for each row;
        ``|error| <= (count / 8 + 10) eps`` of the sum of the moduli of its `count` terms, with the
        same limbs on every device.
        """
        ...

    def series_expand(
        self,
        values: Block,
        jacobian: Block,
        inverse: Block,
        graph: ProductGraph,
        terms: EquationTerms,
        orders: range,
        *,
        kind: Kind,
    ) -> None:
        """Write orders of series that solve equations, all after those before; a task an item.

        `values` ``(..., nodes, d)`` has the lower orders of all nodes, and zeros behind. Order k of
        the variables, which are the nodes before those of `graph`, is ``-inverse r``, with one step
        of refinement by `jacobian` ``(..., rows, variables)``; r is what is left of order k of the
        equations with zeros for it. What it changes of the products is added to them. The limbs are
        the same on every device.
        """
        ...

    # -- factorisations ------------------------------------------------------------------------
    def qr_panel(self, a: Block, *, kind: Kind, out: PanelOut | None = None) -> PanelOut:
        """Factor panels ``(..., m, w)``, m >= w, by Householder reflections, column by column.

        Returns ``(h, tau, v, t)`` in LAPACK's storage: `h` ``(..., m, w)`` has R on and above the
        diagonal and the vectors (whose first element, 1, is not stored) below it, `tau` is
        ``(..., w)``, `v` ``(..., m, w)`` holds the vectors, unit lower trapezoidal, and `t`
        ``(..., w, w)`` is upper triangular with ``H_1 ... H_w = I - V T V^H``. The diagonal of R
        is real. Columns are scaled by powers of two inside, so that no square overflows or
        vanishes. A zero column gives ``tau = 0``. `out` holds blocks for the results, of any
        strides; its `h` may be `a` itself.
        """
        ...

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
        """Replace `x` ``(..., m, n)`` by ``(I - V T V^H) x``, or by ``(I - V T^H V^H) x``.

        `v` is ``(..., m, w)`` and `t` ``(..., w, w)``, as `qr_panel` returns them. The first `unit`
        rows and columns of `x` are those of the identity, which may save work; `unit` is 0 or w.
        """
        ...

    def reflect_all(
        self,
        vs: Sequence[Block],
        ts: Sequence[Block],
        x: Block,
        *,
        kind: Kind,
        adjoint: bool,
    ) -> None:
        """Replace `x` ``(..., m, n)`` by ``Q x``, or by ``Q^H x`` if `adjoint`; tile by tile.

        `vs` and `ts` are C-contiguous V and T of the tiles of Q from the first on, all of one
        width but the last; each V has the rows of `x` from the first column of its tile on.
        """
        ...

    def window(
        self,
        r: Block,
        left: Block,
        right: Block | None,
        *,
        below: int,
        kind: Kind,
    ) -> None:
        """Make windows triangular by short reflectors, and multiply what belongs to them.

        `r` ``(..., m, w)``, ``w <= m <= w + below``, is zero below `below` diagonals under the main
        one. With ``r = E R``, E orthogonal, it becomes R, with zeros below its diagonal, which is
        real; `left` ``(..., m, n)`` becomes ``E^H left`` and `right` ``(..., k, m)`` becomes
        ``right E``. Columns of `r` are scaled by powers of two inside, as in `qr_panel`; those of
        `left` and rows of `right` have to be near 1. A window has at most `window_columns` columns,
        so that it fits a block of threads on a GPU. On a CPU, blocks of one limb may be float32;
        the window is computed in float64 and rounded.
        """
        ...

    def window_columns(self, below: int, *, kind: Kind) -> int:
        """Return how many columns windows with so many diagonals get; 0 where panels are better."""
        ...

    def forms_windows(self, below: int, *, limbs: int) -> bool:
        """Return whether E of `window` is better formed than reflectors are applied one by one."""
        ...

    def form_window(self, r: Block, out: Block, *, below: int, kind: Kind) -> None:
        """Make windows triangular, and write E of `window` to `out` ``(..., m, m)``.

        With `below` 0, columns `r` ``(..., m, 1)`` are reduced, and E is that of `rise`. Blocks of
        one limb may be float32.
        """
        ...

    def rise(self, z: Block, left: Block, right: Block | None, *, kind: Kind) -> None:
        """Reduce columns from their ends upwards, and multiply what belongs to them.

        `z` ``(..., m, 1)``, m at least 2, becomes ``(zeta, 0)`` with ``z = E (zeta, 0)``; `left`
        and `right` as in `window`. E is orthogonal, and zero above the first diagonal over the
        main one: the rows of a triangular `left` get one diagonal below the main one.
        """
        ...

    def reflectors(self, raw: Block, tau: Block) -> Reflectors | None:
        """Return Q for what ``xp.linalg.qr(a, mode="raw")`` returned, by the device's library.

        None where the library does not exist, or tiles of reflectors are faster: batches of many.
        """
        ...

    def triangular_tile(self, order: int, columns: int, *, kind: Kind) -> int:
        """Return the order of the tiles that `solve_triangular_tile` should get.

        `order` is that of the whole triangle, `columns` the number of right-hand sides.
        """
        ...

    def solve_triangular_tile(
        self,
        a: Block,
        b: Block,
        *,
        kind: Kind,
        lower: bool,
        unit_diagonal: bool,
    ) -> Block:
        """Solve ``a x = b`` for triangular tiles `a` ``(..., w, w)`` and `b` ``(..., w, n)``.

        Substitution with divisions, row by row: backward stable. Only the named triangle is read.
        A zero on the diagonal gives infinities or NaNs; the caller looks for it beforehand.
        Transposes are views; conjugation is the caller's (a copy of one tile).
        """
        ...

    def invert_triangle(self, r: Block) -> Block:
        """Return the inverse of a float64 or complex128 upper triangle ``(n, n)`` by a library.

        Not finite where it is singular.
        """
        ...

    def cholesky_floats(self, a: Block) -> Block:
        """Return the upper triangular C of a float64 or complex128 matrix ``C^H C``.

        NaN where that is not definite. What lies below the diagonal is not read.
        """
        ...

    def lu_floats(self, a: Block) -> FloatFactors:
        """Return L and U of a float64 or complex128 matrix ``(n, n)``."""
        ...

    def invert_factors(self, packed: Block) -> tuple[Block, Block]:
        """Return the inverses of L and of U from `lu_floats`; not finite where one is singular."""
        ...

    def invert_floats(self, a: Block) -> Block:
        """Return the inverse of a float64 or complex128 matrix ``(n, n)``.

        Not finite where it is singular.
        """
        ...

    def lu_panel(self, a: Block, places: Block, first: int, last: int, *, kind: Kind) -> None:
        """Eliminate in columns from `first` to `last` of matrices `a` ``(batch, m, n)``, in place.

        From row `first` on they become those of L and U. Row j is interchanged with row
        ``places[:, j]``, in all columns: that of the first of the largest entries, by the sum of
        the moduli of both parts. `places` is int64 ``(batch, min(m, n))``, C-contiguous.
        ``|P A - L U| <= (k + 60) eps |L| |U|`` in every entry, twice that for complex values, where
        k is ``last - first``; quotients have to be in the range of doubles.
        """
        ...

    def cholesky_panel(self, a: Block, *, kind: Kind) -> Block:
        """Return the first w rows ``(..., w, n)`` of the upper triangular C with ``C^H C = A``.

        `a` are those of A, whose upper triangle is read, but for imaginary parts of the diagonal;
        roots of diagonal entries have to be in the range of doubles. Where a minor is not positive
        the diagonal entry of C is not, and what follows means nothing. The errors are as those of
        `lu_panel`.
        """
        ...


class FloatFactors(NamedTuple):
    """L and U of a float64 matrix in LAPACK's storage, interchanges, the order of its rows.

    Row i was interchanged with row ``swaps[i]``, for i = 0, 1, ...; both are int64.
    """

    packed: Block
    swaps: Block
    order: Block


class RoundedSum(NamedTuple):
    """A sum rounded once, as a solution in the units of the data, and what is known of its errors.

    `bound` is one of the absolute errors, `relative` one relative to x, float64 of its shape;
    `kept`, of the batch shape, tells whether all components are as good as was asked for.
    """

    x: Block
    bound: Block
    relative: Block
    kept: Block


class RoundedSums(Protocol):
    """A backend that adds, rounds and bounds errors in one pass."""

    def rounded_sum(
        self,
        x: Block,
        low: Block | None,
        error: Block,
        powers: tuple[Block, Block],
        *,
        kind: Kind,
        unit: int,
        most: int,
    ) -> RoundedSum:
        """Return ``(x + low) * 2**(powers[0][i] - powers[1][j])``, correctly rounded.

        `bound` includes the bits cut off, and `error` plus ``2**unit`` times `low`, of the larger
        part if complex; `kept` is True where all relative bounds are at most ``2**most``.
        """
        ...


def rounded_sums(backend: Backend) -> RoundedSums | None:
    """Return the backend if it has a kernel for rounded sums."""
    return cast(RoundedSums, backend) if hasattr(backend, "rounded_sum") else None
