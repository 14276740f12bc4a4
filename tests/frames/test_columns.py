"""Columns of `mdqr.pandas`: all digits in statistics, groups and files; no rounding in silence."""

from __future__ import annotations

import io
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from array_cases import exact, full_width, same_bits

import mdqr
from mdqr.pandas import MDDtype, MDExtensionArray


def column(a):
    return pd.Series(MDExtensionArray(a))


@pytest.fixture
def frame(multiple, rng):
    x = full_width(rng, multiple, 40)
    x[[3, 17]] = np.nan
    return pd.DataFrame({"group": rng.integers(0, 6, 40), "x": MDExtensionArray(x)})


def rationals(series):
    return [Fraction(v) for v in exact(mdqr.array(series.dropna()))]


def near(found, wanted, scale, multiple):
    error = abs(exact(found).item() - wanted)
    assert error <= 60 * Fraction(multiple.eps) * scale


def test_statistics_of_groups(frame, multiple):
    groups = frame.groupby("group")["x"]
    found = {name: getattr(groups, name)() for name in ("sum", "mean", "var", "min", "max")}
    assert {str(each.dtype) for each in found.values()} == {f"mdqr[{multiple.name}]"}
    for group, part in groups:
        values = rationals(part)
        count, scale = len(values), sum(map(abs, values))
        near(found["sum"][group], sum(values), scale, multiple)
        near(found["mean"][group], sum(values) / count, scale, multiple)
        assert exact(found["min"][group]).item() == min(values)
        assert exact(found["max"][group]).item() == max(values)
        if count > 1:
            mean = sum(values) / count
            squares = sum((v - mean) ** 2 for v in values)
            near(found["var"][group], squares / (count - 1), scale**2, multiple)
        assert same_bits(groups.transform("sum")[part.index[0]], found["sum"][group])


def test_statistics_of_a_column(frame, multiple):
    values, x = rationals(frame["x"]), frame["x"]
    scale = sum(map(abs, values))
    near(x.sum(), sum(values), scale, multiple)
    near(x.mean(), sum(values) / len(values), scale, multiple)
    near(x.cumsum().iloc[-1], sum(values), scale, multiple)
    middle = sorted(values)[18:20]
    near(x.median(), sum(middle) / 2, scale, multiple)
    near(x.quantile(0.5), sum(middle) / 2, scale, multiple)
    assert x.sum(min_count=39) is np.nan
    assert x.sum(skipna=False) is np.nan
    assert x.iloc[:0].sum() == 0
    assert x.iloc[:0].mean() is np.nan
    assert x.iloc[:1].std() is np.nan
    assert x.rank().max() == 38
    assert same_bits(mdqr.array(x.sort_values().dropna()), mdqr.sort(mdqr.array(x.dropna())))


def test_files_have_all_digits(frame, multiple):
    text = frame.to_csv(index=False)
    back = pd.read_csv(io.StringIO(text), dtype={"x": f"mdqr[{multiple.name}]"})
    missing = frame["x"].isna()
    assert back["x"].isna().equals(missing)
    assert (mdqr.array(back["x"][~missing]) == mdqr.array(frame["x"][~missing])).all()
    restored = pickle.loads(pickle.dumps(frame))
    assert same_bits(restored["x"].array.mdarray, frame["x"].array.mdarray)
    assert MDDtype(multiple) == pickle.loads(pickle.dumps(MDDtype(multiple)))


def test_arithmetic_keeps_digits(multiple, rng):
    a, b = full_width(rng, multiple, 5), full_width(rng, multiple, 5)
    x, y = column(a), column(b)
    third = mdqr.array(Fraction(1, 3), precision=multiple)
    for found, wanted in (
        (x + y, a + b),
        (x * 2, a * 2),
        (1 / x, 1 / a),
        (x * third, a * third),
        (third - x, third - a),
        (x - a, a - a),
        (np.sqrt(abs(x)), mdqr.sqrt(abs(a))),
        (np.add(x, y), a + b),
        (x + pd.Series(np.arange(5.0)), a + np.arange(5.0)),
        (x.diff().iloc[1:], a[1:] - a[:-1]),
        (x.clip(third, third), mdqr.full_like(a, third)),
    ):
        assert isinstance(found, pd.Series)
        assert same_bits(mdqr.array(found), wanted)
    assert (third < x).tolist() == (third < a).tolist()
    product = pd.DataFrame({"x": x, "y": y}) * third
    assert same_bits(mdqr.array(product["y"]), b * third)
    assert (x.astype("mdqr[hd]") + y).dtype == MDDtype("hd")
    assert pd.concat([x, column(b.astype("d"))]).dtype == MDDtype(multiple)
    assert x.astype(float).dtype == np.float64


def test_functions_of_mdqr_take_columns(frame, multiple):
    x = frame["x"].dropna().reset_index(drop=True)
    a = x.array.mdarray
    assert same_bits(mdqr.array(x), a)
    assert same_bits(mdqr.square(x), mdqr.square(a))
    assert same_bits(mdqr.array(frame[["x"]].dropna())[:, 0], a)
    fit = mdqr.linalg.lstsq(pd.DataFrame({"x": x}), x)
    assert fit.x.precision is multiple
    assert bool(mdqr.isnan(mdqr.array(frame["x"])).any())


COLUMNS = {
    "type": lambda a: column(a),
    "objects": lambda a: pd.Series(list(a)),
}
ROUNDING = {
    "corr": lambda s: s.corr(s * 2),
    "cov": lambda s: s.cov(s * 2),
    "autocorr": lambda s: s.autocorr(),
    "frame corr": lambda s: pd.DataFrame({"x": s, "y": s}).corr(),
    "frame cov": lambda s: pd.DataFrame({"x": s, "y": s}).cov(),
    "corrwith": lambda s: pd.DataFrame({"x": s, "y": s}).corrwith(s),
    "skew": lambda s: s.skew(),
    "kurt": lambda s: s.kurt(),
    "rolling": lambda s: s.rolling(2).mean(),
    "ewm": lambda s: s.ewm(1).mean(),
    "interpolate": lambda s: s.interpolate(),
    "cut": lambda s: pd.cut(s, 2),
    "groups skew": lambda s: s.groupby([0, 0, 1]).skew(),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("name", ROUNDING)
def test_what_pandas_would_round_is_refused(name, kind):
    x = COLUMNS[kind](mdqr.qd(["0.1", "0.2", "0.4"]))
    errors = (TypeError, ValueError, RuntimeError, pd.errors.DataError)
    with pytest.raises(errors):
        ROUNDING[name](x)


@pytest.mark.parametrize("name", ["expanding", "describe"])
def test_what_pandas_would_round_is_refused_of_a_type(name):
    x = column(mdqr.qd(["0.1", "0.2", "0.4"]))
    with pytest.raises((TypeError, pd.errors.DataError)):
        getattr(x, name)().mean()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MDExtensionArray([1.0]), TypeError, "real MDArray"),
        (lambda: MDExtensionArray(mdqr.qd([1j])), TypeError, "real MDArray"),
        (lambda: MDExtensionArray(mdqr.qd([[1]])), ValueError, "one axis"),
        (lambda: MDExtensionArray._from_sequence([1.0]), TypeError, "precision"),
        (lambda: MDDtype("quad"), ValueError, "precision"),
        (lambda: column(mdqr.qd([1])).to_numpy(float), TypeError, r"astype\(float\) rounds"),
        (lambda: column(mdqr.qd([1])) + "2", TypeError, "string"),
    ],
)
def test_wrong_columns(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_objects_are_not_rounded():
    x = mdqr.qd(["0.1", "0.2"])
    held = np.asarray(x, dtype=object)
    assert held.dtype == object
    assert same_bits(held[1], x[1])
    assert same_bits(mdqr.array(held), x)
    assert not pd.isna(mdqr.qd("0.1"))
    assert pd.isna(mdqr.qd(["0.1", "nan"])).tolist() == [False, True]
