"""A directive that documents a command by its parser.

    :::{command} lstsq
    :group: the model

    --poly
    : What the help of the option does not say.
    :::

writes the options of one group of ``mdqr lstsq``, each with its help and with what the page adds.
Without a group these are description, usage and what belongs to no group; without a name it is
about ``mdqr`` itself. `tests/pages/test_command_line_page.py` compares page and parser.
"""

from __future__ import annotations

import argparse
import re

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from mdqr._cli.main import _parser

SPECIAL = re.compile(r"([\\`*_\[\]<>{}$|~^])")
LITERAL = re.compile(r"'([^']+)'|(--[a-z][\w=,-]*\w|pip install \S+)")
NOTE = re.compile(r"^(\S+)\n: ", re.MULTILINE)


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers by command; that of ``mdqr`` itself has no name."""
    parser = _parser()
    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return {"": parser, **commands.choices}


def groups_of(parser: argparse.ArgumentParser) -> dict[str, list[argparse.Action]]:
    """Return the options by the title of their group; those that belong to none have no title.

    Every command has ``--help``, which counts as one of ``mdqr`` alone.
    """
    omitted = [argparse._SubParsersAction]
    if " " in parser.prog:
        omitted.append(argparse._HelpAction)
    arguments, options, *others = parser._action_groups
    groups = {"": arguments._group_actions + options._group_actions}
    groups |= {str(group.title): group._group_actions for group in others}
    return {
        title: [action for action in actions if not isinstance(action, tuple(omitted))]
        for title, actions in groups.items()
    }


def signature(action: argparse.Action) -> str:
    """Return how an option is written, with its value."""
    value = action.metavar
    if value is None and action.choices is not None:
        value = "{" + ",".join(action.choices) + "}"
    names = [f"{name} {value}" if value else name for name in action.option_strings]
    return ", ".join(names) or str(value)


def usage(parser: argparse.ArgumentParser) -> str:
    """Return the command with what it cannot do without."""
    needed = [signature(action) for action in parser._actions if action.required]
    optional = ["[options]"] if len(needed) + 1 < len(parser._actions) else []  # 1: --help
    return " ".join([parser.prog, *needed, *optional])


def markdown(text: str) -> str:
    """Return a help string as sentences; options and what is quoted become literals."""
    plain, quoted, options = (LITERAL.split(text)[i::3] for i in range(3))
    out = SPECIAL.sub(r"\\\1", plain[0])
    for quotation, option, rest in zip(quoted, options, plain[1:], strict=True):
        out += f"`{quotation or option}`" + SPECIAL.sub(r"\\\1", rest)
    return f"{out[:1].upper()}{out[1:].rstrip('.')}."


class Command(SphinxDirective):
    """The options of a command, or of one group of them."""

    optional_arguments = 1
    has_content = True
    option_spec = {"group": directives.unchanged_required}  # noqa: RUF012 - as docutils has it

    def run(self) -> list[nodes.Node]:
        """Return what stands on the page."""
        command, title = self.arguments[0] if self.arguments else "", self.options.get("group", "")
        if command not in parsers():
            raise self.error(f"mdqr has no command {command!r}")
        parser = parsers()[command]
        if title not in groups_of(parser):
            raise self.error(f"{parser.prog} has no group {title!r}")
        _, *parts = NOTE.split("\n".join(self.content))
        notes = dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))
        lines = [f"```{{program}} {parser.prog}\n```"]
        if not title:
            lines += [markdown(str(parser.description)), f"```text\n{usage(parser)}\n```"]
        for action in groups_of(parser)[title]:
            name = action.option_strings[0] if action.option_strings else signature(action)
            text = f"{markdown(str(action.help))} {notes.pop(name, '')}"
            lines.append(f"```{{option}} {signature(action)}\n{text}\n```")
        if notes:
            raise self.error(f"{parser.prog}: nothing here is called {', '.join(notes)}")
        return self.parse_text_to_nodes("\n\n".join(lines))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive."""
    app.add_directive("command", Command)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
