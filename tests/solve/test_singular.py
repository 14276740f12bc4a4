"""Singular matrices are refused early, and no others: verdicts are those of a complete search."""

import numpy as np
import pytest

import mdqr
from mdqr.linalg import lstsq, solve
from mdqr.linalg._factor.condition import condition
from mdqr.linalg._solve import problem as problems
from mdqr.linalg._solve.problem import SMALL, Problem


def verdicts(call, a, b):
    """The limbs of the answer, or the message of the error."""
    try:
        found = call(a, b)
    except np.linalg.LinAlgError as error:
        return str(error)
    return getattr(found, "x", found).limbs.tobytes()


def matrices(precision, rng, shape=()):
    """Matrices of full-width limbs, near singular to any extent, and exactly singular ones."""
    n = int(rng.integers(3, 9))
    a = mdqr.random.normal((*shape, n, n), precision=precision, rng=int(rng.integers(2**31)))
    column = a[..., :1] * 3 - 2 * a[..., 1:2]
    # Of full rank by a column in so many places; a shift of 0 leaves a singular matrix.
    bits = rng.integers(10, precision.bits + 40, size=(*shape, 1, 1))
    shift = np.where(rng.uniform(size=bits.shape) < 0.4, 0.0, np.ldexp(1.0, -bits))
    a[..., -1:] = column + a[..., -1:] * shift
    if rng.uniform() < 0.3:
        a = mdqr.array(np.rint(9 * a.to_numpy()), precision=precision)
        a[..., -1:] = a[..., :1] + a[..., 1:2]
    return a


@pytest.mark.parametrize("precision", [mdqr.d, mdqr.dd, mdqr.qd])
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
def test_verdicts_do_not_depend_on_early_decisions(precision, shape, monkeypatch):
    rng = np.random.default_rng(7)
    early, late = [], []
    with monkeypatch.context() as patched:
        for found in (early, late):
            rng = np.random.default_rng(7)
            for call in (solve, lstsq) * 8:
                a = matrices(precision, rng, shape)
                b = mdqr.random.normal(
                    (*shape, a.shape[-1], 1), precision=precision, rng=int(rng.integers(2**31))
                )
                found.append(verdicts(call, a, b))
            patched.setattr(Problem, "decide_early", lambda self, condition: None)
    assert early == late
    assert any(isinstance(each, str) for each in early)
    assert any(isinstance(each, bytes) for each in early)


def test_no_further_round_follows_a_doubtful_estimate(monkeypatch):
    """Inverses in the next precision took six times as long as the verdict on the matrix."""
    doubtful, decide = [], Problem.decide_early

    def watched(problem, condition):
        if problem.lower is not None:
            doubtful.append(float(condition) * problem.lower.limit >= SMALL)
        decide(problem, condition)

    monkeypatch.setattr(Problem, "decide_early", watched)
    rng = np.random.default_rng(1)
    for n in (70, 80):
        a = rng.integers(-9, 10, (n, n)).astype(float)
        a[:, n // 2] = a[:, 0] + a[:, 1]
        with pytest.raises(np.linalg.LinAlgError, match=f"column {n // 2} depends"):
            solve(mdqr.array(a, precision=mdqr.qd), np.ones(n))
        assert doubtful[-1]
        assert sum(doubtful) == 1
        doubtful.clear()


@pytest.mark.parametrize("call", [solve, lstsq])
@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
def test_a_matrix_of_a_batch_is_decided_once(call, monkeypatch):
    """Doubtful matrices were factored early, and once more for what that had found."""
    n, batch = 12, 6
    a = mdqr.random.normal((batch, n, n), precision=mdqr.dd, rng=8)
    # Every second one is near singular: a column is within about 2^-97 of another.
    a[::2, :, -1:] = a[::2, :, :1] + a[::2, :, -1:] * 2.0**-97
    b = np.ones((n, 1))
    alone = [lstsq(each, b) for each in a]
    factored, asked, decide = [], [], Problem.decided

    def estimated(triangle):
        factored.append(triangle.block.shape[1])
        return condition(triangle)

    def watched(problem, doubtful):
        asked.append(np.count_nonzero(doubtful))
        return decide(problem, doubtful)

    monkeypatch.setattr(problems, "condition", estimated)
    monkeypatch.setattr(Problem, "decided", watched)
    found = call(a, b)
    assert sum(factored) == batch // 2
    assert sum(asked) > batch // 2
    if call is lstsq:
        assert found.rank.tolist() == [each.rank for each in alone]
        assert found.info.condition.tolist() == pytest.approx([x.info.condition for x in alone])
