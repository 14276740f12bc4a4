"""The registry of mutants names what there is, and its judges find no false claims."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections import Counter
from itertools import islice

import pytest
from adversarial.run import FUNCTIONS

import mdqr
from mdqr.linalg._factor.determinants import inverse
from mdqr.linalg._spectral.disks import Disks
from mutants import solutions
from mutants.judges import ROOT, Claims, Family, Tests
from mutants.mutant import SHRUNK, Mutant, applied, found, shrunk_part
from mutants.registry import CLOSE, COVERED
from mutants.run import first_false, precisions_of, tried

EVERY = (*CLOSE, *COVERED)
JUDGES = {judge: None for mutant in EVERY for judge in mutant.judges}
CLAIMS = [judge for judge in JUDGES if isinstance(judge, Claims)]


def _is_there(mutant):
    try:
        _, _, target = found(mutant.target)
    except (AttributeError, ImportError, KeyError):
        return False
    return not mutant.argument or mutant.argument in inspect.signature(target).parameters


def test_what_the_registry_names_is_there():
    assert not [mutant.target for mutant in EVERY if not _is_there(mutant)]
    assert all(mutant.judges and precisions_of(mutant) for mutant in EVERY)


def test_every_mutant_is_there_once():
    counts = Counter(str(mutant) for mutant in EVERY)
    assert not [name for name, count in counts.items() if count > 1]
    assert all(mutant.survives for mutant in COVERED)
    assert not any(mutant.survives for mutant in CLOSE)


def test_what_judges_name_is_there():
    families = {judge.name for judge in JUDGES if isinstance(judge, Family)}
    assert families <= set(FUNCTIONS)
    for judge in JUDGES:
        if isinstance(judge, Tests):
            path, _, name = judge.node.partition("::")
            assert f"\ndef {name}(" in (ROOT / path).read_text(), judge.node


@pytest.mark.parametrize("judge", CLAIMS, ids=str)
def test_claims_are_true(judge):
    assert first_false(islice(judge(mdqr.dd), 40)) is None


def test_what_the_end_of_the_range_takes_of_residuals_is_in_bounds():
    """Once the residual lost its lowest bit as it was scaled, and x became worse by its inverse."""
    a, b, weights = solutions.problem_of(mdqr.hd, 48, "tall")
    assert first_false(solutions._claims(a, b, weights, method="householder")) is None


@pytest.mark.long
@pytest.mark.parametrize("judge", CLAIMS, ids=str)
def test_all_claims_are_true(judge, precision):
    assert first_false(judge(precision)) is None


@pytest.mark.long
def test_every_mutant_is_noticed():
    command = [sys.executable, "-m", "tests.mutants"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_a_mutant_is_put_in_every_place_and_taken_out_again():
    target = "mdqr.linalg._factor.determinants.inverse:eps_of"
    original = inverse.eps_of
    with applied(Mutant(target, ())):
        places = [
            name
            for name, module in sys.modules.items()
            if name.startswith("mdqr.") and getattr(module, "eps_of", None) is inverse.eps_of
        ]
        assert inverse.eps_of is not original
        assert "mdqr.linalg._factor.determinants.elimination" in places
    assert inverse.eps_of is original
    assert all(sys.modules[name].eps_of is original for name in places)


def test_a_bound_that_nothing_sees_survives():
    mutant = Mutant("mdqr.linalg._spectral.disks:SLACK", (Claims("none", lambda _: iter([-1.0])),))
    outcome = tried(mutant, mdqr.dd)
    assert outcome.is_wrong
    assert "SURVIVES" in outcome.row()


def test_parts_of_results():
    assert shrunk_part((1.0, 2.0), "1", "factor") == (1.0, 2.0 * SHRUNK)
    assert shrunk_part(Disks(1.0, 2), "radii", "log2") == Disks(-9.0, 2)
    assert shrunk_part([(1.0, 2.0)], "0.1", "below") == [(1.0, 2048.0)]
    assert shrunk_part(1.0, "", "digits") == pytest.approx(4.0103)
