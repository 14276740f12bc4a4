"""Least squares over chunks of rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from mdqr._errors import shown, warn_of_precision
from mdqr._precision import Precision
from mdqr._progress import Progress, Report, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.distributed._job import Job, Where, job_of, with_checkpoint
from mdqr.distributed._passes import by_rank, errors_of, solved, tree_of
from mdqr.distributed._rows import Source, integer_from
from mdqr.linalg._shared.data_error import check_data_error
from mdqr.linalg._solve.lstsq import LstsqResult

_MOST_PASSES = 4
_PROMISED = 4.0


@experimental
def factor(
    a: Any,
    b: Any = None,
    /,
    *,
    weights: Any = None,
    precision: PrecisionLike | None = None,
    fan_in: int = 8,
    scheduler: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Any:
    """Return R and ``Q^H b`` of rows in chunks, as an `UpdatableLstsq` without data.

    It takes further rows, merges with others, and is pickled in ``O(n**2)`` bytes.

    Parameters
    ----------
    a, b, weights : optional
        The rows, as `lstsq` takes them. Weighted rows are multiplied by the roots of their weights.
    precision : Precision or str, optional
        The working precision; by default the one of the first chunk.
    fan_in : int, default: 8
        How many R factors are stacked and factored at once.
    scheduler, checkpoint, progress : optional
        As in `lstsq`.

    Returns
    -------
    mdqr.linalg.UpdatableLstsq
        Of all rows; with fewer rows than columns it cannot be solved yet.

    Raises
    ------
    numpy.linalg.LinAlgError, ValueError, TypeError, ImportError
        As `lstsq`.

    Notes
    -----
    A tree whose levels each add the error of one factorisation (J. Demmel, L. Grigori, M. Hoemmen
    and J. Langou 2012): `info` of the result counts its depth, not its chunks.

    Examples
    --------
    >>> import numpy as np
    >>> from mdqr import distributed as md
    >>> days = [(np.vander([1.0 * i, i + 0.5], 2), [2.0 * i + 1, 2 * i + 2.0]) for i in range(9)]
    >>> known = md.factor(days, precision="qd")
    >>> known.insert_rows([9.0, 1.0], 19.0)
    >>> known.shape, known.solve().to_numpy().round(12).tolist()
    ((19, 2), [2.0, 1.0])
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(factor, locals())
    job = job_of("factor", (a, b, weights), precision, Where(scheduler), fan_in, progress)
    return tree_of(with_checkpoint(job, checkpoint)).problem


@experimental
def lstsq(
    a: Any,
    b: Any = None,
    /,
    rcond: float | None = None,
    *,
    weights: Any = None,
    passes: int | str = "auto",
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
    method: Literal["auto", "householder", "products"] = "auto",
    fan_in: int = 8,
    scheduler: Any = None,
    devices: Sequence[str] | None = None,
    comm: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> LstsqResult:
    """Return the least-squares solution for rows in chunks, with an error bound.

    The first pass over the rows factors them by a tree; further passes sum up the residual until
    all digits of the precision are bounded. Where `info.unique_rounding` is true, the limbs of x do
    not depend on how the rows are cut, and are those from `mdqr.linalg.lstsq`, except for limbs
    beyond the bits of the precision.

    Parameters
    ----------
    a, b : array_like or rows
        Dask arrays ``(m, n)``, of one block of columns, and ``(m,)`` or ``(m, k)``, of the same
        chunks; of floats, integers, decimal texts, or whose blocks are `MDArray`. Dask data frames
        of texts. Arrays in memory. Or `a` alone: a list of chunks ``(a, b)``, also as Dask's
        delayed objects, an iterator of them, or `Rows`, as `open_rows` returns. Chunks may have any
        number of rows, also none.
    rcond : float, optional
        As in `mdqr.linalg.lstsq`, applied to R: a solution by numerical rank, after one pass of the
        tree. No bound of its errors is known: `error_bound` and `digits` are NaN. It is refused
        with `data_error`, more passes or ``method="products"``.
    weights : array_like, optional
        As `b`, ``(m,)``: 1 / variance of each row; else the third part of a chunk, without which
        its rows have weight 1.
    passes : int or "auto", default: "auto"
        How often the rows are read. "auto" reads them at least twice, until ``eps / 4`` bounds the
        error of each component, and at most 4 times for each working precision. An iterator is
        read once.
    precision : Precision or str, optional
        The precision of the answer; by default the one of the first chunk; needed for texts.
    data_error : dict, optional
        As in `mdqr.linalg.lstsq`, without errors of weights: `a_atol` and `a_rtol` are numbers or
        one for each column, `b_atol` and `b_rtol` numbers or one for each column of b.
    method : {"auto", "householder", "products"}, default: "auto"
        "householder": a tree of R factors. "products": R, of at most qd, from the exact Gram
        matrix, which takes two passes over the rows; beyond a condition of about 1e6 the tree. By
        default products for chunks on a GPU. Both find x to all digits by further passes.
    fan_in : int, default: 8
        How many R factors are stacked and factored at once. Limbs of R depend on it.
    scheduler : {"synchronous", "threads", "processes"}, distributed.Client or None, optional
        The engine of the tasks. None: a current client, or Dask's configured scheduler, or this
        process, which needs no Dask.
    devices : sequence of str, optional
        GPUs of this process, as ``["cuda:0", "cuda:1"]``. Arrays are cut in as many chunks;
        chunks of a list go there in turn, and stay if they lie there already; passes take them for
        the same. The answer is on the first.
    comm : optional
        A communicator of processes that all make this call, each with chunks of its own. All get
        the same answer. It is CuPy's ``NcclCommunicator`` (each process has its GPU as the current
        device), mpi4py's ``Comm``, or an object with `rank`, `size`, `all_gather` and `all_reduce`.
        ``all_gather(bytes)`` returns the bytes of all ranks, and ``all_reduce(array)`` replaces an
        int32 array by the sum of all.
    checkpoint : str or path, optional
        A folder that this process and all workers can write, made if it does not exist. Each chunk
        leaves its R there, and its sums of each pass; a call that begins again after a stop takes
        them, and returns the same limbs. It reads each chunk once more, and what belongs to rows or
        weights that have changed is computed again. Another `rcond`, `fan_in`, `data_error` or
        number of passes may take the same folder; rows of another form, or another working
        precision, are refused. For chunks on hosts, by a tree. Delete it after the call. Files in
        it are pickles: take no folder that others can write.
    progress : callable or bool, optional
        Called as ``progress(stage, done, total)`` for each chunk that is computed here or handed to
        Dask; the stages are "factor", or "extents" and "products", "pass 2" and so on; `total` is
        None for an iterator. True for a bar.

    Returns
    -------
    mdqr.linalg.LstsqResult
        ``(x, residuals, rank, info)``; `info` is a `DistributedLstsqInfo`.

    Raises
    ------
    ValueError, TypeError
        If chunks do not fit each other or cannot be read, an option is unknown, or more than one
        pass is asked of an iterator. A chunk fits with at most the limbs of the first one, or of
        `precision`. The message names the first faulty chunk by its index.
    Exception
        What making a chunk raises, with the index of the chunk in front: of the same built-in type,
        `OSError` with its `errno` and `filename`; of another class its nearest built-in base, else
        RuntimeError.
    numpy.linalg.LinAlgError
        If an entry is not finite, the rows are fewer than the columns, or R is singular to working
        precision.
    RuntimeError
        If rows differ between passes.
    ImportError
        If Dask is needed and missing.

    Warns
    -----
    PrecisionWarning
        If the error bound of a component exceeds ``4 eps``, unless one pass was asked for.

    See Also
    --------
    mdqr.linalg.lstsq : For rows in memory, also with m < n.

    Notes
    -----
    R of each chunk, then of at most `fan_in` stacked R, by their index; or by products. Let
    ``A^H W A = R^H (I + F) R``, alpha >= norm(F) estimated from four vectors; of R by products it
    is proven, and the bounds of the error with it. With g the gradient, summed to twice the limbs,
    the error of ``x + R^-1 R^-H g`` is at most ``norm(row of R^-1) (alpha norm(R^-H g) + error of
    the gradient) / (1 - alpha)``. Where alpha is 1/2 or more, all is repeated in the next
    precision.

    Examples
    --------
    >>> import mdqr
    >>> from mdqr import distributed as md
    >>> t = mdqr.arange(1, 101, precision=mdqr.qd) / 7
    >>> a, b = mdqr.vander(t, 3), mdqr.sqrt(t)
    >>> parts = [(a[i : i + 30], b[i : i + 30]) for i in range(0, 100, 30)]
    >>> fit = md.lstsq(parts)
    >>> mdqr.array_equal(fit.x, mdqr.linalg.lstsq(a, b).x), fit.info.rows, fit.info.passes
    (True, (30, 30, 30, 10), 2)
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(lstsq, locals())
    check_data_error("lstsq", data_error, ("a", "b"))
    if rcond is not None:
        _check_rank("lstsq", rcond, passes, method, data_error)
    where = Where(scheduler, devices, comm)
    job = job_of("lstsq", (a, b, weights), precision, where, fan_in, progress, method=method)
    job = with_checkpoint(job, checkpoint)
    most = _passes("lstsq", passes, job.source)
    with job.here:
        if rcond is not None:
            return by_rank(job, rcond)
        return _by_passes(job, most, passes, data_error)


def _by_passes(
    job: Job, most: int, passes: int | str, data_error: Mapping[str, Any] | None
) -> LstsqResult:
    """Solve in one working precision after the other."""
    errors, form = errors_of("lstsq", data_error, job.form), job.form
    work = [form.work]
    while passes == "auto" and not job.source.once and work[-1].next != work[-1]:
        work.append(work[-1].next)
    answer = None
    for tried, precision_of_work in enumerate(work):
        form = form._replace(work=precision_of_work)
        automatic, last = passes == "auto", tried == len(work) - 1
        answer = solved(
            job._replace(form=form), errors, most, automatic=automatic, last=last, first=not tried
        )
        if answer is not None:
            break
    assert answer is not None
    if passes != 1:
        _warn_if_short(answer, form.precision)
    return answer


def _passes(function: str, passes: Any, rows: Source) -> int:
    """Return the most passes."""
    if passes == "auto":
        return 1 if rows.once else _MOST_PASSES
    most = integer_from(1, passes, f"{function}: passes", '"auto" or ')
    if rows.once and most > 1:
        raise ValueError(
            f"{function}: rows of an iterator come once: give mdqr.distributed.Rows or a list, or "
            "passes=1"
        )
    return most


def _check_rank(function: str, rcond: Any, passes: Any, method: str, data_error: Any) -> None:
    """Demand a tolerance, and no options that a solution by rank has no use for.

    Raises
    ------
    ValueError
        If one is given.
    """
    if isinstance(rcond, (str, bool)) or np.ndim(rcond) or not -np.inf < rcond < np.inf:
        raise ValueError(f"{function}: rcond must be None or a finite number; got {shown(rcond)}")
    given = {
        "passes": None if passes in (1, "auto") else passes,
        "method": method if method == "products" else None,
        "data_error": data_error or None,
    }
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{function}: {name}={shown(value)} is for full rank, and rcond= chooses a rank, "
                f"after one pass of the tree: leave {name} or rcond out"
            )


def _warn_if_short(answer: LstsqResult, precision: Precision) -> None:
    """Warn where the bounds promise fewer digits than the precision has."""
    info, size = answer.info, np.abs(answer.x.to_numpy())
    short = ~(info.error_bound <= _PROMISED * precision.eps * size) & (info.error_bound > 0)
    if short.any():
        warn_of_precision(
            "distributed.lstsq",
            f"the error bound of {int(short.sum())} components exceeds 4 eps; the worst has "
            f"{float(info.digits.min()):.0f} digits: more passes, or a higher precision, find more",
            digits=float(info.digits.min()),
            precision=precision,
        )
