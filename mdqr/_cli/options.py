"""The options of ``mdqr lstsq``."""

from __future__ import annotations

import argparse
import codecs
import csv
import re
from pathlib import Path

from mdqr._cli import plot
from mdqr._cli.columns import MISSING, STDIN, Layout
from mdqr._cli.files import WRITERS
from mdqr._cli.fit import Choice
from mdqr._precision import PRECISIONS

DESCRIPTION = """\
Fit a linear model to columns of a text file. The first line names the columns; with --no-header
they are c0, c1, ... Numbers are read as decimal numbers, not through float64. Each estimate is
printed with the digits that its error bound, of first order, guarantees."""

_DELIMITERS = {"tab": "\t", "\\t": "\t", "blanks": None}


def add_options(lstsq: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    lstsq.add_argument(
        "file",
        metavar="FILE",
        help="delimited text, also compressed (.gz, .bz2, .xz); '-' is the standard input",
    )
    add_layout(lstsq.add_argument_group("the file"))
    _add_model(lstsq.add_argument_group("the model"))
    _add_results(lstsq.add_argument_group("results"))


def add_layout(group: argparse._ArgumentGroup) -> None:
    """Add the options of the layout of a file."""
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line names the columns; default: it does, and a header of numbers "
        "is an error",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        type=_delimiter,
        default=",",
        help="between fields: a character, tab, or blanks for any run of them; default: comma",
    )
    group.add_argument(
        "--skip-rows",
        metavar="COUNT",
        type=_count,
        default=0,
        help="lines to skip at the beginning, before the header",
    )
    group.add_argument(
        "--max-rows",
        metavar="COUNT",
        type=_count,
        help="how many rows to read at most, behind the header; default: all",
    )
    group.add_argument(
        "--comments",
        metavar="TEXT",
        type=_text,
        action="append",
        default=[],
        help="start of a comment, such as '#'; may be given several times; default: the first "
        "of '#', '%%' and '!' that begins a line before the first row",
    )
    group.add_argument(
        "--widths",
        metavar="COUNT[,COUNT...]",
        type=_widths,
        help="characters of each field, of a file without delimiters",
    )
    _add_texts(group)
    group.add_argument(
        "--drop-missing",
        action="store_true",
        help="leave out rows with a field that is empty or one of "
        + ", ".join(f"'{text}'" for text in filter(None, MISSING)),
    )


def _add_texts(group: argparse._ArgumentGroup) -> None:
    """Add the options of the notation of numbers and of the encoding."""
    group.add_argument(
        "--decimal",
        metavar="CHARACTER",
        choices=[".", ","],
        default=".",
        help="before the fraction of a number: '.' or ','; default: '.'",
    )
    group.add_argument(
        "--thousands",
        metavar="CHARACTER",
        help="between groups of three digits, such as '.' with --decimal ,; default: none",
    )
    group.add_argument(
        "--encoding",
        metavar="NAME",
        type=_encoding,
        default="utf-8",
        help="of the text, such as latin-1 or utf-16; default: utf-8",
    )


def _add_model(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--target", metavar="COLUMN", help="the column to fit; default: the last one"
    )
    group.add_argument(
        "--features",
        metavar="COLUMN[,COLUMN...]",
        type=_names,
        action="extend",
        help="the columns of the model; default: all others",
    )
    group.add_argument(
        "--poly",
        metavar="DEGREE",
        type=_degree,
        help="fit a polynomial in one column; its powers are formed in the precision of the fit",
    )
    group.add_argument(
        "--intercept",
        action=argparse.BooleanOptionalAction,
        help="whether the model has a constant term; default: it has",
    )
    group.add_argument(
        "--formula",
        metavar="FORMULA",
        help="the model as 'y ~ x + z + x:z + log(x) + I(x**2)', evaluated in the precision of "
        'the fit; needs formulaic: pip install "mdqr[formula]"',
    )
    group.add_argument("--weights", metavar="COLUMN", help="weights of the rows, 1/variance")
    group.add_argument(
        "--precision",
        choices=[precision.name for precision in PRECISIONS],
        default="qd",
        help="of the fit; default: qd, as text has no precision of its own",
    )


def _add_results(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--predict",
        metavar="FILE",
        help="also print values of the model for the rows of this file, with half widths of "
        "confidence and prediction bands",
    )
    group.add_argument(
        "--level",
        metavar="PROBABILITY",
        type=_level,
        default=0.95,
        help="of the bands; default: 0.95",
    )
    group.add_argument(
        "--residuals", action="store_true", help="also print the residuals of all rows"
    )
    group.add_argument(
        "--output",
        metavar="FILE",
        type=_output,
        help="also write the results to a .csv, .json or .npz file",
    )
    group.add_argument(
        "--plot",
        metavar="FILE",
        type=_plot,
        help="draw data, model and bands over the only column of the model, or residuals over "
        "fitted values, to a .png, .pdf or .svg file",
    )


def layout_of(options: argparse.Namespace) -> Layout:
    """Return how the files are laid out."""
    return Layout(
        options.header,
        options.delimiter,
        options.skip_rows,
        options.comments,
        options.drop_missing,
        options.decimal,
        options.encoding,
        options.thousands,
        options.widths,
        options.max_rows,
    )


def choice_of(options: argparse.Namespace) -> Choice:
    """Return what is said of the model.

    Raises
    ------
    ValueError
        If two options contradict each other.
    """
    if options.file == STDIN and options.predict == STDIN:
        raise ValueError("--predict -: the standard input has the data already; name a file")
    if options.formula is not None:
        given = {
            "--target": options.target,
            "--features": options.features,
            "--poly": options.poly,
            "--intercept or --no-intercept": options.intercept,
        }
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"--formula says what the model is; leave out {name} ('y ~ x - 1' has no "
                    "constant term)"
                )
    return Choice(
        options.target,
        options.features,
        options.poly,
        options.intercept is not False,
        options.weights,
        options.formula,
    )


def _names(text: str) -> list[str]:
    """Split names at commas; a name with a comma is quoted as in a CSV file."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def _delimiter(text: str) -> str | None:
    if text in _DELIMITERS:
        return _DELIMITERS[text]
    if len(text) != 1 or text in '\r\n"':
        raise argparse.ArgumentTypeError(
            f"the delimiter must be one character, tab or blanks; got {text!r}"
        )
    return text


def _text(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the start of a comment must not be empty")
    return text


def _encoding(text: str) -> str:
    try:
        return codecs.lookup(text).name
    except LookupError:
        raise argparse.ArgumentTypeError(f"there is no encoding {text!r}") from None


def _widths(text: str) -> list[int]:
    return [_count(part.strip()) for part in text.split(",")]


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"wanted an integer from 0; got {text!r}")
    return int(text)


def _degree(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text):
        raise argparse.ArgumentTypeError(f"the degree must be an integer from 0; got {text!r}")
    return int(text)


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise argparse.ArgumentTypeError(f"the level must lie between 0 and 1; got {text!r}")
    return level


def _output(text: str) -> Path:
    return ending(text, tuple(WRITERS))


def _plot(text: str) -> Path:
    return ending(text, plot.ENDINGS)


def ending(text: str, endings: tuple[str, ...]) -> Path:
    """Return the path of a file that must have one of some endings."""
    path = Path(text)
    if path.suffix.lower() not in endings:
        raise argparse.ArgumentTypeError(f"{text!r} must end in {', '.join(endings)}")
    return path
