"""One word for one thing in the fields of results."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mdqr
from mdqr import series, tensorcore

OTHER_WORDS = {
    *("radii", "errors", "vector_bound"),  # error_bound
    *("counts", "reason", "stop", "s"),  # multiplicity, message, t_end, S
}


def results():
    for module in (mdqr.linalg, series, tensorcore):
        for name in module.__all__:
            kind = getattr(module, name)
            if inspect.isclass(kind) and not issubclass(kind, BaseException):
                yield kind


@pytest.mark.parametrize(
    "kind", list(results()), ids=lambda kind: f"{kind.__module__}.{kind.__name__}"
)
def test_fields_have_one_word(kind):
    fields = {name for name in dir(kind) if name[0] != "_"} | set(inspect.get_annotations(kind))
    assert not OTHER_WORDS & fields


def test_bounds_and_multiplicities():
    found = mdqr.linalg.roots([1, -2, 1])
    assert found._fields == ("roots", "error_bound", "multiplicity")
    assert found.multiplicity.tolist() == [2, 2]
    info = mdqr.linalg.eig(np.eye(2)).info
    assert info.multiplicity.tolist() == [2, 2]
    assert info.vector_error_bound.shape == info.error_bound.shape
    assert mdqr.linalg.eigh(np.eye(2)).info.vector_error_bound.shape == (2,)


def test_singular_values():
    for found in (mdqr.linalg.svd, lambda a: mdqr.linalg.lowrank(a, 2)):
        assert found(np.eye(3)).S.shape in ((3,), (2,))


def test_series():
    t = series.PowerSeries.identity(4, precision="dd", variable="s")
    assert (t.variable, t.coeffs.shape) == ("s", (5,))
    system = series.System.from_strings(["x^2 - 1 - 3*t"], ["x"], "t")
    found = series.newton_series(system, [1], degree=8)
    assert found.coeffs.shape == found.error_bound.shape == (1, 9)
    assert found.radius().uncertainty >= 0
    path = series.track(system, [1])
    assert path.message == "the path has its end"
    assert path.pieces[-1].t_end == 1.0
    assert found.pade(3, 3)[0].poles.error_bound.shape == (3,)


def test_error_bounds_of_series_are_absolute():
    system = series.System.from_strings(["x - 2^40*(1 + t)"], ["x"], "t")
    found = series.newton_series(system, [2.0**40], degree=2, precision="dd", verify=True)
    wanted = series.newton_series(system, [2.0**40], degree=2, precision="od")
    error = abs(found.coeffs - wanted.coeffs).to_numpy()
    assert (error <= found.error_bound).all()
