"""Names and signatures beside NumPy's and SciPy's: every difference has a reason."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from inspect import Parameter
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from each_case import each_case

import mdqr
from mdqr.linalg._shared.hints import _TAKEN as TAKEN

FIXED = "results have new memory, of the precision and the order of mdqr"
HINT = "a hint: linalg takes it, and it changes nothing"
LAPACK = "names an algorithm or a form of LAPACK"
STRUCTURE = "no algorithm for that structure: the general function takes the matrix"
FILES = "a form of files that mdqr does not write or read"
LATER = "nobody has asked for it"

# Parameters of peers that mdqr does not have, with the functions, and why.
MISSING = {
    "numpy": {
        "out": FIXED,
        "dtype": FIXED,
        "like": FIXED,
        "order": FIXED,
        "copy": FIXED,
        "subok": FIXED,
        "ndmin": "reshape, or a[None]",
        "ndmax": "values are no sequences",
        "shape": "the functions without _like take a shape",
        "casting": FIXED,
        "where": "mdqr.where(mask, a, neutral) says the same",
        "initial": "mdqr.maximum(a.max(), initial) says the same",
        "kind": "there is one sort, which is stable",
        "stable": "there is one sort, which is stable",
        "sorted": "there is one sort, which is stable",
        "assume_unique": HINT,
        "overwrite_input": HINT,
        "optimize": "products are taken from the left",
        "keepdims": LATER,
        "mean": "it is computed here, in more digits",
        "correction": "of nan functions, whose ddof is the same",
        "fweights": LATER,
        "aweights": LATER,
        "axisa": "moveaxis before",
        "axisb": "moveaxis before",
        "axisc": "moveaxis behind",
        "axis": LATER,
        "retstep": "the length of a result does not depend on options",
        "weights": LATER,
        "mode": "indices are checked",
        "rcond": "nothing is cut off; lstsq cuts",
        "full": "the length of a result does not depend on options; lstsq has info",
        **dict.fromkeys(
            [
                "mmap_mode",
                "allow_pickle",
                "fix_imports",
                "encoding",
                "max_header_size",
                "converters",
                "unpack",
                "quotechar",
                "fmt",
                "newline",
                "header",
                "footer",
                "comments",
            ],
            FILES,
        ),
    },
    "numpy.linalg": {"hermitian": HINT, "dtype": FIXED},
    "scipy.linalg": {
        "check_finite": HINT,
        "overwrite_a": HINT,
        "overwrite_b": HINT,
        "overwrite_qr": HINT,
        "overwrite_qru": HINT,
        "overwrite_qruv": HINT,
        "lwork": LAPACK,
        "driver": LAPACK,
        "lapack_driver": LAPACK,
        "homogeneous_eigvals": LAPACK,
        "type": LAPACK,
        "lower": "taken by cholesky and eigh, which have NumPy's words; solve has no triangles",
        "assume_a": STRUCTURE,
        "transposed": "solve(a.mT, b)",
        "eigvals_only": "eigvalsh",
        "subset_by_value": "a slice of the values",
        "cond": "called rcond, as NumPy's",
        "atol": "pinv has rcond and rtol",
        "return_rank": "matrix_rank",
        "sort": LATER,
        "overwrite_ab": HINT,
        "disp": "warnings say what is wrong, and info what is known",
        "blocksize": LAPACK,
        "select": "a slice of the values",
        "select_range": "a slice of the values",
        "tol": "all digits are computed",
        "compute_expm": "the length of a result does not depend on options",
        "method": LAPACK,
        "balanced": LAPACK,
        "e": LATER,
        "s": LATER,
    },
}
# Defaults that differ where the peer's is a value.
DEFAULTS = {
    ("numpy", "allclose", "rtol"): "few eps of the precision",
    ("numpy", "allclose", "atol"): "values near zero have digits, too",
    ("numpy", "isclose", "rtol"): "few eps of the precision",
    ("numpy", "isclose", "atol"): "values near zero have digits, too",
    ("numpy", "cross", "axis"): "axisa, axisb and axisc of the peer are -1",
    ("numpy", "eye", "dtype"): "None is real",
    ("numpy", "tri", "dtype"): "None is real",
    ("numpy", "unwrap", "period"): "2 pi in all digits",
    ("numpy", "loadtxt", "dtype"): "None is real",
    ("numpy", "loadtxt", "comments"): "files are CSV",
    ("numpy", "loadtxt", "delimiter"): "files are CSV",
    ("numpy", "loadtxt", "encoding"): "files are CSV, in one encoding",
    ("numpy", "savetxt", "delimiter"): "files are CSV",
    ("scipy.linalg", "linalg.qr", "mode"): "as numpy.linalg.qr",
}
# Positional parameters that may not be given by position in mdqr: options with names of their own.
BY_KEYWORD = {
    "mdqr": {
        "axis",
        "keepdims",
        "equal_nan",
        "dtype",
        "invert",
        "comments",
        "delimiter",
        "skiprows",
        "usecols",
        "encoding",
        "max_rows",
        "nan",
        "posinf",
        "neginf",
        "method",
        "w",
        "cov",
        "initial",
        "where",
        "ddof",
        "return_indices",
    },
    "mdqr.linalg": {"pivoting", "b", "lower"},
}
WITHOUT = {"tensorsolve": LATER, "tensorinv": LATER, "multi_dot": "matmul, in an order of choice"}


def parameters(function: Any) -> dict[str, Parameter] | None:
    try:
        return dict(inspect.signature(function).parameters)
    except (ValueError, TypeError):
        return None


def pairs() -> Iterator[tuple[str, str, Any, Any]]:
    """Functions of mdqr and their peers: the module of the peer, a name, and both."""
    peers: dict[ModuleType, list[ModuleType]] = {
        mdqr: [np],
        mdqr.linalg: [np.linalg, scipy.linalg],
    }
    for module, others in peers.items():
        for name in module.__all__:
            ours = getattr(module, name)
            for other in others:
                theirs = getattr(other, name, None)
                if inspect.isfunction(ours) and theirs and not isinstance(theirs, np.ufunc):
                    prefix = "linalg." if module is mdqr.linalg else ""
                    yield other.__name__, prefix + name, ours, theirs


PAIRS = {f"{peer}: {name}": (peer, name, f, g) for peer, name, f, g in pairs() if parameters(g)}


def test_pairs_were_found() -> None:
    assert len(PAIRS) > 120
    assert {
        "numpy: sum",
        "numpy.linalg: linalg.svd",
        "scipy.linalg: linalg.lu_solve",
    } <= PAIRS.keys()


def test_functions_of_numpy_linalg_are_here() -> None:
    missing = {name for name in np.linalg.__all__ if name not in mdqr.linalg.__all__}
    assert missing <= WITHOUT.keys()


@each_case("pair", PAIRS)
def test_parameters_of_the_peer_are_here_or_have_a_reason(pair: str) -> None:
    peer, name, function, other = PAIRS[pair]
    ours, theirs = parameters(function), parameters(other)
    assert ours
    assert theirs
    for key, each in theirs.items():
        if each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) or each.default is each.empty:
            continue  # data, which has its own test
        if key not in ours:
            assert MISSING[peer].get(key), f"{name} has no {key}, and no reason is given"


@each_case("pair", PAIRS)
def test_defaults_are_those_of_the_peer(pair: str) -> None:
    peer, name, function, other = PAIRS[pair]
    ours, theirs = parameters(function), parameters(other)
    assert ours
    assert theirs
    for key, each in theirs.items():
        # NumPy has an object for "not given".
        if key not in ours or each.default in (each.empty, getattr(np, "_NoValue", None)):
            continue
        mine = ours[key].default
        known = (peer, name, key) in DEFAULTS or (mine is each.empty and each.default is None)
        assert mine == each.default or known, (name, key, each.default, mine)


@each_case("pair", PAIRS)
def test_options_come_in_the_order_of_the_peer(pair: str) -> None:
    """Positional parameters stand where the peer has them."""
    _, name, function, other = PAIRS[pair]
    ours, theirs = parameters(function), parameters(other)
    assert ours
    assert theirs
    module = "mdqr.linalg" if name.startswith("linalg.") else "mdqr"
    both = [key for key, each in theirs.items() if key in ours and each.default is not each.empty]
    free = Parameter.POSITIONAL_OR_KEYWORD
    mine = [key for key in ours if key in both and ours[key].kind == free]
    assert mine == [key for key in both if key in mine]
    moved = {
        key for key in both if theirs[key].kind == free and ours[key].kind == Parameter.KEYWORD_ONLY
    }
    assert moved <= BY_KEYWORD[module], (name, moved)


def test_no_reason_is_left_over() -> None:
    """A parameter that all functions have by now needs no reason."""
    for peer, reasons in MISSING.items():
        used = {
            key
            for of, _, function, other in PAIRS.values()
            if of == peer
            for key in parameters(other) or ()
            if key not in (parameters(function) or ())
        }
        assert set(reasons) <= used | {"ndmax", "sorted", "homogeneous_eigvals", "return_rank"}


def test_hints_of_drop_in_code_change_nothing() -> None:
    """Whatever hints a namesake takes, the result has the same limbs."""
    a = mdqr.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]], precision=mdqr.qd)
    b, q, r = mdqr.ones(3, precision=mdqr.qd), *mdqr.linalg.qr(a)
    data = {
        "cho_solve": ((mdqr.linalg.cholesky(a), True), b),
        "lstsq": (a, b),
        "lu_solve": (mdqr.linalg.lu_factor(a), b),
        "qr_delete": (q, r, 0),
        "qr_insert": (q, r, b, 0),
        "qr_update": (q, r, b, b),
        "solve": (a, b),
        "solve_triangular": (a, b),
    }
    assert {"solve", "svd", "qr_insert", "norm", "matrix_rank"} <= set(TAKEN)
    for name, hints in TAKEN.items():
        function, given = getattr(mdqr.linalg, name), data.get(name, (a,))
        for hint in hints.split():
            peers = (np.linalg, scipy.linalg)
            assert any(hint in (parameters(getattr(p, name, None)) or ()) for p in peers)
            found, plain = function(*given, **{hint: True}), function(*given)
            pairs = zip(found, plain, strict=True) if isinstance(plain, tuple) else [(found, plain)]
            for x, y in pairs:
                if isinstance(x, mdqr.MDArray):
                    mdqr.testing.assert_same_bits(x, y)
        with pytest.raises(TypeError, match="unexpected keyword argument 'unheard'"):
            function(*given, unheard=1)


def test_lower_is_scipys() -> None:
    a = mdqr.array([[4, 1], [2, 3]], precision=mdqr.qd)
    for lower in (False, True):
        c = mdqr.linalg.cholesky(a, lower=lower)
        np.testing.assert_allclose(
            c.to_numpy(), scipy.linalg.cholesky(a.to_numpy(), lower=lower), rtol=1e-14
        )
        w = mdqr.linalg.eigvalsh(a, lower=lower)
        np.testing.assert_allclose(
            w.to_numpy(), scipy.linalg.eigvalsh(a.to_numpy(), lower=lower), rtol=1e-14
        )
    with pytest.raises(TypeError, match="lower and upper say the same"):
        mdqr.linalg.cholesky(a, upper=True, lower=True)
