"""Problems of least squares and linear systems, each named by a seed and an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mdqr
from mdqr._precision import PRECISIONS

from . import families, sides
from .draws import Draw, limbs_of
from .exact import integers


@dataclass
class Problem:
    """What a function is called with, and where it comes from."""

    seed: int
    index: int
    family: str
    side: str
    a: Any
    b: Any
    weights: Any
    precision: Any
    data: Any

    @property
    def answer(self):
        """The precision of the answer."""
        return self.data if self.precision is None else self.precision

    @property
    def work(self):
        """The precision of the work: it holds the answer, and all limbs of the data but zeros."""
        if isinstance(self.a, list):  # texts
            return self.answer
        blocks = [limbs(x) for x in (self.a, self.b) if x is not None]
        planes = [
            np.moveaxis(block, 1, 0).reshape(block.shape[1], -1).any(axis=1) for block in blocks
        ]
        held = max(int(np.flatnonzero(plane).max(initial=0)) + 1 for plane in planes)
        return max(self.answer, min(p for p in PRECISIONS if p.limbs >= held))


def problem(seed, index, square=False):
    """Return the problem of that name; `square` makes it a linear system."""
    return _drawn(Draw(f"{seed}/{index}/{int(square)}"), (seed, index), families.FAMILIES, square)


def wide(seed, index):
    """Return a problem with fewer rows than columns."""
    return _drawn(Draw(f"wide/{seed}/{index}"), (seed, index), families.FAMILIES, wide=True)


def of_zeros(seed, index):
    """Return a problem whose zeros make unknowns zero: block triangles in any order."""
    r = Draw(f"zeros/{seed}/{index}")
    shape = r.choice(["square", "square", "tall", "wide"])
    options = {"square": shape == "square", "wide": shape == "wide"}
    return _drawn(r, (seed, index), ((families.triangles, 1),), **options)


def near_limit(seed, index):
    """Return a problem of least squares at whose condition refinement contracts slowly."""
    return _drawn(Draw(f"near/{seed}/{index}"), (seed, index), ((families.near_limit, 1),), False)


def _drawn(r, name, weighted, square=False, wide=False):
    data, precision = _precisions(r)
    parts = 2 if r.chance(0.3) else 1
    family = _chosen(r, weighted)
    m, n = _shape(r, square)
    batch = r.randint(2, 3) if r.chance(0.04) else 0
    k = r.randint(1, 3) if batch or r.chance(0.3) else 0
    side = _chosen(r, sides.SIDES if weighted is families.FAMILIES else sides.SPARSE)
    scale = _scale(r)
    pairs = [
        _pair(r, family, side, (parts, m, n), k, data, scale, square, wide)
        for _ in range(batch or 1)
    ]
    shapes = {(a.shape, b.shape) for a, b in pairs}
    pairs = pairs if len(shapes) == 1 else pairs[:1]
    batch = len(pairs) if batch and len(shapes) == 1 else 0
    a, b = (np.stack(blocks, axis=2) if batch else blocks[0] for blocks in zip(*pairs, strict=True))
    weights = None
    if not (square or wide) and r.chance(0.2):
        held = data if r.chance(0.7) else mdqr.d
        ints, exponents = sides.weights(r, a.shape[-2], held.bits)
        weights = _array(limbs_of(ints, exponents, held.limbs), r)
    if not batch and k == 0:
        b = b[..., 0]
    return Problem(
        *name,
        family.__name__,
        side.__name__,
        _array(a, r),
        _array(b, r),
        weights,
        precision,
        data,
    )


def _chosen(r, weighted):
    makers, weights = zip(*weighted, strict=True)
    return r.choices(makers, weights)[0]


def _precisions(r):
    """The precision of the data, and that of the answer or None."""
    data = r.precision(18, 30, 26, 26)
    kind = r.random()
    if kind < 0.75:
        return data, None
    if kind < 0.9:
        return mdqr.d, r.choice(PRECISIONS[1:])
    return data, r.choice(PRECISIONS)


def _shape(r, square):
    n = r.choice([1, 2, 2, 3, 3, 4, 5, 6, 8])
    if r.chance(0.01):
        n = r.randint(9, 16)
    if square:
        return n, n
    kind = r.random()
    if kind < 0.2:
        return n, n
    return (n + r.randint(1, 4), n) if kind < 0.6 else (r.randint(n, max(20, n + 8)), n)


def _scale(r):
    """Exponents that all of A and all of b are multiplied by."""
    kind = r.random()
    if kind < 0.6:
        return 0, 0
    if kind < 0.85:
        return r.randint(-60, 60), r.randint(-60, 60)
    if kind < 0.95:
        return r.randint(-500, 500), r.randint(-500, 500)
    return r.randint(-1060, 1020), r.randint(-1060, 1020)


def _pair(r, family, side, shape, k, data, scale, square, wide):
    """The limbs of a matrix and its right-hand sides."""
    ints, exponents = family(r, *shape, data.bits)
    if square:
        ints, exponents = ints[:, : shape[2]], _rows(exponents, shape[2])
    if wide:
        ints, exponents = ints.swapaxes(1, 2), np.transpose(exponents)
    a = _normal(limbs_of(ints, _within(ints, exponents, scale[0]), data.limbs))
    held, _ = integers(a, (0,))
    ints, exponents = side(r, held, max(k, 1), data.bits)
    return a, limbs_of(ints, _within(ints, exponents, scale[1]), data.limbs)


def _rows(exponents, n):
    return exponents if np.ndim(exponents) == 0 else exponents[:n]


def _within(ints, exponents, scale):
    """Exponents for values of about 2**scale: integers of full width are taken as fractions."""
    largest = max((abs(int(value)).bit_length() for value in ints.ravel()), default=0)
    if largest <= 60:
        return exponents + scale
    return (0 if np.ndim(exponents) == 0 else exponents) + scale - largest


def _normal(limbs):
    """Normalised limbs of the same values."""
    block = limbs if len(limbs) == 2 else limbs[0]
    held = mdqr.from_limbs(block, dtype=complex if len(limbs) == 2 else float).limbs
    return held if len(limbs) == 2 else held[None]


def _array(limbs, r):
    """An MDArray of limbs, or for one limb now and then NumPy's array."""
    limbs = _normal(limbs)
    if limbs.shape[1] == 1 and r.chance(0.6):
        return (
            np.stack(limbs[:, 0], axis=-1).view(complex)[..., 0] if len(limbs) == 2 else limbs[0, 0]
        )
    block = limbs if len(limbs) == 2 else limbs[0]
    return mdqr.from_limbs(block, dtype=complex if len(limbs) == 2 else float)


def limbs(x):
    """Return the limbs ``(parts, N, ...)`` of an operand."""
    if isinstance(x, np.ndarray):
        return np.stack([x.real, x.imag])[:, None] if np.iscomplexobj(x) else x[None, None]
    return x.limbs if x.is_complex else x.limbs[None]
