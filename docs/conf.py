"""Sphinx settings: MyST pages and notebooks, reference from docstrings, a gallery from scripts."""

import os
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

project = "mdqr"
author = "mdqr developers"
project_copyright = "2026, mdqr developers"
(release,) = re.findall(r'^__version__ = "(.+)"$', (ROOT / "mdqr/__init__.py").read_text(), re.M)

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Pages with a kernel in front are notebooks. They run when the pages are built, each in a folder
# and a process of its own, which looks for mdqr where this one does.
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120

autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_validation_checks = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]["checks"]
)
# Classes describe attributes, for no user calls their constructors; methods may be one line.
numpydoc_validation_exclude = {r"\.[A-Z]\w*(\.|$)"}

# The scripts run when the pages are built; -D plot_gallery=0 leaves that out.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "capture_repr": (),
    "download_all_examples": False,
    "plot_gallery": "True",
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "furo"
html_title = f"mdqr {release}"
nitpicky = False
exclude_patterns = ["_build", "gallery/*.ipynb", "jupyter_execute"]
