"""The compiled extension: what bind.cpp defines, for type checkers.

Blocks have the shapes that mdqr/_backend/protocol.py says, with the leading axes of matrices in
one; results are written into the arrays that are handed in.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.float64]
Integers = NDArray[np.int64]

digests: dict[str, str]
compiler: str

def level() -> str: ...
def num_threads() -> int: ...
def set_num_threads(count: int) -> None: ...
def set_ftz(on: bool) -> None: ...
def unary(op: str, out: Block, x: Block, limbs: int, complex: bool) -> None: ...
def binary(op: str, out: Block, x: Block, y: Block, limbs: int, complex: bool) -> None: ...
def compare(out: NDArray[np.int8], x: Block, y: Block, limbs: int) -> None: ...
def ldexp(out: Block, x: Block, exponent: NDArray[np.int64], limbs: int) -> None: ...
def reduce(op: str, out: Block, x: Block, limbs: int, complex: bool) -> None: ...
def cumsum(out: Block, x: Block, limbs: int, complex: bool) -> None: ...
def argreduce(maximum: bool, out: NDArray[np.int64], x: Block, limbs: int) -> None: ...
def matmul(
    out: Block,
    c: Sequence[Block],
    a: Block,
    b: Block,
    limbs: int,
    complex: bool,
    conj_a: bool,
    conj_b: bool,
    subtract: bool,
) -> None: ...
def residual(
    out: Block,
    signs: Sequence[int],
    terms: Sequence[Block],
    a: Block,
    b: Block,
    limbs: int,
    complex: bool,
    conj_a: bool,
) -> None: ...
def qr_panel(h: Block, tau: Block, t: Block, a: Block, limbs: int, complex: bool) -> None: ...
def solve_triangular_tile(
    out: Block, a: Block, b: Block, limbs: int, complex: bool, lower: bool, unit_diagonal: bool
) -> None: ...
def lu_panel(
    a: Block, places: NDArray[np.int64], limbs: int, complex: bool, first: int, last: int
) -> None: ...
def cholesky_panel(c: Block, a: Block, limbs: int, complex: bool) -> None: ...
def mixed_cells(
    start: Integers, points: Integers, lifting: Block, most: int
) -> tuple[list[int], bool]: ...
def follow_paths(
    limbs: int,
    system: Sequence[Integers],
    coefficient: Block,
    weight: Sequence[Block],
    patch: Sequence[Block],
    gamma_re: float,
    gamma_im: float,
    x: Block,
    s: Block,
    step: Block,
    tangent: Block,
    past_x: Block,
    past_tangent: Block,
    past_s: Block,
    held: Integers,
    steps: Integers,
    set: Integers,
    which: Integers,
    state: Integers,
    target_re: float,
    target_im: float,
    tolerance: float,
    least: float,
    longest: float,
    vanishing: float,
    most: int,
    jump: bool,
) -> None: ...
def exact_scan(
    x: Block, complex: bool, shift: Integers, top: Integers, bottom: Integers
) -> None: ...
def exact_residues(
    data: NDArray[np.int8],
    sums: NDArray[np.int32],
    x: Block,
    complex: bool,
    exponent: Integers,
    shift: Integers,
    tau: int,
    modulus: NDArray[np.int32],
    narrow: int,
    words: int,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    start: NDArray[np.int32],
) -> None: ...
def exact_magnitudes(
    data: NDArray[np.int8],
    sums: NDArray[np.int32],
    x: Block,
    complex: bool,
    exponent: Integers,
    shift: Integers,
) -> None: ...
def exact_least(
    left: NDArray[np.int8],
    left_sums: NDArray[np.int32],
    m: int,
    right: NDArray[np.int8],
    right_sums: NDArray[np.int32],
    n: int,
) -> int: ...
def exact_product(
    out: Block,
    c: Sequence[Block],
    subtract: bool,
    limbs: int,
    complex: bool,
    left: NDArray[np.int8],
    left_sums: NDArray[np.int32],
    left_exponent: Integers,
    right: NDArray[np.int8],
    right_sums: NDArray[np.int32],
    right_exponent: Integers,
    modulus: NDArray[np.int32],
    narrow: int,
    words: int,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    start: NDArray[np.int32],
    weight: NDArray[np.float64],
    fraction: NDArray[np.float64],
    product: NDArray[np.float64],
    width: int,
    unit: int,
    scale: int,
) -> None: ...
def register_arrays(type: type) -> None: ...
def operate(op: str, x: object, y: object) -> Any: ...
def apply(op: str, x: object) -> Any: ...
def order(x: object, y: object) -> int | None: ...
def read_texts(texts: list[str], out: Block, done: NDArray[np.uint8]) -> None: ...
def read_rows(
    data: bytes,
    ends: NDArray[np.int64],
    targets: NDArray[np.int64],
    out: Block,
    status: NDArray[np.uint8],
    left: NDArray[np.uint8],
    delimiter: int,
    comment: str,
) -> None: ...
def write_texts(
    x: Block, full: int, digits: int, most: int
) -> tuple[list[str | None], list[int]]: ...
def series_order(
    values: Block,
    sums: Block,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    order: int,
    again: bool,
    limbs: int,
    complex: bool,
) -> None: ...
def series_equations(
    out: Block,
    values: Block,
    factors: Block,
    constants: Block,
    start: NDArray[np.int64],
    node: NDArray[np.int64],
    order: int,
    limbs: int,
    complex: bool,
) -> None: ...
def series_expand(
    values: Block,
    jacobian: Block,
    inverse: Block,
    work: Block,
    factors: Block,
    constants: Block,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    start: NDArray[np.int64],
    node: NDArray[np.int64],
    first: int,
    end: int,
    limbs: int,
    complex: bool,
) -> None: ...
def solve_small(
    error: Block,
    condition: Block,
    steps: NDArray[np.int64],
    status: NDArray[np.int64],
    x: Block,
    a: Block,
    b: Block,
    limbs: int,
    complex: bool,
) -> None: ...
def lstsq_small(
    error: Block,
    condition: Block,
    steps: NDArray[np.int64],
    status: NDArray[np.int64],
    x: Block,
    residuals: Block,
    a: Block,
    b: Block,
    limbs: int,
    complex: bool,
) -> None: ...
def window(
    r: Block,
    left: Sequence[Block],
    right: Sequence[Block],
    below: int,
    lanes: int,
    limbs: int,
    complex: bool,
) -> None: ...
def window_float32(
    r: NDArray[np.float32],
    left: Sequence[NDArray[np.float32]],
    right: Sequence[NDArray[np.float32]],
    below: int,
    lanes: int,
    limbs: int,
    complex: bool,
) -> None: ...
