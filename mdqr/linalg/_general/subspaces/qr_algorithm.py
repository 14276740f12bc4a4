"""The QR algorithm in any precision: triangular matrices that are unitarily similar to others.

One complex matrix, in host memory. A step is ``H - s I = E R``, then ``R E + s I``, two calls of
`window`; whatever the shift, that is a unitary similarity but for rounding errors.
"""

from __future__ import annotations

import numpy as np

from mdqr._backend.blocks import from_native, native_abs, to_native
from mdqr._backend.protocol import Backend
from mdqr._limbs import planes, scaling
from mdqr._limbs.planes import Block, Kind
from mdqr._progress import Reporter
from mdqr.linalg._shared.operands import precision_for

# So many steps for each eigenvalue and each bit at most: multiple ones gain part of a bit in each.
MOST_STEPS = 2
# Of so many steps without an eigenvalue the last one has an exceptional shift.
EXCEPTIONAL = 10
# The power of differences of entries near 1 that shifts need not resolve.
_LOWEST = -1000


def triangular(
    backend: Backend, a: Block, kind: Kind, report: Reporter | None = None
) -> tuple[Block, Block]:
    """Return upper triangular T and unitary Q with ``a = Q T Q^H``, for `a` ``(n, n)``.

    ``norm(a - Q T Q^H)`` is a small multiple of ``n eps norm(a)``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If there is no convergence.
    """
    size = scaling.top_exponents(a, True, None)
    h = backend.ldexp(planes.widen(a, True, kind.limbs), -size, is_complex=True)
    q = kind.identity(np, a.shape[kind.lead :])
    to_hessenberg(backend, h, q, kind, report)
    _iterate(backend, h, q, kind, report)
    return backend.ldexp(h, size, is_complex=True), q


def to_hessenberg(
    backend: Backend, h: Block, q: Block, kind: Kind, report: Reporter | None
) -> None:
    """Replace h by a Hessenberg matrix ``E^H h E``, and q by ``q E``; stage "reduce"."""
    count = int(h.shape[-1]) - 2
    for j in range(count):
        panel = backend.qr_panel(h[..., j + 1 :, j : j + 1], kind=kind)
        backend.reflect(panel.v, panel.t, h[..., j + 1 :, j:], kind=kind, adjoint=True)
        h[..., j + 2 :, j] = 0.0
        v = planes.conjugate(panel.v) if kind.is_complex else panel.v
        for target in (h, q):
            columns = target[..., j + 1 :].swapaxes(-1, -2)
            backend.reflect(v, panel.t, columns, kind=kind, adjoint=False)
        if report is not None:
            report("reduce", j + 1, count)


def _iterate(backend: Backend, h: Block, q: Block, kind: Kind, report: Reporter | None) -> None:
    """Make a Hessenberg matrix triangular; stage "iterate" counts eigenvalues."""
    precision, n, steps = precision_for(kind.limbs), int(h.shape[-1]), 0
    stop = n
    while stop > 1:
        below = native_abs(planes.diagonal(h[..., 1:stop, : stop - 1]), True)
        sizes = native_abs(planes.diagonal(h[..., :stop, :stop]), True)
        beside = sizes[1:] + sizes[:-1]
        if steps > EXCEPTIONAL:
            # The diagonal may be within rounding errors of zero.
            beside = np.maximum(beside, 1.0)
        negligible = np.flatnonzero(below <= precision.eps * beside)
        h[..., negligible + 1, negligible] = 0.0
        first = int(negligible[-1]) + 1 if negligible.size else 0
        if first == stop - 1:
            stop, steps = first, 0
            if report is not None and stop > 1:
                report("iterate", n - stop, n)
            continue
        steps += 1
        if steps > MOST_STEPS * precision.bits:
            raise np.linalg.LinAlgError(f"the QR algorithm does not converge in {steps} steps")
        _step(backend, h, q, slice(first, stop), steps, kind)
    if report is not None:
        report("iterate", n, n)


def _step(backend: Backend, h: Block, q: Block, active: slice, steps: int, kind: Kind) -> None:
    """Take one step with one shift in diagonal block `active`, which is Hessenberg."""
    first, stop = active.start, active.stop
    block = h[..., active, active]
    shift = shift_of(backend, block, steps, kind)
    one = planes.diagonal(block)
    one[...] = backend.binary("subtract", one, shift, kind=kind)
    given, r = block.copy(), block.copy()
    right = np.concatenate([h[..., :first, active], q[..., active]], axis=-2)
    rest = h[..., active, stop:].copy()
    backend.window(r, rest, right, below=1, kind=kind)
    nothing = kind.zeros(np, (stop - first, 0))
    backend.window(given, nothing, r, below=1, kind=kind)
    h[..., active, stop:] = rest
    h[..., :first, active], q[..., active] = right[..., :first, :], right[..., first:, :]
    # Below the subdiagonal are rounding errors.
    block[...] = np.triu(r, -1)
    one[...] = backend.binary("add", one, shift, kind=kind)


def shift_of(backend: Backend, block: Block, steps: int, kind: Kind) -> Block:
    """Return the eigenvalue of the last two rows that is nearer to the last entry, ``(1,)``.

    Its distance from that entry is right to float64.
    """
    last = block[..., -1, -1:]
    gap = backend.binary("subtract", block[..., -2, -2:-1], last, kind=kind)
    half = complex(to_native(np, gap[..., 0], True)) / 2
    c, b = (complex(to_native(np, each, True)) for each in (block[..., -1, -2], block[..., -2, -1]))
    if steps % EXCEPTIONAL == 0:
        away = 0.75 * abs(c) + 0.25 * abs(half)
    else:
        # Near 1, so that the squares of the largest of them do not underflow.
        size = 2.0 ** max(int(np.frexp(max(map(abs, (half, b, c))))[1]), _LOWEST)
        half, b, c = half / size, b / size, c / size
        root = np.sqrt(half * half + b * c)
        root = -root if (half.conjugate() * root).real < 0 else root
        away = -b * c / (half + root) * size if b * c else 0.0
    away = from_native(np, np.array([away], dtype=complex), True)
    return backend.binary("add", last, away, kind=kind)
