"""Consequences of a number of limbs, for precisions that are not in the registry: 3, 5 and 11.

Kernels for them are not compiled here: `tests/host/test_limb_counts.py` compiles the headers for
them, and `tests/limb_count.sh` the extension, with which it runs other tests.
"""

from __future__ import annotations

import copy
import math
import pickle
import runpy
import shutil
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from another_precision import add_precision
from stand_ins import STAND_INS

import mdqr
from mdqr import _precision
from mdqr._backend.cuda.digits import residual_digits, result_digits, slices
from mdqr._backend.cuda.factor import panel
from mdqr._backend.cuda.products import matvec
from mdqr._backend.host import window
from mdqr._functions import special
from mdqr._limbs.exact import sum_of_units
from mdqr._limbs.planes import Kind
from mdqr._precision import Precision, eps_bits
from mdqr.linalg._factor import wide_range
from mdqr.linalg._products.exact import lines, plan
from mdqr.linalg._shared import operands, tuning
from mdqr.linalg._solve.solvers.householder import _width

FIELDS = (False, True)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=[3, 5, 11], ids=lambda limbs: f"{limbs}")
def another(request, monkeypatch):
    """Add a precision of so many limbs wherever the registry was imported, for one test."""
    added = Precision._make("xd", request.param)
    known = _precision.PRECISIONS
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "mdqr" and getattr(module, "PRECISIONS", None) is known:
            monkeypatch.setattr(module, "PRECISIONS", tuple(sorted((*known, added))))
    monkeypatch.setitem(_precision._BY_NAME, added.name, added)
    monkeypatch.setitem(_precision._BY_LIMBS, added.limbs, added)
    monkeypatch.setattr(mdqr, added.name, added, raising=False)
    operands.precision_for.cache_clear()
    yield added
    operands.precision_for.cache_clear()


def test_eps_and_tiny_follow_from_the_limbs(another):
    u_to_the_n = Fraction(1, 2**another.bits)
    # The contract allows 2 eps: the last cut, and as much for all before it.
    assert 2 * u_to_the_n <= Fraction(another.eps) <= 4 * u_to_the_n
    assert -math.log2(another.eps) == eps_bits(another.limbs)
    # What operations lose by underflow is below eps of the smallest value of full precision.
    lost = another.limbs**2 * Fraction(1, 2**1074)
    assert lost <= Fraction(another.eps) * Fraction(another.tiny) < 2**10 * lost
    assert 10**another.digits <= 2**another.bits < 10 ** (another.digits + 1)


@pytest.mark.parametrize("limbs", [3, 11, 18])
def test_a_precision_takes_a_few_lines(limbs, tmp_path):
    for name in (
        "kernels/include/mdqr/limb_counts.def",
        "kernels/CMakeLists.txt",
        "mdqr/_precision.py",
        "mdqr/__init__.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    add_precision(tmp_path, limbs)
    counts = (tmp_path / "kernels/include/mdqr/limb_counts.def").read_text()
    assert f"MDQR_LIMB_COUNT({limbs})\n" in counts
    registry = runpy.run_path(str(tmp_path / "mdqr/_precision.py"))
    order = [precision.limbs for precision in registry["PRECISIONS"]]
    assert order == sorted([*(p.limbs for p in _precision.PRECISIONS), limbs])


@pytest.mark.parametrize("limbs", [0, -1, 19, 40])
def test_limbs_that_do_not_fit_the_range_are_refused(limbs):
    with pytest.raises(ValueError, match=f"cannot have {limbs} limbs"):
        Precision._make("xd", limbs)


def test_numbers_need_no_kernel(another):
    """Conversion, text, pickles, random numbers and planes are for any number of limbs."""
    x = mdqr.array(["0.1", "-123.456e7", "1e-30"], precision=another)
    for limbs, text in zip(x.limbs.T, ("0.1", "-1234560000", "1e-30"), strict=True):
        error = abs(Fraction(sum_of_units(limbs.tolist()), 2**1074) - Fraction(text))
        assert error <= abs(Fraction(text)) / 2**another.bits
    again = mdqr.array([str(value) for value in x], precision=another)
    mdqr.testing.assert_same_bits(again, x)
    assert pickle.loads(pickle.dumps(another)) is copy.copy(another) is another
    mdqr.testing.assert_same_bits(pickle.loads(pickle.dumps(x)), x)
    assert mdqr.od(x).astype(another).precision is another
    assert mdqr.random.uniform(5, precision=another, rng=1).limbs.shape == (another.limbs, 5)
    pi = another.pi.limbs.tolist()
    assert pi[0] == math.pi
    assert all(np.spacing(abs(high)) >= 2 * abs(low) > 0 for high, low in pairwise(pi))


def test_kernels_say_which_limb_counts_they_have(another):
    x = mdqr.ones((3, 3), precision=another)
    for call in (lambda: x + x, lambda: x @ x, lambda: mdqr.linalg.qr(x)):
        with pytest.raises(
            ValueError, match=f"kernels exist for 1, 2, 4, 8 and 16 limbs, not {another.limbs}"
        ):
            call()


def test_elementary_functions_say_which_precision_has_them(another):
    calls = (mdqr.exp, mdqr.cbrt, lambda x: mdqr.arctan2(x, 1), lambda x: x**0.5, mdqr.angle)
    x = mdqr.ones(3, precision=another)
    for call in calls:
        for value in (x, x[0]):
            with pytest.raises(ValueError, match="kernels exist"):
                call(value)


def test_the_next_precision_is_that_of_the_registry(another):
    order = _precision.PRECISIONS
    assert another in order
    assert list(order) == sorted(order)
    assert another.next is order[min(order.index(another) + 1, len(order) - 1)]
    assert operands.precision_for(another.limbs) is another
    assert operands.precision_for(another.limbs - 1).limbs in (another.limbs - 1, another.limbs)
    assert operands.precision_with(another.eps) is another
    assert operands.precision_with(another.eps, least=another.limbs + 1) is another.next
    assert operands.precision_with(0.0) is order[-1]
    for limbs in (p.limbs for p in order):
        half = operands.half_of(limbs)
        assert half in (p.limbs for p in order)
        assert limbs <= 2 * half


def test_digits_and_slices_hold_a_result(another):
    limbs, bits = another.limbs, eps_bits(another.limbs)
    # Errors of a term, in units of the last digit, and what the span test is to allow.
    for count, wanted in ((result_digits(limbs), bits), (residual_digits(limbs), 2 * bits)):
        span = 51 * count - wanted - math.ceil(math.log2(4 * (3 * count + 2)))
        assert 24 <= span < 24 + 51
        assert count > limbs
    assert 30 <= 22 * slices(limbs) - bits - math.ceil(math.log2(slices(limbs) + 3)) < 30 + 22


@pytest.mark.parametrize("limbs", [1, 2, 4, 8])
def test_digits_and_slices_of_the_precisions(limbs):
    known = {1: (3, 3, 4), 2: (3, 5, 7), 4: (5, 9, 12), 8: (9, 18, 21)}
    assert (result_digits(limbs), residual_digits(limbs), slices(limbs)) == known[limbs]


def test_pieces_of_right_hand_sides_are_wide(another):
    """So that entries of all sizes are in one of few pieces."""
    assert 64 <= _width(another.limbs) <= 1074
    assert wide_range.reach(another.limbs) >= 64


def test_tables_have_an_entry(another):
    limbs = another.limbs
    for backend in (SimpleNamespace(name="cpu"), SimpleNamespace(name="cuda")):
        assert tuning.leaf_width(backend, limbs) >= 8
        for sweep in ("subdiagonals", "rows", "spike"):
            assert tuning.window_width(backend, sweep, 16, limbs) >= 8
    assert window.columns_of(1, limbs) >= 4
    assert window.is_formed(1, limbs)
    below = max(p.limbs for p in _precision.PRECISIONS if p.limbs < limbs)
    for tables in (tuning.RESIDUES, tuning.RESIDUES_WITHIN, tuning.REFINED_QR):
        for table in tables.values():
            for field in FIELDS:
                found = tuning._of_fewer_limbs(table, Kind(limbs, field))
                assert found == table[Kind(below, field)]
                assert tuning._of_fewer_limbs(table, Kind(1, field)) is None


def test_exact_products_have_moduli(another):
    for field in FIELDS:
        bits = lines.full_bits(Kind(another.limbs, field))
        assert bits >= another.bits
        chosen = plan.moduli(2 * bits + 12, field)
        assert math.prod(chosen.values) > 2 ** (2 * bits + 12)


def test_launches_have_room_for_the_digits(another):
    device = STAND_INS["a100"]
    for field in FIELDS:
        kind = Kind(another.limbs, field)
        found = panel.plan(1, 100, 16, kind, device)
        digits = result_digits(another.limbs) * (1 + field)
        assert found.blocks >= 1
        assert 8 * 16 * 2 * digits <= device.shared
    result, residual = result_digits(another.limbs), residual_digits(another.limbs)
    assert matvec._words(another.limbs, False) == (result + 1, result + 2)
    assert matvec._words(another.limbs, True) == (residual + 1, residual + 2)


def test_squares_of_eps_do_not_vanish(another):
    eps = another.eps
    assert Fraction(operands.square_of(eps)) >= Fraction(eps) ** 2
    assert operands.square_of(mdqr.od.eps) == mdqr.od.eps**2


def test_log_ndtr_refuses_what_it_cannot_do(another):
    if another.limbs > 8:
        with pytest.raises(TypeError, match="log_ndtr is not for xd"):
            special._far(another)
    else:
        assert special._far(another) == 29.0
