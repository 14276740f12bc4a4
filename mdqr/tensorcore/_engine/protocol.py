"""The interface between algorithms and machines, and the matrices that it passes."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple, Protocol

from mdqr._backend.float_panels import NO_FLOOR
from mdqr._limbs.planes import Block
from mdqr.tensorcore._engine.formats import Format

# Vectors that estimate how far a matrix is from orthonormal; the order of triangles that are
# inverted by a block of threads each.
PROBES, TRIANGLE = 8, 64
# Rows whose products tensor cores add up before float32 takes over, where errors of float32 show:
# they truncate, each 16 rows, so that the error of long sums grows with their length.
SUMMED = 4096


class Operand(NamedTuple):
    """A matrix as the operand of a low-precision product: its terms, rounded and scaled."""

    terms: tuple[Block, ...]
    form: Format

    def columns(self, first: int, last: int) -> Operand:
        """Return some of the columns."""
        return Operand(tuple(term[:, first:last] for term in self.terms), self.form)

    def part(self, top: int, bottom: int, first: int, last: int | None) -> Operand:
        """Return some of the rows of some of the columns."""
        terms = tuple(term[top:bottom, first:last] for term in self.terms)
        return Operand(terms, self.form)

    def corner(self, rows: int, columns: int) -> Operand:
        """Return the first rows and columns."""
        return Operand(tuple(term[:rows, :columns] for term in self.terms), self.form)


def headroom(rows: int) -> int:
    """Return an exponent such that `rows` entries below 1 have a norm below two to it."""
    return ((rows - 1).bit_length() + 1) // 2


class Loaded(NamedTuple):
    """A matrix as float32, column by column: ``a[:, j]`` is ``work[:, j] * 2**exponents[j]``."""

    work: Block
    exponents: Block


class Report(NamedTuple):
    """The notes that the kernels made while they ran; on the host."""

    not_finite: bool
    breakdown: bool  # a Q of reflections may not be orthonormal
    lossy: bool  # Q R of a "cholesky" panel may not be its columns


class Engine(Protocol):
    """An engine with low-precision products. Matrices are float32, column by column."""

    xp: ModuleType

    def load(self, a: Block, *, scaled: bool) -> Loaded:
        """Return a float32 copy of `a` whose columns have norms of at most 1, by powers of two.

        Without `scaled` it is a copy.
        """
        ...

    def exponents(self, a: Block) -> Block:
        """Return exponents such that the columns of a finite `a` are below two to them, int32.

        `a` has rows, and is of float32 or float64.
        """
        ...

    def matrix(self, rows: int, columns: int, *, zero: bool = False) -> Block:
        """Return a new matrix."""
        ...

    def memory(self, rows: int, columns: int, form: Format) -> Operand:
        """Return memory for an operand."""
        ...

    def round(self, x: Block, out: Operand) -> Operand:
        """Round `x` into the first rows and columns of `out`; return them."""
        ...

    def inner(self, p: Operand, x: Operand, out: Block, rows: int = 0) -> None:
        """Set `out` to ``p.T @ x``, the products of every so many `rows` for themselves."""
        ...

    def doubles(
        self,
        c: Block,
        a: Block,
        x: Block,
        *,
        transposed: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """Set `c` to ``alpha * a @ x + beta * c``, with ``a.T`` if `transposed`, in float64.

        `c` and `x` lie column by column, a float64 `a` row by row or column by column. A float32
        `a` lies such that the inner index is the fast one, alpha is 1 or -1 and beta 0 or 1.
        """
        ...

    def squares(self, x: Block) -> Block:
        """Return the squares of the lengths of the columns, in float64."""
        ...

    def departures(self, q: Block) -> Block:
        """Return the squares of the rows of ``(q.T @ q - I) @ signs``, in float64.

        `signs` has `PROBES` columns of random signs.
        """
        ...

    def inverses(self, r: Block, order: int) -> Block:
        """Return the inverses of the blocks of the diagonal of `r`, ``(blocks, order, order)``.

        `r` is float64, upper triangular and lies column by column; its order is a multiple of
        `order`, which is a power of two from `TRIANGLE` on.
        """
        ...

    def add(self, c: Block, p: Operand, x: Operand, sign: int, *, overwrite: bool = False) -> None:
        """Add ``sign * p @ x`` to `c`, or set `c` to it with `overwrite`."""
        ...

    def caqr(self, a: Block, r: Block, low: Operand | None = None) -> None:
        """Factor up to 128 columns by trees of Gram-Schmidt blocks: `a` becomes Q.

        Here and in the other panels, `low` becomes the rounded Q, and `r` is zero before.
        """
        ...

    def cholesky(
        self, a: Block, r: Block, low: Operand | None = None, *, floor: int = NO_FLOOR
    ) -> None:
        """Factor up to 128 columns by CholeskyQR in float64: `a` becomes Q.

        What is left of a column becomes zero if the square of its length is below ``2**floor``.
        Notes if Q R may not be the columns to the accuracy of float32.
        """
        ...

    def geqrf(self, a: Block, r: Block, low: Operand | None = None) -> None:
        """Factor by the Householder QR of LAPACK or cuSOLVER: `a` becomes Q."""
        ...

    def orthonormal(self, a: Block, r: Block, *, done: bool) -> None:
        """Factor up to 128 columns by CholeskyQR, until Q is orthonormal: `a` becomes Q.

        With `done` these are Q and R already, and Q is made orthonormal. Notes a breakdown: columns
        that depend on others, or nearly do.
        """
        ...

    def reflector(self, q: Block, k: Block, signs: Block) -> None:
        """Turn up to 128 orthonormal columns into Y, K and signs S: ``(I - Y K Y^T) E = Q S``.

        `q` becomes ``Y = Q - E S``.
        """
        ...

    def report(self, *values: Any) -> tuple[Report, tuple[Any, ...]]:
        """Synchronize; return what the machine noted, and small arrays on the host."""
        ...


def operand(engine: Engine, x: Block, form: Format) -> Operand:
    """Return `x` as operand, a copy."""
    rows, columns = x.shape
    return engine.round(x, engine.memory(rows, columns, form))
