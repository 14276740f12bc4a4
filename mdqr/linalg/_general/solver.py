"""Solution for the operands of `eig`: one matrix, or pairs one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mdqr._errors import DataPrecisionWarning, place_of_least, warn_of_precision
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import PRECISIONS
from mdqr._progress import Reporter
from mdqr.linalg._factor.lu import flat
from mdqr.linalg._general.certificate import certified
from mdqr.linalg._general.conclusion import Conclusion, Wanted
from mdqr.linalg._general.matrix import Matrix, Problem
from mdqr.linalg._general.operands import Operands
from mdqr.linalg._general.pencil import reduced, unknown
from mdqr.linalg._general.regularity import is_singular
from mdqr.linalg._general.results import EigInfo
from mdqr.linalg._shared.checks import Checks, of_batch
from mdqr.linalg._shared.data_error import Errors
from mdqr.linalg._shared.operands import Inputs, memory_guard


def solved(
    function: str, given: Operands, *, left: bool, right: bool, report: Reporter | None
) -> list[Conclusion]:
    """Return what is found; the items of a batch one after the other where there are pairs."""
    inputs, n = given.inputs, given.shape[-1]
    kind = Kind(max(inputs.work.limbs, 2), True)
    wanted = Wanted(inputs.precision.limbs, not inputs.is_complex, right, left)
    with memory_guard(function, inputs, 20 * n * n, "take fewer rows"):
        blocks = [_complex(flat(block, inputs.is_complex), inputs, kind) for block in inputs.blocks]
        if not blocks[0].size:
            return []
        if len(blocks) == 1:
            matrix = Matrix.of(inputs.backend, blocks[0], given.errors[0], kind)
            found = _found(matrix, wanted, report)[0]
            if report is not None:
                report("certify", len(matrix.top), len(matrix.top))
            values = found.values.reshape(*found.values.shape[:2], *given.shape[:-1], 1, n)
            Checks().require_in_range(function, "the eigenvalues", values, True)
            return [found]
        batch = blocks[0].shape[2]
        pairs = []
        for i in range(batch):
            pair = [x[..., i : i + 1, :, :] for x in blocks]
            pairs.append(_of_pair(function, given, pair, i, batch, wanted, report))
            if report is not None:
                report("certify", i + 1, batch)
        return pairs


def _complex(block: Block, inputs: Inputs, kind: Kind) -> Block:
    return planes.widen(block if inputs.is_complex else planes.complexify(block), True, kind.limbs)


def _found(problem: Problem, wanted: Wanted, report: Reporter | None) -> tuple[Conclusion, bool]:
    """Return what is found, and whether Y is proven to be near an inverse."""
    basis = problem.basis(is_real=wanted.is_real, report=report)
    limbs = problem.limbs(wanted.limbs)
    known = certified(problem.backend, problem.remainder(basis), basis, problem.kind, limbs)
    regular = bool((known.off.sum(axis=-1) < 0.5).all())
    return Conclusion(problem, known, wanted), regular


def _of_pair(
    function: str,
    given: Operands,
    pair: list[Block],
    i: int,
    batch: int,
    wanted: Wanted,
    report: Reporter | None,
) -> Conclusion:
    """Return what is found of one pair: with more limbs where these do not prove it regular."""
    backend, found = given.inputs.backend, None
    errors = [
        Errors(*(x if isinstance(x, float) else x[i : i + 1] for x in e)) for e in given.errors
    ]
    limbs = planes.limb_count(pair[0], True)
    for kind in (Kind(p.limbs, True) for p in PRECISIONS if p.limbs >= limbs):
        a, b = (planes.widen(x, True, kind.limbs) for x in pair)
        problem = reduced(backend, a, b, (errors[0], errors[1]), kind)
        if problem is not None:
            found, regular = _found(problem, wanted, report)
            if regular:
                return found
        if kind.limbs == limbs and is_singular(a[..., 0, :, :], b[..., 0, :, :]):
            where = of_batch((i,) if batch > 1 else ())
            raise np.linalg.LinAlgError(
                f"{function}: a - s b{where} is singular for every s: no eigenvalues are determined"
            )
    found = found or _found(unknown(backend, a, b, kind), wanted, report)[0]
    found.resolved = False
    return found


def info_of(given: Operands, found: list[Conclusion]) -> EigInfo:
    """Return bounds in the shape of the eigenvalues, most of them made when they are asked for."""
    shape = given.shape

    def together(parts: Callable[[Conclusion], np.ndarray]) -> np.ndarray:
        if not found:
            return np.zeros(shape)
        return np.concatenate([parts(each) for each in found]).reshape(shape)

    return EigInfo(
        given.inputs.precision,
        lambda: together(lambda one: one.sizes),
        together(lambda one: one.error_bound),
        lambda: together(Conclusion.data_error_bound),
        condition=lambda: together(Conclusion.condition),
        multiplicity=together(lambda one: one.counts).astype(np.int64, copy=False),
        vector_error_bound=lambda: together(Conclusion.vector_bound),
    )


def warn_of_data(
    function: str,
    given: Operands,
    found: list[Conclusion],
    info: EigInfo | None = None,
) -> None:
    """Warn if entries, assumed to be rounded, or the highest precision leave no digit."""
    resolved, precision = [one.resolved for one in found], given.inputs.precision
    if not all(resolved):
        warn_of_precision(
            f"linalg.{function}",
            f"a - s b is regular, but too near a singular pair for "
            f"{PRECISIONS[-1].name}: eigenvalues have no digit",
            digits=0.0,
            precision=precision,
            index=place_of_least(np.reshape(resolved, given.shape[:-1])),
        )
        return
    if not given.rounded or not any(one.may_lose_all_digits().any() for one in found):
        return
    info = info or info_of(given, found)
    # Values that no digit is known of for the entries as stored, zeros among them, may be exact.
    lost = (info.data_digits <= 0) & (info.data_error_bound > 4 * info.error_bound)
    if lost.any():
        warn_of_precision(
            f"linalg.{function}",
            f"{int(lost.sum())} of {lost.size} eigenvalues have no digit that the entries "
            "determine, taken as rounded to their precision; give data_error= if they are exact, "
            "or a higher precision",
            digits=0.0,
            precision=precision,
            index=place_of_least(~lost),
            category=DataPrecisionWarning,
        )
