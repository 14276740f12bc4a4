"""Gauss rules of the classical weights."""

from __future__ import annotations

import operator
from typing import Any, Literal

import numpy as np

from mdqr._array.array import MDArray
from mdqr._precision import as_precision
from mdqr._progress import Progress, Report, with_report
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike
from mdqr.quadrature._classical import weight_of
from mdqr.quadrature._rule import QuadratureInfo, QuadratureRule
from mdqr.quadrature._tridiagonal import solve

Kind = Literal[
    "legendre",
    "chebyshev",
    "chebyshev2",
    "gegenbauer",
    "jacobi",
    "laguerre",
    "hermite",
    "hermite_e",
]


@experimental
def gauss(
    kind: Kind,
    n: int,
    *,
    alpha: Any = None,
    beta: Any = None,
    precision: PrecisionLike,
    progress: Progress = None,
) -> QuadratureRule:
    """Return the Gauss rule of n nodes for a classical weight, with proven error bounds.

    Parameters
    ----------
    kind : str
        The weight:

        ============== ============================== ========== =================
        kind           weight                         interval   parameters
        ============== ============================== ========== =================
        "legendre"     1                              -1 to 1
        "chebyshev"    ``(1 - x**2)**(-1/2)``         -1 to 1
        "chebyshev2"   ``(1 - x**2)**(1/2)``          -1 to 1
        "gegenbauer"   ``(1 - x**2)**(alpha - 1/2)``  -1 to 1    alpha > -1/2
        "jacobi"       ``(1-x)**alpha (1+x)**beta``   -1 to 1    alpha, beta > -1
        "laguerre"     ``x**alpha exp(-x)``           0 to inf   alpha > -1, or 0
        "hermite"      ``exp(-x**2)``                 real line
        "hermite_e"    ``exp(-x**2 / 2)``             real line
        ============== ============================== ========== =================
    n : int
        The number of nodes, at least 1.
    alpha, beta : number or str, optional
        The parameters: integers, fractions and decimal strings are exact, others are converted to
        hd.
    precision : Precision or str
        The precision of nodes and weights.
    progress : callable or bool, optional
        Called as ``progress("refine", done, None)`` after each evaluation of the polynomials; True
        for a bar.

    Returns
    -------
    QuadratureRule
        ``(nodes, weights)``, each ``(n,)``, with ``.info``.

    Raises
    ------
    ValueError
        If `kind` is unknown, n below 1, a parameter out of range, or the integral of the weight
        overflows.
    TypeError
        If a parameter is missing, or the weight has none.
    numpy.linalg.LinAlgError
        If nodes are not separated in the highest precision.

    Notes
    -----
    Nodes are the eigenvalues of the Jacobi matrix, weights come from the first components of its
    eigenvectors (G. H. Golub and J. H. Welsch, Calculation of Gauss quadrature rules, 1969). LAPACK
    finds the eigenvalues in float64; Rayleigh quotients of the vectors of the recurrence refine
    them, in each precision up to one above the result's. Residuals bound the distance to the
    exact eigenvalues, also the errors of rounding coefficients. Thus d to od have all digits unless
    weights are tiny relative to their sum; hd loses the digits of about n times the largest node.
    Integrals of weights are found in exact integers. The cost is about ``100 n**2`` operations.

    Examples
    --------
    >>> import mdqr
    >>> x, w = mdqr.quadrature.gauss("legendre", 20, precision=mdqr.qd)
    >>> integral = 2 * mdqr.sinh(mdqr.array(1, precision=mdqr.qd))
    >>> abs(float((w * mdqr.exp(x)).sum() - integral)) < 1e-50
    True
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(gauss, locals())
    answer = as_precision(precision)
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"gauss: n must be at least 1; got {n}")
    weight = weight_of(kind, n, alpha, beta)
    found = solve(weight, answer, progress)
    work = found.values.precision
    integral, uncertainty = weight.integral(work)
    exact = found.squares * integral
    nodes, weights = (x.astype(precision=answer) for x in (found.values, exact))
    scale = float(integral)
    errors = (
        _rounded(found.errors[0], found.values, nodes),
        _rounded(
            found.errors[1] * scale + (uncertainty + 2 * work.eps) * exact.limbs[0], exact, weights
        ),
    )
    info = QuadratureInfo(
        answer, nodes.limbs[0].copy(), weights.limbs[0].copy(), errors, found.passes
    )
    return QuadratureRule(nodes, weights)._described(info)


def _rounded(errors: np.ndarray, exact: MDArray, rounded: MDArray) -> np.ndarray:
    """Return bounds with the errors of a rounding, and those of computing them in float64."""
    cut = abs(exact - rounded).limbs[0]
    return (errors + cut) * (1 + 2.0**-30)
