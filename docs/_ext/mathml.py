"""Formulas as MathML, which browsers draw themselves: pages need no script and no network."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator


def visit_math(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_displayed(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that stands apart."""
    writer.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
