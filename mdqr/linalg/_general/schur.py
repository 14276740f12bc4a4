"""Triangular matrices that are unitarily similar to others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._limbs import planes
from mdqr._limbs.planes import Kind
from mdqr._progress import Progress, Report, with_report
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor.backward_error import FactorInfo
from mdqr.linalg._factor.lu import flat
from mdqr.linalg._general.operands import operands
from mdqr.linalg._general.schur_info import ErrorsOfForm
from mdqr.linalg._general.subspaces.qr_algorithm import triangular
from mdqr.linalg._general.subspaces.real_form import quasi_triangular
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._shared.info import WithInfo
from mdqr.linalg._shared.operands import memory_guard


class _Factors(NamedTuple):
    T: MDArray
    Z: MDArray


class SchurResult(WithInfo, _Factors):
    """A Schur decomposition, ``a = Z @ T @ Z^H``.

    Attributes
    ----------
    T : MDArray
        Upper triangular ``(..., n, n)``, with the eigenvalues on its diagonal; real ones have
        blocks of two rows on the diagonal for pairs of complex eigenvalues.
    Z : MDArray
        Unitary ``(..., n, n)``.
    info : FactorInfo
        Proven bounds of the backward error, and of how far Z is from unitary. Some matrix with
        exactly this T and the unitary matrix next to Z is within `info.error_bound` and
        ``2 info.orthogonality norm(a)`` of a. So T has the eigenvalues of a matrix that near.
    """

    info: FactorInfo


SchurResult.__module__ = "mdqr.linalg"


@takes_hints
def schur(
    a: Any,
    /,
    output: Literal["real", "complex"] = "real",
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> SchurResult:
    """Return the Schur decomposition of square matrices; as `scipy.linalg.schur`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    output : {"real", "complex"}, optional
        Whether real matrices have a real decomposition, with blocks of two rows whose diagonal
        entries are equal, or a complex triangular one.
    precision : Precision or str, optional
        The precision of the results; by default the precision of `a`.
    data_error : dict, optional
        Bounds of the errors of entries, ``{"a_atol": ..., "a_rtol": ...}``, as in `lstsq`; by
        default half a unit in the last place of the precision in which they were given.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)``; True for a bar. The stages are "reduce", by
        columns, and "iterate", by eigenvalues, for each matrix of a batch.

    Returns
    -------
    SchurResult
        The fields `T` and `Z`, and `info`.

    Raises
    ------
    ValueError
        If `a` is not square, or `output` is neither "real" nor "complex".
    TypeError
        If `data_error` is not a dict, or `progress` is neither callable nor a bool.
    numpy.linalg.LinAlgError
        If an entry is not finite, or the QR algorithm does not converge.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    See Also
    --------
    eig : Eigenvalues with bounds, in less time.

    Notes
    -----
    ``norm(a - Z T Z^H) <= 10 n eps norm(a)``, and Z is unitary within ``10 n eps``;
    ``info.error_bound`` and ``info.orthogonality`` are what is proven of one result. Hessenberg
    form by reflectors and the QR algorithm, with single shifts or pairs of them (G. H. Golub and
    C. F. Van Loan, Matrix Computations, sections 7.4 and 7.5), in working precision
    throughout; on the host. The limbs do not depend on LAPACK.

    Examples
    --------
    >>> import mdqr
    >>> T, Z = mdqr.linalg.schur(mdqr.array([[3.0, 1.0], [1.0, 3.0]], precision=mdqr.qd))
    >>> T.to_numpy().round(12).tolist()
    [[4.0, 0.0], [0.0, 2.0]]
    >>> found = mdqr.linalg.schur([[1.0, 2.0], [3.0, 4.0]], precision=mdqr.qd)
    >>> bool(found.info.error_bound < 1e-60), bool(found.info.orthogonality < 1e-60)
    (True, True)
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(schur, locals())
    if output not in ("real", "complex", "r", "c"):
        raise ValueError(f'schur: output must be "real" or "complex"; got {output!r}')
    given = operands("schur", [a], precision, data_error)
    inputs, n = given.inputs, given.shape[-1]
    kind = Kind(max(inputs.work.limbs, 2), inputs.is_complex or output[0] == "c")
    block = inputs.blocks[0]
    block = flat(
        planes.complexify(block) if kind.is_complex > inputs.is_complex else block, kind.is_complex
    )
    with memory_guard("schur", inputs, 6 * n * n, "take fewer rows"):
        found = [kind.zeros(np, planes.value_shape(block, kind.is_complex)) for _ in range(2)]
        form = triangular if kind.is_complex else quasi_triangular
        for i in range(block.shape[kind.lead] if n else 0):
            parts = form(inputs.backend, block[..., i, :, :], kind, progress)
            for whole, part in zip(found, parts, strict=True):
                whole[..., i, :, :] = part
    t, z = (planes.narrow(x, kind.is_complex, inputs.precision.limbs) for x in found)
    # Nothing of this is a view of what users have.
    errors = ErrorsOfForm(inputs.backend, kind, block.copy(), t.copy(), z.copy(), given.errors[0])
    result = SchurResult(
        *(
            inputs.wrap(x.reshape(x.shape[: kind.lead] + inputs.shape(0)), kind.is_complex)
            for x in (t, z)
        )
    )
    result = SchurResult(*(x.to_device(given.device) for x in result))
    return result._described(errors.info(inputs.precision, inputs.shape(0)[:-2]))
