"""Panels of at most 128 columns by the kernels of ``kernels/cuda/tensorcore``, a launch each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mdqr._backend.cuda.runtime.kernels import Kernels, Launch, Module, divided, fields
from mdqr._backend.float_panels import CUTOFF, FAN_IN, NO_FLOOR, SMALL, rows_of_block
from mdqr._limbs.planes import Block, Kind

_KIND = Kind(1, False)
REFLECTOR = Module("tensorcore/reflector", _KIND)

_THREADS = 256
# Words of a block of a caqr panel: a tile; sums, a square and what lies behind.
_TILE_WORDS = CUTOFF * (256 + 4)
_OTHER_WORDS = 4 * _THREADS + SMALL * (SMALL + 4) + SMALL * (CUTOFF - SMALL + 4)
# Levels of its tree, at most.
_LEVELS = 8
# Of a cholesky panel: parts of the Gram matrix, rows of a tile, blocks however few its rows, and
# words of a tile with half of the inverse.
_PARTS, _TILE_ROWS, _LEAST_BLOCKS = 128, 64, 16
_CHOLESKY_WORDS = CUTOFF * (_TILE_ROWS + 4) + CUTOFF // 2 * (CUTOFF + 4)
# Of the reflections of a panel: two rows, two columns and the signs.
_REFLECTOR_WORDS = 5 * CUTOFF
# Words that are zero, taken one after the other.
_WORDS = 16384
# The fields of `struct operand_matrix` of none.
NO_OPERAND = (0, 0, 0, 0, 0)


def column_stride(x: Block) -> int:
    """Return the distance of the columns of a matrix in elements, at least its rows."""
    return max(x.strides[1] // x.dtype.itemsize if x.shape[1] > 1 else 0, len(x), 1)


class Tree(NamedTuple):
    """The requirements of a caqr panel of so many rows."""

    rows: int  # of a block
    blocks: int  # of the launch
    squares: Block  # of the blocks of rows and of all levels but the last
    behind: Block  # products with the columns behind


def tree_nodes(rows: int) -> list[int]:
    """Return how many blocks each level of the tree has."""
    nodes = [divided(rows, rows_of_block(rows))]
    while nodes[-1] > 1:
        nodes.append(divided(nodes[-1], FAN_IN))
    return nodes


class CudaPanels:
    """Launches of panels, and the memory that all panels of an engine share."""

    def __init__(self, kernels: Kernels) -> None:
        self._xp, self._kernels = kernels.xp, kernels
        self._words = self._xp.zeros(_WORDS, dtype=np.int64)
        self.noted = self._words[:3]
        self.status, self.breakdown, self.lossy = (self.noted[i : i + 1] for i in range(3))
        self._used = 3
        self._trees: dict[int, Tree] = {}

    def view(self, x: Block) -> list[int]:
        """Return the fields of `struct float_matrix`."""
        return [self._kernels.address(x), column_stride(x), *x.shape]

    def words(self, count: int) -> int:
        """Return the address of words that are zero and used by no one else."""
        if self._used + count > len(self._words):
            self._words, self._used = self._xp.zeros(_WORDS, dtype=np.int64), 0
        self._used += count
        return self._kernels.address(self._words) + 8 * (self._used - count)

    def _tree(self, rows: int) -> Tree:
        if rows not in self._trees:
            nodes = tree_nodes(rows)
            # Upper blocks run along with those of the rows, if there are multiprocessors for them.
            most = self._kernels.device.multiprocessors
            blocks = min(sum(nodes[:2]), most) if nodes[1:] else 1
            self._trees[rows] = Tree(
                rows_of_block(rows),
                blocks,
                self._xp.empty((sum(nodes), SMALL, SMALL), dtype=np.float32),
                self._xp.empty((nodes[0], CUTOFF - SMALL, SMALL), dtype=np.float32),
            )
        return self._trees[rows]

    def caqr(self, a: Block, r: Block, low: Sequence[int] = NO_OPERAND) -> None:
        """Factor up to 128 columns by trees of Gram-Schmidt blocks: `a` becomes Q, and `r` R.

        `low` are the fields of `struct operand_matrix` that gets Q rounded.
        """
        tree, address = self._tree(len(a)), self._kernels.address
        work = self._kernels.workspace(
            tree.blocks, 4 * (_TILE_WORDS + _OTHER_WORDS),
            moved=4 * _TILE_WORDS, left=4 * _OTHER_WORDS, in_turn=False,
        )  # fmt: skip
        self._kernels.launch(
            Module("tensorcore/caqr", _KIND, work.defines), "mdqr_tensorcore_caqr",
            fields(
                self.view(a), self.view(r), list(low), address(tree.squares),
                address(tree.behind), self.words(_LEVELS + 2), tree.rows, tree.blocks, work.fields,
            ),
            grid=(tree.blocks,), threads=_THREADS, shared=work.shared,
            cooperative=tree.blocks > 1,
        )  # fmt: skip

    @cached_property
    def _memory(self) -> Block:
        """The parts of a Gram matrix, the matrix, the inverse of its triangle, and limits."""
        return self._xp.empty((_PARTS + 3, CUTOFF, CUTOFF))

    def cholesky(
        self, a: Block, r: Block, low: Sequence[int] = NO_OPERAND, floor: int = NO_FLOOR
    ) -> None:
        """Factor up to 128 columns by CholeskyQR in float64, twice where once is not enough.

        The diagonal of the first R counts as at least ``2**floor``.
        """
        self._cholesky(a, r, low, floor, reflects=False, done=False)

    def orthonormal(self, a: Block, r: Block, *, done: bool) -> None:
        """Factor up to 128 columns by CholeskyQR, until Q is orthonormal."""
        self._cholesky(a, r, NO_OPERAND, NO_FLOOR, reflects=True, done=done)

    def reflector(self, q: Block, k: Block, signs: Block) -> None:
        """Turn orthonormal columns into Y, K and signs, in one block."""
        arguments = [*self.view(q), *self.view(k), self._kernels.address(signs)]
        self._kernels.repeat([_reflector(slice(0, len(arguments)))], fields(arguments))

    def reflections(self, a: Sequence[int], r: Sequence[int], k: Sequence[int], signs: int) -> None:
        """Do both, one after the other: ``(I - Y K Y^T) E S R = A``; see `Panels.reflections`."""
        launch, arguments, _memory = self._orthonormal(
            a, r, NO_OPERAND, NO_FLOOR, reflects=True, done=False
        )
        middle = len(arguments)
        arguments += [*a, *k, signs]
        self._kernels.repeat([launch, _reflector(slice(middle, len(arguments)))], fields(arguments))

    def _cholesky(
        self, a: Block, r: Block, low: Sequence[int], floor: int, *, reflects: bool, done: bool
    ) -> None:
        views = self.view(a), self.view(r), low
        launch, arguments, _memory = self._orthonormal(*views, floor, reflects=reflects, done=done)
        self._kernels.repeat([launch], fields(arguments))

    def _orthonormal(
        self, a: Sequence[int], r: Sequence[int], low: Sequence[int], floor: int,
        *, reflects: bool, done: bool,
    ) -> tuple[Launch, list[int], Block | None]:  # fmt: skip
        """Return a launch, its arguments, and memory to keep until it is started.

        `a` and `r` are fields of `struct float_matrix`.
        """
        tiles = divided(a[2], _TILE_ROWS)
        each = divided(tiles, _PARTS)
        parts = divided(tiles, each)
        # Those without rows help with the sums of columns.
        blocks = min(max(parts, _LEAST_BLOCKS), self._kernels.device.multiprocessors)
        work = self._kernels.workspace(blocks, 8 * _CHOLESKY_WORDS, in_turn=False)
        partial = self._kernels.address(self._memory)
        behind = [partial + (_PARTS + i) * 8 * CUTOFF * CUTOFF for i in range(3)]
        noted = self._kernels.address(self.breakdown if reflects else self.lossy)
        arguments = [
            *a, *r, *low, partial, *behind, self.words(4), parts, each, blocks, floor,
            int(reflects), noted, int(done), *work.fields,
        ]  # fmt: skip
        launch = Launch(
            Module("tensorcore/cholesky", _KIND, work.defines), "mdqr_tensorcore_cholesky",
            slice(0, len(arguments)), (blocks,), _THREADS, work.shared, cooperative=True,
        )  # fmt: skip
        return launch, arguments, work.memory


def _reflector(part: slice) -> Launch:
    """Return the launch of one block that makes reflections of Q."""
    shared = 8 * _REFLECTOR_WORDS
    name = "mdqr_tensorcore_reflector"
    return Launch(REFLECTOR, name, part, (1,), _THREADS, shared, cooperative=False)
