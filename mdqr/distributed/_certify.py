"""The error of a solution from elsewhere, by one pass over rows in chunks."""

from __future__ import annotations

from typing import Any, Literal

from mdqr._limbs import planes, scaling
from mdqr._progress import Progress, Report, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.distributed._info import DistributedLstsqInfo
from mdqr.distributed._job import Where, job_of
from mdqr.distributed._passes import certified
from mdqr.linalg._shared.operands import gather, precision_for


@experimental
def certify_lstsq(
    a: Any,
    b: Any,
    x: Any,
    /,
    *,
    weights: Any = None,
    precision: PrecisionLike | None = None,
    method: Literal["auto", "householder", "products"] = "auto",
    fan_in: int = 8,
    scheduler: Any = None,
    progress: Progress = None,
) -> DistributedLstsqInfo:
    """Return the error bound of any least-squares solution, from R and one pass more.

    Parameters
    ----------
    a, b : array_like or rows
        The rows, as `lstsq` takes them; b is None where chunks bring it along.
    x : array_like
        A solution ``(n,)`` or ``(n, k)``, as b is, used with all its digits.
    weights : array_like, optional
        As in `lstsq`.
    precision : Precision or str, optional
        The precision in which `x` is judged; by default the one of the first chunk or of `x`.
    method, fan_in, scheduler, progress : optional
        As in `lstsq`; by products bounds are proven.

    Returns
    -------
    DistributedLstsqInfo
        `error_bound`, `digits` and the statistics belong to `x`.

    Raises
    ------
    ValueError, TypeError, numpy.linalg.LinAlgError, RuntimeError, ImportError
        As `lstsq`, and if `x` does not fit or has more limbs than the working precision.

    Examples
    --------
    >>> import numpy as np
    >>> from mdqr import distributed as md
    >>> a = np.vander(np.arange(1.0, 31.0), 5)
    >>> b = np.sqrt(np.arange(1.0, 31.0))
    >>> x = np.linalg.lstsq(a, b)[0]
    >>> info = md.certify_lstsq(a, b, x)
    >>> bool((info.digits > 8).all() and (info.digits < 15).any())
    True
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(certify_lstsq, locals())
    job = job_of(
        "certify_lstsq",
        (a, b, weights),
        precision,
        Where(scheduler),
        fan_in,
        progress,
        method=method,
    )
    if job.source.once:
        raise ValueError("certify_lstsq: rows of an iterator come once: give a list or Rows")
    form = job.form
    inputs = gather(x, precision=precision or form.precision, trimmed=False)
    wanted = (form.n,) if form.is_vector else (form.n, form.right)
    if inputs.shape(0) != wanted:
        raise ValueError(f"certify_lstsq: x must have shape {wanted}; got {inputs.shape(0)}")
    if not scaling.finite(inputs.blocks[0], inputs.is_complex):
        raise ValueError("certify_lstsq: x has infinities or NaN: no bound holds for them")
    if inputs.is_complex and not form.is_complex:
        raise ValueError("certify_lstsq: x is complex, and the rows are real")
    limbs = max(form.work.limbs, inputs.work.limbs)
    top = precision_for(limbs)
    form = form._replace(work=top, precision=max(form.precision, inputs.work, key=_limbs))
    block, field = inputs.blocks[0], inputs.is_complex
    if form.is_complex and not field:
        block, field = planes.complexify(block), True
    block = planes.widen(block, field, top.limbs)
    return certified(job._replace(form=form), block[..., None] if form.is_vector else block)


def _limbs(precision: Any) -> int:
    return int(precision.limbs)
