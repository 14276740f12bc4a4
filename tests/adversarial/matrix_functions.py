"""Verdicts on `funm`, `qz`, `ordqz` and `ldl`: errors against exact matrices of arb."""

from __future__ import annotations

import math

import flint
import numpy as np

import mdqr
from mdqr.linalg import funm, ldl, ordqz, qz

from .draws import Draw
from .problems import limbs, problem
from .verdicts import Verdict, answered

# More than any exact product of limbs needs.
_BITS = 6000
_FUNCTIONS = {
    "cubic": (lambda z: z * z * z - 2 * z + 1, lambda a, one: a * a * a - a * 2 + one),
    "quotient": (lambda z: 1 / (z + 9), lambda a, one: (a + one * 9).solve(one)),
    "exp": (np.exp, lambda a, one: a.exp()),
}


def function(seed, index):
    """Judge a function of a matrix of entries of at most 1."""
    r = Draw(f"funm/{seed}/{index}")
    given = _square(seed, index)
    top = abs(limbs(given.a)[:, 0]).max(initial=0.0)
    given.a = given.a * 2.0 ** -max(-900, min(900, math.frexp(top)[1]))
    function, exact = _FUNCTIONS[r.choice(list(_FUNCTIONS))]
    found, error, caught = answered(
        lambda: _with_bound(funm(given.a, function, precision=given.precision, return_info=True))
    )
    verdict = _verdict(error, caught)
    if error is None:
        x, bound = found
        flint.ctx.prec = 2000
        a = _exact(given.a)
        wanted, value = exact(a, _exact_identity(a.nrows())), _exact(x)
        for i, j in np.ndindex(x.shape):
            _compare(verdict, _upper(value[i, j] - wanted[i, j]), float(bound[i, j]))
    return given, verdict


def _with_bound(found):
    x, info = found
    return x, info.error_bound


def pair_form(seed, index):
    """Judge a generalized Schur form."""
    r = Draw(f"qz/{seed}/{index}")
    given = _square(seed, index)
    other = given.a * 0 if r.chance(0.05) else _square(seed, index + 10**6).a
    n = min(given.a.shape[-1], other.shape[-1])
    a, b = given.a[:n, :n], other[:n, :n]
    output, sort = r.choice(["real", "complex"]), r.choice([None, "lhp", "rhp", "iuc", "ouc"])
    options = {"precision": given.precision}
    found, error, caught = answered(
        lambda: (
            qz(a, b, output, **options) if sort is None else ordqz(a, b, sort, output, **options)
        )
    )
    verdict = _verdict(error, caught)
    if error is None:
        flint.ctx.prec = _BITS
        q, z, one = _exact(found.Q), _exact(found.Z), _exact_identity(n)
        bounds, lost = found.info.error_bound, found.info.orthogonality
        for x, form, bound in ((a, found.AA, bounds[0]), (b, found.BB, bounds[1])):
            _compare(verdict, _norm(_exact(x) - q * _exact(form) * _adjoint(z)), bound)
        for x, bound in ((q, lost[0]), (z, lost[1])):
            _compare(verdict, _norm(one - _adjoint(x) * x), bound)
    return given, verdict


def symmetric(seed, index):
    """Judge a factorisation of a symmetric or Hermitian matrix."""
    r = Draw(f"ldl/{seed}/{index}")
    given = _square(seed, index)
    hermitian, lower = r.chance(0.5), r.chance(0.5)
    given.a = given.a / 2 + (given.a.conj() if hermitian else given.a).mT / 2
    found, error, caught = answered(
        lambda: ldl(given.a, lower, hermitian, precision=given.precision)
    )
    verdict = _verdict(error, caught)
    if error is None:
        flint.ctx.prec = _BITS
        left = _exact(found.lu)
        right = _adjoint(left) if hermitian else left.transpose()
        rest = _norm(_exact(given.a) - left * _exact(found.d) * right)
        _compare(verdict, rest, float(found.info.error_bound))
    return given, verdict


def _square(seed, index):
    given = problem(seed, index, square=True)
    a = mdqr.asarray(given.a, precision=given.data)
    given.a = a[0] if a.ndim == 3 else a
    return given


def _verdict(error, caught):
    verdict = Verdict()
    verdict.note_warnings(caught)
    # A value that does not exist, or is beyond the range.
    if error is not None and not isinstance(error, OverflowError):
        verdict.note_error(error)
        verdict.outcome = "raised"
    return verdict


def _compare(verdict, error, bound):
    verdict.components += 1
    if not error <= bound:
        verdict.violations["all"] += 1
        excess = math.log10(error / bound) if bound > 0 else 9999.0
        verdict.note("bound_violated", "excess", excess)
    elif error > 0 and np.isfinite(bound):
        verdict.gaps.append(("all", math.log10(bound) - math.log10(error)))


def _exact(x):
    real = x.real.to_fractions().ravel()
    imag = x.imag.to_fractions().ravel() if x.is_complex else [0 * p for p in real]
    values = [flint.acb(_ball(p), _ball(q)) for p, q in zip(real, imag, strict=True)]
    return flint.acb_mat(*x.shape, values)


def _ball(value):
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def _exact_identity(n):
    return flint.acb_mat(n, n, [int(i == j) for i, j in np.ndindex(n, n)])


def _adjoint(x):
    return x.transpose().conjugate()


def _upper(value):
    return float(abs(value).upper())


def _norm(x):
    return float(sum((abs(v) ** 2 for v in x.entries()), flint.arb(0)).sqrt().upper())
