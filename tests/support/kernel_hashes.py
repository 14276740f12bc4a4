"""Hashes of the limbs of every kernel's result; a program, since a process has one CPU level.

Prints JSON: the level, and for every variant (threads, flushing of subnormals set by the caller) a
dictionary from the name of a computation to its hash.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator

import numpy as np

import mdqr
from mdqr._backend import for_block
from mdqr._backend.protocol import (
    BINARY,
    ELEMENTARY_BINARY,
    ELEMENTARY_UNARY,
    REAL_ONLY,
    REDUCTIONS,
    UNARY,
    EquationTerms,
    ProductGraph,
)
from mdqr._limbs.planes import Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._products.exact import product as exact
from mdqr.testing._families import FAMILIES, SPECIAL, Bounds, draw

Results = Iterator[tuple[str, Callable[[], object]]]

COUNT = 1601  # several chunks, and no multiple of a vector
FEW = 601  # the same for functions that take a hundred times as long as an operation
FULL = 4  # with more limbs, whose products take several times as long, matrices have half the sides
VARIANTS = {
    f"{threads} thread{'s' * (threads > 1)}{', flushing' * flushing}": (threads, flushing)
    for threads, flushing in ((1, False), (3, True))
}
FIRST = next(iter(VARIANTS))


def mixed(rng, limbs, shape, *, special=True):
    """Draw values of all families."""
    size = int(np.prod(shape))
    names = [*FAMILIES, *(SPECIAL if special else ["zero"])]
    planes = np.empty((limbs, size))
    member = rng.integers(0, len(names), size=size)
    for i, name in enumerate(names):
        where = np.flatnonzero(member == i)
        planes[:, where] = draw(name, rng, limbs, len(where), 40, Bounds(-1074, 1023, True))
    return planes.reshape(limbs, *shape)


def plain(rng, limbs, shape):
    """Draw full-width values of moderate size."""
    planes = draw("random", rng, limbs, int(np.prod(shape)), 3, Bounds(-1074, 1023, True))
    return planes.reshape(limbs, *shape)


def draws(rng, limbs, shape, is_complex, maker=plain):
    """Draw a block."""
    parts = [maker(rng, limbs, shape) for _ in range(2 if is_complex else 1)]
    return np.stack(parts) if is_complex else parts[0]


def sides(limbs, *lengths):
    """Return the sides of matrices; half of them are odd, too, where these are."""
    return lengths if limbs <= FULL else tuple(n // 4 * 2 + n % 2 for n in lengths)


def finite(rng, limbs, shape):
    return mixed(rng, limbs, shape, special=False)


def elementwise(backend, limbs, is_complex) -> Results:
    rng = np.random.default_rng(1)
    x, y = (draws(rng, limbs, (COUNT,), is_complex, mixed) for _ in range(2))
    options = {"kind": Kind(limbs, is_complex)}
    without = REAL_ONLY if is_complex else ()
    few_x, few_y = x[..., :FEW], y[..., :FEW]
    for op in UNARY:
        if op not in without:
            a = few_x if op in ELEMENTARY_UNARY else x
            yield op, lambda op=op, a=a: backend.unary(op, a, **options)
    for op in BINARY:
        if op not in without:
            a, b = (few_x, few_y) if op in ELEMENTARY_BINARY else (x, y)
            yield op, lambda op=op, a=a, b=b: backend.binary(op, a, b, **options)
    # Where series and recurrences have the most terms.
    near_x, near_y = (16 * draws(rng, limbs, (FEW,), is_complex) for _ in range(2))
    for op in ELEMENTARY_UNARY:
        if op not in without:
            yield f"{op} near", lambda op=op: backend.unary(op, near_x, **options)
    for op in ELEMENTARY_BINARY:
        if op not in without:
            yield f"{op} near", lambda op=op: backend.binary(op, near_x, near_y, **options)
    exponents = rng.integers(-1100, 1100, size=COUNT)
    yield "ldexp", lambda: backend.ldexp(x, exponents, is_complex=is_complex)
    if not is_complex:
        yield "compare", lambda: backend.compare(x, y)


def reductions(backend, limbs, is_complex) -> Results:
    rng = np.random.default_rng(2)
    options = {"kind": Kind(limbs, is_complex)}
    for name, x in {
        "many": draws(rng, limbs, (37, 19), is_complex),
        "long": draws(rng, limbs, (1, 5_003), is_complex),
        "wild": draws(rng, limbs, (5, 300), is_complex, finite),
    }.items():
        for op in REDUCTIONS:
            yield f"{op} {name}", lambda op=op, x=x: backend.reduce(op, x, **options)
        yield f"cumsum {name}", lambda x=x: backend.cumsum(x, **options)
        if not is_complex:
            yield f"argmax {name}", lambda x=x: backend.argreduce("max", x)
            yield f"argmin {name}", lambda x=x: backend.argreduce("min", x)


def small_systems(backend, limbs, is_complex) -> Results:
    rng = np.random.default_rng(7)
    options = {"kind": Kind(limbs, is_complex)}
    for m, n in ((1, 1), (7, 7), (21, 21), (5, 3), (35, 18)):
        a, b = (draws(rng, limbs, (9, m, k), is_complex) for k in (n, 2))
        graded = np.ldexp(a, -2 * np.arange(n))
        if m == n:
            yield f"solve_small {n}", lambda a=a, b=b: backend.solve_small(a, b, **options)[:-1]
        yield f"lstsq_small {m} {n}", lambda a=graded, b=b: backend.lstsq_small(a, b, **options)


def products(backend, limbs, is_complex) -> Results:
    rng = np.random.default_rng(3)
    options = {"kind": Kind(limbs, is_complex)}
    m, k, n = sides(limbs, 67, 45, 33)
    a, b, c, batch = (
        draws(rng, limbs, shape, is_complex) for shape in ((m, k), (k, n), (m, n), (5, k, 7))
    )
    short = draws(rng, 1, (k, n), is_complex)
    wild = draws(rng, limbs, (9, 23), is_complex, finite)
    graded = np.ldexp(a, -15 * np.arange(k))
    yield "matmul", lambda: backend.matmul(a, b, **options)
    yield "matmul subtract", lambda: backend.matmul(a, b, c=c, subtract=True, **options)
    yield "matmul one limb", lambda: backend.matmul(a, short, **options)
    yield "matmul batch", lambda: backend.matmul(a, batch, **options)
    yield "matmul graded", lambda: backend.matmul(graded, b, **options)
    yield "matmul wild", lambda: backend.matmul(wild, wild.swapaxes(-1, -2), **options)
    yield "matvec", lambda: backend.matmul(a, b[..., :1], **options)
    yield "dot", lambda: backend.matmul(a[..., :1, :], b[..., :1], **options)
    yield "residual", lambda: backend.residual([(1, c), (-1, c)], a, b, **options)

    def exact_product(x, y, all_bits):
        return exact.product(backend, x, y, **options, all_bits=all_bits)

    yield "exact", lambda: exact_product(a, b, True)
    yield "exact with a bound", lambda: exact_product(a, b, False)
    yield "exact one limb", lambda: exact_product(a, short, False)
    yield "exact graded", lambda: exact_product(graded, b, True)


def series(backend, limbs, is_complex) -> Results:
    graph = ProductGraph(*map(np.array, ([0, 3, 0, 4, 6], [1, 2, 0, 5, 1], [0, 1, 3, 4, 5])))

    def orders(count):
        rng = np.random.default_rng(8)
        values = draws(rng, limbs, (count, 8, 21), is_complex)
        sums = np.zeros((*values.shape[: 1 + is_complex], count, 5))
        for k in (0, 1, 2, 9, 20):
            backend.series_order(values, sums, graph, k, kind=Kind(limbs, is_complex))
        return values, sums

    def expanded(count):
        rng = np.random.default_rng(9)
        values = draws(rng, limbs, (count, 8, 9), is_complex)
        values[..., 1:] = 0.0
        factors = draws(rng, limbs, (1, 20, 2), is_complex) / 8
        constants = draws(rng, limbs, (1, 3, 9), is_complex)
        terms = EquationTerms(np.array([0, 3, 11, 20]), rng.integers(0, 8, 20), factors, constants)
        matrices = [draws(rng, limbs, (count, 3, 3), is_complex) for _ in range(2)]
        options = {"kind": Kind(limbs, is_complex)}
        backend.series_expand(values, *matrices, graph, terms, range(1, 9), **options)
        return values, backend.series_equations(values, terms, 8, **options)

    yield "series_expand", lambda: expanded(3)
    yield "series_order", lambda: orders(3)
    yield "series_order many", lambda: orders(*sides(limbs, 300))


def factorisations(backend, limbs, is_complex) -> Results:
    rng = np.random.default_rng(4)
    options = {"kind": Kind(limbs, is_complex)}
    panels, tiles, right = (
        draws(rng, limbs, shape, is_complex)
        for shape in ((3, *sides(limbs, 51, 13)), (3, 17, 17), (3, 17, 7))
    )
    yield "qr_panel", lambda: backend.qr_panel(panels, **options)
    band, left, rest = (
        draws(rng, limbs, shape, is_complex) for shape in ((3, 16, 13), (3, 16, 41), (3, 37, 16))
    )
    band = np.triu(band, -3)

    def changed(call, *blocks, **more):
        copies = tuple(x.copy() for x in blocks)
        call(*copies, **more, **options)
        return copies

    yield "window", lambda: changed(backend.window, band, left, rest, below=3)
    yield "rise", lambda: changed(backend.rise, left[..., :1], left, rest)
    for lower in (False, True):
        for unit in (False, True):
            solve = {"lower": lower, "unit_diagonal": unit} | options
            yield (
                f"solve_triangular_tile {lower=} {unit=}",
                lambda solve=solve: backend.solve_triangular_tile(tiles, right, **solve),
            )


def eliminations(backend, limbs, is_complex) -> Results:
    rng = np.random.default_rng(10)
    kind = Kind(limbs, is_complex)
    matrices = draws(rng, limbs, (3, 37, 29), is_complex)
    definite = draws(rng, limbs, (3, 11, *sides(limbs, 301)), is_complex)
    diagonal = np.arange(11)
    definite[..., diagonal, diagonal] += 64.0 * (np.arange(limbs) == 0)[:, None, None]

    def columns(first, last):
        a, places = matrices.copy(), np.zeros((3, 29), dtype=np.int64)
        backend.lu_panel(a, places, first, last, kind=kind)
        return a, places

    yield "lu_panel", lambda: columns(0, 13)
    yield "lu_panel later", lambda: columns(9, 29)
    yield "cholesky_panel", lambda: backend.cholesky_panel(definite, kind=kind)


def algorithms(precision, is_complex) -> Results:
    dtype = complex if is_complex else float
    m, n = sides(precision.limbs, 61, 43)
    a = mdqr.testing.matrix("random", m, n, cond=1e9, precision=precision, dtype=dtype, rng=4)
    x = mdqr.MDArray._wrap(
        draws(np.random.default_rng(6), precision.limbs, (COUNT,), is_complex, mixed),
        precision,
        is_complex,
    )
    b = mdqr.testing.matrix("random", m, 2, precision=precision, dtype=dtype, rng=5)
    yield "negative", lambda: (-x).limbs
    yield "qr Q", lambda: mdqr.linalg.qr(a, method="householder").Q.limbs
    yield "qr R", lambda: mdqr.linalg.qr(a, method="householder", mode="r").limbs
    yield "solve_triangular", lambda: mdqr.linalg.solve_triangular(a[:n], b[:n]).limbs
    yield "lstsq", lambda: mdqr.linalg.lstsq(a, b, method="householder").x.limbs


def computations() -> Results:
    backend = for_block(np.empty((1, 1)))
    for precision in PRECISIONS:
        # Products and factorisations of doubles are those of BLAS and LAPACK.
        ours = precision.limbs > 1
        groups = (elementwise, reductions, small_systems, series, eliminations)
        groups += (products, factorisations) if ours else ()
        for is_complex in (False, True):
            field = "complex" if is_complex else "real"
            for group in groups:
                for name, compute in group(backend, precision.limbs, is_complex):
                    yield f"{precision.name} {field} {name}", compute
            if not ours:
                continue
            for name, compute in algorithms(precision, is_complex):
                yield f"{precision.name} {field} {name}", compute


def digest(result) -> str:
    """Hash the bits of an array or several; all NaNs are one value."""
    if isinstance(result, tuple):
        return " ".join(map(digest, result))
    result = np.array(result)
    if result.dtype == np.float64:
        result[np.isnan(result)] = np.nan
    return hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest()


def main() -> None:
    from _mdqr_host import level, set_ftz

    hashes = {name: {} for name in VARIANTS}
    for name, compute in computations():
        for variant, (threads, flushing) in VARIANTS.items():
            mdqr.config.set_num_threads(threads)
            flushing &= platform.machine() in ("x86_64", "AMD64")  # by MXCSR
            if flushing:
                set_ftz(True)
            try:
                result = compute()
            finally:
                if flushing:
                    set_ftz(False)
            hashes[variant][name] = digest(result)
    print(json.dumps({"level": level(), "hashes": hashes}))


if __name__ == "__main__":
    main()
