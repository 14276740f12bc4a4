"""Public updates of QR factorisations: rows and columns inserted and deleted, low-rank changes."""

from __future__ import annotations

from typing import Any

from mdqr._docstrings import documented
from mdqr._errors import advised
from mdqr._typing import Line, PrecisionLike, UpdateMethod
from mdqr.linalg._shared.hints import takes_hints
from mdqr.linalg._update.columns import ColumnDeletion, ColumnInsertion, RankUpdate
from mdqr.linalg._update.operands import (
    UpdateResult,
    least_condition,
    matrix_operand,
    position,
    range_of,
    require_count,
)
from mdqr.linalg._update.rows import KnownRowDeletion, RowDeletion, RowInsertion
from mdqr.linalg._update.updates import Update, execute, read_factors

_METHODS = ("auto", "update", "fresh")


@takes_hints
@advised
def qr_insert(
    Q: Any,
    R: Any,
    u: Any,
    /,
    k: int,
    which: Line = "row",
    rcond: float | None = None,
    *,
    a: Any = None,
    method: UpdateMethod = "auto",
    precision: PrecisionLike | None = None,
    check: bool = True,
) -> UpdateResult:
    """Return the factors of a matrix into which rows or columns were inserted.

    Parameters
    ----------
    Q : array_like or None
        ``(..., m, m)`` or, with m > n, ``(..., m, n)``; None if only R is known.
    R : array_like
        ``(..., m, n)``, or ``(..., n, n)``.
    u : array_like
        Rows ``(n,)`` or ``(..., p, n)``, or columns ``(m,)`` or ``(..., m, p)``; one matrix is used
        for a whole batch.
    k : int
        The row or column before which they are inserted; from the end if negative. Without Q the
        place of rows does not matter.
    which : {"row", "col"}, optional
        What is inserted.
    rcond : float, optional
        The smallest reciprocal condition number of the columns of a thin Q, or of the matrix where
        Q is None, with a new column divided by its norm; by default eps. Only for columns, and not
        with a square Q.
    a : array_like, optional
        The matrix ``(..., m, n)`` before the update, only for columns: needed without Q; with Q, a
        refactorisation starts from it instead of ``Q R``.
    method : {"auto", "update", "fresh"}, optional
        Update the factors; refactor the changed matrix; or the one of them that takes less time by
        a static table.
    precision : Precision or str, optional
        The precision of the factors; by default the highest of the operands.
    check : bool, optional
        Raise if something is not finite or a column depends on others; a device is synchronized
        once, at the end, and with a thin Q after each pass of orthogonalisation. Otherwise nothing
        is checked or synchronized, and three passes are made.

    Returns
    -------
    UpdateResult
        ``(Q, R)``, or ``(None, R)`` without Q. The diagonal of R is real and not negative. Float
        arrays of NumPy or CuPy give float arrays of the same width, everything else `MDArray`.

    Raises
    ------
    ValueError
        If shapes or indices do not fit, an option has an unknown value, or data are missing that
        the update needs without Q.
    numpy.linalg.LinAlgError
        If `check` is true and something is not finite, or a column that is inserted into thin
        factors has a reciprocal condition number below `rcond`; if `method` is "update", Q is None
        and A would have fewer rows than columns.

    See Also
    --------
    qr_delete, qr_update, repair
    scipy.linalg.qr_insert : Faster for float64 on a CPU, one row or column at a time.
    UpdatableLstsq : Least squares whose rows and columns change.

    Notes
    -----
    As `scipy.linalg.qr_insert`: thin factors stay thin as long as m >= n, then Q is square. Rows
    are worked in by panels of ``[R; u]`` whose vectors are ``[I; V]``, so that zeros cost nothing.
    Columns are orthogonalised to Q (again, if it is thin and a column keeps less than a quarter),
    and reduced by Householder windows from the bottom up. Without Q they come by corrected
    semi-normal equations (A. Bjorck 1987), and R loses as many digits as A has in its condition
    number. After k updates ``norm(A - Q R)`` is below ``20 n k eps`` times the largest norm of the
    matrices so far (S. Hammarling and C. Lucas 2008; R. Andrew and N. J. Dingle 2012).

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.vander([1.0, 2.0, 3.0], 2, precision=mdqr.qd)
    >>> Q, R = mdqr.linalg.qr(a)
    >>> Q, R = mdqr.linalg.qr_insert(Q, R, [4.0, 1.0], 3)
    >>> (Q @ R).to_numpy().round(12).tolist()
    [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [4.0, 1.0]]
    """
    _require_method("qr_insert", method)
    return execute(
        insertion(Q, R, u, k, which, rcond, a=a, precision=precision, check=check), method
    )


def insertion(
    Q: Any, R: Any, u: Any, k: int, which: str = "row", rcond: Any = None, a: Any = None, **how: Any
) -> Update:
    """Return the update of `qr_insert`; `how` are its `precision` and `check`."""
    name = "qr_insert"
    _require_which(name, which)
    if which == "row":
        _refuse(name, "where rows are inserted", rcond=rcond, a=a)
        known, (u,) = read_factors(name, Q, R, u=u, **how)
        place = 0 if Q is None else position(name, k, known.m, end=True)
        u = matrix_operand(name, known.engine, "u", u, known.batch, columns=known.n)
        return RowInsertion(known, u, place)
    known, (u, a) = read_factors(name, Q, R, u=u, a=a, **how)
    if Q is None and a is None:
        raise ValueError(f"{name}: inserting columns without Q needs the matrix: give a=, or Q")
    if Q is not None and not known.is_thin:
        _refuse(name, "with a square Q", rcond=rcond)
    limit = least_condition(name, rcond)
    place, rows = position(name, k, known.n, end=True), known.m
    if a is not None:
        wanted: dict[str, Any] = {"rows": None if Q is None else rows, "columns": known.n}
        a = matrix_operand(name, known.engine, "a", a, known.batch, vectors=False, **wanted)
        rows = int(a.shape[-2])
    u = matrix_operand(name, known.engine, "u", u, known.batch, rows=rows)
    return ColumnInsertion(known, u, place, a, limit)


@takes_hints
@advised
@documented(qr_insert)
def qr_delete(
    Q: Any,
    R: Any,
    /,
    k: int,
    p: int = 1,
    which: Line = "row",
    *,
    u: Any = None,
    method: UpdateMethod = "auto",
    precision: PrecisionLike | None = None,
    check: bool = True,
) -> UpdateResult:
    """Return the factors of a matrix from which rows or columns were removed.

    As `scipy.linalg.qr_delete`. Columns leave R with p diagonals too many, which Householder
    windows reduce; Q is not needed. Rows leave by a reduction of the rows of Q to the identity,
    from the bottom up. Without Q these come from ``R^H E = u^H`` (M. A. Saunders 1972), and
    ``norm(R^H R - A^H A)`` is below ``20 n eps`` times the square of the largest norm. The part
    outside of the removed rows, 1 - sigma^2 for the largest singular value sigma of their part of
    Q, determines the number of lost digits: ``log10(1 / (1 - sigma^2))``, half as many with Q, and
    without Q the digits of the condition of the rows.

    Parameters
    ----------
    k : int
        The first row or column to remove; from the end if negative. Not used where rows are
        removed without Q.
    p : int, optional
        How many; without Q as many rows as `u` has, and p may be left out.
    which : {"row", "col"}, optional
        What is removed.
    u : array_like, optional
        The rows ``(n,)`` or ``(..., p, n)`` that are removed: needed without Q, and only there.
    check : bool, optional
        Raise if something is not finite or all digits are lost; a device is synchronized once,
        at the end, and with a thin Q after each pass of orthogonalisation. Otherwise nothing is
        checked or synchronized, and three passes are made.

    Raises
    ------
    numpy.linalg.LinAlgError
        If `check` is true and something is not finite, or the rows that stay do not determine the
        new R: their rank is lower, or they are smaller than the removed ones by 1 / eps. Where the
        rank was below n before, or fewer than n rows stay, only columns that vanish show that.

    Warns
    -----
    PrecisionWarning
        If removed rows take half of the digits of R with them.

    See Also
    --------
    qr_insert, qr_update, repair
    scipy.linalg.qr_delete : Faster for float64 on a CPU, one row or column at a time.
    UpdatableLstsq : Least squares whose rows and columns change.

    >>> a = mdqr.vander([1.0, 2.0, 3.0], 3, precision=mdqr.qd)
    >>> Q, R = mdqr.linalg.qr(a)
    >>> Q, R = mdqr.linalg.qr_delete(Q, R, 0, which="col")
    >>> (Q @ R).to_numpy().round(12).tolist()
    [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]
    """
    _require_method("qr_delete", method)
    return execute(deletion(Q, R, k, p, which, u=u, precision=precision, check=check), method)


def deletion(
    Q: Any, R: Any, k: int, p: int = 1, which: str = "row", *, u: Any = None, **how: Any
) -> Update:
    """Return the update of `qr_delete`; `how` are its `precision` and `check`."""
    name = "qr_delete"
    _require_which(name, which)
    if which == "col" or Q is not None:
        _refuse(name, "unless rows are deleted without Q", u=u)
        known, _ = read_factors(name, Q, R, **how)
        place, count = range_of(name, k, p, known.n if which == "col" else known.m)
        return (ColumnDeletion if which == "col" else RowDeletion)(known, place, count)
    rows = {} if u is None else {"u": u}
    known, found = read_factors(name, Q, R, **rows, **how)
    if not found:
        raise ValueError(f"{name}: deleting rows without Q needs the rows: give u=, or Q")
    if known.m < known.n:
        raise ValueError(
            f"{name}: deleting rows without Q needs at least as many rows of R as columns; got "
            f"shape {(known.m, known.n)}: give Q"
        )
    u = matrix_operand(name, known.engine, "u", found[0], known.batch, columns=known.n)
    require_count(name, p, int(u.shape[-2]))
    return KnownRowDeletion(known, u)


@takes_hints
@advised
@documented(qr_insert)
def qr_update(
    Q: Any,
    R: Any,
    u: Any,
    v: Any,
    /,
    *,
    method: UpdateMethod = "auto",
    precision: PrecisionLike | None = None,
    check: bool = True,
) -> UpdateResult:
    """Return the factors of ``A + u v^H``.

    As `scipy.linalg.qr_update`. ``Q^H u`` is reduced to its first p rows from the bottom up, by
    windows that leave R with p diagonals too many. The change is added there, and a second sweep
    of windows ends it. A thin Q gets the directions of u outside of it meanwhile.

    Parameters
    ----------
    Q : array_like
        ``(..., m, m)`` or, with m > n, ``(..., m, n)``.
    u : array_like
        ``(m,)`` or ``(..., m, p)``.
    v : array_like
        ``(n,)`` or ``(..., n, p)``; complex ones are conjugated.
    check : bool, optional
        Raise if something is not finite; a device is synchronized once, at the end, and with a
        thin Q after each pass of orthogonalisation. Otherwise nothing is checked or synchronized,
        and three passes are made.

    Returns
    -------
    UpdateResult
        ``(Q, R)``. The diagonal of R is real and not negative. Float arrays of NumPy or CuPy give
        float arrays of the same width, everything else `MDArray`.

    Raises
    ------
    ValueError
        If shapes do not fit, an option has an unknown value, or Q is None.
    numpy.linalg.LinAlgError
        If `check` is true and something is not finite.

    See Also
    --------
    qr_insert, qr_delete, repair
    scipy.linalg.qr_update : Faster for float64 on a CPU, one column of u and v at a time.

    >>> Q, R = mdqr.linalg.qr(mdqr.eye(2, precision=mdqr.qd))
    >>> Q, R = mdqr.linalg.qr_update(Q, R, [1.0, 0.0], [0.0, 2.0])
    >>> (Q @ R).to_numpy().round(12).tolist()
    [[1.0, 2.0], [0.0, 1.0]]
    """
    _require_method("qr_update", method)
    return execute(rank_update(Q, R, u, v, precision=precision, check=check), method)


def rank_update(Q: Any, R: Any, u: Any, v: Any, **how: Any) -> Update:
    """Return the update of `qr_update`; `how` are its `precision` and `check`."""
    name = "qr_update"
    if Q is None:
        raise ValueError(f"{name}: a change of low rank needs Q: factor A + u v^H anew")
    known, (u, v) = read_factors(name, Q, R, u=u, v=v, **how)
    u = matrix_operand(name, known.engine, "u", u, known.batch, rows=known.m)
    v = matrix_operand(name, known.engine, "v", v, known.batch, rows=known.n)
    if u.shape[-1] != v.shape[-1]:
        raise ValueError(
            f"{name}: u and v must have as many columns; got {u.shape[-1]} and {v.shape[-1]}"
        )
    return RankUpdate(known, u, v)


def _refuse(function: str, where: str, **options: Any) -> None:
    """Refuse options that would do nothing."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{function}: {name} is not used {where}: leave it out")


def _require_which(function: str, which: Any) -> None:
    if not isinstance(which, str) or which not in ("row", "col"):
        raise ValueError(f'{function}: which must be "row" or "col"; got {which!r}')


def _require_method(function: str, method: Any) -> None:
    if not isinstance(method, str) or method not in _METHODS:
        raise ValueError(
            f"{function}: method must be one of {', '.join(map(repr, _METHODS))}; got {method!r}"
        )
