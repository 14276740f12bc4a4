"""``mdqr solve``: all solutions of a file with a polynomial system."""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from mdqr._cli.report import HEAD, printable, table
from mdqr._precision import PRECISIONS
from mdqr._progress import Reporter

DESCRIPTION = """\
Find all isolated solutions of a polynomial system. The file has an equation a line, or is a text of
PHCpack or Bertini; all names are unknowns but those of --parameters. As many digits are printed as
are proven, of solutions without a certificate 8. Experimental."""
_MOST_DIGITS, _UNPROVEN = 40, 8


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("file", metavar="FILE", help="the system, UTF-8")
    parser.add_argument(
        "--parameters",
        metavar="NAME=NUMBER[,NAME=NUMBER...]",
        type=_values,
        default={},
        help="names of the file that are numbers",
    )
    parser.add_argument(
        "--start",
        choices=("auto", "total_degree", "multihomogeneous", "polyhedral"),
        default="auto",
        help="the start system; auto: that with fewer paths",
    )
    parser.add_argument(
        "--precision",
        choices=[precision.name for precision in PRECISIONS],
        default="dd",
        help="of the solutions; default: dd",
    )
    parser.add_argument("--real", action="store_true", help="show and write real solutions only")
    parser.add_argument(
        "--seed", metavar="NUMBER", type=int, default=0, help="of random numbers; default: 0"
    )
    parser.add_argument(
        "--output", metavar="FILE", type=_output, help="also write a .json file, or a .png plot"
    )


def find(options: argparse.Namespace, report: Reporter) -> Any:
    """Return the solutions.

    Raises
    ------
    ValueError, OSError
        If the file or a number is of no use.
    """
    from mdqr import series

    try:
        text = Path(options.file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{options.file} is no UTF-8 text") from None
    # A name that no text has, so that t is an unknown where it is not declared.
    own = "_" * (1 + max(map(len, text.split()), default=0))
    declared = "pathvariable" in text
    try:
        system = series.System.from_text(text, parameter=None if declared else own)
    except ValueError as error:
        raise ValueError(f"{options.file}: {error}") from None
    unknown = [name for name in options.parameters if name not in system.variables]
    if unknown:
        raise ValueError(f"--parameters: {options.file} has no {', '.join(unknown)}")
    found = series.solve(
        system,
        parameters=list(options.parameters) or None,
        target=list(options.parameters.values()) or None,
        start=options.start,
        precision=options.precision,
        rng=options.seed,
        progress=report,
    )
    return found.filter(real=True) if options.real else found


def text_of(found: Any) -> str:
    """Return the text for a terminal."""
    heads = ["", *map(printable, found.variables), "multiplicity", "digits"]
    rows = []
    for i, one in enumerate(found):
        values = [
            _text(x, _shown(digits), one.is_real)
            for x, digits in zip(one.x, one.digits, strict=True)
        ]
        known = f"{int(one.digits.min())}" if one.is_certified else "none"
        rows.append([f"{i}", *values, f"{one.multiplicity}", known])
    parts = [table(heads, list(zip(*rows, strict=True)), right={0})] if rows else []
    return "\n\n".join([*parts, _summary(found)])


def _summary(found: Any) -> str:
    info, precision = found.info, found.info.precision
    lines = {
        "solutions": f"{len(found)}, {int(found.is_real.sum())} real, "
        f"{int(found.is_certified.sum())} certified",
        "precision": f"{precision.name} ({precision.digits} digits)",
        "paths": f"{info.paths}, {info.at_infinity} to infinity",
    }
    multiple = found.multiplicity > 1
    if multiple.any():
        within = found.cluster_radius[multiple].max()
        lines["multiple"] = f"{int(multiple.sum())}, each one within {within:.0e}"
    if info.positive_dimensional:
        lines["sets"] = f"{info.positive_dimensional} paths ended on sets of solutions"
    if info.extraneous:
        lines["others"] = f"{info.extraneous} paths ended at no solution of all equations"
    if info.failed:
        lines["failed"] = f"{info.failed} paths: solutions may be missing"
    width = max(map(len, lines))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines.items())


def _shown(digits: float) -> int:
    return _UNPROVEN if np.isnan(digits) else max(1, min(int(digits), _MOST_DIGITS))


def _text(value: Any, digits: int, is_real: bool) -> str:
    real = str(value.real.to_strings(digits).item())
    if is_real:
        return real
    imag = str(value.imag.to_strings(digits).item())
    return f"{real}{'' if imag.startswith('-') else '+'}{imag}j"


def write(path: Path, found: Any) -> None:
    """Write JSON, or a plot of the solutions in the complex plane."""
    if path.suffix.lower() == ".png":
        _draw(path, found)
        return
    solutions = []
    for one in found:
        texts = {
            name: {"real": x.real.to_strings().item(), "imag": x.imag.to_strings().item()}
            for name, x in zip(found.variables, one.x, strict=True)
        }
        error = one.error_bound.tolist() if one.is_certified else None
        solutions.append(
            {
                "x": texts,
                "multiplicity": one.multiplicity,
                "is_real": one.is_real,
                "is_singular": one.is_singular,
                "is_certified": one.is_certified,
                "error_bound": error,
                "cluster_radius": one.cluster_radius,
            }
        )
    info = found.info
    names = ("paths", "at_infinity", "positive_dimensional", "extraneous", "failed")
    document = {
        **HEAD,
        "variables": list(found.variables),
        "precision": info.precision.name,
        **{name: getattr(info, name) for name in names},
        "solutions": solutions,
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _draw(path: Path, found: Any) -> None:
    """Draw all unknowns in the complex plane."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    for name, row in zip(found.variables, found.to_numpy().T, strict=True):
        axes.plot(row.real, row.imag, "o", label=name, fillstyle="none")
    axes.set(xlabel="real", ylabel="imaginary")
    axes.legend()
    figure.savefig(path)


def _values(text: str) -> dict[str, str]:
    found = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise argparse.ArgumentTypeError(f"{part!r} is not NAME=NUMBER")
        try:
            Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise argparse.ArgumentTypeError(f"{value!r} is no number") from None
        found[name] = value
    return found


def _output(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in (".json", ".png"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .json or .png")
    return path
