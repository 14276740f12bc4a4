"""The command line: ``mdqr info``, ``lstsq``, ``fit``, ``series``, ``solve``, ``compile``."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np

import mdqr
from mdqr._backend.cuda.runtime import cubins
from mdqr._backend.cuda.runtime.ahead import compile_kernels, unpack_kernels
from mdqr._cli import curve as fit_command
from mdqr._cli import curve_report
from mdqr._cli import options as lstsq_options
from mdqr._cli import series as series_command
from mdqr._cli import solve as solve_command
from mdqr._cli.columns import name_of
from mdqr._cli.files import WRITERS, Results
from mdqr._cli.fit import read_problem, solve
from mdqr._cli.plot import draw
from mdqr._cli.predict import predict_file, residuals_of
from mdqr._cli.report import printable, record_table, report, table
from mdqr._errors import shortened
from mdqr._precision import PRECISIONS, as_precision
from mdqr._progress import Bar

_BAD_INPUT = 2
_NO_ANSWER = 1
_INTERRUPTED = 130

_DESCRIPTION = "Least squares, fits, series and polynomial systems, beyond float64."
_COMPILE = """\
Compile the kernels that functions of linear algebra launch on a GPU, those of CuPy's own included,
and keep them on disk: first calls take seconds otherwise. What is there already is left. Other
kernels are compiled when they are first used."""
_EXIT = "Exit code: 0, or 1 if there is no answer, 2 for bad input."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments; those of the process by default.

    Returns
    -------
    int
        The exit code: 0, 1 if the problem has no answer, 2 for bad input.
    """
    try:
        try:
            options = _parser().parse_args(arguments)
        finally:
            _say("", sys.stdout)  # what --help wrote, before Python's end finds its reader gone
        return int(options.run(options))
    except np.linalg.LinAlgError as error:
        return _fail(f"{error}", _NO_ANSWER)
    except OSError as error:
        what = "file" if error.filename is None else error.filename
        return _fail(f"{what}: {error.strerror or error}", _BAD_INPUT)
    except ValueError as error:
        return _fail(f"{error}", _BAD_INPUT)
    except ImportError as error:
        return _fail(f"{error}", _NO_ANSWER)
    except MemoryError as error:
        advice = "not enough memory; give fewer --features or a lower --precision"
        return _fail(f"{error}" or advice, _NO_ANSWER)
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)


def _fail(message: str, code: int) -> int:
    _say(f"mdqr: {printable(message)}\n", sys.stderr)
    return code


def _say(text: str, stream: TextIO | None) -> None:
    """Write to a stream at once; one that is closed, or whose reader has gone, takes nothing.

    Raises
    ------
    OSError
        If the standard output cannot be written; there is no place to say so of the errors.
    """
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except OSError as error:
        # what the stream still holds must go somewhere
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), stream.fileno())
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "standard output") from None


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are two lines, not the usage of all options."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\ntry {self.prog} --help\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        # Python 3.11.2 raises where a reader has gone.
        _say(message, sys.stderr if file is None else file)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mdqr", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"mdqr {mdqr.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    info = commands.add_parser(
        "info",
        help="show precisions, CPU level, threads and GPU",
        description="Show the precisions, and what mdqr computes with: CPU level, threads, GPU.",
    )
    info.set_defaults(run=_info)
    lstsq = commands.add_parser(
        "lstsq",
        help="fit a linear model to a CSV file",
        description=lstsq_options.DESCRIPTION,
        epilog=_EXIT,
    )
    lstsq.set_defaults(run=_lstsq)
    lstsq_options.add_options(lstsq)
    fit = commands.add_parser(
        "fit",
        help="fit a curve that is not linear in its parameters",
        description=fit_command.DESCRIPTION,
        epilog=_EXIT,
    )
    fit.set_defaults(run=_fit)
    fit_command.add_options(fit)
    series = commands.add_parser(
        "series",
        help="expand the solution of a polynomial system",
        description=series_command.DESCRIPTION,
        epilog=_EXIT,
    )
    series.set_defaults(run=_series)
    series_command.add_options(series)
    systems = commands.add_parser(
        "solve",
        help="find all solutions of a polynomial system",
        description=solve_command.DESCRIPTION,
        epilog=_EXIT,
    )
    systems.set_defaults(run=_solve)
    solve_command.add_options(systems)
    _add_compile(commands)
    return parser


def _add_compile(commands: Any) -> None:
    parser = commands.add_parser(
        "compile", help="compile the kernels of a GPU", description=_COMPILE, epilog=_EXIT
    )
    parser.set_defaults(run=_compile)
    parser.add_argument(
        "functions", metavar="FUNCTION", nargs="*", help="such as qr or lstsq; default: all"
    )
    parser.add_argument(
        "--device",
        metavar="DEVICE",
        default="cuda",
        help="cuda, cuda:1, or an architecture such as sm_90, which needs no GPU; default: cuda",
    )
    parser.add_argument(
        "--precision",
        choices=[precision.name for precision in PRECISIONS],
        action="append",
        help="of the results, may be given several times; default: all",
    )
    parser.add_argument(
        "--archive",
        metavar="FILE",
        type=Path,
        help="write the kernels to this .tar.xz file, too, for other machines",
    )
    parser.add_argument(
        "--unpack",
        metavar="FILE",
        type=Path,
        help="compile nothing, and take the kernels of such a file",
    )


def _info(options: argparse.Namespace) -> int:
    rows = [
        [p.name, str(p.limbs), str(p.bits), str(p.digits), f"{p.eps:.3g}", f"{p.tiny:.3g}"]
        for p in PRECISIONS
    ]
    heads = ["precision", "limbs", "bits", "digits", "eps", "full above"]
    with redirect_stdout(io.StringIO()) as shown:
        mdqr.config.show()
    text = table(heads, list(zip(*rows, strict=True)), right={1, 2, 3})
    _say(f"{text}\n\n{shown.getvalue()}", sys.stdout)
    return 0


def _lstsq(options: argparse.Namespace) -> int:
    precision = as_precision(options.precision)
    layout = lstsq_options.layout_of(options)
    choice = lstsq_options.choice_of(options)
    with Bar() as bar:
        problem, model, columns = read_problem(options.file, precision, choice, layout, bar)
        try:
            fit = solve(problem, model, columns, bar)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(_named(str(error), problem.names)) from None
        results = Results(name_of(options.file), fit)
        if options.predict is not None:
            found = predict_file(fit, options.predict, layout, options.level, bar)
            results.predictions = found
        if options.residuals:
            results.residuals = residuals_of(fit)
    _say(f"{report(name_of(options.file), fit)}\n", sys.stdout)
    for name, records in results.records().items():
        _say(f"\n{name}\n\n{record_table(records)}\n", sys.stdout)
    for message in fit.messages:
        _say(f"mdqr: warning: {printable(_named(message, problem.names))}\n", sys.stderr)
    written = []
    if options.output is not None:
        written += WRITERS[options.output.suffix.lower()](options.output, results)
    if options.plot is not None:
        draw(options.plot, fit, options.level)
        written.append(options.plot)
    for path in written:
        _say(f"\nwritten to {printable(str(path))}\n", sys.stdout)
    return 0


def _fit(options: argparse.Namespace) -> int:
    with Bar() as bar:
        found = fit_command.fitted(options, bar)
    _say(f"{curve_report.text_of(found)}\n", sys.stdout)
    for message in found.messages:
        _say(f"mdqr: warning: {printable(_named(message, ()))}\n", sys.stderr)
    for path in (options.output, options.plot):
        if path is not None:
            curve_report.write(path, found)
            _say(f"\nwritten to {printable(str(path))}\n", sys.stdout)
    return 0 if found.result.success else _NO_ANSWER


def _series(options: argparse.Namespace) -> int:
    with Bar() as bar:
        found, messages = series_command.expand(options, bar)
    _say(f"{series_command.text_of(found)}\n", sys.stdout)
    for message in messages:
        _say(f"mdqr: warning: {printable(message)}\n", sys.stderr)
    if options.output is not None:
        series_command.write(options.output, found)
        _say(f"\nwritten to {printable(str(options.output))}\n", sys.stdout)
    return 0


def _solve(options: argparse.Namespace) -> int:
    with Bar() as bar:
        found = solve_command.find(options, bar)
    _say(f"{solve_command.text_of(found)}\n", sys.stdout)
    if options.output is not None:
        solve_command.write(options.output, found)
        _say(f"\nwritten to {printable(str(options.output))}\n", sys.stdout)
    return 0


def _compile(options: argparse.Namespace) -> int:
    limbs = {as_precision(name).limbs for name in options.precision or ()}
    if options.unpack is not None:
        if options.functions or limbs or options.archive:
            raise ValueError("--unpack takes all kernels of a file, and --device alone beside it")
        done, (made, there) = "unpacked", unpack_kernels(options.unpack, options.device)
    else:
        with Bar() as bar:
            made, there = compile_kernels(
                options.functions, limbs, options.device, bar, options.archive
            )
        done = "compiled"
    folder = printable(str(cubins.folder()))
    _say(f"{made} kernels {done}, {there} were there: {folder}\n", sys.stdout)
    return 0


def _named(message: str, names: Sequence[str]) -> str:
    """Say of a message what the command line has: names of coefficients, its own options."""

    def name(match: re.Match[str]) -> str:
        column = int(match[1])
        return f"{match[0]} ({shortened(names[column])})" if column < len(names) else match[0]

    message = re.sub(r"precision=mdqr\.", "--precision ", message)
    return re.sub(r"\bcolumn (\d+)", name, message)
