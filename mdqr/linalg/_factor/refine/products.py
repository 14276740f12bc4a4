"""Exact products of just so many bits, and the limbs of what they are of."""

from __future__ import annotations

from math import ceil, log2
from typing import Any, cast

import numpy as np

from mdqr._backend.exact import ExactProducts
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._products.exact.parts import Shape, slices
from mdqr.linalg._products.exact.plan import MOST_TERMS
from mdqr.linalg._shared.operands import precision_for

LIMB = 53  # bits

# Panels of products with triangles, and their least columns, in float64 and beyond.
_PANELS, _COLUMNS = 4, (1024, 256)


def product(
    backend: Backend,
    x: Block,
    y: Block,
    *,
    kind: Kind,
    bits: int | None = None,
    conj_a: bool = False,
    c: Block | None = None,
    shape: Shape = "full",
) -> Block:
    """Return ``x y``, or ``c - x y``, with x conjugated if so asked; NaN where it is beyond.

    Shapes are those of `exact.multiply`; of upper parts the rest is not set.

    Entries err by ``2**-bits``, or eps, times the largest ones of their row and column, and by two
    roundings.
    """
    terms = int(x.shape[-1])
    out = kind.empty(backend.xp, (int(x.shape[-2]), int(y.shape[-1])))
    bits = ceil(-log2(eps_of(kind))) if bits is None else bits
    runs = slices(terms, MOST_TERMS)
    if len(runs) > 1 and shape != "gram":
        shape = "full"
    # Each operand loses half of what is allowed, in each of its terms.
    options: dict[str, Any] = {"bits": bits + terms.bit_length() + 2 + kind.is_complex}
    options |= {"kind": kind, "conj_a": conj_a, "scaled": False}
    options |= {"subtract": c is not None, "shape": shape}
    for run in runs:
        if run.start > 0:
            c = out
        parts = x[..., run], y[..., run, :]
        if not exact.multiply(cast(ExactProducts, backend), *parts, c=c, out=out, **options):
            out[...] = np.nan
            break
    return out


def times(
    backend: Backend,
    x: Block,
    y: Block,
    *,
    kind: Kind,
    conj_a: bool = False,
    c: Block | None = None,
    shape: Shape = "full",
) -> Block:
    """Return ``x y``, or ``c - x y``, as `product` or of limbs, where that is faster."""
    (m, k), n = map(int, x.shape[-2:]), int(y.shape[-1])
    if exact.is_faster(backend, m, k, n, kind=kind):
        return product(backend, x, y, kind=kind, conj_a=conj_a, c=c, shape=shape)
    out = kind.empty(backend.xp, (m, n))
    least = _COLUMNS[kind.limbs > 1]
    for panel in slices(n, n if shape == "full" else max(least, -(-n // _PANELS))):
        rows = slice(m if shape in ("full", "triangular") else panel.stop)
        terms = slice(k if shape in ("full", "gram") else panel.stop)
        part = (..., rows, panel)
        options: dict[str, Any] = {"conj_a": conj_a, "c": None if c is None else c[part]}
        options |= {"subtract": c is not None, "out": out[part]}
        backend.matmul(x[..., rows, terms], y[..., terms, panel], kind=kind, **options)
    return out


def limbs_for(ratio: float) -> int:
    """Return the limbs that hold a whole and what is so many times smaller."""
    return max(1, min(PRECISIONS[-1].limbs, ceil(log2(ratio) / LIMB)))


def cut(x: Block, is_complex: bool, limbs: int) -> Block:
    """Return `x` with the limbs of a precision, of which only the first ones are not zero."""
    kept = planes.first_limbs(x, is_complex, precision_for(limbs).limbs)
    (kept[:, limbs:] if is_complex else kept[limbs:])[...] = 0.0
    return kept


def adjoint(x: Block, is_complex: bool) -> Block:
    transposed = x.swapaxes(-1, -2)
    return planes.conjugate(transposed) if is_complex else transposed


def half_upper(backend: Backend, x: Block, is_complex: bool) -> Block:
    """Return the upper part of a Hermitian matrix with half its diagonal, which is made real."""
    x = backend.xp.triu(x)
    for limb in planes.flat_planes(x, is_complex):
        planes.diagonal(limb)[...] *= 0.5
    if is_complex:
        for limb in x[1]:
            planes.diagonal(limb)[...] = 0.0
    return x


def norm(x: Block, is_complex: bool) -> Block:
    """Return the Frobenius norm of the leading limbs."""
    first = x[:, 0] if is_complex else x[0]
    return (first**2).sum() ** 0.5


def eps_of(kind: Kind) -> float:
    return precision_for(kind.limbs).eps
