"""Decimals of formulas, as they are written: formulaic rounds those in expressions to float64."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"""(?P<quoted>`[^`]*`|'[^']*'|"[^"]*")
    |(?P<open>(?P<call>(?<=[\w.])\(|\{)|\()
    |(?P<close>[)}])
    |(?P<decimal>(?<![\w.])(?=[\d.]*\d)[\d_]*(?:\.[\d_]*(?:e[+-]?[\d_]+)?|e[+-]?[\d_]+))""",
    re.VERBOSE | re.IGNORECASE,
)


def hide(formula: str) -> tuple[str, Callable[[str], str]]:
    """Put names in place of the decimals in expressions, and return what takes them back."""
    names: dict[str, str] = {}
    calls: list[bool] = []  # of the parentheses that are open: whether what is inside is evaluated

    def replaced(match: re.Match[str]) -> str:
        text = match[0]
        if match["open"]:
            calls.append(bool(match["call"]) or any(calls))
        elif match["close"] and calls:
            calls.pop()
        elif match["decimal"] and any(calls):
            return names.setdefault(text, f"_decimal_{len(names)}_")
        return text

    hidden = _TOKEN.sub(replaced, formula)
    decimals = {name: text for text, name in names.items()}

    def shown(text: str) -> str:
        return re.sub(r"_decimal_\d+_", lambda match: decimals.get(match[0], match[0]), text)

    return hidden, shown
