"""Crossovers between algorithms, and sizes of their parts, as measured for each backend.

For a new machine, run the commands in front of the tables there, and change the numbers here: they
determine times and not the bounds of errors. No other module of `linalg` reads `backend.name`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import inf
from typing import NamedTuple, TypeVar

from mdqr._backend.protocol import Backend
from mdqr._limbs.planes import Kind

_T = TypeVar("_T")
# Lines of (largest value, entry); the last one is for all larger values.
_Lines = tuple[tuple[float, int], ...]


@cache
def _entry(lines: _Lines, value: float) -> int:
    return next(entry for largest, entry in lines if value <= largest)


def _of_fewer_limbs(table: Mapping[Kind, _T], kind: Kind) -> _T | None:
    """Return the entry of the most limbs below those of a kind; None for one limb.

    That is on the safe side: the more limbs, the sooner residues win.
    """
    known = [k for k in table if k.is_complex == kind.is_complex and k.limbs < kind.limbs]
    return table[max(known)] if known else None


# Householder QR, LU and Cholesky: columns that the panel kernel factors at once, by limbs, and
# columns of a tile, by the number of reflectors. Where numbers are cheap, calls are not.
# `python -m benchmarks cpu --only qr`, `gpu --only factorisations phases`.
LEAVES: dict[str, _Lines] = {"cpu": ((2, 16), (inf, 8)), "cuda": ((inf, 32),)}
TILES: dict[str, _Lines] = {
    "cpu": ((64, 32), (300, 48), (inf, 96)),
    "cuda": ((1024, 32), (inf, 64)),
}

# From so many rows and columns behind a tile on products go through residues, in tiles of that
# width. On a CPU sums of so few terms gain nothing: `python -m benchmarks products --only "few
# terms"`, `gpu-products --only "few terms" factors`.
LEAST_LENGTH = 1024
WIDE_TILES = {"cuda": 512}


def leaf_width(backend: Backend, limbs: int) -> int:
    """Return the number of columns of the panels that the kernel factors."""
    return _entry(LEAVES[backend.name], limbs)


def tile_width(
    backend: Backend, kind: Kind, reflectors: int, rows: int = 0, columns: int = 0
) -> int:
    """Return the number of columns of the next tile of so many reflectors.

    It is larger where products with the `rows` and `columns` behind it then go through residues.
    """
    wide = WIDE_TILES.get(backend.name, 0)
    if wide and kind.limbs > 1 and min(rows, columns - wide) >= LEAST_LENGTH:
        return wide
    return _entry(TILES[backend.name], reflectors)


def is_wide_tile(backend: Backend, kind: Kind, width: int, rows: int, columns: int) -> bool:
    """True if products of a tile go through residues."""
    is_wide = width == WIDE_TILES.get(backend.name)
    return is_wide and kind.limbs > 1 and min(rows, columns) >= LEAST_LENGTH


class Crossover(NamedTuple):
    """The least products of numbers, and the least harmonic mean of the three lengths."""

    work: float
    lengths: float


# Products through residues, on two cores that have products of bytes, and on an H100:
# `python -m benchmarks products`, `gpu-products --only crossover`.
RESIDUES: dict[str, dict[Kind, Crossover]] = {
    "cpu": {
        Kind(2, False): Crossover(0, 448),
        Kind(4, False): Crossover(0, 288),
        Kind(8, False): Crossover(0, 208),
        Kind(2, True): Crossover(0, 384),
        Kind(4, True): Crossover(0, 192),
        Kind(8, True): Crossover(0, 160),
    },
    "cuda": {
        Kind(2, False): Crossover(1.6e8, 230),
        Kind(4, False): Crossover(5e7, 200),
        Kind(8, False): Crossover(2.4e7, 190),
        Kind(2, True): Crossover(4e7, 200),
        Kind(4, True): Crossover(1.6e7, 170),
        Kind(8, True): Crossover(7.5e6, 150),
    },
}

# Of products within other algorithms. On a GPU the wait for the moduli stalls launches that the
# host would have queued, so that there must be more to gain: Q and R by reflections, and triangular
# systems, on an H100: `python -m benchmarks gpu-products --only factors`.
RESIDUES_WITHIN: dict[str, dict[Kind, Crossover]] = {
    "cpu": RESIDUES["cpu"],
    "cuda": {
        Kind(2, False): Crossover(6e8, 420),
        Kind(4, False): Crossover(2.5e8, 360),
        Kind(8, False): Crossover(1.2e8, 228),
        Kind(2, True): Crossover(2.2e8, 276),
        Kind(4, True): Crossover(7.4e7, 204),
        Kind(8, True): Crossover(3.3e7, 180),
    },
}


# No table has products of fewer terms; small matrices do not wait for it.
SHORTEST = 32


def residues_are_faster(
    backend: Backend, m: int, k: int, n: int, *, kind: Kind, is_part: bool = False
) -> bool:
    """True if a product through residues takes less time than one of limbs.

    What they add to the products of bytes grows as m k + k n + m n: the harmonic mean decides.
    """
    table = (RESIDUES_WITHIN if is_part else RESIDUES)[backend.name]
    least = table[kind] if kind in table else _of_fewer_limbs(table, kind)
    if least is None or m * k * n < max(least.work, 1):
        return False
    return least.lengths * (m * k + k * n + m * n) <= 3 * m * k * n


# Residuals of many columns by one exact product, on a GPU: its kernel has an accumulator an entry.
# On a CPU they gain nothing: `mdqr.linalg.inv` of orders 150 to 500.
_EXACT_RESIDUALS = {"cpu": False, "cuda": True}


def exact_residuals_are_faster(backend: Backend, m: int, k: int, n: int, *, kind: Kind) -> bool:
    """True if residuals by exact products take less time than sums in twice the limbs."""
    exact = _EXACT_RESIDUALS[backend.name]
    return exact and residues_are_faster(backend, m, k, n, kind=kind, is_part=True)


# Sums of products in more bits than the limbs have, as determinants need them, through residues:
# times of `mdqr.linalg.det` of random matrices of orders 32 to 128. On a GPU there are none.
_MORE_BITS_ORDER = {"cpu": 48}


def order_of_residues(backend: Backend) -> float:
    """Return the order from which on products in more bits than limbs have go through residues."""
    return _MORE_BITS_ORDER.get(backend.name, inf)


# Q and R by products: the least order, and the least product of its square with the longer length,
# of matrices for which it takes less time than by reflections. On an H100; on CPUs there are none.
# `python -m benchmarks gpu-products --only factors`.
LEAST_REFINED = 384
REFINED_QR: dict[str, dict[Kind, float]] = {
    "cuda": {
        Kind(2, False): 2e8,
        Kind(4, False): 1.6e8,
        Kind(8, False): 1.2e8,
        Kind(2, True): 1.3e8,
        Kind(4, True): 1e8,
        Kind(8, True): 5.5e7,
    },
}


def refined_qr_is_faster(backend: Backend, m: int, n: int, columns: int, *, kind: Kind) -> bool:
    """True if Q with so many columns, and R, take less time by products than by reflections."""
    table, order = REFINED_QR.get(backend.name), min(m, n)
    # Columns that complete Q cost as much as others.
    if table is None or order < LEAST_REFINED or columns > 2 * n:
        return False
    least = table[kind] if kind in table else _of_fewer_limbs(table, kind)
    return least is not None and max(m, n) * order**2 >= least


# The least order of a matrix whose LU and Cholesky factors take less time by sweeps of products
# from float64 factors. On a CPU none do. `python -m benchmarks gpu-middle --only factors`.
_REFINED_FACTORS = {"cpu": inf, "cuda": 384}


def refined_factors_are_faster(backend: Backend, order: int, *, kind: Kind) -> bool:
    """Return True if LU and Cholesky factors take less time by sweeps of products."""
    return kind.limbs > 1 and order >= _REFINED_FACTORS[backend.name]


# Rows of the blocks of Cholesky factors, and of those of L and U, by the most limbs, and the least
# order of a matrix that takes less time by blocks than by sweeps of all of it.
# `python -m benchmarks gpu-middle --only factors`.
_Blocks = tuple[tuple[float, int, float], ...]
_CHOLESKY_BLOCKS: dict[str, _Blocks] = {
    "cpu": ((inf, 1024, inf),),
    "cuda": ((2, 1024, 4096), (4, 512, 3072), (inf, 512, 2048)),
}
_LU_BLOCKS: dict[str, _Blocks] = {
    "cpu": ((inf, 1024, inf),),
    "cuda": ((2, 1024, inf), (4, 1024, 3072), (inf, 512, 3072)),
}


def cholesky_block(backend: Backend, order: int, *, kind: Kind, shared: bool = False) -> int:
    """Return the rows of blocks of a Cholesky factor, all of them where blocks take longer.

    Blocks that are `shared` by several devices are as large.
    """
    width, least = _blocks(_CHOLESKY_BLOCKS[backend.name], kind)
    return width if shared or order >= least else order


def lu_block(backend: Backend, order: int, *, kind: Kind) -> int:
    """Return the rows of blocks of L and U, all of them where blocks take longer."""
    width, least = _blocks(_LU_BLOCKS[backend.name], kind)
    return width if order >= least else order


def _blocks(table: _Blocks, kind: Kind) -> tuple[int, float]:
    return next((width, least) for most, width, least in table if kind.limbs <= most)


# The least order of a matrix whose float64 inverse takes less time by mdqr's inverses of L and U
# than by the library. `python -m benchmarks gpu-middle --only solve`.
_FACTORED_INVERSES = {"cpu": inf, "cuda": 96}


def factored_inverses_are_faster(backend: Backend, order: int) -> bool:
    """Return True if the inverse of one float64 matrix takes less time by L and U."""
    return order >= _FACTORED_INVERSES[backend.name]


# The least order of one of which the inverse takes less time by the Cholesky factor of its Gram
# matrix, where that serves, than by L and U. `python -m benchmarks gpu-middle --only inv`.
_GRAM_INVERSES = {"cpu": inf, "cuda": 384}


def gram_inverses_are_faster(backend: Backend, order: int) -> bool:
    """Return True if the inverse of one float64 matrix takes less time by its Gram matrix."""
    return order >= _GRAM_INVERSES[backend.name]


# Approximate inverses X in nested refinement: the cost of a further round, and of improving X from
# the Gram matrix of A X, in steps for each column; by the most limbs of the solution, the most
# limbs of X, and of products of it with A, that are cheaper than Householder QR; and whether a Gram
# matrix that is not definite gets more on its diagonal instead of QR.
# `python -m benchmarks systems --only large conditions steps`, `gpu-systems`.
_ROUND_COST = {"cpu": 1 / 8, "cuda": 1 / 64}
_IMPROVEMENT_COST = {"cpu": 1 / 64, "cuda": 1 / 512}
_INVERSE_LIMBS: dict[str, tuple[tuple[float, int, int], ...]] = {
    "cpu": ((2, 1, 2), (4, 2, 2), (inf, 3, 4)),
    "cuda": ((1, 1, 8), (2, 2, 8), (4, 4, 8), (inf, 8, 8)),
}
_SHIFTED_GRAMS = {"cpu": False, "cuda": True}


def round_cost(backend: Backend) -> float:
    """Return the cost of a round that gives X more limbs, in steps for each column."""
    return _ROUND_COST[backend.name]


def improvement_cost(backend: Backend) -> float:
    """Return the cost of improving X from a Gram matrix, in steps for each column."""
    return _IMPROVEMENT_COST[backend.name]


def inverse_limbs(backend: Backend, limbs: int) -> tuple[int, int]:
    """Return the most limbs of X, and of its products with A, for solutions of so many limbs."""
    rows = _INVERSE_LIMBS[backend.name]
    return next((most, widest) for largest, most, widest in rows if limbs <= largest)


def shifts_grams(backend: Backend) -> bool:
    """True if Gram matrices that are not definite get more on their diagonals."""
    return _SHIFTED_GRAMS[backend.name]


# Whether vectors of like sizes are first turned by the eigenvectors of their Gram matrix: cuSOLVER
# takes ten times as long for singular vectors. `python -m benchmarks gpu-middle --only spectra`.
_GRAM_STARTS = {"cpu": False, "cuda": True}


def starts_from_grams(backend: Backend) -> bool:
    """Return True if vectors of like sizes are first turned by eigenvectors."""
    return _GRAM_STARTS[backend.name]


# Whether steps of square systems are planned before the first, so that a device is waited for twice
# and the work between may be recorded. `python -m benchmarks gpu-middle --only solve`.
_PLANS_STEPS = {"cpu": False, "cuda": True}


def plans_steps(backend: Backend) -> bool:
    """Return True if steps are planned before the first one."""
    return _PLANS_STEPS[backend.name]


class Window(NamedTuple):
    """The columns of a window for p rows or columns that come or go: ``sqrt(p^2 + pull p)``.

    That is where two costs of a window of w columns meet: its products, of which each column of R
    and row of Q has ``(w + p)^2 / w`` a reflection, and the rest, which grows with p. Widths lie
    between `least` and `most` and are multiples of `unit`.
    """

    unit: int
    least: int
    most: int
    pull: float = 0.0

    def width(self, p: float) -> int:
        """Return the number of columns."""
        wanted = max(self.least, min((p * p + self.pull * p) ** 0.5, self.most))
        return self.unit * max(1, round(wanted / self.unit))


# Updates: columns of R that are reduced together, of floats on a GPU, where panels take nearly all
# of the time, whatever their windows. `python -m benchmarks windows`.
_FLOAT_WINDOWS = {
    "subdiagonals": Window(64, 256, 256),
    "rows": Window(64, 256, 256),
    "spike": Window(64, 512, 1536),
}


def _host_window(sweep: str, limbs: int) -> Window:
    """Return the window on a CPU."""
    unit = 32 if limbs == 1 else _entry(LEAVES["cpu"], limbs)
    return Window(unit, unit, 48 if sweep == "rows" else 96)


def _device_window(sweep: str, limbs: int) -> Window:
    """Return the window of multiple doubles on a GPU.

    Where numbers are cheap, launches and the latency of panels are not.
    """
    if sweep == "subdiagonals":
        return Window(32, 32, 32)
    if sweep == "rows":
        return Window(32, 512 // limbs, 512 // limbs)
    return Window(32, 512 // limbs, 1536, 1600 / limbs)


def window_width(backend: Backend, sweep: str, p: int, limbs: int) -> int:
    """Return the number of columns of a window; `limbs` is 1 for floats."""
    if backend.name == "cpu":
        return _host_window(sweep, limbs).width(p / 2 if sweep == "rows" else p)
    return (_FLOAT_WINDOWS[sweep] if limbs == 1 else _device_window(sweep, limbs)).width(p)


# Updates: columns in front of others that are reduced one by one, each by a sweep, by limbs.
# `python -m benchmarks windows`, `update-cpu`.
_SINGLE_COLUMNS: dict[str, _Lines] = {
    "cpu": ((1, 2), (2, 4), (inf, 1)),
    "cuda": ((inf, 1),),
}


def single_columns(backend: Backend, limbs: int) -> int:
    """Return the most columns in front of others that are reduced one after the other."""
    return _entry(_SINGLE_COLUMNS[backend.name], limbs)


class Rates(NamedTuple):
    """Multiply-adds a second; seconds a column of a panel, an entry of one, a window.

    All but the last hold for one limb; for more, they change with these powers of the limbs, and
    entries as products. A sum in twice the precision takes `residual` times the others. A column of
    a window of one kernel call with one diagonal takes `reflector`, and a call `call`.
    """

    products: float
    products_power: float
    column: float
    column_power: float
    entry: float
    window: float
    residual: float
    reflector: float
    reflector_power: float
    call: float


# Updates and refactorisations of multiple doubles and of floats.
# `python -m benchmarks update-cpu`, `update-cuda`, then `python -m benchmarks.update.thresholds
# --fit`.
_UPDATE_RATES = {
    "cpu": Rates(4.5e9, -1.55, 8.4e-6, 0.75, 5.4e-8, 1.8e-4, 3.0, 4e-7, 1.6, 3e-5),
    "cuda": Rates(1.1e12, -1.2, 5.9e-6, 0.83, 5.3e-10, 2.5e-5, 4.0, 1.4e-7, 2.45, 1.4e-4),
}
_FLOAT_RATES = {
    "cpu": Rates(1.4e10, 0.0, 5e-6, 0.0, 1.5e-8, 6e-5, 15.0, 4e-7, 0.0, 3e-5),
    "cuda": Rates(1.0e13, 0.0, 2.8e-6, 0.0, 5.4e-10, 2e-4, 1.0, 4e-7, 0.0, 1.3e-4),
}
# float32 by panels of a launch or two, on a GPU: the rest of a window takes longer than in a
# refactorisation, and sums in twice the precision are those of float64. Windows of a call each
# they have none.
_PANEL_RATES = Rates(1.5e13, 0.0, 1.9e-6, 0.0, 5e-11, 1.5e-4, 6.0, 0.0, 0.0, 0.0)


def update_rates(backend: Backend, limbs: int, *, has_panels: bool) -> Rates:
    """Return the rates of an arithmetic; `limbs` is 1 for floats."""
    if has_panels:
        return _PANEL_RATES
    return (_FLOAT_RATES if limbs == 1 else _UPDATE_RATES)[backend.name]
