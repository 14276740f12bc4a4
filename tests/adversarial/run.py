"""Judging many problems in several processes."""

from __future__ import annotations

import multiprocessing
import os

from tqdm import tqdm

from mdqr._precision import PRECISIONS

from . import (
    data_errors,
    determinants,
    eigenvalues,
    extremes,
    factors,
    judge,
    matrix_functions,
    polynomials,
    radii,
    series_families,
    spectra,
    systems,
    tensors,
    updates,
)
from .findings import Findings
from .problems import limbs, near_limit, of_zeros, problem, wide
from .verdicts import truths

_CHUNK = 50


def _lstsq(seed, index):
    given = problem(seed, index)
    return given, judge.lstsq(given)


def _solve(seed, index):
    given = problem(seed, index, square=True)
    return given, judge.solve(given)


def _with_digits(seed, index):
    given = (problem, wide)[index % 2](seed, index)
    return given, judge.lstsq_with_digits(given, 1 + index % PRECISIONS[-1].digits)


def _near_limit(seed, index):
    given = near_limit(seed, index)
    return given, judge.lstsq(given)


def _householder(seed, index):
    given = problem(seed, index)
    return given, judge.lstsq(given, method="householder")


def _wide(seed, index):
    given = wide(seed, index)
    return given, judge.lstsq(given, method=("auto", "householder")[index % 2])


def _of_zeros(seed, index):
    given = of_zeros(seed, index)
    return given, judge.lstsq(given, method=("auto", "householder")[index % 2])


FUNCTIONS = {
    "lstsq": _lstsq,
    "lstsq by Householder": _householder,
    "lstsq of wide matrices": _wide,
    "lstsq of zeros": _of_zeros,
    "lstsq near its limit": _near_limit,
    "lstsq with digits": _with_digits,
    "solve": _solve,
    "data errors near singular": data_errors.near_singular,
    "solve_triangular": factors.solve_triangular,
    "qr_factor": factors.qr_factor,
    "det": determinants.determinant,
    "repair": extremes.repaired,
    "lu_solve and cho_solve": extremes.by_factors,
    "streams without data": extremes.stream,
    "UpdatableLstsq": updates.updatable,
    "tensorcore": tensors.tensor,
    "roots": polynomials.roots,
    "svd": spectra.svd,
    "eigh": spectra.eigh,
    "eigh of two": spectra.eigh_of_two,
    "pinv": spectra.pinv,
    "eig": eigenvalues.eig,
    "eig of pairs": eigenvalues.pencil,
    "funm": matrix_functions.function,
    "qz and ordqz": matrix_functions.pair_form,
    "ldl": matrix_functions.symmetric,
    "radius": radii.radius,
    "pade": series_families.pade,
    "powers of series": series_families.powers,
    "texts of systems": series_families.texts,
    "close solutions": systems.close_solutions,
    "sparse systems": systems.sparse_systems,
}


def judged(name, seed, index):
    """Return a problem and its verdict."""
    return FUNCTIONS[name](seed, index)


def _chunk(task):
    name, seed, first, last = task
    findings = Findings()
    for index in range(first, last):
        findings.add(*judged(name, seed, index))
    return findings


def run(name, seed, count, jobs=1, first=0, progress=False):
    """Judge `count` problems of one function and return the findings."""
    stops = range(first, first + count, _CHUNK)
    tasks = [(name, seed, start, min(start + _CHUNK, first + count)) for start in stops]
    total = Findings()
    with tqdm(total=count, desc=name, disable=not progress, unit="problem") as bar:
        if jobs == 1:
            for task in tasks:
                total.merge(_chunk(task))
                bar.update(task[3] - task[2])
            return total
        # A process has a core: threads inside it would wait for each other's.
        os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MDQR_NUM_THREADS="1")
        with multiprocessing.get_context("spawn").Pool(jobs) as pool:
            for findings in pool.imap(_chunk, tasks):
                total.merge(findings)
                bar.update(_CHUNK)
    return total


def show(seed, index, name="lstsq"):
    """Print a problem and its verdict; of `lstsq` and `solve` also the answer and the truth."""
    given, verdict = judged(name, seed, index)
    print(f"{name} ({seed}, {index}): {given.family}, {given.side}; {given.data} -> {given.answer}")
    print(verdict)
    for label, value in (("a", given.a), ("b", given.b), ("weights", given.weights)):
        if value is not None:
            print(f"{label} {value.shape}, leading limbs:", limbs(value)[:, 0], sep="\n")
    if name.split()[0] not in ("lstsq", "solve"):
        return
    name = name.split()[0]
    exact = truths(given)
    print("condition", [f"{truth.condition:.3e}" for truth in exact])
    print("exact", *(truth.strings(25) for truth in exact if not truth.singular), sep="\n")
    found = judge.called(name, given, **({"return_info": True} if name == "solve" else {}))[0]
    if found is None:
        return
    x, info = (found.x, found.info) if name == "lstsq" else found
    print("x", x.to_strings(digits=25).tolist(), sep="\n")
    print("error_bound", info.error_bound, "digits", info.digits, sep="\n")
    if name == "lstsq":
        print("condition", info.condition, "steps", info.iterations, "history", info.history)
