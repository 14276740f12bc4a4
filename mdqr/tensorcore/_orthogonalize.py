"""Orthonormal bases to the accuracy of float32."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mdqr._io.format import summary
from mdqr._limbs.planes import Block
from mdqr._typing import Compute, NumberArray
from mdqr.linalg._shared.info import Info, WithInfo
from mdqr.tensorcore._algorithms.passes import Passes
from mdqr.tensorcore._algorithms.reflections import with_fallbacks
from mdqr.tensorcore._input import engine_for, real_matrix
from mdqr.tensorcore._plan import Plan, plan_of


class _Fields(NamedTuple):
    Q: NumberArray
    orthogonality: float
    reached: bool
    passes: int
    replaced: int


class Basis(WithInfo, _Fields):
    """An orthonormal basis and its loss of orthogonality.

    Attributes
    ----------
    Q : ndarray
        ``(m, k)``, ``k = min(m, n)``, of the type of the matrix and in Fortran order.
    orthogonality : float
        Estimate of the Frobenius norm of ``Q.T @ Q - I``, within about 25 per cent.
    reached : bool
        Whether that is the accuracy of float32: at most ``2**-24 * sqrt(k) * (16 + 2 * sqrt(k))``.
    passes : int
        How often Q was made: the first time from the matrix, then from itself.
    replaced : int
        Columns that left nothing to normalise, and were replaced by directions orthogonal to the
        others: `Q` spans more than the matrix. By "geqrf" those alone that left exact zeros.
    info : mdqr.linalg.Info
        Its `method`, as of `qr`, and `passes` as `iterations`.
    """

    info: Info

    def __repr__(self) -> str:
        return summary(self)


def orthogonalize(a: Any, *, compute: Compute = "fp16") -> Basis:
    """Return an orthonormal basis of the columns, to the accuracy of float32.

    Parameters
    ----------
    a : array_like
        A float32 or float64 matrix ``(m, n)``; of its columns the first ``min(m, n)`` are used.
    compute : str, optional
        As for `qr`: what the first pass uses. The others multiply as accurately as float32.

    Returns
    -------
    Basis
        ``(Q, orthogonality, reached, passes, replaced)``.

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError
        As `qr`.

    Warns
    -----
    PrecisionWarning
        If Q is not orthonormal to the accuracy of float32 after all passes, with what was reached.

    See Also
    --------
    qr : Factors, with ``reorthogonalize=True`` the same Q and its R.

    Notes
    -----
    The matrix is factored, and Q improved until the departure from orthonormality, estimated by
    eight random vectors, is at the level of float32. That takes two passes in most cases, three or
    four where many columns nearly depend on others. A pass multiplies a Q that departs by less
    than 1/32 with itself, and corrects it. Others, and one of a single panel, it factors again, by
    products as accurate as float32. Columns that vanish are replaced by random vectors before the
    next pass.

    Examples
    --------
    >>> import numpy as np, mdqr
    >>> basis = mdqr.tensorcore.orthogonalize(np.vander(np.linspace(0, 1, 50), 8))
    >>> bool(np.abs(basis.Q.T @ basis.Q - np.eye(8)).max() < 1e-5), basis.reached, basis.passes
    (True, True, 2)
    """
    plan = plan_of("orthogonalize", "auto", compute)
    a = real_matrix("orthogonalize", "a", a)
    return with_fallbacks(partial(_basis, a), plan)


def _basis(a: Block, plan: Plan) -> Basis:
    engine = engine_for(a)
    q, _ = engine.load(a[:, : min(a.shape)], scaled=True)
    passes = Passes(engine, plan, q, None)
    passes.repeat()
    passes.warn()
    q = q.astype(a.dtype, order="F", copy=False)
    info = Info(method=plan.method, iterations=passes.made)
    basis = Basis(q, passes.departure, passes.reached, passes.made, passes.replaced)
    return basis._described(info)
