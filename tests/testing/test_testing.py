"""mdqr.testing: what strategies draw, and what the measures and assertions say."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.planes import is_normalised
from mdqr._precision import PRECISIONS
from mdqr.testing import (
    FAMILIES,
    RELATIONS,
    arrays,
    assert_close,
    assert_same_bits,
    exact,
    floats,
    pairs,
    ulp_error,
)
from mdqr.testing._exact import SCALE, from_integers, to_integers

QUICK = settings(max_examples=15)


def planes(x):
    """Return all limbs as ``(N, parts, *shape)``."""
    block = np.asarray(x._block)
    return np.moveaxis(block, 0, 1) if x.is_complex else block[:, None]


class TestExactIntegers:
    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_every_double_is_a_multiple_of_the_smallest(self, value):
        (integer,) = to_integers(np.array([[value]]))
        assert Fraction(int(integer), 1 << SCALE) == Fraction(value)

    @given(
        st.integers(-(2**600), 2**600),
        st.integers(-1300, 300),
        st.sampled_from([p.limbs for p in PRECISIONS]),
    )
    def test_rounding_is_the_nearest(self, value, exponent, limbs):
        result = from_integers(np.array([value], dtype=object), exponent, limbs)
        error = abs(
            Fraction(int(to_integers(result)[0]), 1 << SCALE) - value * Fraction(2) ** exponent
        )
        # greedy limbs: half an ulp of the last limb, or half the smallest double
        last = abs(Fraction(result[-1, 0]))
        assert error <= max(last * Fraction(2) ** -53, Fraction(2) ** -1075)
        assert is_normalised(result).all()


class TestStrategies:
    def test_values_are_normalised(self, precision, dtype):
        @QUICK
        @given(pairs(precision, 64, dtype=dtype))
        def check(xy):
            for x in xy:
                assert x.shape == (64,)
                assert x.precision is precision
                assert x.is_complex is (dtype is complex)
                assert is_normalised(planes(x)).all()

        check()

    @pytest.mark.parametrize("family", FAMILIES)
    def test_families_fill_the_limbs(self, family, multiple):
        """All but the short ones have no zero limb in most values."""

        @QUICK
        @given(arrays(multiple, 200, families=[family]))
        def check(x):
            drawn = x.limbs[:, x.limbs[0] != 1.0]
            # From the ninth on they may be below the range.
            filled = (drawn[:8] != 0).all(axis=0).mean() if drawn.size else 1.0
            if family == "integers":
                assert (drawn[1:] == 0).all()
            # one in limbs of the short ones is full, and half of all that end among the subnormals
            elif family not in ("short", "subnormal", "wide", "ties") and drawn.shape[1] >= 100:
                assert filled > 0.8

        check()

    def test_ties_are_half_ulps(self, multiple):
        def is_tie(x):
            upper, lower = np.abs(x.limbs[0]), np.abs(x.limbs[1])
            return bool((lower == np.spacing(upper) / 2).any())

        find(arrays(multiple, 64, families=["ties"]), is_tie)

    def test_every_special_value_is_drawn(self, precision):
        seen = set()

        # Often enough that none is missed by chance.
        @settings(max_examples=200)
        @given(arrays(precision, 160))
        def check(x):
            first, size = x.limbs[0], np.abs(x.limbs)
            for name, found in {
                "infinity": first == np.inf,
                "-infinity": first == -np.inf,
                "nan": np.isnan(first),
                "zero": (first == 0) & ~np.signbit(first),
                "-zero": (first == 0) & np.signbit(first),
                "huge": size[0] > 2.0**1022,
                "subnormal": (first != 0) & (size[0] < 2.0**-1022),
                "subnormal last limb": (size[-1] > 0) & (size[-1] < 2.0**-1022),
            }.items():
                if found.any():
                    seen.add(name)

        check()
        assert len(seen) == 8

    def test_options_are_kept(self, precision, dtype):
        options = {"min_exponent": -40, "max_exponent": 70, "allow_subnormal": False}

        @QUICK
        @given(arrays(precision, 64, dtype=dtype, **options))
        def check(x):
            limbs = planes(x)
            assert np.isfinite(limbs).all()
            size = np.abs(limbs[0])
            assert ((size == 0) | ((size >= 2.0**-40) & (size < 2.0**71))).all()
            assert ((limbs == 0) | (np.abs(limbs) >= 2.0**-1022)).all()

        check()

    def test_floats_are_0d(self, precision):
        @QUICK
        @given(floats(precision, allow_nan=False))
        def check(x):
            assert x.shape == ()
            assert not np.isnan(x.limbs).any()

        check()

    def test_shapes_may_be_drawn(self):
        @QUICK
        @given(arrays(mdqr.qd, st.sampled_from([0, (), (0, 3), (2, 3)])))
        def check(x):
            assert x.shape in {(0,), (), (0, 3), (2, 3)}

        check()

    def test_a_failure_shrinks_to_one_value(self):
        found = find(arrays(mdqr.qd, 64), lambda x: bool((np.abs(x.limbs[0]) > 2.0**60).any()))
        assert (found.limbs[0] != 1.0).sum() == 1

    @pytest.mark.parametrize("relation", ["cancel", "near", "opposite", "equal", "offset"])
    def test_relations(self, relation, multiple):
        """Sums that cancel reach every depth; the others are what they are called."""
        depths = set()

        @settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
        @given(pairs(multiple, 64, relations=[relation], families=["random"]))
        def check(xy):
            x, y = xy
            (a, _), (b, _) = (exact("add", v, mdqr.zeros(64, precision=multiple))[:2] for v in xy)
            if relation == "equal":
                assert_same_bits(x, y)
            elif relation == "opposite":
                assert (a == -b).all()
            elif relation == "offset":
                assert (np.abs(x.limbs[0]) * 2 > np.abs(y.limbs[0])).all()
            else:
                rest = a + b if relation == "cancel" else a - b
                for size, left in zip(a, rest, strict=True):
                    depths.add((abs(size).bit_length() - abs(left).bit_length()) // 53)

        check()
        if relation in ("cancel", "near"):
            assert depths >= set(range(1, multiple.limbs))

    def test_bad_arguments_say_what_there_is(self):
        with pytest.raises(ValueError, match="no family 'odd'; there are integers, short"):
            arrays(mdqr.dd, 3, families=["odd"])
        with pytest.raises(ValueError, match="no value of family subnormal lies within"):
            arrays(mdqr.dd, 3, families=["subnormal"], allow_subnormal=False)
        with pytest.raises(ValueError, match="leave no number"):
            arrays(mdqr.dd, 3, min_exponent=3, max_exponent=2)
        with pytest.raises(ValueError, match="wanted float or complex"):
            arrays(mdqr.dd, 3, dtype=int)
        with pytest.raises(ValueError, match="are not among"):
            pairs(mdqr.dd, 3, relations=["rotated"])
        assert "rotated" in RELATIONS

    def test_import_without_hypothesis(self):
        code = (
            "import sys; sys.modules['hypothesis'] = None\n"
            "import mdqr.testing as t\n"
            "assert t.lstsq_problem('noint2').x[0]\n"
            "try: t.floats('dd')\n"
            "except ImportError as error: print(error)\n"
        )
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert "pip install 'mdqr[test]'" in run.stdout


class TestMeasures:
    def test_one_unit_in_the_last_place(self, precision):
        one = mdqr.ones(3, precision=precision)
        block = np.array(one._block)
        block[-1, 1] += precision.eps
        above = mdqr.MDArray._wrap(block, precision, False)
        assert ulp_error(above, one).tolist() == [0.0, 1.0, 0.0]
        assert ulp_error(above, [1, Fraction(1), mpmath.mpf(1)]).tolist() == [0.0, 1.0, 0.0]

    def test_floor_at_tiny(self, precision):
        zero = mdqr.zeros((), precision=precision)
        tiny = mdqr.array(precision.tiny, precision=precision)
        assert ulp_error(tiny, zero) == 1 / precision.eps
        assert ulp_error(zero, tiny, tiny=1.0) == precision.tiny / precision.eps

    def test_complex_errors_are_normwise(self, precision):
        block = np.zeros((2, precision.limbs, 1))
        block[:, 0, 0] = 3.0, 4.0
        x = mdqr.MDArray._wrap(block, precision, True)
        moved = block.copy()
        moved[0, -1, 0] += 8 * precision.eps
        y = mdqr.MDArray._wrap(moved, precision, True)
        assert ulp_error(x, y)[0] == pytest.approx(8 / 5, rel=1e-14)

    def test_not_finite(self):
        huge = np.finfo(float).max
        x = np.array([np.nan, np.inf, -np.inf, np.inf, huge, np.nan])
        y = np.array([np.nan, np.inf, np.inf, np.nan, np.inf, 1.0])
        assert ulp_error(x, y).tolist() == [0.0, 0.0, np.inf, np.inf, np.inf, np.inf]

    def test_overflow_is_measured_against_the_range(self, precision):
        largest = mdqr.array(precision.huge, precision=precision)
        assert np.isinf(largest + largest).all()
        assert ulp_error(largest + largest, exact("add", largest, largest)) == 0
        assert ulp_error(largest + largest, exact("add", largest, -largest)) == np.inf

    def test_assert_close_names_the_first_offender(self):
        x = mdqr.array([[1, 2], [3, 4]], precision=mdqr.qd)
        y = mdqr.array([[1, 2], [3, 5]], precision=mdqr.qd)
        assert_close(x, x, ulps=0)
        with pytest.raises(AssertionError) as caught:
            assert_close(x, y, ulps=2, err_msg="sum of rows")
        message = str(caught.value)
        for part in (
            "sum of rows\n1 of 4 values differ by more than 2 eps (qd: eps = 2**-210)",
            "First at index (1, 1)",
            "x = 4.0",
            "y = 5.0",
            "limbs of x: (0x1.0000000000000p+2, 0x0.0p+0",
        ):
            assert part in message

    def test_assert_close_counts_nan_as_wrong(self):
        with pytest.raises(AssertionError, match="1 of 1 values"):
            assert_close(np.array([np.nan]), np.array([1.0]), ulps=1e300)

    def test_assert_close_wants_one_shape(self):
        with pytest.raises(AssertionError, match=r"x has \(2,\), y has \(3,\)"):
            assert_close(np.ones(2), np.ones(3), ulps=2)
        for x, y in (((3,), (1,)), ((2, 3), (3,)), ((2, 3), (1, 3)), ((1,), (1, 1)), ((), (1,))):
            with pytest.raises(AssertionError, match="shapes differ"):
                assert_close(np.ones(x), mdqr.ones(y, precision=mdqr.dd), ulps=2)
        assert_close(np.ones(2), Fraction(1), ulps=0)

    def test_assert_same_bits(self):
        x = mdqr.array([1, 2, 0], precision=mdqr.dd)
        assert_same_bits(x, x.copy())
        nan = mdqr.array([np.nan], precision=mdqr.dd)
        assert_same_bits(nan, -nan)
        with pytest.raises(AssertionError, match=r"1 of 3 values .*\nFirst at index \(2,\)"):
            assert_same_bits(x, mdqr.array([1, 2, -0.0], precision=mdqr.dd))
        with pytest.raises(AssertionError, match=r"x is real, 2 limbs, shape \(3,\); y is real, 4"):
            assert_same_bits(x, x.astype(precision=mdqr.qd))

    def test_measures_refuse_what_is_no_array_of_floats(self):
        with pytest.raises(TypeError, match="expected an MDArray or a float64"):
            ulp_error(["1"], [1])
        with pytest.raises(ValueError, match="there are abs, negative"):
            exact("cube", np.ones(2))

    @pytest.mark.parametrize("op", ["sqrt", "abs", "divide", "multiply", "reciprocal", "square"])
    def test_exact_agrees_with_mpmath(self, op, dtype):
        @QUICK
        @given(
            pairs(mdqr.qd, 8, dtype=dtype, min_exponent=-60, max_exponent=60, families=["random"])
        )
        def check(xy):
            operands = xy if op in ("divide", "multiply") else xy[:1]
            if dtype is float and op == "sqrt":
                operands = (abs(xy[0]),)
            reference = exact(op, *operands)
            with mpmath.workprec(2 * PRECISIONS[-1].bits):
                values = [x.to_mpmath() for x in operands]
                function = {
                    "sqrt": mpmath.sqrt,
                    "abs": abs,
                    "divide": lambda a, b: a / b,
                    "multiply": lambda a, b: a * b,
                    "reciprocal": lambda a: 1 / a,
                    "square": lambda a: a * a,
                }[op]
                real, imag = reference.to_fractions()
                for i in range(8):
                    wanted = mpmath.mpc(function(*(value[i] for value in values)))
                    got = mpmath.mpc(
                        mpmath.mpf(real[i].numerator) / real[i].denominator,
                        mpmath.mpf(imag[i].numerator) / imag[i].denominator,
                    )
                    assert abs(got - wanted) <= abs(wanted) * mpmath.mpf(2) ** -500

        check()
