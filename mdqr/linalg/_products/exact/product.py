"""Exact products of matrices: from limbs to integers, to residues, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

import numpy as np

from mdqr._backend.blocks import matrix_shape
from mdqr._backend.exact import Channels, ExactProducts, Extents, Reconstruction, Residues
from mdqr._backend.protocol import Backend
from mdqr._errors import shown
from mdqr._limbs.planes import Block, Kind, broadcast
from mdqr.linalg._products.exact import plan
from mdqr.linalg._products.exact.devices import Shared
from mdqr.linalg._products.exact.lines import full_bits, integer_lines, scanned
from mdqr.linalg._products.exact.parts import Lines, Shape, form_pairs, slices
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.operands import trim

# Of the powers of two above both operands, with room for the bits of the terms.
_MOST_TOP = 900
# Digits count multiples of the power of two of its negative: doubles hold them, and their sums.
_MOST_UNIT = 960
_MOST_DIGITS = 1000  # the largest power of two of digits: they are doubles


def matmul(
    backend: Backend,
    a: Block,
    b: Block,
    *,
    kind: Kind,
    conj_a: bool = False,
    c: Block | None = None,
    subtract: bool = False,
    out: Block | None = None,
) -> Block:
    """Return ``c + a @ b`` or ``c - a @ b``, a part of other work, by what is faster."""
    m, k, n = map(int, (*a.shape[-2:], b.shape[-1]))
    options: dict[str, Any] = {"kind": kind, "conj_a": conj_a, "c": c, "subtract": subtract}
    options["out"] = out
    if k < tuning.SHORTEST or not tuning.residues_are_faster(
        backend, m, k, n, kind=kind, is_part=True
    ):
        return backend.matmul(a, b, **options)
    return product(cast(ExactProducts, backend), a, b, all_bits=False, **options)


def product(
    backend: ExactProducts,
    a: Block,
    b: Block,
    *,
    kind: Kind,
    all_bits: bool,
    conj_a: bool = False,
    c: Block | None = None,
    subtract: bool = False,
    out: Block | None = None,
    report: Callable[[int, int], object] | None = None,
    devices: Sequence[int] = (),
) -> Block:
    """Return ``c + a @ b`` or ``c - a @ b``; where `multiply` does not serve, of limbs.

    With `all_bits` entries keep the bits of their limbs below the largest one of their row or
    column, or of as many as all entries have; without, as many as an error of eps |a| |b| takes.
    Without such integers, LinAlgError is raised if `all_bits` is true, and matrices are multiplied
    directly otherwise. `report` hears how many columns are done, of how many in all matrices and
    runs of terms.
    `devices` are as in `multiply`.
    """
    field, k = kind.is_complex, int(a.shape[-1])
    batch, m, n = matrix_shape([a, b] if c is None else [a, b, c], field)
    a, b = (broadcast(x, field, (*batch, *x.shape[-2:])) for x in (a, b))
    c = None if c is None else broadcast(c, field, (*batch, m, n))
    out = kind.empty(backend.xp, (*batch, m, n)) if out is None else out
    bits = full_bits(kind) if all_bits else None
    passes = [(item, run) for item in np.ndindex(*batch) for run in slices(k, plan.MOST_TERMS)]
    for number, (item, run) in enumerate(passes):
        at = (..., *item, slice(None), slice(None))
        left, right, target = a[(*at[:-1], run)], b[(*at[:-2], run, slice(None))], out[at]
        addend = target if run.start else None if c is None else c[at]
        options: dict[str, Any] = {"kind": kind, "conj_a": conj_a, "subtract": subtract}
        options |= {"c": addend, "out": target}
        counted = report and partial(_count, report, number * n, len(passes) * n)
        more: dict[str, Any] = {"bits": bits, "report": counted, "devices": devices}
        if not multiply(backend, left, right, **more, **options):
            if all_bits:
                raise np.linalg.LinAlgError(
                    'matmul: method="exact" takes entries that are finite, and whose errors as '
                    'integers cannot overflow; method="direct" or "auto" takes any'
                )
            (left, _), (right, _) = trim([(left, field), (right, field)])
            backend.matmul(left, right, **options)
            if counted:
                counted(n)
    return out


def _count(report: Callable[[int, int], object], before: int, total: int, done: int) -> None:
    """Tell how many columns are done of all."""
    report(before + done, total)


def multiply(
    backend: ExactProducts,
    a: Block,
    b: Block,
    *,
    kind: Kind,
    conj_a: bool = False,
    c: Block | None = None,
    subtract: bool = False,
    out: Block,
    bits: int | None = None,
    whole: bool = False,
    scaled: bool = True,
    shape: Shape = "full",
    report: Callable[[int], None] | None = None,
    devices: Sequence[int] = (),
) -> bool:
    """Write ``c + a @ b`` or ``c - a @ b`` of two matrices to `out`; False if nothing is written.

    Numbers become integers of at most `bits` bits below the largest of their row or column. Without
    `bits` they get as many as an error of eps |a| |b| in every entry takes; False where entries are
    too small relative to their row and column for that, where one is not finite, and where the bits
    cut off could overflow. If `whole`, False also where any bit is cut off. The shape is "gram"
    where `b` is `a` transposed, "cholesky" where it is an upper triangle, too, "triangular" where
    `b` is an upper triangle, "triangles" where `a` is one too, and "factors" where `a` is a lower
    one, or "upper" for the upper part of that; of "gram", "cholesky", "triangles" and "upper" the
    part of `out` below the diagonal, some panels aside, stays as it is. `report` hears how many
    columns are done. Rows of a "full" product are shared with other `devices`, by their numbers.
    """
    if devices and shape != "full":
        raise ValueError(f'devices share in products of the shape "full"; got {shown(shape)}')
    with _shared(backend, devices, a, b, kind) as shared:
        found = _integers(backend, a, b, kind, bits, scaled=scaled, whole=whole)
        if found is None:
            return False
        (left, right), integers = found
        form = _Form(integers, kind, conj_a, subtract, shape)
        powers = left.exponent, right.exponent, left.shift, right.shift
        operands = left.block, right.block, *powers, c
        if shared is not None:
            shared.form(form.repeat, *operands, out, is_complex=kind.is_complex)
        elif report:
            form.make(backend, *operands, out, report=report)
        else:
            form.repeat(backend, *operands, out)
    if shared is not None and report:
        report(int(out.shape[-1]))
    return True


def multiply_unseen(
    backend: ExactProducts,
    a: Block,
    b: Block,
    *,
    kind: Kind,
    conj_a: bool = False,
    c: Block | None = None,
    out: Block,
    bits: int,
    shape: Shape = "full",
) -> Block:
    """Write ``a @ b``, or ``c - a @ b``, of two matrices to `out`, without a look at them.

    Numbers, which have to be finite, become integers of so many bits whether they need them or not.
    Returned are the words of `Extents`: `out` is right if `is_within_range` is true of them.
    """
    pair = a, b.swapaxes(-1, -2)
    exponents, words = scanned(backend, pair, kind.is_complex)
    integers = integers_of((bits + 1, bits + 1), bits, int(a.shape[-1]), kind)
    form = _Form(integers, kind, conj_a, c is not None, shape)
    form.repeat(backend, *pair, *exponents, None, None, c, out)
    return words


def is_within_range(words: np.ndarray) -> bool:
    """Return True if bits that `multiply_unseen` cuts off could not overflow, by its words."""
    return sum(Extents.of(words).top) <= _MOST_TOP


def _shared(
    backend: ExactProducts, devices: Sequence[int], a: Block, b: Block, kind: Kind
) -> AbstractContextManager[Shared | None]:
    """Begin copies to these devices, if there are any; at its end `out` has their rows."""
    if not devices:
        return nullcontext()
    about = 2 * full_bits(kind) + int(a.shape[-1]).bit_length()
    most = plan.moduli(about, kind.is_complex).planes
    return closing(Shared(backend, devices, a, b.swapaxes(-1, -2), most))


class Integers(NamedTuple):
    """The bits of both operands, and the way from residues back; see `exact_product`."""

    tau: tuple[int, ...]
    moduli: plan.Moduli
    back: Reconstruction
    unit: int
    scale: int

    @property
    def top(self) -> int:
        """The power of two that all digits are below."""
        return self.back.width * int(self.back.weight.shape[-1]) - self.unit


class _Form(NamedTuple):
    """The method by which a product of integers is formed; see `multiply`."""

    integers: Integers
    kind: Kind
    conj_a: bool
    subtract: bool
    shape: Shape

    def repeat(self, backend: ExactProducts, *operands: Block | None) -> None:
        """Return the result of `make`, planned once for a layout."""
        backend.repeated(self, operands, self.make)

    def make(
        self,
        backend: ExactProducts,
        a: Block,
        b: Block,
        exponent: Block,
        other_exponent: Block,
        shift: Block | None,
        other_shift: Block | None,
        c: Block | None,
        out: Block,
        *,
        report: Callable[[int], None] | None = None,
    ) -> None:
        """Write to `out`; lines of `a` and of `b` have these powers of two."""
        tau, moduli, back, unit, scale = self.integers
        pair, exponents, is_complex = (a, b), (exponent, other_exponent), self.kind.is_complex
        shifts, channels = (shift, other_shift), tables(self.integers, (self.conj_a, False))

        def residues(i: int, part: slice) -> Residues:
            return backend.exact_residues(
                pair[i][..., part, :], exponents[i][part], shifts[i], tau[i], channels[i],
                is_complex=is_complex,
            )  # fmt: skip

        forms = [partial(residues, i) for i in (0, 1)]
        is_square = self.shape in ("gram", "cholesky") and shift is other_shift
        if is_square and not (is_complex and self.conj_a):
            forms[1] = forms[0]
        m = int(a.shape[-2])

        def use(row: slice, column: slice, x: Residues, y: Residues) -> None:
            part = (..., row, column)
            backend.exact_product(
                x, y, (exponent[row], other_exponent[column]), channels[0], back, unit, scale,
                kind=self.kind, c=None if c is None else c[part], subtract=self.subtract,
                out=out[part],
            )  # fmt: skip
            if report is not None and row.stop == m:
                report(column.stop)

        form_pairs(backend, pair, forms, moduli.planes, use, shape=self.shape)


def _integers(
    backend: ExactProducts,
    a: Block,
    b: Block,
    kind: Kind,
    bits: int | None,
    *,
    scaled: bool,
    whole: bool,
) -> tuple[tuple[Lines, Lines], Integers] | None:
    """Return integers of at most `bits` bits, and as few as keep all there are; see `multiply`."""
    found = integer_lines(backend, a, b, kind, bits, scaled=scaled)
    if found is None:
        return None
    pair, most = found
    cuts = [lines.span > most for lines in pair]
    if any(cuts) and whole:
        return None
    integers = integers_of((pair[0].span, pair[1].span), most, int(a.shape[-1]), kind)
    if integers.top > _MOST_DIGITS:
        return None
    # What cutting changes must not overflow where the product does not.
    if (
        any(cuts)
        and sum(lines.top for lines in pair) + integers.scale + 1 - min(integers.tau) > 1023
    ):
        return None
    return pair, integers


@lru_cache(maxsize=1024)
def integers_of(spans: tuple[int, int], most: int, terms: int, kind: Kind) -> Integers:
    """Return the integers of operands with so many bits, of which `most` are kept."""
    terms *= 1 + kind.is_complex
    tau = tuple(max(1, min(span, most)) for span in spans)
    above = terms.bit_length()
    moduli = plan.moduli(sum(tau) + above + 2, kind.is_complex)
    # What cutting one operand does is as large as the integers of the other one.
    cut = [other for span, t, other in zip(spans, tau, tau[::-1], strict=True) if t < span]
    width = plan.reconstruction(moduli).width
    left_out = max(0, (max(cut) - 62 + width) // width) if cut else 0
    back = plan.reconstruction(moduli, left_out)
    unit = sum(tau) + above - left_out * width
    moved = max(0, unit - _MOST_UNIT)
    return Integers(tau, moduli, back, unit - moved, above - moved)


def tables(integers: Integers, conjugates: tuple[bool, bool]) -> list[Channels]:
    """Return the tables of both operands, or of their conjugates."""
    return [
        plan.channels(integers.moduli, plan.words_of(t), conjugate)
        for t, conjugate in zip(integers.tau, conjugates, strict=True)
    ]
