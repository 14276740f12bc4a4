"""One number as a format specification needs it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mdqr._convert.arrays import exact_parts
from mdqr._convert.digits import Dyadic, int_text, layout, round_places, significant
from mdqr._errors import shown
from mdqr._io.format import str_array, trimmed
from mdqr._limbs.device import host_block

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_FINEST = 1074  # more decimal places than this are zeros
_SPEC = re.compile(
    r"(?:(.)?([<>=^]))?([+\- ])?(z?)(0)?([1-9][0-9]*)?([,_])?(?:\.([0-9]+))?([eEfFgG%]?)", re.DOTALL
).fullmatch


def format_scalar(a: MDArray, spec: str) -> str:
    """Do ``format(a, spec)`` for one value, correctly rounded.

    Parameters
    ----------
    a : MDArray
        An array of size 1.
    spec : str
        ``[[fill]align][sign][0][width][grouping][.precision][type]``, which mean what they mean
        for a float; the types are "e", "f", "g", their capitals and "%". Without a type and a
        precision the value is written as by `str`.

    Raises
    ------
    ValueError
        If `spec` is anything else.
    MemoryError
        If memory for the text cannot be allocated.
    """
    match = _SPEC(spec)
    if match is None or match[4]:
        raise ValueError(
            f"format specification {shown(spec)} is not supported; wanted is "
            "[[fill]align][sign][0][width][grouping][.precision] and one of e, f, g, %, such as "
            "'.40e' or '>+60.30f'"
        )
    fill, align, sign, _, zero, width, group, precision, kind = match.groups()
    if a.is_complex and (zero or align == "=" or kind == "%"):
        raise ValueError(f"{shown(spec)} is for real values")
    layout_ = _Layout(fill or ("0" if zero else " "), align or ("=" if zero else ">"), group or "")
    try:
        texts = _parts(a, kind, precision, sign or "")
        return layout_.padded(texts, int(width or 0)) if width or group else "".join(texts)
    except (MemoryError, OverflowError):  # the latter from texts longer than any memory
        raise MemoryError(
            f"no memory for the text of format specification {spec[:60]!r}; ask for fewer digits"
        ) from None


def _parts(a: MDArray, kind: str, precision: str | None, sign: str) -> list[str]:
    """Return the texts of the real part and, with a j, of the imaginary one."""
    block = host_block(a.limbs)
    parts = block if a.is_complex else block[None]
    count = 6 if precision is None else int(precision)
    texts = []
    for i, part in enumerate(parts):
        lead = "+" if i else sign
        if kind:
            (value,) = exact_parts(part.reshape(-1, 1))
            text = _styled(value, kind, count, lead)
        else:
            real = a.imag if i else a.real
            digits = None if precision is None else max(count, 1)
            whole = real.to_strings(digits)[()] if digits else str_array(real.reshape(()))
            text = trimmed(str(whole))
            text = text if text[0] == "-" else lead.replace("-", "") + text
        texts.append(text + "j" * i)
    return texts


class _Layout(NamedTuple):
    """The padding and grouping of the text of a number."""

    fill: str
    align: str
    group: str

    def padded(self, texts: list[str], width: int) -> str:
        """Return the parts of a number as one text of a width, or longer."""
        if self.align == "=":
            (text,) = texts
            lead = text[: text[0] in "+- "]
            return lead + self._grouped(text[len(lead) :], width - len(lead))
        text = "".join(self._grouped(part, 0) for part in texts)
        missing = max(width - len(text), 0)
        left = {"<": 0, ">": missing, "^": missing // 2}[self.align]
        return self.fill * left + text + self.fill * (missing - left)

    def _grouped(self, text: str, width: int) -> str:
        """Return a text with marks between thousands, with `fill` in front of it."""
        start = text[0] in "+- "
        rest = text[start:].lstrip("0123456789")
        whole = text[start : len(text) - len(rest)]
        if self.group and whole:
            if self.fill == "0":  # zeros are grouped, too, and no mark stands in front
                room = max(width - len(rest) - start, 0)
                whole = whole.zfill(room - max(room - 1, 0) // 4)
            whole = _int_grouped(whole, self.group)
        return text[:start] + (whole + rest).rjust(max(width - start, 0), self.fill)


def _int_grouped(digits: str, mark: str) -> str:
    """Return digits with a mark between each three from the right."""
    head = len(digits) % 3 or 3
    return mark.join([digits[:head], *(digits[i : i + 3] for i in range(head, len(digits), 3))])


def _styled(value: Dyadic | float, kind: str, count: int, sign: str) -> str:
    """Format an exact value as ``format`` does a float."""
    if isinstance(value, float):
        return format(value, f"{sign}.{count}{kind}")
    if kind == "%":
        man, exp = value
        return _styled((100 * man, exp), "f", count, sign) + "%"
    if kind.isupper():
        return _styled(value, kind.lower(), count, sign).upper()
    man, exp = value
    lead = "-" if man < 0 else sign.replace("-", "")
    man = abs(man)
    if kind == "f":
        places = min(count, _FINEST)
        text = int_text(round_places(man, exp, places)).zfill(places + 1)
        whole, fraction = text[: len(text) - places], text[len(text) - places :]
        if not count:
            return lead + whole
        text = f"{lead}{whole}.{fraction}"
        return text.ljust(len(text) + count - places, "0")  # one copy, which may be long
    if kind == "e":
        text, leading = significant(man, exp, count + 1)
        fraction = "." + text[1:] if count else ""
        return f"{lead}{text[0]}{fraction}e{leading:+03d}"
    text, leading = significant(man, exp, count or 1)
    text = text.rstrip("0")
    return lead + layout(text, leading, count or 1, point=False)
