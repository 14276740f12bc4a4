"""LU and Cholesky factors whose errors are within their bounds, by exact products."""

from __future__ import annotations

import math
from fractions import Fraction

import linalg_cases as cases
import numpy as np
from exact_matrices import Exact

import mdqr
from mdqr.linalg import cholesky, lu_factor


def definite(n, precision, dtype, rng, cond=100):
    """Return a Hermitian matrix of this condition, and of full limbs."""
    a = cases.random(n, n, precision, dtype, rng, cond=cond**0.5)
    return a.H @ a


def watch(monkeypatch, *modules):
    """Return a list that gets whether `factor` of one of the modules found factors, each time."""
    answers = []

    def watched(find):
        def factor(*args):
            found = find(*args)
            answers.append(found is not None)
            return found

        return factor

    for module in modules:
        monkeypatch.setattr(module, "factor", watched(module.factor))
    return answers


def accept_cholesky(a):
    c, n = cholesky(a, upper=True), a.shape[0]
    right, factor = Exact.of(c), 1.5 * n + 160
    # The diagonal is taken as real, and the upper triangle for the whole matrix.
    whole = mdqr.triu(a) + mdqr.triu(a, 1).H
    error = (Exact.of(whole) - right.H @ right).moduli()
    assert error.within(Fraction(factor * c.precision.eps), right.H.moduli() @ right.moduli())
    assert (mdqr.diagonal(c).real > 0).all()
    assert not np.tril(c.to_numpy(), -1).any()


def accept_lu(a):
    lu, piv = lu_factor(a)
    n, order = len(a), list(range(len(a)))
    for i, place in enumerate(piv.tolist()):
        order[i], order[place] = order[place], order[i]
    lower = mdqr.tril(lu, -1) + mdqr.eye(n, precision=a.precision)
    left, right = Exact.of(lower), Exact.of(mdqr.triu(lu))
    error = (Exact.of(a[order]) - left @ right).moduli()
    factor = n + 8 * math.log2(max(n, 2)) + 56
    assert error.within(Fraction(factor * a.precision.eps), left.moduli() @ right.moduli())
    # A pivot has the largest sum of moduli of its parts.
    assert abs(lower.to_numpy()).max() <= (2**0.5 if a.is_complex else 1.0) * (1 + 1e-12)
