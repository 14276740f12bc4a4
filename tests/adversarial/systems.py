"""Verdicts on `mdqr.series.solve`: systems whose solutions, some close together, are known."""

from __future__ import annotations

from fractions import Fraction

from mdqr import series
from mdqr._precision import PRECISIONS, precisions_with_paths

from .draws import Draw
from .problems import Problem
from .verdicts import Verdict, answered


def close_solutions(seed, index):
    """Judge the solutions of ``prod(x - r_i) = 0`` and an equation for y, mixed with the first.

    Two or three r_i are 1e-2 to 1e-60 apart, or the same.
    """
    r = Draw(f"close_solutions/{seed}/{index}")
    precision = r.choice(precisions_with_paths()[1:])
    roots = _roots(r)
    squares = r.chance(0.4)
    slope, constant = r.randint(1, 3), r.randint(1, 5)
    first = "*".join(f"(x{_signed(-root)})" for root in roots)
    second = f"y^2-{slope}*x^2-{constant}" if squares else f"y-{slope}*x^2+{constant}*x-1"
    texts = [f"{first}{_signed(r.randint(-2, 2))}*({second})", second]
    start = r.choice(["auto", "total_degree", "polyhedral"])
    given = Problem(seed, index, "close", start, texts, None, None, None, precision)
    verdict = Verdict(components=len(roots))
    system = series.System.from_strings(texts, ["x", "y"])
    found, error, caught = answered(
        lambda: series.solve(system, precision=precision, start=start, rng=index)
    )
    verdict.note_warnings(caught)
    if error is not None:
        verdict.note_error(error)
        return given, verdict
    known = [_second(root, slope, constant, squares) for root in roots]
    _judge(verdict, found, roots, known, squares)
    return given, verdict


def sparse_systems(seed, index):
    """Judge the number of solutions of random sparse systems: it is the mixed volume."""
    r = Draw(f"sparse_systems/{seed}/{index}")
    n, precision = r.randint(2, 4), r.choice(PRECISIONS[1:3])
    names = [f"x{i}" for i in range(n)]
    texts = []
    for _ in range(n):
        numbers = [
            Fraction(r.randint(1, 99) * r.choice([-1, 1]), r.randint(1, 20)) for _ in range(6)
        ]
        powers = {tuple(r.randint(0, 3) if r.chance(0.6) else 0 for _ in names) for _ in range(4)}
        powers |= {(0,) * n, tuple(r.randint(1, 3) for _ in names)}
        terms = [
            _signed(number) + "".join(f"*{x}^{e}" for x, e in zip(names, row, strict=True))
            for number, row in zip(numbers, sorted(powers), strict=False)
        ]
        texts.append("".join(terms))
    start = r.choice(["auto", "polyhedral"])
    given = Problem(seed, index, "sparse", start, texts, None, None, None, precision)
    verdict = Verdict(components=n)
    system = series.System.from_strings(texts, names)
    found, error, caught = answered(
        lambda: series.solve(system, precision=precision, start=start, rng=index)
    )
    verdict.note_warnings(caught)
    if error is not None:
        verdict.note_error(error)
        return given, verdict
    volume, info = series.mixed_volume(system), found.info
    # Zeros are found to fewer digits.
    torus = int((abs(found.to_numpy()) > 1e-120).all(axis=1).sum())
    if torus != volume or info.failed or not found.is_certified.all():
        _fail(verdict, "counts_wrong", f"{torus} of {volume}, {found!r:.80}, {info}")
    return given, verdict


def _roots(r):
    base = Fraction(r.randint(-9, 9), r.randint(1, 9))
    apart = Fraction(0) if r.chance(0.15) else Fraction(1, 10 ** r.randint(2, 60))
    close = [base + apart * i for i in range(r.randint(2, 3))]
    return close + [base + r.randint(1, 3) + 4 * i for i in range(r.randint(0, 2))]


def _signed(number):
    return f"{'-' if number < 0 else '+'}{abs(number)}"


def _second(x, slope, constant, squares):
    """Return y, or its square."""
    return slope * x * x + constant if squares else slope * x * x - constant * x + 1


def _judge(verdict, found, roots, known, squares):
    claimed = set()
    for one in found[found.is_certified]:
        x, y = one.x
        ex, ey = (Fraction(float(bound)) for bound in one.error_bound)
        places = [
            (i, y.real > 0)
            for i, (root, value) in enumerate(zip(roots, known, strict=True))
            if _near(x, root, ex) and (_root_near(y, value, ey) if squares else _near(y, value, ey))
        ]
        if not places or any(roots.count(roots[i]) > 1 for i, _ in places):
            _fail(verdict, "bound_violated", f"no simple solution within the bounds: {one.x}")
        elif len(places) == 1 and places[0] in claimed:
            _fail(verdict, "counts_wrong", f"certified twice: {one.x}")
        claimed.update(places[:1])
        if not one.is_real:
            _fail(verdict, "symmetry_lost", f"not real: {one.x}")
    count, info = len(roots) * (1 + squares), found.info
    if int(found.multiplicity.sum()) != count or info.failed or info.positive_dimensional:
        _fail(verdict, "counts_wrong", f"{found.multiplicity.tolist()} of {count}, {info}")


def _near(z, value, error):
    real, imag = (Fraction(*part.as_integer_ratio()) for part in (z.real, z.imag))
    return (real - value) ** 2 + imag**2 <= error**2


def _root_near(z, square, error):
    """Tell whether a root of a positive number is in a disk."""
    real, imag = (abs(Fraction(*part.as_integer_ratio())) for part in (z.real, z.imag))
    if imag > error:
        return False
    low = max(real - error, Fraction(0))
    return low**2 <= square <= (real + error) ** 2


def _fail(verdict, flag, message):
    verdict.note(flag)
    verdict.message = message[:300]
