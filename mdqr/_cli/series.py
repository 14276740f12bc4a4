"""``mdqr series``: power series solutions of a file with a polynomial system."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mdqr._cli.report import HEAD, printable, table
from mdqr._precision import PRECISIONS
from mdqr._progress import Reporter

DESCRIPTION = """\
Expand the solution of a polynomial system in powers of its parameter. The file has an equation a
line, or is a text of PHCpack or Bertini. As many digits of a coefficient are printed as hold."""
_PLOTS = (".pdf", ".png", ".svg")
_ENDINGS = (".json", *_PLOTS)
_MOST_DIGITS = 40


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("file", metavar="FILE", help="the system, UTF-8")
    parser.add_argument(
        "--start",
        metavar="NUMBER[,NUMBER...]",
        type=_numbers,
        required=True,
        help="a solution at t0, approximately; write --start=-1,2 for one that begins with a sign",
    )
    parser.add_argument(
        "--degree", metavar="DEGREE", type=_degree, required=True, help="of the series"
    )
    parser.add_argument(
        "--variables",
        metavar="NAME[,NAME...]",
        type=lambda text: [name.strip() for name in text.split(",")],
        help="the unknowns, in the order of --start; default: as they come in the file",
    )
    parser.add_argument(
        "--parameter", metavar="NAME", help="the name in whose powers to expand; default: t"
    )
    parser.add_argument(
        "--t0", metavar="NUMBER", default="0", help="the value around which to expand; default: 0"
    )
    parser.add_argument(
        "--precision",
        choices=[precision.name for precision in PRECISIONS],
        default="qd",
        help="of the series; default: qd, as text has no precision of its own",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="solve again in the next precision, and measure the digits by that",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=_output,
        help="also write a .json file, or a plot of the coefficients: .png, .pdf, .svg",
    )


def expand(options: argparse.Namespace, report: Reporter) -> tuple[Any, list[str]]:
    """Return the solution, and what was warned of.

    Raises
    ------
    ValueError, OSError, numpy.linalg.LinAlgError
        If the file, a number or the start is of no use.
    """
    from mdqr import series

    text = Path(options.file).read_text(encoding="utf-8")
    try:
        system = series.System.from_text(text, options.variables, options.parameter)
    except ValueError as error:
        raise ValueError(f"{options.file}: {error}") from None
    if len(options.start) != len(system.variables):
        raise ValueError(
            f"--start has {len(options.start)} numbers, and there are {len(system.variables)} "
            f"unknowns: {', '.join(system.variables)}"
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = series.newton_series(
            system,
            options.start,
            degree=options.degree,
            precision=options.precision,
            t0=options.t0,
            verify=options.verify,
            progress=report,
        )
    return found, [str(warning.message) for warning in caught]


def text_of(found: Any) -> str:
    """Return the text for a terminal."""
    orders = list(map(str, range(found.degree + 1)))
    parts = []
    for name, row, errors in _rows(found):
        digits = _digits(row, errors)
        columns = [orders, list(map(str, digits)), _texts(row, digits)]
        heads = ["order", "digits", f"{printable(name)}"]
        parts.append(table(heads, columns, right={0, 1}))
    return "\n\n".join([*parts, _summary(found)])


def _summary(found: Any) -> str:
    precision = found.coeffs.precision
    lines = {
        "unknowns": ", ".join(map(printable, found.system.variables)),
        "precision": f"{precision.name} ({precision.digits} digits)",
        "condition": f"{found.info.condition:.3g} (Jacobian at the start)",
        "start": f"moved by {found.info.start_distance:.2g} of its size",
    }
    if found.degree >= 4:
        radius = found.radius()
        place = complex(radius.location)
        if np.isfinite(radius.uncertainty):
            size = f"{float(radius.value):.10g} +- {radius.uncertainty:.1g}"
            lines["radius"] = f"{size}, at {place:.6g} from t0, by {radius.method}"
        elif np.isfinite(abs(place)):
            lines["radius"] = f"perhaps {float(radius.value):.3g}: these orders do not tell"
        else:
            lines["radius"] = "none found in these orders"
    width = max(map(len, lines))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines.items())


def write(path: Path, found: Any) -> None:
    """Write JSON, or a plot."""
    if path.suffix.lower() in _PLOTS:
        from mdqr.series import plot

        plot.coefficients(found).figure.savefig(path)
        return
    rows = {}
    for name, row, errors in _rows(found):
        parts = {"real": row.real.to_strings().tolist()}
        if row.is_complex:
            parts["imag"] = row.imag.to_strings().tolist()
        rows[name] = parts | {"digits": _digits(row, errors)}
    document = {
        **HEAD,
        "parameter": found.system.parameter,
        "t0": found.t0.to_strings().item(),
        "precision": found.coeffs.precision.name,
        "degree": found.degree,
        "digits": [int(digits) for digits in found.digits],
        "condition": found.info.condition,
        "start_distance": found.info.start_distance,
        "series": rows,
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _rows(found: Any) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Return the name of each unknown, its coefficients and their errors."""
    return zip(found.system.variables, found.coeffs, found.error_bound, strict=True)


def _digits(row: Any, errors: np.ndarray) -> list[int]:
    """Return the decimal digits of coefficients that their errors leave."""
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(errors > 0, errors / abs(row).to_numpy(), 0.0)
        found = np.floor(-np.log10(relative))
    return [int(digits) for digits in np.clip(found, 0, row.precision.digits)]


def _texts(row: Any, digits: list[int]) -> list[str]:
    """Return coefficients with the digits that hold, at most `_MOST_DIGITS`."""
    found = []
    for k, count in enumerate(digits):
        shown = min(count, _MOST_DIGITS)
        found.append(row[k].to_strings(shown).item() if shown else "?")
    return found


def _numbers(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _degree(text: str) -> int:
    if not text.isdecimal() or len(text) > 4:
        raise argparse.ArgumentTypeError(f"the degree must be an integer from 0; got {text!r}")
    return int(text)


def _output(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in _ENDINGS:
        raise argparse.ArgumentTypeError(f"{text!r} must end in {', '.join(_ENDINGS)}")
    return path
