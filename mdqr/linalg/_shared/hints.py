"""Options of SciPy and NumPy that programs give and that change nothing here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from mdqr.linalg._shared.first_calls import expect

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Entries are always checked, and operands never overwritten.
_TAKEN = {
    "cho_solve": "check_finite overwrite_b",
    "cholesky": "check_finite overwrite_a",
    "det": "check_finite overwrite_a",
    "eig": "check_finite overwrite_a overwrite_b",
    "eigh": "check_finite overwrite_a overwrite_b",
    "eigvals": "check_finite overwrite_a",
    "eigvalsh": "check_finite overwrite_a overwrite_b",
    "inv": "check_finite overwrite_a",
    "lstsq": "check_finite overwrite_a overwrite_b",
    "lu_factor": "check_finite overwrite_a",
    "lu_solve": "check_finite overwrite_b",
    "matrix_rank": "hermitian",
    "norm": "check_finite",
    "null_space": "check_finite overwrite_a",
    "pinv": "check_finite hermitian",
    "qr": "check_finite overwrite_a",
    "qr_delete": "check_finite overwrite_qr",
    "qr_insert": "check_finite overwrite_qru",
    "qr_update": "check_finite overwrite_qruv",
    "schur": "check_finite overwrite_a",
    "solve": "check_finite overwrite_a overwrite_b",
    "solve_triangular": "check_finite overwrite_b",
    "svd": "check_finite overwrite_a hermitian",
    "svdvals": "check_finite overwrite_a",
}
# SciPy's `lower`, in NumPy's words.
_TRIANGLES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "cholesky": ("upper", lambda lower: not lower),
    "eigh": ("UPLO", lambda lower: "L" if lower else "U"),
    "eigvalsh": ("UPLO", lambda lower: "L" if lower else "U"),
}


def takes_hints(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function take the options of its namesakes that are hints, and SciPy's `lower`.

    They are not in its signature.
    """
    name = function.__name__
    taken, triangle = _TAKEN[name].split(), _TRIANGLES.get(name)

    @wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
        if options:
            for hint in taken:
                options.pop(hint, None)
            if triangle is not None and "lower" in options:
                word, converted = triangle
                if word in options:
                    raise TypeError(f"{name}: lower and {word} say the same: give one of them")
                options[word] = converted(options.pop("lower"))
        if arguments:
            expect(name, arguments[0], options.get("precision"))
        return function(*arguments, **options)

    return call
