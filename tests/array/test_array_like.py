"""What may come in: one set of arrays, sequences and numbers for every function."""

from __future__ import annotations

import array
from collections import UserList, UserString, deque
from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from array_cases import same_bits
from each_case import each_case

import mdqr
from mdqr import linalg, testing

VALUES = [[4.0, 1.0], [1.0, 3.0]]
P = mdqr.qd
EYE = np.eye(2)


def example():
    """Return an array of more limbs than one."""
    return mdqr.array([["0.1", "0.2"], ["0.3", "0.7"]], precision=P)


def assigned(x):
    a = mdqr.zeros((2, 2), precision=P)
    a[...] = x
    return a


def in_place(x):
    a = example()
    a += x
    return a


# Every door takes the two by two values of `x`.
DOORS = {
    "array": lambda x: mdqr.array(x, precision=P),
    "array, complex": lambda x: mdqr.array(x, precision=P, dtype=complex),
    "array, nested": lambda x: mdqr.array([x, x], precision=P),
    "array, beside arrays": lambda x: mdqr.array([example(), x], precision=P),
    "asarray": lambda x: mdqr.asarray(x, precision=P),
    "full": lambda x: mdqr.full((2, 2), x, precision=P),
    "linspace": lambda x: mdqr.linspace(x, 1, 3, precision=P),
    "uniform": lambda x: mdqr.random.uniform((2, 2), low=x, high=9, precision=P, rng=1),
    "setitem": assigned,
    "iadd": in_place,
    "add": lambda x: example() + x,
    "multiply": lambda x: example() * x,
    "rdivide": lambda x: np.divide(x, example()),
    "matmul": lambda x: example() @ x,
    "rmatmul": lambda x: np.matmul(x, example()),
    "less": lambda x: example() < x,
    "equal": lambda x: example() == x,
    "maximum": lambda x: mdqr.maximum(x, example()),
    "where": lambda x: mdqr.where(example() > 0.5, x, example()),
    "where, condition": lambda x: mdqr.where(x, example(), 0),
    "allclose": lambda x: mdqr.allclose(example(), x),
    "array_equal": lambda x: mdqr.array_equal(mdqr.array(VALUES, precision=P), x),
    "dot": lambda x: mdqr.dot(example(), x),
    "vdot": lambda x: mdqr.vdot(x, example()),
    "outer": lambda x: mdqr.outer(x, example()),
    "polyval": lambda x: mdqr.polyval(example()[0], x),
    "concatenate": lambda x: mdqr.concatenate([example(), x]),
    "stack": lambda x: mdqr.stack([x, example()]),
    "linalg.matmul": lambda x: linalg.matmul(x, x, precision=P),
    "norm": lambda x: linalg.norm(x, 1, precision=P),
    "qr": lambda x: linalg.qr(x, precision=P).Q,
    "qr_factor": lambda x: linalg.qr_factor(x, precision=P).solve(x),
    "solve": lambda x: linalg.solve(x, x, precision=P),
    "solve_triangular": lambda x: linalg.solve_triangular(x, x, precision=P),
    "lstsq": lambda x: linalg.lstsq(x, x, precision=P).x,
    "certify": lambda x: np.array(linalg.certify(x, EYE, x, precision=P)),
    "qr_insert": lambda x: linalg.qr_insert(EYE, EYE, x, 0, precision=P).R,
    "qr_insert, floats": lambda x: linalg.qr_insert(EYE, EYE, x, 0).R,
    "qr_delete": lambda x: linalg.qr_delete(EYE, x, 0, precision=P).R,
    "qr_update": lambda x: linalg.qr_update(EYE, EYE, x, x, precision=P).R,
    "repair": lambda x: linalg.repair(x, EYE, x, precision=P).R,
    "UpdatableLstsq": lambda x: linalg.UpdatableLstsq(x, [1, 2], precision=P).solve(),
    "insert_rows": lambda x: inserted(x),
    "ulp_error": lambda x: testing.ulp_error(x, VALUES),
    "ulp_error, reference": lambda x: testing.ulp_error(example(), x),
}


def inserted(x):
    fit = linalg.UpdatableLstsq(EYE, [1, 2], precision=P)
    fit.insert_rows(x, [3, 4])
    return fit.solve()


def same(got, wanted):
    """Return whether results are the same, bit for bit, and of no class of the caller's."""
    if isinstance(wanted, mdqr.MDArray):
        return type(got.limbs) is np.ndarray and same_bits(got, wanted)
    return type(got) is type(wanted) and np.array_equal(got, wanted)


class Interface:
    """An array by its memory alone."""

    def __init__(self, values):
        self._kept = values
        self.__array_interface__ = values.__array_interface__


class Answering:
    """An array by its method alone."""

    def __init__(self, values):
        self._kept = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self._kept, dtype=dtype, copy=copy)


class Listing:
    """A matrix as those of mpmath and python-flint."""

    def tolist(self):
        return VALUES


pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
NUMPYS = {
    "matrix": lambda: np.matrix(VALUES),
    "masked array without masks": lambda: np.ma.array(VALUES),
    "record array": lambda: np.array(VALUES).view(np.recarray),
}
OTHERS = {
    "memoryview": lambda: memoryview(np.array(VALUES)),
    "array.array": lambda: [array.array("d", row) for row in VALUES],
    "range": lambda: (range(4, 0, -3), range(1, 4, 2)),
    "deque": lambda: deque(map(deque, VALUES)),
    "UserList": lambda: UserList(map(UserList, VALUES)),
    "__array_interface__": lambda: Interface(np.array(VALUES)),
    "__array__": lambda: Answering(np.array(VALUES)),
    "tolist": Listing,
}


@each_case("door", DOORS)
@each_case("kind", NUMPYS)
def test_subclasses_of_numpys_array_are_plain_arrays_at_every_door(kind, door):
    assert same(DOORS[door](NUMPYS[kind]()), DOORS[door](np.array(VALUES)))


OPERATIONS = ["x + a", "x - a", "x * a", "x / a", "x @ a", "a @ x", "x < a", "x == a"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_matrix_may_come_first(operation, precision):
    a = mdqr.array(VALUES, precision=precision)
    got = eval(operation, {"x": np.matrix(VALUES), "a": a})
    assert same(got, eval(operation, {"x": np.array(VALUES), "a": a}))


# A matrix of another package is asked for its own arithmetic; the values measured are floats.
NOT_TAKEN = {
    *(("tolist", door) for door in ("add", "multiply", "rdivide", "matmul", "rmatmul", "iadd")),
    *(("tolist", door) for door in ("less", "equal")),
    ("range", "ulp_error"),
}


@each_case("kind, door", [case for case in product(OTHERS, DOORS) if case not in NOT_TAKEN])
def test_every_array_like_is_taken_at_every_door(kind, door):
    x = OTHERS[kind]()
    assert same(DOORS[door](x), DOORS[door](VALUES))


@pytest.mark.parametrize("door", DOORS)
def test_masked_entries_are_refused_at_every_door(door):
    x = np.ma.array(VALUES, mask=[[False, False], [True, False]])
    with pytest.raises(TypeError, match=r"without a value; fill them with x\.filled\(value\)"):
        DOORS[door](x)


def test_masked_entries_are_refused_in_exponents_lists_and_limbs():
    masked = np.ma.array([1, 2], mask=[True, False])
    calls = [
        lambda: example() ** masked,
        lambda: mdqr.array([1.0, np.ma.masked], precision=P),
        lambda: mdqr.array(np.array([1, np.ma.masked], dtype=object), precision=P),
        lambda: example() * [1.0, np.ma.masked],
        lambda: mdqr.from_limbs(masked[None].astype(float)),
        lambda: mdqr.from_limbs(masked[None].astype(float), normalize=False),
        lambda: linalg.lstsq(EYE, [1, 2], weights=masked, precision=P),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"x\.filled\(value\)"):
            call()
    with pytest.raises(
        TypeError, match=r"a masked array beside it with mdqr\.array\(x, precision=mdqr\.qd"
    ):
        masked + example()


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kind", NUMPYS)
def test_limbs_of_a_subclass_become_plain(kind, normalize):
    given = NUMPYS[kind]()
    a = mdqr.from_limbs(given, normalize=normalize)
    assert type(a.limbs) is np.ndarray
    assert np.shares_memory(a.limbs, given) == (not normalize)


def test_large_integers_of_sequences_stay_exact():
    big = 2**63
    for x in (range(big, big + 2), UserList([big, big + 1])):
        a = mdqr.array(x, precision=P)
        assert a.to_fractions().tolist() == [big, big + 1]
        # NumPy makes floats of a mixture of large and negative integers.
        mixed = mdqr.array(UserList([big + 1, -1]), precision=P)
        assert mixed.to_fractions().tolist() == [big + 1, -1]


def test_texts_of_numpys_string_type():
    x = np.array(["0.1", "1e-30"], dtype=np.dtypes.StringDType())
    assert same_bits(mdqr.array(x, precision=P), mdqr.array(["0.1", "1e-30"], precision=P))
    with pytest.raises(TypeError, match="string is not a number in arithmetic"):
        mdqr.ones(2, precision=P) + x


def test_a_user_string_is_a_text(precision):
    tenth = mdqr.array("0.1", precision=precision)
    assert same_bits(mdqr.array(UserString("0.1"), precision=precision), tenth)
    for x in ([UserString("0.1")], [[UserString("0.1")], mdqr.zeros(1, precision=precision)]):
        assert same_bits(mdqr.array(x, precision=precision).ravel()[0], tenth)
    with pytest.raises(TypeError, match=r"string is not a number in arithmetic; got '0.1'"):
        tenth + UserString("0.1")


# -- numbers of other packages ---------------------------------------------------------------


@pytest.mark.parametrize("x", [flint.fmpq(1, 3), flint.fmpz(2) ** 52 + 1], ids=["fmpq", "fmpz"])
def test_exact_numbers_of_flint_are_operands(x, precision):
    exact = Fraction(int(x.numerator), int(x.denominator))
    a = mdqr.array([1, 3], precision=precision)
    assert same_bits(a + x, a + exact)
    assert same_bits(x - a, exact - a)
    assert same_bits(a / x, a / exact)
    assert same_bits(np.multiply(x, a), exact * a)
    assert (mdqr.array(x, precision=precision) == x).item() == (exact.denominator == 1)
    a[0] = x
    assert same_bits(a[0], mdqr.array(exact, precision=precision))


def test_a_ball_with_a_radius_is_no_number():
    ball = flint.arb(1) / 3
    a = mdqr.ones(2, precision=P)
    for call in (
        lambda: mdqr.array(ball, precision=P),
        lambda: mdqr.array([1, ball], precision=P),
        lambda: mdqr.array(flint.arb_mat(1, 1, [ball]), precision=P),
        lambda: mdqr.array(flint.acb(1, ball), precision=P),
        lambda: a + ball,
        lambda: ball * a,
        lambda: a < ball,
        lambda: a.__setitem__(0, ball),
        lambda: linalg.norm([ball], precision=P),
    ):
        with pytest.raises(ValueError, match=r"an interval and not a number; take its midpoint"):
            call()
    assert same_bits(a + ball.mid(), a + mdqr.array(ball.mid(), precision=P))
    assert (a == flint.arb(1)).all()


@pytest.mark.parametrize(
    "x", [b"1", bytearray, {1: 2}, {1, 2}, object(), None], ids=lambda x: type(x).__name__
)
def test_what_is_no_array_is_refused(x):
    with pytest.raises(TypeError, match="number"):
        mdqr.array(x, precision=P)
    with pytest.raises(TypeError, match="number"):
        linalg.norm(x, precision=P)
