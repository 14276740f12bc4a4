"""QR factorisation with low-precision products."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, overload

from mdqr._limbs.planes import Block
from mdqr._typing import Compute, NumberArray, TensorMethod
from mdqr.tensorcore._algorithms.passes import Passes, finish, rescaled
from mdqr.tensorcore._algorithms.reflections import with_fallbacks
from mdqr.tensorcore._engine.formats import Format
from mdqr.tensorcore._engine.protocol import Engine, operand
from mdqr.tensorcore._input import choose, engine_for, real_matrix
from mdqr.tensorcore._plan import Plan, plan_of
from mdqr.tensorcore._results import Factors, QRInfo, QRResult


@overload
def qr(
    a: Any,
    mode: Literal["reduced"] = "reduced",
    *,
    method: TensorMethod = "auto",
    compute: Compute = "fp16",
    reorthogonalize: bool = False,
    scale: bool = True,
    keep_factors: bool = False,
) -> QRResult: ...
@overload
def qr(
    a: Any,
    mode: Literal["r"],
    *,
    method: TensorMethod = "auto",
    compute: Compute = "fp16",
    reorthogonalize: bool = False,
    scale: bool = True,
    keep_factors: bool = False,
) -> NumberArray: ...
def qr(
    a: Any,
    mode: str = "reduced",
    *,
    method: TensorMethod = "auto",
    compute: Compute = "fp16",
    reorthogonalize: bool = False,
    scale: bool = True,
    keep_factors: bool = False,
) -> QRResult | Block:
    """Return the reduced QR factorisation, with products on tensor cores.

    Parameters
    ----------
    a : array_like
        A float32 or float64 matrix ``(m, n)``. CuPy arrays are factored on their GPU; for NumPy
        arrays the same algorithm runs with the same rounded operands on the CPU, far slower than
        `numpy.linalg.qr`.
    mode : {"reduced", "r"}, optional
        Both factors, or R alone. A complete Q is made by `blocked_householder`.
    method : {"auto", "rgs", "householder"}, optional
        "rgs": recursive Gram-Schmidt. "householder": recursive Householder reflections, with about
        twice the products, and a Q that is orthonormal to the accuracy of `compute` whatever the
        condition of `a`. "auto": "rgs", and "householder" where that breaks down, see below.
    compute : {"fp16", "bf16", "tf32", "fp32", "fp16x2"}, optional
        What the operands of products are rounded to; sums are float32. ``"fp16x2"`` represents each
        operand by two numbers of binary16, and takes three products instead of one.
    reorthogonalize : bool, optional
        Correct Q, or factor it again, by products as accurate as float32, until it is orthonormal
        to that accuracy: usually once, see `orthogonalize`.
    scale : bool, optional
        Divide the columns by powers of two, so that entries from 1e-30 to 1e30 neither overflow nor
        vanish. Without it entries above 65504 overflow in binary16, and small ones lose digits.
    keep_factors : bool, optional
        Keep the factors in float32 and the exponents of the columns in ``info.factors``; for
        float64 matrices they are additional memory.

    Returns
    -------
    QRResult or ndarray
        ``(Q, R)`` of the shapes ``(m, k)`` and ``(k, n)``, ``k = min(m, n)``, in the type of `a`
        and in Fortran order, with ``info``; or R for ``mode="r"``.

    Raises
    ------
    TypeError
        If `a` is an MDArray (`mdqr.linalg.qr` keeps its digits), or not real.
    ValueError
        If `a` does not have two axes, or an option is unknown.
    numpy.linalg.LinAlgError
        If an entry of `a` is not finite, or a result is not: without `scale` an overflow, with it
        an R that float32 cannot hold. If `method` is "rgs" and that breaks down.

    Warns
    -----
    PrecisionWarning
        With `reorthogonalize`, if Q is not orthonormal to the accuracy of float32 after all passes.

    See Also
    --------
    orthogonalize : Q to the accuracy of float32, with a report.
    blocked_householder : A full Q in float32.
    mdqr.linalg.qr : Factors to the last digit of their precision.

    Notes
    -----
    Panels of 128 columns are factored by CholeskyQR in float64 ("cholesky" in ``info.panel``).
    With "rgs" all is done again by a tree of Gram-Schmidt blocks in float32 ("caqr") if the
    inverse triangle of a panel grows beyond what float64 holds. If that happens when Q is factored
    again, it breaks down. With "householder", if columns of a panel depend on others too nearly,
    all is done again by the Householder QR of cuSOLVER or LAPACK ("geqrf").

    S. Zhang, E. Baharlouei and P. Wu 2020. With u the unit roundoff of the format,
    ``norm(a - Q @ R) <= c * u * norm(a)`` column by column, c some tens at most, for the first
    ``min(m, n)`` columns. The columns behind, if m < n, have R = ``Q.T @ a[:, m:]``: what Q does
    not span of them is lost, by "rgs" with zero columns or a large condition much of it, unless
    `reorthogonalize` is set.

    By "rgs" the departure of Q from orthonormality grows with the condition of `a` (columns
    scaled), about ``u * cond(a)`` and no more than ``u * cond(a)**2``, unless `reorthogonalize` is
    set. Then it is at the level of float32 for any condition number. A column that depends on the
    others of its panel to the accuracy of float32 gives a zero column of Q and a zero row of R,
    except by "geqrf". For that they leave less than ``2**-20`` of its length by "caqr", ``2**-21``
    by "cholesky". With `reorthogonalize` directions orthogonal to all others replace such columns.
    Columns are scaled and rounded with subnormal numbers; afterwards a GPU may take float32 numbers
    below ``2**-126``, also of R, for zeros.

    By "householder" ``norm(Q.T @ Q - I) <= c * u`` for every matrix, also of deficient rank.
    The recursion is by E. Elmroth and F. Gustavson 2000, with Q formed from the last
    reflections to the first. A panel gives an orthonormal Q first, and the reflections are found
    from it (Y. Yamamoto 2012; G. Ballard and others 2014). They are ``I - Y K Y^T`` with Y as Q
    except for signs on its diagonal, and a K that comes of a 128 x 128 elimination in float64.
    CholeskyQR in float64 makes the Q of a panel orthonormal to the accuracy of float32 under a
    condition: of its columns divided by their lengths, the inverse of the triangle has no column
    longer than ``2**21.5``. Otherwise ``info.panel`` is "geqrf".

    Examples
    --------
    >>> import numpy as np, mdqr
    >>> a = np.vander(np.linspace(0, 1, 50), 4).astype(np.float32)
    >>> Q, R = mdqr.tensorcore.qr(a)
    >>> bool(np.abs(Q @ R - a).max() < 1e-3), Q.dtype.name
    (True, 'float32')
    """
    plan = plan_of("qr", method, compute, scale)
    if mode == "complete":
        raise ValueError('qr: mode="complete" is made by mdqr.tensorcore.blocked_householder')
    choose("qr", "mode", mode, ("reduced", "r"))
    a = real_matrix("qr", "a", a)
    kept = keep_factors and mode != "r"
    made = with_fallbacks(partial(_factored, a, bool(reorthogonalize), bool(kept)), plan)
    return made.R if mode == "r" else made


def _factored(a: Block, again: bool, kept: bool, plan: Plan) -> QRResult:
    """Return the factors; the device is synchronized with at the end of each pass."""
    engine, (m, n) = engine_for(a), a.shape
    k = min(m, n)
    work, exponents = engine.load(a, scaled=plan.scale)
    q, r = work[:, :k], engine.matrix(k, n, zero=True)
    passes = Passes(engine, plan, q, r[:, :k])
    form = plan.form
    if again:
        passes.repeat()
        passes.warn()
        form = plan.fine
    else:
        passes.first()
    if k < n:
        _multiply_behind(engine, q, work[:, k:], r[:, k:], form)
    big = rescaled(engine, plan, r, exponents, a.dtype)
    zero = finish(engine, plan, r, big)
    info = QRInfo(
        plan.method,
        plan.compute,
        plan.panel,
        passes.made,
        zero,
        passes.departure if again else None,
        Factors(q, r, exponents) if kept else None,
    )
    return QRResult(q.astype(a.dtype, order="F", copy=False), big)._described(info)


def _multiply_behind(engine: Engine, q: Block, behind: Block, r: Block, form: Format) -> None:
    """Set `r` to ``q.T @ behind``."""
    if not q.size:
        return
    engine.inner(operand(engine, q, form), operand(engine, behind, form), r)
