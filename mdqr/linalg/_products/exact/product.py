"""Exact products of matrices: from limbs to integers, to residues, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from mdqr._backend import workspace
from mdqr._backend.protocol import Backend, ExactProducts, Reconstruction, Residues
from mdqr._limbs.planes import Block, Kind, value_shape
from mdqr.linalg._products.exact import plan
from mdqr.linalg._products.exact.lines import Lines, full_bits, scaled_lines, sufficient_bits

_LEAST_LINES = 64  # of a part of an operand

# Of the harmonic mean of the three lengths.
_CROSSOVER = {
    Kind(2, False): 448,
    Kind(4, False): 288,
    Kind(8, False): 208,
    Kind(2, True): 384,
    Kind(4, True): 192,
    Kind(8, True): 160,
}


def is_faster(m: int, k: int, n: int, *, kind: Kind) -> bool:
    """Return whether a product through residues takes less time than one of limbs.

    What they add to the products of bytes grows as m k + k n + m n: the harmonic mean decides.
    Found by `python -m benchmarks products` on two cores that have products of bytes.
    """
    least = _CROSSOVER.get(kind)
    return least is not None and 0 < least * (m * k + k * n + m * n) <= 3 * m * k * n


def is_used(backend: Backend, m: int, k: int, n: int, *, kind: Kind) -> bool:
    """Return whether `matmul` forms a product through residues."""
    return backend.name == "cpu" and is_faster(m, k, n, kind=kind)


def matmul(
    backend: Backend,
    a: Block,
    b: Block,
    *,
    kind: Kind,
    conj_a: bool = False,
    c: Block | None = None,
    subtract: bool = False,
) -> Block:
    """Return ``c + a @ b`` or ``c - a @ b`` of one batch, through residues where that is faster."""
    *batch, m, k = value_shape(a, kind.is_complex)
    n = int(b.shape[-1])
    options: dict[str, Any] = {"kind": kind, "conj_a": conj_a, "subtract": subtract}
    if not is_used(backend, m, k, n, kind=kind):
        return backend.matmul(a, b, c=c, **options)
    out = kind.empty(backend.xp, (*batch, m, n))
    for item in np.ndindex(*batch):
        at = (..., *item, slice(None), slice(None))
        one = {"c": None if c is None else c[at], "out": out[at], **options}
        if not multiply(cast(ExactProducts, backend), a[at], b[at], **one):
            backend.matmul(a[at], b[at], **one)
    return out


def product(
    backend: ExactProducts,
    a: Block,
    b: Block,
    *,
    kind: Kind,
    all_bits: bool,
    report: Callable[[int], None] | None = None,
) -> Block:
    """Return ``a @ b`` of a batch; where `multiply` does not serve, of limbs.

    With `all_bits` entries keep the bits of their limbs below the largest one of their row or
    column, or of as many as all entries have; without, as many as an error of eps |a| |b| takes.
    """
    *batch, m, k = value_shape(a, kind.is_complex)
    n = int(b.shape[-1])
    out = kind.empty(backend.xp, (*batch, m, n))
    bits = full_bits(kind) if all_bits else None
    for item in np.ndindex(*batch):
        at = (..., *item, slice(None), slice(None))
        x, y, target = a[at], b[at], out[at]
        for start in range(0, k, plan.MOST_TERMS):
            terms = slice(start, start + plan.MOST_TERMS)
            left, right = x[..., terms], y[..., terms, :]
            c = target if start else None
            if not multiply(
                backend, left, right, kind=kind, c=c, out=target, bits=bits, report=report
            ):
                backend.matmul(left, right, kind=kind, c=c, out=target)
    return out


def multiply(
    backend: ExactProducts,
    a: Block,
    b: Block,
    *,
    kind: Kind,
    conj_a: bool = False,
    conj_b: bool = False,
    c: Block | None = None,
    subtract: bool = False,
    out: Block,
    bits: int | None = None,
    scaled: bool = True,
    report: Callable[[int], None] | None = None,
) -> bool:
    """Write ``c + a @ b`` or ``c - a @ b`` of two matrices to `out`; False if nothing is written.

    Numbers become integers of at most `bits` bits below the largest of their row or column. Without
    `bits` they get as many as an error of eps |a| |b| in every entry takes; False where entries are
    too small beside their row and column for that, and where one is not finite. `report` hears how
    many columns are done.
    """
    found = _integers(backend, a, b, kind, bits, scaled=scaled)
    if found is None:
        return False
    pair, integers = found
    left, right = (
        _Operand(backend, lines, integers, tau, conjugate)
        for lines, tau, conjugate in zip(pair, integers.tau, (conj_a, conj_b), strict=True)
    )

    def put(row: slice, column: slice) -> None:
        part = (..., row, column)
        backend.exact_product(
            left.residues(row),
            right.residues(column),
            (pair[0].exponent[row], pair[1].exponent[column]),
            left.channels,
            integers.back,
            integers.unit,
            integers.scale,
            kind=kind,
            c=None if c is None else c[part],
            subtract=subtract,
            out=out[part],
        )

    line_bytes = backend.exact_line_bytes(integers.moduli.planes, int(a.shape[-1]))
    rows, columns = _cuts(int(a.shape[-2]), int(b.shape[-1]), workspace.bound() // line_bytes)
    for column in columns:
        for row in rows:
            put(row, column)
        if report is not None:
            report(column.stop)
    left.release()
    right.release()
    return True


class _Integers(NamedTuple):
    """The bits of both operands, and the way from residues back; see `exact_product`."""

    tau: tuple[int, ...]
    moduli: plan.Moduli
    back: Reconstruction
    unit: int
    scale: int


def _integers(
    backend: ExactProducts, a: Block, b: Block, kind: Kind, bits: int | None, *, scaled: bool
) -> tuple[tuple[Lines, Lines], _Integers] | None:
    """Return integers of at most `bits` bits, and as few as keep all there are; see `multiply`."""
    pair = scaled_lines(backend, a, b, kind, scaled=scaled)
    if pair is None:
        return None
    terms = int(a.shape[-1]) * (1 + kind.is_complex)
    most = sufficient_bits(backend, *pair, kind, terms) if bits is None else bits
    if most is None:
        return None
    tau = tuple(max(1, min(lines.span, most)) for lines in pair)
    above = terms.bit_length()
    moduli = plan.moduli(sum(tau) + above + 2, kind.is_complex)
    back = plan.reconstruction(moduli)
    # What cutting one operand does is as large as the integers of the other one.
    cut = [other for lines, t, other in zip(pair, tau, tau[::-1], strict=True) if t < lines.span]
    left_out = max(0, (max(cut) - 62 + back.width) // back.width) if cut else 0
    unit = sum(tau) + above - left_out * back.width
    return pair, _Integers(tau, moduli, back.without(left_out), unit, above)


class _Operand:
    """Residues of parts of an operand, one at a time."""

    def __init__(
        self,
        backend: ExactProducts,
        lines: Lines,
        integers: _Integers,
        tau: int,
        conjugate: bool,
    ) -> None:
        self._backend, self._lines, self._tau = backend, lines, tau
        self._part: slice | None = None
        self._residues: Residues
        self.channels = plan.channels(integers.moduli, plan.words_of(tau), conjugate)

    def residues(self, part: slice) -> Residues:
        """Return the residues of some lines, formed unless they are there."""
        if part == self._part:
            return self._residues
        self.release()
        lines = self._lines
        self._residues = self._backend.exact_residues(
            lines.block[..., part, :],
            lines.exponent[part],
            lines.shift,
            self._tau,
            self.channels,
            is_complex=lines.is_complex,
        )
        self._part = part
        return self._residues

    def release(self) -> None:
        """Give the memory back."""
        if self._part is not None:
            self._backend.exact_release(self._residues)
            self._part = None


def _cuts(m: int, n: int, lines: int) -> tuple[list[slice], list[slice]]:
    """Return parts of `m` rows and `n` columns; two parts have at most so many lines together.

    Parts of one operand are formed once, those of the other for each of them.
    """
    if m + n <= lines:
        rows, columns = m, n
    else:
        half = max(_LEAST_LINES, lines // 2 // _LEAST_LINES * _LEAST_LINES)
        columns = min(n, half if m > half else max(half, lines - m))
        rows = min(m, max(half, lines - columns))
    return _slices(m, rows), _slices(n, columns)


def _slices(count: int, width: int) -> list[slice]:
    """Return slices of `width`, made a multiple of the least, that cover `count`."""
    width = -(-width // _LEAST_LINES) * _LEAST_LINES
    return [slice(start, min(start + width, count)) for start in range(0, count, width)]
