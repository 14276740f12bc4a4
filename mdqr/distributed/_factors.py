"""QR and Gram matrices of rows in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from mdqr._array.array import MDArray
from mdqr._backend import for_block
from mdqr._errors import shown
from mdqr._functions.matrices import tril, triu
from mdqr._limbs.device import host_block
from mdqr._limbs.planes import Kind
from mdqr._progress import Progress, Report, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.distributed._dask import as_blocks
from mdqr.distributed._engines import folded
from mdqr.distributed._job import Job, Where, job_of
from mdqr.distributed._products import scaled, triangle
from mdqr.distributed._rows import Form, Rows
from mdqr.distributed._tree import (
    Fault,
    finished,
    first_fault,
    handle_of,
    loaded,
    raised,
    tasks,
    tree,
)
from mdqr.linalg._factor.substitution import solve_triangular
from mdqr.linalg._products.matmul import matmul
from mdqr.linalg._shared import pairs
from mdqr.linalg._shared.operands import Inputs
from mdqr.linalg._shared.pairs import Pair


@experimental
def qr(
    a: Any,
    mode: Literal["reduced", "r"] = "reduced",
    /,
    *,
    precision: PrecisionLike | None = None,
    method: Literal["auto", "householder", "products"] = "auto",
    fan_in: int = 8,
    scheduler: Any = None,
    devices: Sequence[str] | None = None,
    comm: Any = None,
    progress: Progress = None,
) -> Any:
    """Return QR of a matrix whose rows lie in chunks.

    Parameters
    ----------
    a : array_like or rows
        As in `lstsq`, without right-hand sides: chunks are matrices; of ``(a, b)`` it takes a.
    mode : {"reduced", "r"}, default: "reduced"
        "r": R alone.
    precision, method, fan_in, scheduler, devices, comm, progress : optional
        As in `lstsq`; devices and `comm` for R alone. Products give R to all digits of dd and qd
        alone; in od, and beyond a condition of about 1e6, a tree does.

    Returns
    -------
    tuple or MDArray
        ``(Q, R)``, or R. R is ``(n, n)`` with a diagonal that is real and not negative. Q is not
        computed yet: a Dask array of `MDArray` blocks (its dtype is float64; see `as_dask`) where
        `a` is a Dask array, else `Rows`.

    Raises
    ------
    numpy.linalg.LinAlgError
        With fewer rows than columns, or R is singular where Q is asked for.
    ValueError, TypeError, ImportError
        As in `lstsq`.

    Notes
    -----
    A tree of R gives ``R_1``; then ``Q_1 = A R_1^-1`` block by block, a second tree R_2 of ``Q_1``,
    ``Q = Q_1 R_2^-1`` and ``R = R_2 R_1``. Q is orthogonal to a small multiple of ``n eps`` for
    conditions up to about ``0.1 / eps``. Cholesky QR with one repetition has that up to the root of
    this condition (Y. Yamamoto and others 2015). With "r" R has the errors of the tree: see
    `factor`. R by products has the same limbs for any chunks, devices and ranks, and up to 131,056
    rows the same as ``mdqr.linalg.qr(a, "r", method="refine")``.

    Examples
    --------
    >>> import mdqr
    >>> from mdqr import distributed as md
    >>> a = mdqr.random.normal((60, 4), precision=mdqr.qd, rng=0)
    >>> Q, R = md.qr([a[:25], a[25:]])
    >>> q = mdqr.concatenate([Q[i] for i in range(len(Q))])
    >>> mdqr.allclose(q @ R, a, rtol=1e-60)
    True
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(qr, locals())
    if mode not in ("reduced", "r"):
        raise ValueError(f'qr: mode must be "reduced" or "r"; got {shown(mode)}')
    where, given = Where(scheduler, devices, comm), (a, None, None)
    job = job_of("qr", given, precision, where, fan_in, progress, sides=False, method=method)
    if (devices, comm) != (None, None) and mode != "r":
        raise ValueError('qr: devices= and comm= are for mode "r"')
    with job.here:
        inner = _tall_r(job)
        if mode == "r":
            return inner.astype(precision=job.form.precision)
    if job.source.once:
        raise ValueError("qr: rows of an iterator come once: Q needs a list or Rows")
    _require_regular(inner)
    items = list(job.source.items)
    first = _Orthogonal(job.form, [inner], last=False)
    made = [job.engine.submit(f"mdqr-q-{i}", first, i, handle_of(x)) for i, x in enumerate(items)]
    source = job.source._replace(items=made)
    outer = _tall_r(job._replace(source=source))
    last = _Orthogonal(job.form, [inner, outer], last=True)
    r = matmul(outer, inner, precision=job.form.precision)
    if job.source.delayed:
        return as_blocks([(last, i, handle_of(x)) for i, x in enumerate(items)], job.form), r
    return Rows(_Lazy(last, items), len(items)), r


def _require_regular(r: MDArray) -> None:
    zeros = np.flatnonzero(host_block(r.diagonal().limbs).reshape(-1, len(r))[0] == 0.0)
    if zeros.size:
        raise np.linalg.LinAlgError(
            f"qr: column {zeros[0]} depends on those before it, so that Q is not A R^-1: "
            'qr(a, "r") gives R alone, mdqr.linalg.qr of rows in memory both'
        )


def _tall_r(job: Job) -> MDArray:
    """Return R of all rows in the working precision."""
    by_products = job.method == "products" and job.form.n
    found = triangle(job, sides=False) if by_products else None
    if found is not None:
        inputs = Inputs(job.form.work, job.form.work, job.form.is_complex, [])
        return inputs.wrap(scaled(for_block(found.r), found, job.form.is_complex))
    node = tree(
        job.function, job.engine, job.source, job.form, job.fan_in, sides=False, report=job.report
    )
    fit, form = node.problem._fit, job.form
    if fit.m < fit.n:
        raise np.linalg.LinAlgError(f"qr: {fit.m} rows in all, and {fit.n} columns")
    block = fit.engine.backend.xp.array(fit.r[..., : fit.n], order="C")
    return Inputs(form.work, form.work, form.is_complex, []).wrap(block)


class _Orthogonal:
    """A chunk times the inverses of triangles."""

    def __init__(self, form: Form, triangles: list[MDArray], *, last: bool) -> None:
        self.form, self.triangles, self.last = form, triangles, last

    def __call__(self, index: int, item: Any) -> MDArray:
        """Return the rows of Q."""
        chunk = raised(loaded("qr", index, item, self.form, sides=False))
        form = self.form
        x = Inputs(form.work, form.work, form.is_complex, []).wrap(chunk.a)
        for r in self.triangles:
            x = solve_triangular(r, x.T, trans="T").T
        return x.astype(precision=form.precision) if self.last else x


class _Lazy:
    """The rows of Q by their index."""

    def __init__(self, function: _Orthogonal, items: list[Any]) -> None:
        self.function, self.items = function, items

    def __call__(self, index: int) -> MDArray:
        """Return chunk `index`."""
        return self.function(index, self.items[index])


@experimental
def gram(
    a: Any,
    /,
    *,
    precision: PrecisionLike | None = None,
    fan_in: int = 8,
    scheduler: Any = None,
    devices: Sequence[str] | None = None,
    comm: Any = None,
    progress: Progress = None,
) -> MDArray:
    """Return ``A^H A`` of a matrix whose rows lie in chunks.

    Parameters
    ----------
    a : array_like or rows
        As in `qr`.
    precision, fan_in, scheduler, devices, comm, progress : optional
        As in `lstsq`.

    Returns
    -------
    MDArray
        ``(n, n)`` in host memory, Hermitian to the bit; the error of each entry is at most
        ``eps abs(G)`` and ``4 (m + c + 20) eps**2 abs(A)^H abs(A)``, m the rows of the largest of c
        chunks. So the limbs hardly ever depend on the chunks: only where a sum is so close to a
        rounding boundary.

    Raises
    ------
    ValueError, TypeError, numpy.linalg.LinAlgError, ImportError
        As in `lstsq`.

    Notes
    -----
    Sums of each chunk, and of chunks, are kept to twice the limbs.

    Examples
    --------
    >>> import mdqr
    >>> from mdqr import distributed as md
    >>> a = mdqr.random.normal((60, 4), precision=mdqr.qd, rng=0)
    >>> mdqr.array_equal(md.gram([a[:25], a[25:]]), md.gram([a]))
    True
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(gram, locals())
    where, given = Where(scheduler, devices, comm), (a, None, None)
    job = job_of("gram", given, precision, where, fan_in, progress, sides=False)
    form = job.form
    made = tasks(job.engine, job.function, "gram", _Gram(job.function, form), job.source)
    add, count = _AddPairs(form.kind), job.source.length
    found = folded(job.engine, "gram", made, add, fan_in, report=progress, count=count)
    pair = finished(job.engine, job.function, job.source, found)
    limbs = form.precision.limbs
    block = pairs.rounded_sum(for_block(pair.high), form.kind._replace(limbs=limbs), *pair)
    g = Inputs(form.precision, form.precision, form.is_complex, []).wrap(block)
    return _hermitian(g)


def _hermitian(g: MDArray) -> MDArray:
    """Return a matrix with its upper triangle below the diagonal too."""
    upper = triu(g)
    lower = tril(g.H, -1)
    if g.is_complex:
        for i in range(g.shape[0]):
            upper.imag[i, i] = 0.0
    return upper + lower


class _Gram:
    """The product of one chunk."""

    def __init__(self, function: str, form: Form) -> None:
        self.function, self.form = function, form

    def __call__(self, index: int, item: Any) -> Pair | Fault:
        """Return it as a pair."""
        chunk = loaded(self.function, index, item, self.form, sides=False)
        if isinstance(chunk, Fault):
            return chunk
        backend, kind = for_block(chunk.a), self.form.kind
        x = Pair(chunk.a, None)
        found = pairs.less_product(backend, kind, None, chunk.a, x, adjoint=True)
        return Pair(*map(host_block, pairs.negated(found, kind)))


class _AddPairs:
    """Adds pairs."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def __call__(self, parts: list[Pair | Fault]) -> Pair | Fault:
        """Return the sum of all parts, in their order."""
        fault = first_fault(parts)
        if fault is not None:
            return fault
        found = [part for part in parts if isinstance(part, Pair)]
        total = found[0]
        for other in found[1:]:
            total = pairs.joined(for_block(total.high), self.kind, *total, *other)
        return total
