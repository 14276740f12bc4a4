"""xarray, scikit-learn and statsmodels keep all digits, or refuse: none rounds in silence."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mdqr

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "howto" / "use-numpy.md"
VALUES = mdqr.random.normal((6, 4), precision="od", rng=1)
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0])


def called(module, attribute, *arguments):
    """Call a method of an array as from a module of another library."""
    names = {"__name__": module}
    exec(f"def to_numpy(x): return x.{attribute}\ndef other(x): return to_numpy(x)", names)
    return names["other" if arguments else "to_numpy"]


def test_indexes_of_xarray_are_not_rounded_in_silence():
    a = mdqr.array(["0.1"], precision="qd")
    assert called("xarray.core.variable", "to_numpy()")(a) == 0.1
    assert called("xarray.plot.utils", "to_numpy()", 1)(a) == 0.1
    with pytest.raises(TypeError, match="indexes are labels in float64"):
        called("xarray.core.indexes", "to_numpy()", 1)(a)
    assert called("xarray.core.indexes", "to_numpy()", 1)(a.astype("d")) == 0.1


def test_kinds_of_dtypes_are_known_to_numpy():
    real, plane = (mdqr.zeros(2, precision="qd", dtype=t).dtype for t in (float, complex))
    assert np.issubdtype(real, np.number)
    assert np.issubdtype(real, np.floating)
    assert not np.issubdtype(real, np.complexfloating)
    assert np.issubdtype(plane, np.complexfloating)
    assert not hasattr(real, "dtype")
    with pytest.raises(TypeError, match="Cannot interpret"):
        np.dtype(real)


@pytest.mark.parametrize("dtype", [np.float64, float, "float32", np.dtype("complex128")])
def test_dtypes_of_numpy_do_not_round(dtype):
    xp, a = mdqr.array_api, mdqr.array(["0.1"], precision="qd")
    for call in (xp.astype, lambda x, t: xp.asarray(x, dtype=t)):
        with pytest.raises(TypeError, match="is not rounded to float64 implicitly"):
            call(a, dtype)
        assert call(a.astype("d"), dtype).dtype.precision == mdqr.d


def test_functions_beyond_the_standard():
    xp, a = mdqr.array_api, mdqr.array([["0.1", "0.2"]], precision="qd")
    assert xp.einsum("ij,kj", a, a).precision == mdqr.qd
    assert xp.pad(a, 1).shape == (3, 4)
    assert not {"einsum", "pad"} & {*dir(xp)}


def of_xarray(xr):
    """Return the entries of the guide, by its names."""

    def array(values):
        return xr.DataArray(values, dims=("x", "y"), coords={"y": [1.0, 2.0, 4.0, 5.0]})

    weights, groups = (xr.DataArray(x, dims="y", name="g") for x in (WEIGHTS, [0, 0, 1, 1]))
    reductions = ("sum", "mean", "std", "var", "min", "max", "median", "prod", "cumsum")
    return {
        **{name: lambda v, name=name: getattr(array(v), name)("y") for name in reductions},
        "quantile": lambda v: array(v).quantile(0.3, "y"),
        "sel": lambda v: array(v).sel(y=[2.0, 4.0]) + array(v) * 2,
        "concat": lambda v: xr.concat([array(v), array(v)], "x"),
        "groupby": lambda v: array(v).groupby(groups).mean(),
        "coarsen": lambda v: array(v).coarsen(y=2).mean(),
        "diff": lambda v: array(v).diff("y"),
        "dot": lambda v: xr.dot(array(v), array(v), dim="y"),
        "weighted": lambda v: array(v).weighted(weights).mean("y"),
        "integrate": lambda v: array(v).integrate("y"),
        "differentiate": lambda v: array(v).differentiate("y"),
        "polyfit": lambda v: array(v).T.polyfit("y", 1).polyfit_coefficients,
        "fillna": lambda v: array(v).where(array(v) > 0, v[0, 0] * np.nan).fillna(1),
        "shift": lambda v: array(v).shift(y=1, fill_value=0),
        "pad": lambda v: array(v).pad(y=1, constant_values=0),
        "Dataset.mean": lambda v: xr.Dataset({"a": array(v)}).mean("y").a,
    }


def of_sklearn():
    """Return the calls that keep all digits, and those with floats of Python."""
    from sklearn import decomposition, discriminant_analysis, linear_model, metrics, preprocessing
    from sklearn.metrics import pairwise

    y, classes = VALUES[:, 0], np.arange(6) % 2
    scalers = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "Normalizer", "PolynomialFeatures")
    kernels = ("linear", "polynomial", "rbf", "laplacian", "sigmoid")
    kept = {
        **{
            name: lambda v, name=name: getattr(preprocessing, name)().fit_transform(v)
            for name in scalers
        },
        **{
            f"{name}_kernel": lambda v, name=name: getattr(pairwise, f"{name}_kernel")(v)
            for name in kernels
        },
        "Ridge": lambda v: linear_model.Ridge(solver="svd").fit(v, v[:, 0]).coef_,
        "PCA": lambda v: decomposition.PCA(svd_solver="full").fit(v).explained_variance_,
        "LinearDiscriminantAnalysis": lambda v: (
            discriminant_analysis.LinearDiscriminantAnalysis().fit(v, classes).coef_
        ),
        "euclidean_distances": pairwise.euclidean_distances,
        "manhattan_distances": pairwise.manhattan_distances,
        "cosine_similarity": pairwise.cosine_similarity,
    }
    scores = ("r2_score", "mean_squared_error", "mean_absolute_error", "max_error")
    lost = {name: lambda name=name: getattr(metrics, name)(y, y * 2) for name in scores}
    return kept, lost


def refused_by_sklearn():
    from sklearn import cluster, decomposition, impute, kernel_ridge, linear_model, preprocessing

    y = VALUES[:, 0]
    return {
        "LinearRegression": lambda: linear_model.LinearRegression().fit(VALUES, y),
        "Lasso": lambda: linear_model.Lasso().fit(VALUES, y),
        "KernelRidge": lambda: kernel_ridge.KernelRidge().fit(VALUES, y),
        "KMeans": lambda: cluster.KMeans(2).fit(VALUES),
        "NMF": lambda: decomposition.NMF(2).fit(abs(VALUES)),
        "RobustScaler": lambda: preprocessing.RobustScaler().fit_transform(VALUES),
        "QuantileTransformer": lambda: preprocessing.QuantileTransformer().fit_transform(VALUES),
        "SimpleImputer": lambda: impute.SimpleImputer().fit_transform(VALUES),
        "scale": lambda: preprocessing.scale(VALUES),
    }


def refused_by_statsmodels():
    import statsmodels.api as sm
    from statsmodels.stats.weightstats import DescrStatsW

    y = VALUES[:, 0]
    models = ("OLS", "WLS", "GLS", "GLM", "RLM", "Logit", "QuantReg")
    return {
        **{name: lambda name=name: getattr(sm, name)(y, VALUES[:, 1:]) for name in models},
        "add_constant": lambda: sm.add_constant(VALUES),
        "ARIMA": lambda: sm.tsa.ARIMA(y),
        "acf": lambda: sm.tsa.acf(y),
        "lowess": lambda: sm.nonparametric.lowess(y, y),
        "DescrStatsW": lambda: DescrStatsW(y).mean,
    }


def difference(call):
    """Return the distance of results in qd and od, in units of qd."""
    found, wanted = (call(VALUES.astype(p)) for p in ("qd", "od"))
    found, wanted = (getattr(x, "data", x) for x in (found, wanted))
    assert found.precision == mdqr.qd
    return float(abs(found - wanted).max() / abs(wanted).max()) / mdqr.qd.eps


def listed(names):
    text = set(re.findall(r"`([\w.]+)`", GUIDE.read_text()))
    assert set(names) <= text


def test_xarray_keeps_all_digits():
    xr = pytest.importorskip("xarray")
    calls = of_xarray(xr)
    listed(calls)
    for name, call in calls.items():
        assert difference(call) <= 64, name
    a = xr.DataArray(VALUES, dims=("x", "y"))
    for refused in (
        lambda: a.where(a > 0),
        lambda: a.values,
        a.to_dict,
        a.to_dataframe,
        lambda: xr.DataArray(VALUES[0], coords={"y": VALUES[0]}, dims="y"),
    ):
        with pytest.raises((TypeError, ValueError)):
            refused()


def test_scikit_learn_keeps_all_digits_or_refuses():
    """In a process of its own: SciPy looks at its environment when it is imported."""
    pytest.importorskip("sklearn")
    found = subprocess.run(
        [sys.executable, "-c", "import test_other_libraries as t; t.check_scikit_learn()"],
        cwd=ROOT,
        env={
            **os.environ,
            "SCIPY_ARRAY_API": "1",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(ROOT), *sys.path]),
        },
        capture_output=True,
        text=True,
    )
    assert not found.returncode, found.stderr


def check_scikit_learn():
    """Compare the table of the guide with what scikit-learn does."""
    import sklearn

    kept, lost = of_sklearn()
    refused = refused_by_sklearn()
    listed([*kept, *lost, *refused])
    with sklearn.config_context(array_api_dispatch=True):
        for name, call in kept.items():
            assert difference(call) <= 2000, name
        for call in lost.values():
            assert type(call()) is float
        for call in refused.values():
            with pytest.raises((TypeError, AttributeError)):
                call()


def test_statsmodels_refuses():
    pytest.importorskip("statsmodels")
    calls = refused_by_statsmodels()
    listed(calls)
    for call in calls.values():
        with pytest.raises(TypeError, match="is not rounded to float64 implicitly"):
            call()
