"""Transforms along an axis: steps of small lengths, as products of matrices.

Of n = r m numbers ``x[j m + i]`` a step transforms the r numbers of each i by one product of
matrices, and multiplies them by roots of unity of order n; what remains are transforms of length m
(W. M. Gentleman, G. Sande 1966, in the order of T. G. Stockham 1966, which needs no permutation).
"""

from __future__ import annotations

from mdqr._backend import for_block
from mdqr._limbs.planes import Block, Kind
from mdqr.fft._plan import DENSE, Roots, convolved_length, factors

_SAFE = 300  # entries within 2**-300 .. 2**300 need no scaling


def scaled_transform(x: Block, sign: int, power: int, *, kind: Kind) -> Block:
    """Return `transform` times ``2**power``, for columns of any size.

    Columns are multiplied by powers of two before and after, so that nothing overflows or
    underflows between.
    """
    backend = for_block(x)
    xp = backend.xp
    sizes = xp.abs(x[:, 0]).max(axis=(0, -2))
    _, powers = xp.frexp(xp.where(xp.isfinite(sizes), sizes, 0.0))
    powers = xp.where(xp.abs(powers) <= _SAFE, 0, powers).astype(xp.int64)
    x = transform(backend.ldexp(x, -powers, is_complex=True), sign, kind=kind)
    return backend.ldexp(x, powers + power, is_complex=True)


def transform(x: Block, sign: int, *, kind: Kind) -> Block:
    """Return ``sum_j exp(2 pi i sign j k / n) x[j]`` for complex `x` ``(2, N, n, columns)``."""
    backend = for_block(x)
    shape = n, columns = x.shape[-2:]
    roots = Roots(kind.limbs, sign, x[..., :0, :0])
    for radix in factors(n):
        n //= radix
        rows = x.reshape(2, -1, radix, n * columns)
        if radix <= DENSE:
            matrix = roots.products(radix, radix, radix)
            rows = backend.matmul(matrix, rows, kind=kind)
        else:
            rows = _convolved(rows, roots, kind)
        if n > 1:
            x = kind.empty(backend.xp, (n, radix, columns))
            table = roots.products(radix, n, radix * n)[..., None]
            out = x.swapaxes(-3, -2)
            rows = rows.reshape(out.shape)
            backend.binary("multiply", rows, table, kind=kind, out=out)
        else:
            x = rows
        columns *= radix
    return x.reshape(2, kind.limbs, *shape)


def _convolved(x: Block, roots: Roots, kind: Kind) -> Block:
    """Return transforms of a prime length p by a convolution of a power of two (L. Bluestein).

    ``j k = (j**2 + k**2 - (j - k)**2) / 2``.
    """
    backend = for_block(x)
    p, columns = x.shape[-2:]
    length = convolved_length(p)
    chirp, back = roots.chirp(p, 1), roots.chirp(p, -1)
    filter_ = kind.zeros(backend.xp, (length, 1))
    filter_[..., :p, :] = back
    filter_[..., length - p + 1 :, :] = back[..., :0:-1, :]
    wide = kind.zeros(backend.xp, (length, columns))
    backend.binary("multiply", x, chirp, kind=kind, out=wide[..., :p, :])
    filter_ = backend.xp.ldexp(transform(filter_, -1, kind=kind), -(length.bit_length() - 1))
    wide = backend.binary("multiply", transform(wide, -1, kind=kind), filter_, kind=kind)
    found = transform(wide, 1, kind=kind)[..., :p, :]
    return backend.binary("multiply", found, chirp, kind=kind)
