"""Generalized Schur forms of pairs of matrices, by the names of SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from mdqr._array.array import MDArray
from mdqr._docstrings import documented
from mdqr._errors import shown
from mdqr._functions.sequences import stack
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.linalg._factor.backward_error import FactorErrors, FactorInfo, orthogonality
from mdqr.linalg._factor.lu import flat
from mdqr.linalg._general.operands import Operands, operands
from mdqr.linalg._general.pairs.form import Form
from mdqr.linalg._general.pairs.iteration import positive_diagonal, triangular_pair
from mdqr.linalg._general.pairs.order import eigenvalues, move_first
from mdqr.linalg._general.schur_info import ErrorsOfForm
from mdqr.linalg._shared.info import WithInfo
from mdqr.linalg._shared.operands import memory_guard

Sort = Literal["lhp", "rhp", "iuc", "ouc"] | Callable[[MDArray, MDArray], Any]


class _QZ(NamedTuple):
    AA: MDArray
    BB: MDArray
    Q: MDArray
    Z: MDArray


class QZResult(WithInfo, _QZ):
    """A generalized Schur decomposition, ``a = Q @ AA @ Z^H`` and ``b = Q @ BB @ Z^H``.

    Attributes
    ----------
    AA : MDArray
        Upper triangular ``(..., n, n)``; real ones have blocks of two rows on the diagonal for
        pairs of complex eigenvalues.
    BB : MDArray
        Upper triangular ``(..., n, n)``, its diagonal real and not negative.
    Q, Z : MDArray
        Unitary ``(..., n, n)``.
    info : FactorInfo
        Proven bounds of the backward errors of a and b, and of how far Q and Z are from unitary,
        ``(..., 2)``; as of `SchurResult`.
    """

    info: FactorInfo


class _OrdQZ(NamedTuple):
    AA: MDArray
    BB: MDArray
    alpha: MDArray
    beta: MDArray
    Q: MDArray
    Z: MDArray


class OrdQZResult(WithInfo, _OrdQZ):
    """A generalized Schur decomposition in which selected eigenvalues are the first.

    Attributes
    ----------
    AA, BB : MDArray
        As of `QZResult`.
    alpha, beta : MDArray
        The eigenvalues ``alpha / beta``, ``(..., n)``, infinite where beta is zero; alpha is
        complex, beta real and not negative.
    Q, Z : MDArray
        Unitary ``(..., n, n)``.
    info : FactorInfo
        As of `QZResult`.
    """

    info: FactorInfo


QZResult.__module__ = OrdQZResult.__module__ = "mdqr.linalg"


@experimental
def qz(
    a: Any,
    b: Any,
    /,
    output: Literal["real", "complex"] = "real",
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
) -> QZResult:
    """Return generalized Schur decompositions of pairs of matrices; as `scipy.linalg.qz`.

    Parameters
    ----------
    a, b : array_like
        Matrices ``(..., n, n)``; leading dimensions broadcast.
    output : {"real", "complex"}, optional
        The field of the decomposition of real pairs: real, with blocks of two rows, or a complex
        triangular one.
    precision : Precision or str, optional
        The precision of the results; by default the higher one of `a` and `b`.
    data_error : dict, optional
        Bounds of the errors of entries, as in `lstsq`, with the keys ``a_atol``, ``a_rtol``,
        ``b_atol`` and ``b_rtol``. The default is half a unit in the last place of the precision in
        which they were given.

    Returns
    -------
    QZResult
        The fields `AA`, `BB`, `Q` and `Z`, and `info`.

    Raises
    ------
    ValueError
        If `output` is neither "real" nor "complex", or leading dimensions do not broadcast.
    TypeError
        If `data_error` is not a dict.
    numpy.linalg.LinAlgError
        If `a` and `b` are not square and of one order, an entry is not finite, or the QZ algorithm
        does not converge.
    MemoryError
        If memory for the factors cannot be allocated; the message gives the requested size.

    See Also
    --------
    eig : Eigenvalues with bounds.
    ordqz : The same with some eigenvalues first.

    Notes
    -----
    ``norm(a - Q AA Z^H) <= 10 n eps norm(a)``, the same of b, and Q and Z are unitary within ``10 n
    eps``; ``info`` has what is proven of one result. The QZ algorithm (C. B. Moler and G. W.
    Stewart 1973) with single shifts or pairs of them, in working precision throughout, on the host.
    Entries of the diagonal of BB below ``eps`` times the largest entry of b count as zeros.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[1, 2], [3, 4]], precision=mdqr.qd)
    >>> AA, BB, Q, Z = mdqr.linalg.qz(a, [[2, 0], [1, 1]])
    >>> bool(abs(Q @ AA @ Z.T - a).max() < 1e-60), bool(AA[1, 0] == 0)
    (True, True)
    """
    found = _Pairs("qz", a, b, output, precision, data_error)
    return found.result(QZResult, *found.factors())


@experimental
@documented(qz)
def ordqz(
    a: Any,
    b: Any,
    /,
    sort: Sort = "lhp",
    output: Literal["real", "complex"] = "real",
    *,
    precision: PrecisionLike | None = None,
    data_error: Mapping[str, Any] | None = None,
) -> OrdQZResult:
    """Return generalized Schur decompositions with selected eigenvalues first.

    As `scipy.linalg.ordqz`. Blocks are exchanged by orthogonal matrices (B. Kagstrom 1993); where
    eigenvalues are close, errors may be larger than in `qz`: see ``info``.

    Parameters
    ----------
    sort : {"lhp", "rhp", "iuc", "ouc"} or callable, optional
        The eigenvalues that come first: those in the left or right half plane, in or outside of
        the unit circle, or those for which ``sort(alpha, beta)``, of arrays ``(n,)``, is true.
        Pairs of conjugate ones stay together, and the first one counts.

    Returns
    -------
    OrdQZResult
        The fields `AA`, `BB`, `alpha`, `beta`, `Q` and `Z`, and `info`.

    Raises
    ------
    ValueError
        If `output` or `sort` has another value, or leading dimensions do not broadcast.
    numpy.linalg.LinAlgError
        If `a` and `b` are not square and of one order, an entry is not finite, the QZ algorithm
        does not converge, or eigenvalues are too close to exchange.

    >>> found = mdqr.linalg.ordqz([[3, 1], [0, -2]], [[1, 0], [0, 1]], precision=mdqr.qd)
    >>> (found.alpha / found.beta).to_numpy().round(12).tolist()
    [(-2+0j), (3+0j)]
    """
    select = _selection(sort)
    found = _Pairs("ordqz", a, b, output, precision, data_error)
    alphas: list[MDArray] = []
    betas: list[MDArray] = []
    for form in found.forms:
        move_first(form, _chosen(select, *found.eigenvalues(form)))
        positive_diagonal(form)
        for each, whole in zip(found.eigenvalues(form), (alphas, betas), strict=True):
            whole.append(each)
    alpha, beta = (found.whole(each) for each in (alphas, betas))
    aa, bb, q, z = found.factors()
    return found.result(OrdQZResult, aa, bb, alpha, beta, q, z)


def _selection(sort: Any) -> Callable[[MDArray, MDArray], Any]:
    if callable(sort):
        return sort
    if sort not in _SELECTIONS:
        raise ValueError(
            f'ordqz: sort must be "lhp", "rhp", "iuc", "ouc" or callable; got {shown(sort)}'
        )
    return _SELECTIONS[sort]


_SELECTIONS: dict[str, Callable[[MDArray, MDArray], Any]] = {
    "lhp": lambda alpha, beta: (alpha.real < 0) & (beta != 0),
    "rhp": lambda alpha, beta: (alpha.real > 0) & (beta != 0),
    "iuc": lambda alpha, beta: abs(alpha) < beta,
    "ouc": lambda alpha, beta: abs(alpha) > beta,
}


def _chosen(select: Callable[[MDArray, MDArray], Any], alpha: MDArray, beta: MDArray) -> np.ndarray:
    chosen = np.asarray(select(alpha, beta), dtype=bool)
    if chosen.shape != alpha.shape:
        raise ValueError(
            f"ordqz: sort must return an array of the shape {alpha.shape}; got {chosen.shape}"
        )
    return chosen


class _Pairs:
    """The operands, and a form for each pair of the batch."""

    def __init__(
        self,
        function: str,
        a: Any,
        b: Any,
        output: str,
        precision: PrecisionLike | None,
        data_error: Mapping[str, Any] | None,
    ) -> None:
        if output not in ("real", "complex", "r", "c"):
            raise ValueError(f'{function}: output must be "real" or "complex"; got {output!r}')
        given: Operands = operands(function, [a, b], precision, data_error)
        inputs, n = given.inputs, given.shape[-1]
        field = inputs.is_complex or output[0] == "c"
        self._given, self._kind = given, Kind(max(inputs.work.limbs, 2), field)
        self._blocks = [
            flat(planes.complexify(x) if field > inputs.is_complex else x, field).copy()
            for x in inputs.blocks
        ]
        count = self._blocks[0].shape[self._kind.lead] if n else 0
        with memory_guard(function, inputs, 12 * n * n, "take fewer rows"):
            self.forms = [
                triangular_pair(
                    inputs.backend,
                    self._blocks[0][..., i, :, :],
                    self._blocks[1][..., i, :, :],
                    self._kind,
                )
                for i in range(count)
            ]

    def eigenvalues(self, form: Form) -> tuple[MDArray, MDArray]:
        """Return alpha and beta of one pair."""
        alpha, beta = eigenvalues(form)
        of_a, of_b = form.powers
        return _raised(form, alpha, of_a), _raised(form, beta, of_b)

    def whole(self, parts: list[MDArray]) -> MDArray:
        """Return arrays ``(n,)`` of all pairs as one, with the batch shape."""
        inputs = self._given.inputs
        if not parts:
            return self._wrapped(self._kind.zeros(np, (0,)), self._given.shape)
        block = stack(parts)._block
        field = parts[0].is_complex
        return inputs.wrap(
            block.reshape(*block.shape[: planes.lead(field)], *self._given.shape), field
        ).to_device(self._given.device)

    def factors(self) -> list[MDArray]:
        """Return AA, BB, Q and Z."""
        shape = self._given.inputs.shape(0)
        if not self.forms:
            return [self._wrapped(self._kind.zeros(np, (0,)), shape) for _ in range(4)]
        parts = zip(*(form.factors() for form in self.forms), strict=True)
        return [self._wrapped(np.stack(each, axis=self._kind.lead), shape) for each in parts]

    def _wrapped(self, block: Block, shape: tuple[int, ...]) -> MDArray:
        whole = block.reshape(*block.shape[: self._kind.lead], *shape)
        return self._given.inputs.wrap(whole, self._kind.is_complex).to_device(self._given.device)

    def result(self, made: type[Any], *fields: MDArray) -> Any:
        """Return a result with its info."""
        known = made(*fields)
        aa, bb, q, z = (
            flat(x.to_device("cpu")._block.copy(), self._kind.is_complex)
            for x in (known.AA, known.BB, known.Q, known.Z)
        )
        precision, shape = self._given.inputs.precision, (*self._given.shape[:-1], 2)

        @cache
        def errors() -> FactorErrors:
            of_a, of_b = (
                ErrorsOfForm(self._given.inputs.backend, self._kind, x, t, z, error, q).bounds
                for x, t, error in zip(self._blocks, (aa, bb), self._given.errors, strict=True)
            )
            of_q = orthogonality(MDArray._wrap(q, precision, self._kind.is_complex))
            pairs = zip(of_a, of_b, strict=True)
            found = FactorErrors(*(np.stack(pair, axis=-1) for pair in pairs))
            found = found._replace(orthogonality=np.stack([of_q, of_a.orthogonality], axis=-1))
            return FactorErrors(*(x.reshape(shape) for x in found))

        return known._described(FactorInfo(precision, errors))


def _raised(form: Form, x: MDArray, power: Any) -> MDArray:
    """Return x times a power of two."""
    return x._like(form.backend.ldexp(x._block, power, is_complex=x.is_complex))
