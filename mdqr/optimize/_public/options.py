"""Options that are refused, with advice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_NOT_NEEDED = "it follows from the precision; leave it out"
_ONE_METHOD = "there is one method; leave it out"
_DOES_WITHOUT = "systems are solved directly, without iterations of their own; leave it out"
# Names of SciPy's functions, its older and its newer ones.
_WAYS_OUT = {
    **dict.fromkeys(("atol", "ftol", "gtol", "tol", "xtol"), _NOT_NEEDED),
    **dict.fromkeys(("diff_step", "epsfcn", "eps"), "derivatives follow from the precision"),
    **dict.fromkeys(("jac_sparsity", "tr_options", "tr_solver"), _DOES_WITHOUT),
    **dict.fromkeys(("lsmr_maxiter", "lsmr_tol", "lsq_solver"), _DOES_WITHOUT),
    "band": "derivatives of all unknowns are taken; leave it out",
    "col_deriv": "rows of `jac` are residuals; return its transpose, and leave this out",
    "factor": "the first step follows from the damping; leave it out",
    "Dfun": "give jac",
    "diag": "give x_scale",
    "maxfev": "give max_nfev",
    "maxiter": "give max_nfev; to lsq_linear max_iter, in the options of root maxfev",
    "method": _ONE_METHOD,
    "verbose": "give progress=True",
    "workers": "the function is called at many points at once where it broadcasts; leave it out",
}


def refuse_unknown(name: str, others: Mapping[str, Any]) -> None:
    """Refuse options that a function does not have.

    Raises
    ------
    TypeError
        If any is given; for options of SciPy, the message has advice.
    """
    for option in others:
        if option in _WAYS_OUT:
            raise TypeError(f"{name}: {option} is not needed: {_WAYS_OUT[option]}")
        raise TypeError(f"{name}() got an unexpected keyword argument {option!r}")


def check_limit(name: str, option: str, limit: Any) -> None:
    """Refuse a limit that is not a positive integer, or None.

    Raises
    ------
    ValueError
        If it is something else, such as True.
    """
    is_count = isinstance(limit, (int, np.integer)) and not isinstance(limit, bool)
    if limit is not None and not (is_count and limit > 0):
        raise ValueError(f"{name}: `{option}` must be None or a positive integer; got {limit!r}")
