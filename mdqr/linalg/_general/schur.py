"""Triangular matrices that are unitarily similar to others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._limbs import planes
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Kind
from mdqr._precision import Precision
from mdqr.linalg._factor.lu import flat
from mdqr.linalg._general.qr_algorithm import triangular
from mdqr.linalg._general.real_form import quasi_triangular
from mdqr.linalg._shared.checks import Checks
from mdqr.linalg._shared.operands import gather, memory_guard, square_order


class SchurResult(NamedTuple):
    """A Schur decomposition, ``a = Z @ T @ Z^H``.

    Attributes
    ----------
    T : MDArray
        Upper triangular ``(..., n, n)``, with the eigenvalues on its diagonal; real ones have
        blocks of two rows on the diagonal for pairs of complex eigenvalues.
    Z : MDArray
        Unitary ``(..., n, n)``.
    """

    T: MDArray
    Z: MDArray


SchurResult.__module__ = "mdqr.linalg"


def schur(a: Any, output: str = "real", *, precision: Precision | str | None = None) -> SchurResult:
    """Return the Schur decomposition of square matrices; as `scipy.linalg.schur`.

    Parameters
    ----------
    a : array_like
        Matrices ``(..., n, n)``.
    output : {"real", "complex"}, optional
        Whether real matrices have a real decomposition, with blocks of two rows whose diagonal
        entries are equal, or a complex triangular one.
    precision : Precision or str, optional
        The precision of the results; by default that of `a`.

    Returns
    -------
    SchurResult
        The fields `T` and `Z`.

    Raises
    ------
    ValueError
        If `a` is not square, or `output` is neither "real" nor "complex".
    numpy.linalg.LinAlgError
        If an entry is not finite, or the QR algorithm does not converge.
    MemoryError
        If there is no memory for the factors; with what was wanted.

    See Also
    --------
    eig : Eigenvalues with bounds, in less time.

    Notes
    -----
    ``norm(a - Z T Z^H) <= 10 n eps norm(a)``, and Z is unitary within ``10 n eps``. Hessenberg form
    by reflectors and the QR algorithm, with single shifts or pairs of them (G. H. Golub and
    C. F. Van Loan, Matrix Computations, sections 7.4 and 7.5), in the precision of the work
    throughout; on the host.

    Examples
    --------
    >>> import mdqr
    >>> T, Z = mdqr.linalg.schur(mdqr.array([[3.0, 1.0], [1.0, 3.0]], precision=mdqr.qd))
    >>> T.to_numpy().round(12).tolist()
    [[4.0, 0.0], [0.0, 2.0]]
    """
    if output not in ("real", "complex", "r", "c"):
        raise ValueError(f'schur: output must be "real" or "complex"; got {output!r}')
    inputs, checks = gather(a, precision=precision), Checks()
    n = square_order("schur", "a", inputs.shape(0))
    checks.require_finite("schur", "a", inputs.blocks[0], inputs.is_complex)
    checks.settle()
    device = MDArray._wrap(inputs.blocks[0], inputs.work, inputs.is_complex).device
    inputs = inputs._replace(blocks=[host_block(inputs.blocks[0])])
    kind = Kind(max(inputs.work.limbs, 2), inputs.is_complex or output[0] == "c")
    block = inputs.blocks[0]
    block = flat(
        planes.complexify(block) if kind.is_complex > inputs.is_complex else block, kind.is_complex
    )
    with memory_guard("schur", inputs, 6 * n * n, "take fewer rows"):
        found = [kind.zeros(np, planes.value_shape(block, kind.is_complex)) for _ in range(2)]
        form = triangular if kind.is_complex else quasi_triangular
        for i in range(block.shape[kind.lead] if n else 0):
            parts = form(inputs.backend, block[..., i, :, :], kind)
            for whole, part in zip(found, parts, strict=True):
                whole[..., i, :, :] = part
    t, z = (
        inputs.wrap(x.reshape(kind.planes(inputs.shape(0))), kind.is_complex).to_device(device)
        for x in found
    )
    return SchurResult(t, z)
