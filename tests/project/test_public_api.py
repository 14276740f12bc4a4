"""The public names: complete, documented, and called as NumPy and SciPy call theirs."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.linalg
from each_case import each_case

import mdqr
from mdqr.linalg import LinAlgError

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    name: importlib.import_module(name)
    for name in (
        "mdqr",
        "mdqr.linalg",
        "mdqr.optimize",
        "mdqr.quadrature",
        "mdqr.approx",
        "mdqr.fft",
        "mdqr.sparse",
        "mdqr.pandas",
        "mdqr.distributed",
        "mdqr.tensorcore",
        "mdqr.plot",
        "mdqr.series",
        "mdqr.series.plot",
        "mdqr.random",
        "mdqr.testing",
        "mdqr.config",
    )
}

# The names of the first release, without methods; other issues add theirs.
PROMISED = {
    "mdqr": """
        MDArray Precision PrecisionWarning d dd qd od pi e euler_gamma
        array asarray zeros ones full empty eye zeros_like ones_like full_like empty_like
        linspace arange vander from_limbs concatenate stack diag tril triu
        sqrt square abs sign negative reciprocal conj hypot power floor ceil rint
        maximum minimum where isfinite isnan isinf sum prod dot vdot outer trace
        allclose array_equal polyval save load savez loadz loadtxt printoptions
        exp exp2 expm1 log log2 log10 log1p sin cos tan sinpi cospi arcsin arccos arctan arctan2
        sinh cosh tanh arcsinh arccosh arctanh cbrt gamma lgamma erf erfc logaddexp
    """,
    "mdqr.linalg": """
        matmul norm qr qr_factor solve_triangular solve lstsq certify
        lu_factor lu_solve cholesky cho_solve det slogdet inv LinAlgError
        svd svdvals cond matrix_rank pinv null_space eigh eigvalsh lowrank polar
        eig eigvals schur roots companion
        qr_insert qr_delete qr_update UpdatableLstsq repair
    """,
    "mdqr.series": "System PowerSeries newton_series pade radius track plot",
    "mdqr.series.plot": "coefficients domb_sykes poles convergence",
    "mdqr.approx": "AAA BarycentricInterpolator MinimaxPolynomial minimax",
    "mdqr.sparse": "matmul solve lstsq",
    "mdqr.pandas": "MDDtype MDExtensionArray",
    "mdqr.fft": """
        fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn
        fftfreq rfftfreq fftshift ifftshift error_bound
    """,
    "mdqr.quadrature": "gauss QuadratureInfo QuadratureRule",
    "mdqr.optimize": """
        least_squares curve_fit root lsq_linear nnls
        OptimizeResult CurveFitResult FitInfo RootInfo NNLSResult Prediction
    """,
    "mdqr.distributed": """
        lstsq qr factor gram certify_lstsq map_batches open_rows save_rows
        as_dask Rows DistributedLstsqInfo
    """,
    "mdqr.plot": "digits singular_values poles refinement residuals convergence",
    "mdqr.tensorcore": "qr orthogonalize lstsq lowrank blocked_householder",
    "mdqr.random": "uniform normal",
    "mdqr.testing": "floats arrays matrix ulp_error assert_close assert_same_bits",
    "mdqr.config": "show get_num_threads set_num_threads num_threads get_workspace set_workspace",
}
ARRAY_ATTRIBUTES = """
    limbs shape ndim size T mT H real imag precision device is_complex copy astype to_device
    reshape ravel transpose item tolist sum prod mean max min argmax argmin any all cumsum
    to_numpy to_mpmath to_strings to_fractions
"""


def public(module: ModuleType) -> list[str]:
    return list(module.__all__)


def is_ours(key: str, value: object, module: ModuleType) -> bool:
    """Whether a name without underscore looks like part of the API to one who explores it.

    A package collects names from its modules; a module may import what it needs.
    """
    home = getattr(value, "__module__", type(value).__module__)
    within = "mdqr" if hasattr(module, "__path__") else module.__name__
    return not key.startswith("_") and not isinstance(value, ModuleType) and home.startswith(within)


@pytest.mark.parametrize("name", MODULES)
def test_all_is_complete_and_true(name):
    module = MODULES[name]
    names = public(module)
    assert len(set(names)) == len(names)
    assert [key for key in names if not hasattr(module, key)] == []
    present = {key for key, value in vars(module).items() if is_ours(key, value, module)}
    assert present - set(names) == set()


def test_dir_shows_the_public_names():
    lazy = {
        "approx",
        "array_api",
        "config",
        "distributed",
        "fft",
        "linalg",
        "optimize",
        "pandas",
        "plot",
        "quadrature",
        "series",
        "sparse",
        "tensorcore",
        "testing",
    }
    assert set(dir(mdqr)) == {*mdqr.__all__, *lazy, "__version__"}
    for name in (*lazy - {"array_api"}, "random"):
        module = importlib.import_module(f"mdqr.{name}")
        assert dir(module) == sorted(module.__all__)


@pytest.mark.parametrize("name", PROMISED)
def test_promised_names_are_there(name):
    assert set(PROMISED[name].split()) <= set(public(MODULES[name]))


def test_array_attributes_are_there():
    assert [key for key in ARRAY_ATTRIBUTES.split() if not hasattr(mdqr.MDArray, key)] == []


def test_an_array_takes_no_new_attributes():
    with pytest.raises(AttributeError):
        mdqr.zeros(2, precision=mdqr.dd).colour = "red"


@pytest.mark.parametrize("name", MODULES)
def test_public_classes_name_the_public_module(name):
    """So that they print and pickle under the name by which they are imported."""
    objects = [getattr(MODULES[name], key) for key in public(MODULES[name])]
    classes = [item for item in objects if inspect.isclass(item) and item is not LinAlgError]
    homes = {item.__name__: item.__module__ for item in classes}
    assert {key: home for key, home in homes.items() if home != name} == {}


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_has_an_example(name):
    functions = {key: getattr(MODULES[name], key) for key in public(MODULES[name])}
    without = [
        key
        for key, function in functions.items()
        if inspect.isfunction(function) and ">>> " not in (function.__doc__ or "")
    ]
    assert without == []


def documented() -> dict[str, int]:
    """Count the entries of the reference pages by qualified name."""
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    text = "\n".join(page.read_text() for page in pages)
    entries = re.findall(
        r"^\.\. (?:auto(?:function|class|exception)|data):: ([\w.]+)", text, flags=re.MULTILINE
    )
    return {name: entries.count(name) for name in entries}


def test_every_public_name_is_in_the_reference_once():
    names = {
        f"{name}.{key}"
        for name, module in MODULES.items()
        for key in public(module)
        if not isinstance(getattr(module, key), ModuleType)
    }
    entries = documented()
    names.add("mdqr.array_api.DType")
    assert set(entries) == names
    assert {name: count for name, count in entries.items() if count > 1} == {}


def positional(function: object) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]


def peers() -> dict[str, tuple[object, object]]:
    """Pairs of our function and NumPy's or SciPy's of the same name."""
    pairs = {
        "linalg.solve_triangular": (mdqr.linalg.solve_triangular, scipy.linalg.solve_triangular)
    }
    for prefix, ours, theirs in (("", mdqr, np), ("linalg.", mdqr.linalg, np.linalg)):
        for name in public(ours):
            function, other = getattr(ours, name), getattr(theirs, name, None)
            if inspect.isfunction(function) and other is not None:
                pairs[prefix + name] = (function, other)
    # NumPy's have no second matrix.
    for name in ("eig", "eigvals", "schur", "companion"):
        pairs[f"linalg.{name}"] = (getattr(mdqr.linalg, name), getattr(scipy.linalg, name))
    return {name: pair for name, pair in pairs.items() if has_signature(pair[1])}


def has_signature(peer: object) -> bool:
    """True if Python knows the parameters: of NumPy's compiled functions since 2.4."""
    try:
        inspect.signature(peer)
    except ValueError:
        return False
    return not isinstance(peer, np.ufunc)


PEERS = peers()


def test_peers_were_found():
    assert {"linspace", "stack", "linalg.qr", "linalg.lstsq", "linalg.norm"} <= set(PEERS)


def agree(mine: inspect.Parameter, other: inspect.Parameter) -> bool:
    """Operands may be called anything; an option is called by its name."""
    operand = other.default is other.empty or other.kind == inspect.Parameter.POSITIONAL_ONLY
    return operand or mine.name == other.name


@each_case("name", PEERS)
def test_positional_parameters_are_those_of_the_peer(name):
    """What comes after them, and what the peer does not have, is keyword-only."""
    function, peer = PEERS[name]
    ours, theirs = positional(function), positional(peer)
    assert len(ours) <= len(theirs)
    pairs = zip(ours, theirs, strict=False)
    wrong = [(mine.name, other.name) for mine, other in pairs if not agree(mine, other)]
    assert wrong == []


@pytest.mark.parametrize("name", ["qr", "norm", "lstsq", "solve", "solve_triangular"])
def test_operands_of_linalg_are_called_as_in_numpy_and_scipy(name):
    function, peer = PEERS[f"linalg.{name}"]
    ours, theirs = positional(function), positional(peer)
    assert [p.name for p in ours] == [p.name for p in theirs][: len(ours)]


# Positional parameters, the part of the signatures that design and documentation promise.
CALLS = {
    "mdqr.linalg.qr": "a mode",
    "mdqr.linalg.lstsq": "a b rcond",
    "mdqr.linalg.solve": "a b",
    "mdqr.linalg.lu_solve": "lu_and_piv b trans",
    "mdqr.linalg.cho_solve": "c_and_lower b",
    "mdqr.linalg.solve_triangular": "a b trans lower unit_diagonal",
    "mdqr.linalg.matmul": "a b",
    "mdqr.linalg.certify": "a Q R",
    "mdqr.linalg.qr_insert": "Q R u k which rcond",
    "mdqr.linalg.qr_delete": "Q R k p which",
    "mdqr.linalg.qr_update": "Q R u v",
    "mdqr.linalg.repair": "a Q R",
    "mdqr.linalg.UpdatableLstsq": "a b",
    "mdqr.optimize.least_squares": "fun x0 jac bounds",
    "mdqr.optimize.curve_fit": "f xdata ydata p0 sigma absolute_sigma check_finite bounds method",
    "mdqr.optimize.root": "fun x0 args method jac tol callback options",
    "mdqr.optimize.lsq_linear": "A b bounds method tol",
    "mdqr.optimize.nnls": "A b",
    "mdqr.random.uniform": "shape",
    "mdqr.testing.matrix": "kind m n",
}


@pytest.mark.parametrize("name", CALLS)
def test_promised_calls(name):
    module, _, key = name.rpartition(".")
    parameters = positional(getattr(MODULES[module], key))
    assert [p.name for p in parameters][: len(CALLS[name].split())] == CALLS[name].split()


@pytest.mark.parametrize(
    "name", ["matmul", "norm", "qr", "qr_factor", "solve_triangular", "solve", "lstsq"]
)
def test_linalg_takes_precision_by_keyword(name):
    parameter = inspect.signature(getattr(mdqr.linalg, name)).parameters["precision"]
    assert parameter.kind == inspect.Parameter.KEYWORD_ONLY
    assert parameter.default is None
