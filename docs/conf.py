"""Sphinx settings: MyST pages and notebooks, reference from docstrings, a gallery from scripts."""

import os
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs/_ext")]

project = "mdqr"
author = "mdqr developers"
project_copyright = "2026, mdqr developers"
(release,) = re.findall(r'^__version__ = "(.+)"$', (ROOT / "mdqr/__init__.py").read_text(), re.M)

extensions = [
    "command_line",
    "mathml",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
default_role = "py:obj"  # names in single backquotes of docstrings are links, if there is a target

# Names of other packages are links in pages that are published: `sphinx -t online` fetches the
# inventories, and fails if one cannot be had. Other builds need no network.
if tags.has("online"):  # noqa: F821 - Sphinx defines it
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "mpmath": ("https://mpmath.org/doc/current", None),
        "cupy": ("https://docs.cupy.dev/en/stable", None),
        "hypothesis": ("https://hypothesis.readthedocs.io/en/latest", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
    }

# What is copied are the statements of a session, without prompts and results.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

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
    "within_subsection_order": "benchmarks.cpu.gallery.place",
    "capture_repr": (),
    "download_all_examples": False,
    "plot_gallery": "True",
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "furo"
html_title = f"mdqr {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["mdqr.css"]
html_js_files = ["versions.js"]
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
exclude_patterns = ["_build", "_templates", "paper", "gallery/*.ipynb", "jupyter_execute"]
