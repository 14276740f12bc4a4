"""Tiled substitution with triangular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdqr import _limbs
from mdqr._array import MDArray
from mdqr._backend.protocol import Backend, Block
from mdqr._precision import Precision
from mdqr.linalg import _scaling
from mdqr.linalg._householder import set_unit_diagonal
from mdqr.linalg._operands import broadcast_batch, gather, matrix_shape, square_order

_TILE = 32
_TRANS: dict[Any, str] = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}
_ABSENT = -(2**40)
_RANGE = 700


class Triangle:
    """A triangular matrix, scaled once, for any number of solutions.

    Rows and columns are multiplied by powers of two so that the largest entry of each is near 1:
    products stay in range and on their fast path, and no bit changes. A matrix whose diagonal
    would be pushed to the end of the range is left as it is.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    block : Block
        Matrices ``(..., n, n)``; only the named triangle is read.
    limbs : int
        Number of limbs of the work.
    is_complex : bool
        Whether the values are complex.
    lower : bool
        Which triangle.
    unit_diagonal : bool
        Take the diagonal as ones.
    function : str
        The public function, for messages.
    """

    def __init__(
        self,
        backend: Backend,
        block: Block,
        *,
        limbs: int,
        is_complex: bool,
        lower: bool = False,
        unit_diagonal: bool = False,
        function: str,
    ) -> None:
        xp = backend.xp
        if unit_diagonal:
            part = xp.tril(block, -1) if lower else xp.triu(block, 1)
            set_unit_diagonal(part, is_complex)
        else:
            part = xp.tril(block) if lower else xp.triu(block)
        self.backend, self.limbs, self.is_complex = backend, limbs, is_complex
        self.lower, self.function = lower, function
        self.order = int(block.shape[-1])
        _scaling.require_finite(function, "a", part, is_complex)
        self._require_nonzero_diagonal(part)
        self.rows, self.columns = self._exponents(part)
        both = self.rows[..., :, None] + self.columns[..., None, :]
        self.block = _scaling.shifted(backend, part, -both, is_complex)

    def _require_nonzero_diagonal(self, part: Block) -> None:
        magnitudes = _scaling.magnitude_bits(part, self.is_complex)
        zero = self.backend.xp.diagonal(magnitudes, axis1=-2, axis2=-1) == 0
        if zero.any():
            *batch, column = _scaling.first_true(zero)
            raise np.linalg.LinAlgError(
                f"{self.function}: the matrix is singular: the diagonal entry of column {column} "
                f"is exactly zero{_scaling.of_batch(tuple(batch))}"
            )

    def _exponents(self, part: Block) -> tuple[Block, Block]:
        xp = self.backend.xp
        bits = _scaling.magnitude_bits(part, self.is_complex)
        found = xp.where(bits > 0, _scaling.exponents_of(bits), _ABSENT)
        columns = found.max(axis=-2, initial=_ABSENT)
        rows = (found - columns[..., None, :]).max(axis=-1, initial=_ABSENT)
        diagonal = xp.diagonal(found, axis1=-2, axis2=-1) - rows - columns
        sound = (diagonal >= -_RANGE).all(axis=-1)[..., None]
        return xp.where(sound, rows, 0), xp.where(sound, columns, 0)

    def solve(self, b: Block, trans: str = "N", *, check: bool = True) -> Block:
        """Return the solution of ``op(a) x = b`` for blocks ``(..., n, k)``.

        Parameters
        ----------
        b : Block
            Right-hand sides; leading dimensions broadcast.
        trans : {"N", "T", "C"}, optional
            The matrix, its transpose, or its conjugate transpose.
        check : bool, optional
            Raise LinAlgError if the solution overflows.

        Returns
        -------
        Block
            The solution.
        """
        before, after = (self.rows, self.columns) if trans == "N" else (self.columns, self.rows)
        a = self.block if trans == "N" else self.block.swapaxes(-1, -2)
        lower = self.lower == (trans == "N")
        _, (a, b) = broadcast_batch(self.function, [a, b], self.is_complex)
        bits = _scaling.magnitude_bits(b, self.is_complex)
        xp = self.backend.xp
        found = xp.where(bits > 0, _scaling.exponents_of(bits) - before[..., :, None], _ABSENT)
        shift = found.max(axis=-2, keepdims=True, initial=_ABSENT)
        shift = xp.where(shift == _ABSENT, 0, shift)
        y = _scaling.shifted(self.backend, b, -(before[..., :, None] + shift), self.is_complex)
        y = self._substitute(a, y, lower=lower, conjugate=trans == "C" and self.is_complex)
        x = _scaling.shifted(self.backend, y, shift - after[..., :, None], self.is_complex)
        if check and not _scaling.all_finite(x, self.is_complex):
            where = _scaling.where_not_finite("the solution", x, self.is_complex)
            raise np.linalg.LinAlgError(f"{self.function}: {where} is beyond the largest double")
        return x

    def _substitute(self, a: Block, b: Block, *, lower: bool, conjugate: bool) -> Block:
        front = _limbs.lead(self.is_complex)
        options: dict[str, Any] = {"limbs": self.limbs, "is_complex": self.is_complex}
        x = self.backend.xp.zeros((*b.shape[: front - 1], self.limbs, *b.shape[front:]))
        starts = range(0, self.order, _TILE)
        for start in starts if lower else reversed(starts):
            stop = min(start + _TILE, self.order)
            rows = slice(start, stop)
            known = slice(0, start) if lower else slice(stop, self.order)
            right = b[..., rows, :]
            if known.stop > known.start:
                right = self.backend.matmul(
                    a[..., rows, known],
                    x[..., known, :],
                    conj_a=conjugate,
                    c=right,
                    subtract=True,
                    **options,
                )
            tile = a[..., rows, rows]
            x[..., rows, :] = self.backend.solve_triangular_tile(
                conjugated(tile) if conjugate else tile,
                right,
                lower=lower,
                unit_diagonal=False,
                **options,
            )
        return x


def conjugated(block: Block) -> Block:
    """Return the complex conjugate as a new block."""
    result = block.copy()
    result[1] = _limbs.negate(result[1], False)
    return result


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    *,
    precision: Precision | str | None = None,
) -> MDArray:
    """Solve ``op(a) x = b`` for a triangular matrix by substitution.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``; only the named triangle is read.
    b : array_like
        A vector ``(n,)``, or matrices ``(..., n, k)``: only a 1-D `b` is a vector.
    trans : {0, 1, 2, "N", "T", "C"}, optional
        Solve with `a` (0, "N"), its transpose (1, "T") or its conjugate transpose (2, "C").
    lower : bool, optional
        Whether `a` is lower triangular.
    unit_diagonal : bool, optional
        Take the diagonal as ones; it is not read.
    precision : Precision or str, optional
        The precision of the solution; by default the highest of the operands.

    Returns
    -------
    MDArray
        The solution, ``(n,)`` or ``(..., n, k)``.

    Raises
    ------
    ValueError
        If the shapes do not fit or `trans` is unknown.
    numpy.linalg.LinAlgError
        If a diagonal entry is exactly zero, an operand is not finite, or the solution overflows.

    Notes
    -----
    Substitution by tiles of rows with divisions, no inverted tiles: the solution satisfies
    ``(op(a) + E) x = b`` with ``abs(E) <= (n + 16) eps abs(a)`` in every entry (N. J. Higham,
    Accuracy and Stability of Numerical Algorithms, chapter 8). Rows and columns are scaled by
    powers of two before.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[2.0, 1.0], [0.0, 4.0]], precision=mdqr.qd)
    >>> mdqr.linalg.solve_triangular(a, [4.0, 8.0]).to_numpy().tolist()
    [1.0, 2.0]
    """
    if not isinstance(trans, (int, str)) or trans not in _TRANS:
        raise ValueError(f'solve_triangular: trans must be 0, 1, 2, "N", "T" or "C"; got {trans!r}')
    inputs = gather(a, b, precision=precision)
    n = square_order("solve_triangular", "a", inputs.shape(0))
    right, is_vector = right_hand_side("solve_triangular", inputs.blocks[1], inputs.shape(1), n)
    _scaling.require_finite("solve_triangular", "b", right, inputs.is_complex)
    triangle = Triangle(
        inputs.backend,
        inputs.blocks[0],
        limbs=inputs.work.limbs,
        is_complex=inputs.is_complex,
        lower=lower,
        unit_diagonal=unit_diagonal,
        function="solve_triangular",
    )
    x = triangle.solve(right, _TRANS[trans])
    return inputs.wrap(x[..., 0] if is_vector else x)


def right_hand_side(
    function: str, block: Block, shape: tuple[int, ...], rows: int
) -> tuple[Block, bool]:
    """Return the block of `b` as columns, and whether `b` is a vector.

    Raises
    ------
    ValueError
        If the number of rows is wrong.
    """
    is_vector = len(shape) == 1
    found, _ = matrix_shape(function, "b", (*shape, 1) if is_vector else shape)
    if found != rows:
        raise ValueError(
            f"{function}: b must have {rows} rows, as a has; got shape {shape}"
            + (" (only a 1-D b is a vector)" if len(shape) > 1 else "")
        )
    return (block[..., None] if is_vector else block), is_vector
