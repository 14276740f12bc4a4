"""Windows with few diagonals below the main one: by one kernel call each, for every arithmetic."""

from __future__ import annotations

from typing import Any

from mdqr._backend.cuda.backend import CudaBackend
from mdqr._backend.cuda.factor import window
from mdqr._backend.host import window as host_window
from mdqr._backend.protocol import Block
from mdqr._limbs import planes
from mdqr.linalg._update.engine import Engine, Planes, adjoint_multiply, set_identity

# On a CPU, reflectors of floats are applied one by one up to so many rows below their first; from
# there on BLAS is faster with their product.
_DIRECT_FLOATS = 8

# Columns in front of others that are reduced one by one, each by a sweep of its own: by backend,
# lines of the most limbs and the most columns.
_MOST_RISES: dict[str, tuple[tuple[float, int], ...]] = {
    "cpu": ((1, 2), (2, 4), (float("inf"), 1)),
    "cuda": ((float("inf"), 1),),
}


def columns_of(engine: Engine, below: int) -> int:
    """Return how many columns such a window has; 0 where panels are better."""
    if engine.has_panels:
        return 0
    if engine.backend.name == "cuda":
        return window.columns_of(below, engine.limbs, engine.is_complex)
    return host_window.columns_of(below, engine.limbs)


def rises(engine: Engine, p: int) -> bool:
    """Return whether p columns in front of others are reduced one after the other."""
    lines = _MOST_RISES[engine.backend.name]
    most = next(columns for limbs, columns in lines if engine.limbs <= limbs)
    return p <= most and columns_of(engine, 1) > 0


def applies_directly(engine: Engine, below: int) -> bool:
    """Return whether reflectors are applied one by one, and not their product."""
    if engine.backend.name == "cuda":
        return False
    few = isinstance(engine, Planes) or below <= _DIRECT_FLOATS
    return few and host_window.applies_directly(engine.limbs)


def reduce(engine: Engine, r: Block, left: Block, right: Block | None, below: int) -> None:
    """Replace `r` by R, `left` by ``E^H left`` and `right` by ``right E``, with ``r = E R``.

    Parameters
    ----------
    engine : Engine
        The arithmetic.
    r : Block
        ``(..., m, w)``, as `mdqr._backend.protocol.Backend.window` wants it.
    left : Block
        ``(..., m, n)``.
    right : Block or None
        ``(..., k, m)``.
    below : int
        Number of diagonals of `r` below the main one.
    """
    if not r.size:
        return
    options: dict[str, Any] = {"limbs": engine.limbs, "is_complex": engine.is_complex}
    if isinstance(engine, Planes):
        engine.backend.window(r, left, right, below=below, **options)
        return
    if applies_directly(engine, below):
        blocks = [None if x is None else planes_of(x) for x in (r, left, right)]
        engine.backend.window(*blocks, below=below, **options)
        return
    # Products of floats are those of the library, in their own width.
    multiply(engine, orthogonal(engine, r, below), [left], right)


def rise(engine: Engine, z: Block, lefts: list[Block], right: Block | None) -> None:
    """Reduce a column from its end upwards: `z` becomes ``(zeta, 0)`` with ``z = E (zeta, 0)``.

    Parameters
    ----------
    engine : Engine
        The arithmetic.
    z : Block
        ``(..., m, 1)``, m at least 2.
    lefts : list of Block
        Matrices ``(..., m, n)`` that become ``E^H left``.
    right : Block or None
        A matrix ``(..., k, m)`` that becomes ``right E``.
    """
    if not z.size:
        return
    if not applies_directly(engine, 1):
        multiply(engine, _orthogonal_of(engine, z), lefts, right)
        return
    options: dict[str, Any] = {"limbs": engine.limbs, "is_complex": engine.is_complex}
    first, *others = (_planes(engine, x) for x in lefts)
    for left in others:
        if left.shape[-1]:
            engine.backend.rise(_planes(engine, z.copy()), left, None, **options)
    last = None if right is None else _planes(engine, right)
    engine.backend.rise(_planes(engine, z), first, last, **options)


def multiply(engine: Engine, e: Block, lefts: list[Block], right: Block | None) -> None:
    """Replace matrices by ``e^H left`` and ``right e``."""
    for left in lefts:
        if left.size:
            left[...] = adjoint_multiply(engine, e, left)
    if right is not None:
        right[...] = engine.multiply(right, e)


def orthogonal(engine: Engine, r: Block, below: int) -> Block:
    """Replace a window by R, and return E; for what `columns_of` admits."""
    options: dict[str, Any] = {"limbs": engine.limbs, "is_complex": engine.is_complex}
    e, backend = _square(engine, r), engine.backend
    own, found = _planes(engine, r), _planes(engine, e)
    if isinstance(backend, CudaBackend):
        window.factor(backend.kernels, own, found, below, **options)
    else:
        set_identity(engine, e)
        backend.window(own, own[..., :0], found, below=below, **options)
    return e


def _orthogonal_of(engine: Engine, z: Block) -> Block:
    """Replace a column by ``(zeta, 0)``, and return E."""
    options: dict[str, Any] = {"limbs": engine.limbs, "is_complex": engine.is_complex}
    e, backend = _square(engine, z), engine.backend
    own, found = _planes(engine, z), _planes(engine, e)
    if isinstance(backend, CudaBackend):
        window.rise(backend.kernels, own, found, **options)
    else:
        set_identity(engine, e)
        backend.rise(own, own[..., :0], found, **options)
    return e


def _square(engine: Engine, x: Block) -> Block:
    """Return a square matrix of as many rows, zero unless kernels of CUDA are to fill it."""
    m, backend = int(x.shape[-2]), engine.backend
    if isinstance(backend, CudaBackend):
        return backend.xp.empty((*x.shape[:-1], m), dtype=engine.dtype)
    return engine.zeros(x, m, m)


def _planes(engine: Engine, x: Block) -> Block:
    return x if isinstance(engine, Planes) else planes_of(x)


def planes_of(x: Block) -> Block:
    """Return a float array as a block of one limb, a view of its own type."""
    if x.dtype.kind != "c":
        return x[None]
    part, step = x.real, x.dtype.itemsize // 2
    strided = planes.namespace(x).lib.stride_tricks.as_strided
    return strided(part, (2, 1, *x.shape), (step, step, *x.strides))
