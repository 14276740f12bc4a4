"""Gauss rules against 320 digits, exact integrals of polynomials, and SciPy's shapes."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import mdqr
from mdqr.quadrature import QuadratureRule, gauss
from mdqr.quadrature._classical import weight_of
from quadrature.reference import rule

KINDS = {
    "legendre": (),
    "chebyshev": (),
    "chebyshev2": (),
    "gegenbauer": ("alpha",),
    "jacobi": ("alpha", "beta"),
    "laguerre": ("alpha",),
    "hermite": (),
    "hermite_e": (),
}
SCIPY = {
    "legendre": scipy.special.roots_legendre,
    "chebyshev": scipy.special.roots_chebyt,
    "chebyshev2": scipy.special.roots_chebyu,
    "hermite": scipy.special.roots_hermite,
    "hermite_e": scipy.special.roots_hermitenorm,
    "laguerre": scipy.special.roots_laguerre,
}
PRECISIONS = ("d", "dd", "qd", "od", "hd")


def excess(found: QuadratureRule, kind: str, **parameters: Fraction) -> float:
    """The largest error over its bound."""
    n = len(found.nodes)
    starts = gauss(kind, n, precision="od", **parameters).nodes.to_fractions().tolist()
    exact = rule(kind, n, starts, parameters.get("alpha"), parameters.get("beta"))
    bounds = (found.info.error_bound, found.info.weight_error_bound)
    worst = 0.0
    with mpmath.workdps(400):
        for values, references, each in zip(found, exact, bounds, strict=True):
            for value, reference, bound in zip(
                values.to_fractions(), references, each, strict=True
            ):
                error = abs(mpmath.mpf(value.numerator) / value.denominator - reference)
                if error > mpmath.mpf(10) ** -310:
                    worst = max(worst, float(error / bound) if bound else math.inf)
    return worst


@st.composite
def rules(draw):
    kind = draw(st.sampled_from(sorted(KINDS)))
    low = Fraction(-1, 2) if kind == "gegenbauer" else Fraction(-1)
    above = st.fractions(min_value=Fraction(1, 100), max_value=8, max_denominator=100)
    parameters = {name: low + draw(above) for name in KINDS[kind]}
    return kind, draw(st.integers(1, 24)), parameters


@given(rules(), st.sampled_from(PRECISIONS))
@settings(max_examples=40, deadline=None)
def test_bounds_hold(case, precision):
    kind, n, parameters = case
    found = gauss(kind, n, precision=precision, **parameters)
    assert excess(found, kind, **parameters) <= 1


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_all_digits(kind, precision):
    """But for hd, which loses what norms and small first components take."""
    parameters = dict.fromkeys(KINDS[kind], Fraction(1, 3))
    found = gauss(kind, 12, precision=precision, **parameters)
    full = mdqr.Precision(precision).digits
    lost = 12 if precision == "hd" else 0
    assert found.info.digits.min() >= full - lost
    assert found.info.weight_digits.min() >= full - lost


@pytest.mark.parametrize("kind", KINDS)
def test_polynomials_are_integrated_exactly(kind):
    """Moments of degree up to 2 n - 1 by the recurrence, exactly; in qd to 60 digits."""
    parameters = dict.fromkeys(KINDS[kind], Fraction(3, 2))
    n = 9
    x, w = gauss(kind, n, precision="qd", **parameters)
    weight = weight_of(kind, n, parameters.get("alpha"), parameters.get("beta"))
    total = w.sum()
    # The matrix of x in the orthonormal basis, to the power 2 n - 1: its first entry is a moment.
    jacobi = mdqr.diag(mdqr.array(weight.diagonal, precision="od"))
    off = mdqr.sqrt(mdqr.array(weight.squares, precision="od"))
    jacobi = jacobi + mdqr.diag(off, 1) + mdqr.diag(off, -1)
    for degree in (0, 1, 2, 7, 2 * n - 2, 2 * n - 1):
        moment = mdqr.linalg.matrix_power(jacobi, degree)[0, 0] * total
        scale = float((w * abs(x) ** degree).sum())
        assert abs(float((w * x**degree).sum() - moment)) <= 1e-60 * scale


@pytest.mark.parametrize("kind", SCIPY)
def test_order_and_values_are_those_of_scipy(kind):
    for n in (1, 2, 5, 64):
        nodes, weights = SCIPY[kind](n)
        found = gauss(kind, n, precision="dd")
        np.testing.assert_allclose(
            found.nodes.to_numpy(), nodes, rtol=1e-12, atol=1e-13 * (1 + abs(nodes).max())
        )
        np.testing.assert_allclose(found.weights.to_numpy(), weights, rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize("n", [6, 7])
def test_symmetric_weights_have_symmetric_rules(n):
    for kind in ("legendre", "hermite", "chebyshev", "gegenbauer"):
        parameters = {"alpha": 2} if kind == "gegenbauer" else {}
        x, w = gauss(kind, n, precision="qd", **parameters)
        assert bool((x == -x[::-1]).all())
        assert bool((w == w[::-1]).all())
    zero = gauss("legendre", 7, precision="qd")
    assert zero.nodes[3] == 0
    assert zero.info.error_bound[3] == 0


def test_many_nodes_of_a_weight_that_decays():
    """First components are below 1e-80: the recurrence is scaled, digits are counted."""
    found = gauss("hermite", 400, precision="dd")
    assert found.info.digits.min() == 31
    assert abs(float(found.weights.sum() / mdqr.sqrt(mdqr.dd.pi)) - 1) < 1e-30
    tiny = found.weights.to_numpy() < 1e-250
    assert tiny.any()
    assert (found.info.weight_digits[~tiny] <= 31).all()
    assert (found.info.weight_error_bound[tiny] > 0).all()


def test_parameters_are_exact():
    text = gauss("jacobi", 5, alpha="0.1", beta=Fraction(1, 10), precision="od")
    fraction = gauss("jacobi", 5, alpha=Fraction(1, 10), beta="1e-1", precision="od")
    assert bool((text.nodes == fraction.nodes).all())
    assert bool((text.weights == fraction.weights).all())
    rounded = gauss("jacobi", 5, alpha=0.1, beta=0.1, precision="od")
    assert 1e-20 < float(abs(text.nodes - rounded.nodes).max()) < 1e-15


def test_results_unpack_pickle_and_print():
    found = gauss("laguerre", 4, precision="dd")
    nodes, weights = found
    assert nodes.precision is weights.precision is mdqr.dd
    again = pickle.loads(pickle.dumps(found))
    assert bool((again.nodes == nodes).all())
    assert (again.info.weight_error_bound == found.info.weight_error_bound).all()
    assert (again.info.weight_digits == found.info.weight_digits).all()
    assert repr(found.info) == "<QuadratureInfo digits>=31.0 (as stored)>"


def test_progress():
    seen = []
    found = gauss("legendre", 5, precision="qd", progress=lambda *step: seen.append(step))
    assert seen == [("refine", k + 1, None) for k in range(found.info.iterations)]
    with pytest.raises(TypeError, match="progress must be"):
        gauss("legendre", 5, precision="qd", progress=3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("chebyshev3", 4), ValueError, "kind must be one of legendre, chebyshev"),
        ((3, 4), ValueError, "kind must be one of"),
        (("legendre", 0), ValueError, "n must be at least 1; got 0"),
        (("legendre", 2.5), TypeError, "integer"),
        (("legendre", 4, {"alpha": 1}), TypeError, "'legendre' has no alpha"),
        (("jacobi", 4, {"alpha": 1}), TypeError, "needs beta="),
        (("laguerre", 4, {"alpha": -1}), ValueError, "alpha must be above -1; got -1"),
        (("gegenbauer", 4, {"alpha": "-0.5"}), ValueError, "above -1/2"),
        (("jacobi", 4, {"alpha": math.nan, "beta": 0}), ValueError, "one finite real number"),
        (("jacobi", 4, {"alpha": [1, 2], "beta": 0}), ValueError, "one finite real number"),
        (("jacobi", 4, {"alpha": 1j, "beta": 0}), ValueError, "one finite real number"),
        (("jacobi", 4, {"alpha": "x", "beta": 0}), ValueError, "cannot read 'x'"),
        (("laguerre", 4, {"alpha": 1000}), ValueError, "overflows"),
    ],
)
def test_bad_input(arguments, error, message):
    kind, n, *options = arguments
    with pytest.raises(error, match=message):
        gauss(kind, n, precision="dd", **(options[0] if options else {}))


def test_a_precision_is_required():
    with pytest.raises(TypeError, match="precision"):
        gauss("legendre", 3)
