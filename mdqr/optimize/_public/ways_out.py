"""Messages about fits without a minimum, or with a part of its digits, and advice."""

from __future__ import annotations

import numpy as np

from mdqr.optimize._solver.solve import CONVERGED, FLAT, LIMIT, STOPPED

MESSAGES = {
    CONVERGED: "Newton's steps have fallen to the rounding errors: converged to all digits.",
    FLAT: "The gradient is zero, and the Hessian is singular: the minimum is not unique, or of "
    "higher order, to which steps converge slowly.",
    LIMIT: "The maximum number of function evaluations is exceeded.",
    STOPPED: "`callback` raised StopIteration.",
}
NO_MINIMUM = "No minimum was found"
UNDEFINED = "`fun` returns NaN or infinity near the path. Set bounds that exclude it."
COMPUTES_IN_FLOAT64 = (
    "look for np.pi, math.exp, float(), float32 or to_numpy() in it, and take mdqr.pi, mdqr.exp "
    "and decimal strings"
)
UNDETERMINED = (
    "the covariance of the parameters is not determined by as many observations as parameters"
)
OUT_OF_RANGE = (
    "the covariance of the parameters is out of the range of float64: give them other units"
)


def of_rounding(unit: float, digits: float | None = None) -> str:
    """Return the message on a function with rounding errors of more than a unit of its precision.

    `digits` are how many x has, None without a minimum.
    """
    held = -np.log10(unit)
    rounds = f"`fun` rounds to {held:.0f} digits"
    if digits is None:
        return f"{rounds}: {COMPUTES_IN_FLOAT64}"
    way = "let it compute in the precision of its parameters, or give jac"
    return f"{rounds}, and x has {digits:.1f}: {way if held >= 20 else COMPUTES_IN_FLOAT64}"


def of_contradictions(names: list[str]) -> str:
    """Return the sentence on derivatives of the caller that are wrong; empty without any."""
    by = ", ".join(names)
    return (
        f"differences of `fun` contradict `jac` by {by}: correct it, or leave it out" if by else ""
    )


def of_dependent(names: list[str]) -> str:
    """Return the sentence on parameters that are not determined; empty without any."""
    if len(names) == 1:
        return f"{names[0]} has no effect on the residuals there: fix it, or set its bounds."
    way = "fix one of them, or centre and scale x"
    return f"The data do not tell {', '.join(names)} apart: {way}." if names else ""


def of_covariance(names: list[str]) -> str:
    """Return the message on a covariance that a singular Jacobian does not determine."""
    least = (
        f"{names[0]} has no effect on the residuals to first order"
        if len(names) == 1
        else f"the residuals do not tell {', '.join(names)} apart to first order"
    )
    return (
        f"the covariance of the parameters is not determined: {least} at the minimum, where the "
        "Jacobian is singular. Fix a parameter, or give another one in its place, such as its power"
    )
