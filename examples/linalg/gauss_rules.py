"""Gauss rules for the weight -log(x) on (0, 1), from its moments.

Moments determine a rule, and ruin it: the Hankel matrix of 2n moments has a condition that grows
by about 30 from one n to the next. In float64 its Cholesky factor ends at n = 14. In octo-double
moments may be used as they are: Golub and Welsch (1969) take the Jacobi matrix from that factor,
the nodes from its eigenvalues and the weights from its eigenvectors.

Reference: the integral of -log(x) / (1 + x) over (0, 1) is pi^2 / 12.
"""

from __future__ import annotations

import numpy as np

import mdqr
from mdqr.linalg import LinAlgError, cholesky, eigh


def gauss(n: int, precision: str) -> tuple[mdqr.MDArray, mdqr.MDArray]:
    """Return nodes and weights of n points."""
    k = np.arange(2 * n + 1)
    moments = 1 / mdqr.array((k + 1) ** 2, precision=precision)
    r = cholesky(moments[np.add.outer(k[: n + 1], k[: n + 1])], upper=True)
    diagonal = mdqr.diagonal(r)
    ratio = mdqr.diagonal(r, 1) / diagonal[:-1]
    alpha = mdqr.diff(ratio, prepend=mdqr.zeros(1, precision=precision))
    beta = diagonal[1:-1] / diagonal[:-2]
    jacobi = mdqr.diag(alpha) + mdqr.diag(beta, 1) + mdqr.diag(beta, -1)
    nodes, vectors = eigh(jacobi)
    return nodes, moments[0] * vectors[0] ** 2


def main() -> None:
    """Print errors of rules, by their size and the precision."""
    exact = (4 * mdqr.arctan(mdqr.array(1, precision="od"))) ** 2 / 12
    for precision in ("d", "dd", "qd", "od"):
        for n in (4, 8, 16, 32):
            try:
                nodes, weights = gauss(n, precision)
            except LinAlgError as error:
                print(f"{precision:>2}, n = {n:2}: {error}")
                break
            value = (weights / (1 + nodes)).sum()
            print(f"{precision:>2}, n = {n:2}: error {float(abs(value - exact)):.0e}")
    assert abs(value - exact) < 1e-45


if __name__ == "__main__":
    main()
