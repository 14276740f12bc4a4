"""mdqr as a wheel, as an editable install, from the repository root, and without its extension."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import distributions
import numpy as np
import pytest

import mdqr
from mdqr._backend import sources

ROOT = Path(__file__).resolve().parents[2]

ARITHMETIC = """
import mdqr
third = 1 / mdqr.qd(3)
assert third.to_fractions().item().limit_denominator(10) * 3 == 1
print(mdqr.__file__)
"""

WITHOUT_ARITHMETIC = """
import sys
sys.modules["_mdqr_host"] = None
import mdqr
a = mdqr.array([["1", "0.1"], ["2", "0.7"]], precision=mdqr.qd)
b = a[:, 1].copy()
b[0] = mdqr.qd("3.5")
print(b.to_strings().tolist(), str(a[1, 0]), repr(mdqr.zeros(2, precision=mdqr.od)))
assert mdqr.array(b.to_fractions(), precision=mdqr.qd).to_strings().tolist() == ["3.5", "0.7"]
assert a.to_numpy()[1, 1] == 0.7
try:
    a + b
except ImportError as error:
    print(error)
else:
    raise AssertionError("arithmetic without an extension")
"""


def python(code: str, folder: Path, *paths: Path, check: bool = True) -> str:
    """Run `code` in `folder` with `paths` first on sys.path, before any installed mdqr.

    Without `site` no .pth file runs, so that an editable install does not come first.
    """
    packages = Path(np.__file__).parent.parent
    path = os.pathsep.join(str(item) for item in (*paths, packages))
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", code],
        cwd=folder,
        env=dict(os.environ, PYTHONPATH=path),
        capture_output=True,
        text=True,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def extension() -> Path:
    """The compiled extension."""
    spec = importlib.util.find_spec("_mdqr_host")
    assert spec is not None, "the extension is not compiled: run `pip install .`"
    assert spec.origin is not None
    return Path(spec.origin)


@pytest.fixture
def wheel(tmp_path, extension) -> Path:
    """The folder that installing the wheel makes: package, kernels inside, extension beside it."""
    site = tmp_path / "site"
    package = Path(mdqr.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "kernels")
    shutil.copytree(package, site / "mdqr", ignore=ignored)
    for part in ("include", "cuda"):
        shutil.copytree(sources.kernels_folder() / part, site / "mdqr" / "kernels" / part)
    shutil.copy(ROOT / "kernels" / "host" / "module" / "_mdqr_host.pyi", site)
    shutil.copy(extension, site)
    return site


def test_wheel(wheel, tmp_path):
    assert Path(python(ARITHMETIC, tmp_path, wheel).strip()).is_relative_to(wheel)


def test_wheel_uses_its_own_headers(wheel, tmp_path):
    code = "from mdqr._backend.sources import kernels_folder; print(kernels_folder())"
    assert python(code, tmp_path, wheel).strip() == str(wheel / "mdqr" / "kernels")


def test_editable_uses_the_headers_of_the_tree(tmp_path, extension):
    python(ARITHMETIC, tmp_path, ROOT, extension.parent)
    code = "from mdqr._backend.sources import kernels_folder; print(kernels_folder())"
    assert python(code, tmp_path, ROOT, extension.parent).strip() == str(ROOT / "kernels")


def test_repository_root(wheel, extension):
    """The tree hides an installed package, and still finds the extension beside that."""
    printed = python(ARITHMETIC, ROOT, Path(), wheel)
    assert Path(printed.strip()).parent == ROOT / "mdqr"


def test_bare_tree_converts_and_says_how_to_get_arithmetic(tmp_path):
    printed = python(WITHOUT_ARITHMETIC, tmp_path, ROOT)
    assert "['3.5', '0.7']" in printed
    assert "pip install ." in printed


def test_extension_beside_other_headers_is_refused(wheel, tmp_path):
    header = wheel / "mdqr" / "kernels" / "include" / "mdqr" / "number" / "eft.hpp"
    header.write_text(header.read_text() + "// edited\n")
    printed = python(ARITHMETIC, tmp_path, wheel, check=False)
    assert "ImportError" in printed
    assert "built from other sources" in printed
    assert "pip install ." in printed


def test_import_is_light(tmp_path, extension):
    heavy = ("cupy", "mpmath", "hypothesis", "tqdm", "scipy", "sympy", "_mdqr_host")
    code = f"import mdqr, sys; print(sorted(set({heavy}) & set(sys.modules)))"
    assert python(code, tmp_path, ROOT, extension.parent).strip() == "[]"


def test_the_distribution_has_the_version_and_the_command():
    try:
        distribution = importlib.metadata.distribution("mdqr")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("mdqr runs from the source tree and is not installed")
    assert distribution.version == mdqr.__version__
    (command,) = distribution.entry_points.select(group="console_scripts", name="mdqr")
    assert callable(command.load())


def test_an_installed_wheel_is_complete():
    """Where mdqr is installed from a wheel, as `pip install .` does."""
    files = [
        str(file)
        for found in importlib.metadata.distributions(name="mdqr")
        for file in found.files or ()
    ]
    package = [name for name in files if not re.search(r"__pycache__|^\.\.|\.egg-info", name)]
    if "mdqr/__init__.py" in package:
        assert distributions.faults_of_wheel(package) + distributions.faults_of_notices(files) == []


def names_in(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def test_a_complete_wheel_has_no_fault(wheel, tmp_path):
    with zipfile.ZipFile(tmp_path / "mdqr.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(wheel.rglob("*")):  # with the folders
            archive.write(path, path.relative_to(wheel))
        archive.writestr("mdqr-1.dist-info/METADATA", "")
        for name in ("LICENSE", "LICENSES/nanobind.txt", "LICENSES/robin_map.txt"):
            archive.write(ROOT / name, f"mdqr-1.dist-info/licenses/{name}")
    assert distributions.faults(tmp_path / "mdqr.whl") == []


def test_a_wheel_has_the_licences_of_what_its_extension_is_linked_with():
    names = ["mdqr-1.dist-info/licenses/LICENSE", "mdqr-1.dist-info/licenses/LICENSES/nanobind.txt"]
    assert distributions.faults_of_notices(names) == ["missing: the licence LICENSES/robin_map.txt"]
    pairs = {"nanobind": "Wenzel Jakob", "robin_map": "Thibaut Goetghebuer-Planchon"}
    for name, holder in pairs.items():
        assert holder in (ROOT / "LICENSES" / f"{name}.txt").read_text()


def test_the_bill_of_a_wheel_lists_what_it_requires_and_is_linked_with(tmp_path):
    wheel, bill = tmp_path / "mdqr-1.whl", tmp_path / "mdqr-1.cdx.json"
    fields = ["Name: mdqr", "Version: 1", "License-Expression: BSD-3-Clause"]
    fields += ["Requires-Dist: numpy>=2.1", 'Requires-Dist: sympy>=1.13; extra == "series"']
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("mdqr-1.dist-info/METADATA", "\n".join(fields))
        for name in ("LICENSE", "LICENSES/nanobind.txt", "LICENSES/robin_map.txt"):
            archive.writestr(f"mdqr-1.dist-info/licenses/{name}", "")
    subprocess.run([sys.executable, ROOT / "packaging" / "sbom.py", wheel, bill], check=True)
    found = json.loads(bill.read_text())
    assert found["metadata"]["component"]["purl"] == "pkg:pypi/mdqr@1"
    assert [each["purl"] for each in found["components"]] == [
        "pkg:generic/nanobind",
        "pkg:generic/robin_map",
        "pkg:pypi/numpy",
    ]


@pytest.mark.parametrize(
    "missing",
    ["mdqr/py.typed", "mdqr/kernels/cuda/series", "mdqr/kernels/include", "_mdqr_host.pyi"],
)
def test_what_a_wheel_lacks_is_named(wheel, missing):
    path = wheel / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    found = distributions.faults_of_wheel(names_in(wheel))
    assert found
    assert all(fault.startswith(f"missing: {missing}") for fault in found)


def test_what_does_not_belong_in_a_wheel_is_named(wheel, extension):
    (wheel / "tests").mkdir()
    (wheel / "tests" / "conftest.py").touch()
    shutil.copy(extension, wheel / "_mdqr_host.other.so")
    assert distributions.faults_of_wheel(names_in(wheel)) == [
        "2 extensions instead of one",
        "does not belong there: tests/conftest.py",
    ]


def test_an_sdist_holds_the_tree_and_its_metadata(tmp_path):
    file = tmp_path / "mdqr-1.tar.gz"
    names = sorted(distributions.tree() - {"kernels/digest.cmake"})
    with tarfile.open(file, "w:gz", compresslevel=1) as archive:
        for name in names:
            archive.add(ROOT / name, f"mdqr-1/{name}")
    assert distributions.faults(file) == ["missing: PKG-INFO", "missing: kernels/digest.cmake"]


def test_what_git_ignores_is_not_of_the_tree():
    lines = ["/build/", "*.so", "__pycache__/"]
    ignored = [
        path
        for path in ("build/x", "a/b.so", "a/__pycache__/b.pyc", "a/build/x", "x.py")
        if distributions.is_ignored(Path(path), lines)
    ]
    assert ignored == ["build/x", "a/b.so", "a/__pycache__/b.pyc"]
    assert {"mdqr/py.typed", ".ci/run", "kernels/CMakeLists.txt"} <= distributions.tree()


def test_sizes_have_limits():
    assert distributions.faults_of_size("wheel", 6_000_000) == []
    assert distributions.faults_of_size("wheel", 9_000_000) == [
        "9,000,000 bytes: a wheel has at most 8,000,000"
    ]


def test_version_is_a_literal_that_the_build_can_read():
    text = (ROOT / "mdqr" / "__init__.py").read_text()
    assert re.findall(r'^__version__ = "([^"]+)"$', text, flags=re.MULTILINE) == [mdqr.__version__]


def test_recipes_have_the_version_and_the_dependencies_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
    assert f'version: "{mdqr.__version__}"' in recipe
    run = recipe.partition("  run:\n")[2].partition("  run_constraints:\n")[0]
    found = [line.strip(" -").replace(" ", "") for line in run.splitlines()]
    assert found == ["python", *project["dependencies"]]
    pixi = tomllib.loads((ROOT / "packaging" / "pixi.toml").read_text())["dependencies"]
    names = [re.split(r"(?=>=)", each) for each in project["dependencies"]]
    assert {name: pixi[name] for name, _ in names} == dict(names)


def test_the_list_of_versions_begins_with_this_one():
    entries = json.loads((ROOT / "docs" / "versions.json").read_text())
    assert entries[0]["version"] == mdqr.__version__
    assert all(entry["url"] == f"{entry['version']}/" for entry in entries)


def tree(folder: Path) -> Path:
    """A small kernels folder with every part, and files that belong to none."""
    contents = {
        "include/mdqr/b.hpp": "b",
        "include/mdqr/A.hpp": "a",
        "include/mdqr/b/c.hpp": "c",
        "include/mdqr/list.def": "d",
        "include/mdqr/notes.txt": "no part",
        "host/x.cpp": "x",
        "host/deep/y.hpp": "y",
        "CMakeLists.txt": "z",
        "cuda/entry.cu": "e",
        "cuda/notes.txt": "no part",
    }
    for name, text in contents.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    shutil.copy(ROOT / "kernels" / "digest.cmake", folder)
    return folder


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("include/mdqr/A.hpp", "include"),
        ("include/mdqr/b/c.hpp", "include"),
        ("include/mdqr/list.def", "include"),
        ("host/x.cpp", "host"),
        ("host/deep/y.hpp", "host"),
        ("CMakeLists.txt", "host"),
        ("cuda/entry.cu", "cuda"),
    ],
)
def test_digest_changes_with_each_file_of_its_part(tmp_path, name, part):
    kernels = tree(tmp_path)
    before = {key: sources.digest(kernels, key) for key in sources.PARTS}
    (kernels / name).write_text("changed")
    changed = {key for key in sources.PARTS if sources.digest(kernels, key) != before[key]}
    assert changed == {part}


def test_digest_changes_with_a_name(tmp_path):
    kernels = tree(tmp_path)
    before = sources.digest(kernels, "include")
    (kernels / "include/mdqr/A.hpp").rename(kernels / "include/mdqr/B.hpp")
    assert sources.digest(kernels, "include") != before


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not on the PATH")
def test_cmake_computes_the_same_digests(tmp_path):
    kernels = tree(tmp_path / "kernels")
    script = tmp_path / "print.cmake"
    script.write_text(
        f'include("{kernels.as_posix()}/digest.cmake")\n'
        'message("include ${MDQR_INCLUDE_DIGEST}\\nhost ${MDQR_HOST_DIGEST}")\n'
    )
    done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=True)
    digests = dict(line.split() for line in done.stderr.splitlines())
    # What CMake compiles; the CUDA sources are compiled on first use.
    assert digests == {part: sources.digest(kernels, part) for part in ("include", "host")}
