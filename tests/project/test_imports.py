"""Imports between the modules of the package, and the sizes of folders and files."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from test_codebase import code

import mdqr

PACKAGE = Path(mdqr.__file__).parent


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}

# From the bottom: a module imports from its own row and from those above it.
LAYERS = """
    mdqr._limbs.device
    mdqr._pickles
    mdqr._limbs  mdqr._errors  mdqr._precision  mdqr._docstrings  mdqr._stability  mdqr._progress
    mdqr._typing
    mdqr._backend
    mdqr._convert
    mdqr._core
    mdqr._functions  mdqr.random
    mdqr._io
    mdqr._array
    mdqr
    mdqr.linalg._shared  mdqr.fft
    mdqr.linalg._products
    mdqr.linalg._factor
    mdqr.linalg._inverse
    mdqr.linalg._spectral
    mdqr.linalg._solve  mdqr.linalg._general  mdqr.linalg._roots  mdqr.linalg._update
    mdqr.linalg._matrix
    mdqr.linalg  mdqr.config  mdqr.plot
    mdqr.array_api
    mdqr.tensorcore  mdqr.series  mdqr.optimize  mdqr.quadrature  mdqr.approx  mdqr.distributed
    mdqr.sparse  mdqr.pandas
    mdqr.testing
    mdqr._cli  mdqr.__main__
"""
LAYER = {name: level for level, row in enumerate(LAYERS.split("\n")) for name in row.split()}

# What a function imports, and why it cannot stand at the head.
LATER = {
    "mdqr._backend.places": {
        "mdqr._backend.cuda.runtime.places": "CUDA is loaded for the first array on a GPU"
    },
    "mdqr._backend.cuda.runtime.places": {
        "mdqr._backend.cuda.backend": "the backend has parts that import its runtime"
    },
    "mdqr": {"mdqr.linalg": "it is loaded when it is asked for"},
    "mdqr._array.protocols": {
        "mdqr.array_api._namespace": "it is loaded when it is asked for",
    },
    "mdqr._array.refusals": {
        "mdqr.fft": "it is loaded when it is asked for",
        "mdqr.linalg": "it is loaded when it is asked for",
        "mdqr.optimize": "it is loaded when it is asked for",
    },
    "mdqr._array.tables": {"mdqr.linalg": "it is loaded when it is asked for"},
    "mdqr.config": {"mdqr._backend.cuda.runtime.cubins": "`import mdqr` does not wait for it"},
    "mdqr.random": {"mdqr._backend.cuda.backend": "CUDA is loaded for the first array on a GPU"},
    "mdqr._backend": {"mdqr._backend.cuda.backend": "CUDA is loaded for the first array on a GPU"},
    "mdqr._functions.polynomials": {
        "mdqr.linalg._shared.caller": "polyfit is lstsq, which lies above",
        "mdqr.linalg._solve.lstsq": "polyfit is lstsq, which lies above",
    },
    "mdqr._functions.products.coefficients": {
        "mdqr.linalg._general.eig": "poly of a matrix takes eigenvalues, which lie above"
    },
    "mdqr.pandas._dtype": {"mdqr.pandas._array": "the type and the array name each other"},
    "mdqr._cli.digits": {"mdqr.linalg": "help and faults of the command line do not wait for it"},
    "mdqr._cli.curve": {"mdqr.optimize": "help and faults of the command line do not wait for it"},
    "mdqr._cli.fit": {"mdqr.linalg": "help and faults of the command line do not wait for it"},
    "mdqr._cli.series": {
        "mdqr.series": "help and faults of the command line do not wait for it",
        "mdqr.series.plot": "it is loaded when it is asked for",
    },
    "mdqr._cli.solve": {"mdqr.series": "help and faults of the command line do not wait for it"},
    "mdqr.series": {"mdqr.series.plot": "it is loaded when it is asked for"},
    "mdqr.linalg._update.operands": {
        "mdqr.linalg._update.arithmetic.cuda_floats": "CUDA is loaded for the first array on a GPU"
    },
    "mdqr.tensorcore._input": {
        "mdqr._backend": "an engine is loaded for the first array of its kind",
        "mdqr._backend.cuda.backend": "an engine is loaded for the first array of its kind",
        "mdqr.tensorcore._engine.cublas": "an engine is loaded for the first array of its kind",
        "mdqr.tensorcore._engine.cuda": "an engine is loaded for the first array of its kind",
        "mdqr.tensorcore._engine.numpy": "an engine is loaded for the first array of its kind",
    },
}
OTHER_PACKAGES = {
    "_mdqr_host": "a tree without the compiled extension converts, prints and moves arrays",
    "cuda": "mdqr[cuda12], mdqr[cuda13]",
    "cupy": "mdqr[cuda12], mdqr[cuda13]",
    "cupy_backends": "mdqr[cuda12], mdqr[cuda13]",
    "formulaic": "mdqr[formula]",
    "hypothesis": "the strategies of mdqr.testing",
    "matplotlib": "mdqr[plot]",
    "mpmath": "`import mdqr` does not wait for it",
    "scipy": "mdqr.sparse, whose operands are SciPy's",
    "sympy": "mdqr[series]",
    "tqdm": "`import mdqr` and short commands do not wait for it",
}

MOST_MODULES = 15

FEWEST_LINES = 40
SMALLER_FILES = {
    "mdqr/linalg/_shared/devices.py": "names that chunks and single matrices take",
    "mdqr/__main__.py": "python -m mdqr",
    "mdqr/pandas/_dtype.py": "a class that a registry of pandas takes",
    "mdqr/_io/html.py": "tables of notebooks",
    "mdqr/distributed/_files/columns.py": "what text and Parquet share",
    "mdqr/_backend/cuda/digits.py": "what plans of products and panels derive from the limbs",
    "mdqr/array_api/special.py": "a public module: SciPy asks for its name",
    "mdqr/array_api/_dispatch.py": "what all functions of the namespace do with their operands",
    "mdqr/linalg/_products/exact/residual.py": "another contract than that of products",
    "mdqr/fft/_bounds.py": "a derivation, and its formula",
    "mdqr/testing/_allclose.py": "another assertion: exact tolerances",
    "mdqr/linalg/_matrix/parlett/clusters.py": "a search, beside what it is for",
    "mdqr/linalg/_general/subspaces/reflections.py": "steps of several algorithms",
    "mdqr/linalg/_factor/indefinite/errors.py": "a derivation of bounds",
    "mdqr/linalg/_matrix/refined/sign.py": "another method than that of roots",
    "mdqr/_typing.py": "names of types, without functions",
    "mdqr/_core/axes.py": "what all functions with axes share",
    "mdqr/_backend/small_systems.py": "the calls of one capability that a backend may have",
    "mdqr/_backend/workspace.py": "a number that the configuration sets and calls read",
    "mdqr/_backend/cuda/backend.py": "the families of calls as one class",
    "mdqr/_backend/cuda/axes.py": "a plan that three kernels share",
    "mdqr/_backend/cuda/floats/signs.py": "one kernel, one module",
    "mdqr/_backend/cuda/held.py": "one kernel, one module",
    "mdqr/_backend/cuda/draws.py": "one kernel, one module",
    "mdqr/_limbs/folds.py": "what all arrays of numbers share, under every backend",
    "mdqr/linalg/_shared/first_calls.py": "one call, before any operand is looked at",
    "mdqr/_backend/cuda/products/operands.py": "what the products of both kinds share",
    "mdqr/_backend/host/paths.py": "the kernels of one family",
    "mdqr/_backend/host/values.py": "one call, before any array is looked at",
    "mdqr/_backend/sources.py": "the build reads the digest, too",
    "mdqr/_functions/manipulation/splitting.py": "the opposite of joining",
    "mdqr/_functions/manipulation/nested.py": "one function",
    "mdqr/linalg/_spectral/subspaces.py": "two public functions",
    "mdqr/_functions/power.py": "powers and polynomials: what has operands of two meanings",
    "mdqr/_limbs/rounding_mode.py": "one check, under limbs, conversions and backends",
    "mdqr/linalg/_shared/caller.py": "what messages call a function, under all of them",
    "mdqr/linalg/_shared/digits.py": "one formula, of all bounds",
    "mdqr/linalg/_shared/tolerance.py": "an option with two names, of several functions",
    "mdqr/linalg/_products/standard.py": "functions of one line, with their docstrings",
    "mdqr/linalg/_spectral/info.py": "what two functions return",
    "mdqr/linalg/_shared/pairs.py": "sums to twice the limbs, under solvers of any kind",
    "mdqr/distributed/_dask.py": "a public function, and what Dask needs of arrays",
    "mdqr/linalg/_solve/singular_values.py": "what two kinds of info share",
    "mdqr/linalg/_general/regularity.py": "a proof in integers, beside what computes in limbs",
    "mdqr/_backend/cuda/runtime/recorded.py": "one call, over what records",
    "mdqr/_backend/float_panels.py": "sizes that NumPy's and CUDA's panels share",
    "mdqr/optimize/_solver/linear.py": "what the descent solves for",
    "mdqr/optimize/_solver/flat.py": "one judgement of Jacobians, for single fits and batches",
    "mdqr/optimize/_public/options.py": "names of SciPy that five functions refuse alike",
    "mdqr/quadrature/_rule.py": "what the function returns",
    "mdqr/_core/answers.py": "a protocol, between functions and types that answer them",
    "mdqr/_functions/statistics/student.py": "one quantile, for fits and the command line",
    "mdqr/series/_analysis/units.py": "the unit that radii and approximants share",
    "mdqr/series/_arithmetic/convert.py": "what series are to a reader",
    "mdqr/series/_solver/newton.py": "one algorithm, the check of another",
    "mdqr/series/_arithmetic/products.py": "what series and systems share",
    "mdqr/series/_homotopy/sweeps/parameter_tables.py": "what the kernel takes, beside the sweep",
    "mdqr/series/_systems/precise.py": "one evaluation, beside that in float64",
    "mdqr/series/_solver/recommended.py": "a public function",
    "mdqr/tensorcore/_algorithms/triangles.py": "what two algorithms share",
    "mdqr/tensorcore/_engine/formats.py": "the formats, under both engines",
    "mdqr/tensorcore/_engine/numpy_reflector.py": "the reflector of one kernel, in NumPy",
    "mdqr/tensorcore/_engine/rounding.py": "the roundings of one header, in NumPy",
    "mdqr/tensorcore/_input.py": "what all functions do with their operands",
    "mdqr/tensorcore/_orthogonalize.py": "a public function",
    "mdqr/tensorcore/_results.py": "what the functions return",
}


def imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports; also a call of `import_module` with a constant."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if name in MODULES else str(node.module) for name in names]
    if isinstance(node, ast.Call):
        function = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if function.endswith("import_module") and isinstance(node.args[0], ast.Constant):
            return [node.args[0].value]
    return []


def found_in(tree: ast.AST) -> set[tuple[str, bool]]:
    """Modules that are imported, each with whether a function does; not those for types."""
    found, nodes = set(), [(tree, False)]
    while nodes:
        node, later = nodes.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING":
            continue
        found |= {(name, later) for name in imported(node)}
        later = later or isinstance(node, (ast.FunctionDef, ast.Lambda))
        nodes += [(child, later) for child in ast.iter_child_nodes(node)]
    return found


@cache
def found_in_module(module: str) -> set[tuple[str, bool]]:
    return found_in(ast.parse(MODULES[module].read_text()))


def imports(module: str, *, later: bool) -> set[str]:
    return {name for name, by_function in found_in_module(module) if by_function == later}


def layer(module: str) -> int:
    """The row of the longest name in the table that `module` lies in."""
    names = [name for name in LAYER if module == name or module.startswith(f"{name}.")]
    longest = max(names, key=len)
    assert longest != "mdqr" or module == "mdqr", f"{module} is in no row"
    return LAYER[longest]


@cache
def graph() -> dict[str, set[str]]:
    return {module: imports(module, later=False) & set(MODULES) for module in MODULES}


def test_the_graph_was_found():
    assert len(MODULES) > 100
    assert {"mdqr._core.base", "mdqr._functions.elementwise"} <= graph()["mdqr._array.array"]


def test_imports_are_found_wherever_they_stand():
    text = """
    import numpy
    if TYPE_CHECKING:
        import mdqr._cli
    try:
        from mdqr import _limbs
    except ImportError:
        pass
    def f():
        with open():
            from mdqr._limbs import planes
        return import_module("cupy")
    """
    found = found_in(ast.parse("if True:" + text))
    assert found == {
        ("numpy", False), ("mdqr._limbs", False), ("mdqr._limbs.planes", True), ("cupy", True)
    }  # fmt: skip


def test_no_modules_import_each_other():
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(f"a ring of imports: {' <- '.join(error.args[1])}")


def test_dependencies_point_downwards():
    upwards = [
        f"{module} -> {name}"
        for module, names in graph().items()
        for name in names
        if layer(name) > layer(module)
    ]
    assert upwards == []


def test_every_row_of_the_layers_is_there():
    assert set(LAYER) <= set(MODULES)


def test_functions_import_what_has_a_reason():
    found = {module: imports(module, later=True) for module in MODULES}
    inside = {module: names & set(MODULES) for module, names in found.items()}
    assert {key: names for key, names in inside.items() if names} == {
        key: set(reasons) for key, reasons in LATER.items()
    }
    others = {name.partition(".")[0] for names in found.values() for name in names} - {"mdqr"}
    assert others == set(OTHER_PACKAGES)


def test_no_package_at_the_head_is_optional():
    """But pandas in `mdqr.pandas`, whose classes are of its own."""
    modules = [name for name in MODULES if not name.startswith("mdqr.pandas")]
    heads = {name.partition(".")[0] for module in modules for name in imports(module, later=False)}
    assert heads - {*sys.stdlib_module_names, "mdqr"} == {"numpy"}


# Without the package itself, which imports its modules in an order in which all goes well.
FIRST = """
import importlib, sys, types
path, *modules = sys.argv[1:]
for module in modules:
    for name in [name for name in sys.modules if name.partition(".")[0] == "mdqr"]:
        del sys.modules[name]
    package = types.ModuleType("mdqr")
    package.__path__ = [path]
    sys.modules["mdqr"] = package
    importlib.import_module(module)
    print(module)
"""


def test_any_module_can_be_the_first():
    below = [module for module in MODULES if layer(module) < LAYER["mdqr"]]
    modules = [*below, "mdqr.linalg._factor.qr", "mdqr.tensorcore._qr"]
    run = subprocess.run(
        [sys.executable, "-c", FIRST, str(PACKAGE), *modules],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == modules


def test_folders_are_small():
    """Modules of a folder, without those of folders in it."""
    files = [path for path in MODULES.values() if path.name != "__init__.py"]
    sizes = Counter(path.parent.relative_to(PACKAGE.parent).as_posix() for path in files)
    assert {name: size for name, size in sizes.items() if size > MOST_MODULES} == {}


def test_small_files_have_a_reason():
    small = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in MODULES.values()
        if path.name != "__init__.py" and len(code(path)) < FEWEST_LINES
    }
    assert small == set(SMALLER_FILES)
