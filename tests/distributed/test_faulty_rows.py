"""Faults of rows are reported with their place, whatever rows come from."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import mdqr
from mdqr import distributed as md
from mdqr import linalg
from mdqr.distributed._rows import named

N, LENGTH, COUNT = 3, 5, 4
FILES = {"zarr": "zarr", "h5": "h5py", "parquet": "pyarrow"}
TEXTS = ("csv", "parquet texts", "dask frame", "dask texts", "list of texts")
IN_MEMORY = ("list", "iterator", "rows", "delayed")
SOURCES = (*IN_MEMORY, *FILES, "dask", *TEXTS)


def problem(precision="qd"):
    a = mdqr.random.normal((LENGTH * COUNT, N), precision=precision, rng=0)
    return a, mdqr.random.normal((LENGTH * COUNT,), precision=precision, rng=1)


def chunks_of(a, b):
    return [(a[i : i + LENGTH], b[i : i + LENGTH]) for i in range(0, LENGTH * COUNT, LENGTH)]


def texts_of(a, b):
    """Return a table of texts that have all digits."""
    return np.array(mdqr.column_stack([a, b]).to_strings())


def source_of(kind, chunks, tmp_path):
    """Return rows of a kind, the options of calls with them, and what their messages call rows."""
    if kind == "list":
        return chunks, {}
    if kind == "iterator":
        return iter(chunks), {"passes": 1}
    if kind == "rows":
        return md.Rows(chunks.__getitem__, len(chunks)), {}
    if kind in FILES:
        pytest.importorskip(FILES[kind])
        path = tmp_path / f"x.{kind}"
        if not path.exists():
            md.save_rows(chunks, path)
        return md.open_rows(path), {}
    dask = pytest.importorskip("dask")
    if kind == "delayed":
        return [dask.delayed(tuple)(list(chunk)) for chunk in chunks], {}
    da = pytest.importorskip("dask.array")
    da.register_chunk_type(mdqr.MDArray)
    meta = np.empty((0, 0))
    parts = [
        [da.from_delayed(dask.delayed(x), x.shape, meta=meta[: x.ndim * 0, ...]) for x in column]
        for column in zip(*chunks, strict=True)
    ]
    return tuple(da.concatenate(x) for x in parts), {}


def from_texts(kind, table, tmp_path):
    """Return rows of a kind from a table of texts, of which the last column is b."""
    options = {"precision": "qd"}
    cuts = range(0, len(table), LENGTH)
    names = [f"c{j}" for j in range(table.shape[1])]
    if kind == "csv":
        path = tmp_path / "x.csv"
        path.write_text("\n".join(map(",".join, table.tolist())))
        return md.open_rows(path, precision="qd", b=-1, rows=LENGTH), options
    if kind == "list of texts":
        return [(table[i : i + LENGTH, :-1], table[i : i + LENGTH, -1]) for i in cuts], options
    if kind == "parquet texts":
        arrow, parquet = (pytest.importorskip(x) for x in ("pyarrow", "pyarrow.parquet"))
        columns = dict(zip(names, table.T.tolist(), strict=True))
        parquet.write_table(arrow.table(columns), tmp_path / "x.parquet", row_group_size=LENGTH)
        return md.open_rows(tmp_path / "x.parquet", precision="qd", b=-1), options
    if kind == "dask texts":
        da = pytest.importorskip("dask.array")
        x = da.from_array(table, chunks=(LENGTH, -1))
        return (x[:, :-1].rechunk({1: -1}), x[:, -1]), options
    pandas, frames = (pytest.importorskip(x) for x in ("pandas", "dask.dataframe"))
    frame = frames.from_pandas(pandas.DataFrame(table, columns=names), npartitions=COUNT)
    return (frame[names[:-1]], frame[names[-1]]), options


def solved(rows, options):
    return md.lstsq(*rows, **options) if isinstance(rows, tuple) else md.lstsq(rows, **options)


@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
@pytest.mark.parametrize("kind", SOURCES)
def test_sources_have_the_rows_of_one_matrix(kind, tmp_path):
    a, b = problem()
    make = from_texts if kind in TEXTS else source_of
    fit = solved(*make(kind, texts_of(a, b) if kind in TEXTS else chunks_of(a, b), tmp_path))
    one = linalg.lstsq(a, b)
    assert fit.info.rows == (LENGTH,) * COUNT
    assert (abs(fit.x - one.x).to_numpy() <= fit.info.error_bound + one.info.error_bound).all()
    assert kind == "iterator" or mdqr.array_equal(fit.x, one.x)


@pytest.mark.parametrize("kind", SOURCES)
def test_not_a_number(kind, tmp_path):
    a, b = problem()
    a[12, 1] = np.nan
    text = "chunk 2: the entry in row 2, column 1 of a is NaN or infinite"
    if kind in FILES:
        with pytest.raises(np.linalg.LinAlgError, match=f"save_rows: {text}"):
            source_of(kind, chunks_of(a, b), tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [f"x.{kind}.part"]
        return
    make = from_texts if kind in TEXTS else source_of
    rows = make(kind, texts_of(a, b) if kind in TEXTS else chunks_of(a, b), tmp_path)
    with pytest.raises(np.linalg.LinAlgError, match=f"lstsq: {text}"):
        solved(*rows)


@pytest.mark.parametrize("kind", [*IN_MEMORY, *FILES])
def test_a_wrong_number_of_columns(kind, tmp_path):
    chunks = chunks_of(*problem())
    chunks[2] = chunks[2][0][:, :2], chunks[2][1]
    with pytest.raises(
        ValueError, match=r"chunk 2: shapes \(5, 2\), \(5,\); .*wanted are \(5, 3\)"
    ):
        solved(*source_of(kind, chunks, tmp_path))


@pytest.mark.filterwarnings("ignore::mdqr.PrecisionWarning")
@pytest.mark.parametrize("kind", [*IN_MEMORY, *FILES, "dask"])
@pytest.mark.parametrize(("first", "second"), [("d", "dd"), ("d", "od"), ("dd", "qd")])
def test_two_precisions(kind, first, second, tmp_path):
    """More limbs than those of the first chunk are never dropped; fewer are exact."""
    chunks = chunks_of(*problem(second))
    low = [tuple(x.astype(first) for x in chunk) for chunk in chunks[:2]]
    text = f"chunk 2 has precision {second}, and chunk 0 {first}: precision='{second}' takes both"
    with pytest.raises(ValueError, match=text):
        solved(*source_of(kind, [*low, *chunks[2:]], tmp_path))
    for path in tmp_path.iterdir():
        assert path.suffix == ".part"
    whole = [mdqr.concatenate([*(x[i].astype(second) for x in low), *(x[i] for x in chunks[2:])])
             for i in (0, 1)]  # fmt: skip
    one = linalg.lstsq(*whole)
    for parts, options in [([*low, *chunks[2:]], {"precision": second}), ([*chunks[2:], *low], {})]:
        if kind in FILES:
            path = tmp_path / f"{len(options)}.{kind}"
            md.save_rows(parts, path, **options)
            rows, more = md.open_rows(path), {}
            assert {rows[i][0].precision.name for i in range(COUNT)} == {second}
        else:
            rows, more = source_of(kind, parts, tmp_path)
        fit = solved(rows, more | ({} if kind in FILES else options))
        assert fit.x.precision.name == second
        size = fit.info.error_bound + one.info.error_bound
        assert (abs(fit.x - one.x).to_numpy() <= size).all()


@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, "d"], ids=str)
def test_floats_in_files(suffix, dtype, tmp_path):
    """As they are, and where another precision is asked for with zeros behind."""
    pytest.importorskip(FILES[suffix])
    a = np.arange(12.0).reshape(6, 2) / 7
    given = mdqr.array(a, precision="d") if dtype == "d" else a.astype(dtype)
    for name, precision in [("own", None), ("dd", "dd"), ("od", "od")]:
        path = tmp_path / f"{name}.{suffix}"
        md.save_rows([given[:2], given[2:2], given[2:]], path, precision=precision)
        rows = md.open_rows(path)
        found = mdqr.concatenate([rows[i] for i in range(3)])
        assert found.precision.name == (precision or "d")
        known = mdqr.array(given, precision=found.precision)
        assert mdqr.array_equal(found, known)
    twice = mdqr.array(a, precision="dd") / 3
    for parts, text in [
        ([given, twice], "chunk 1 has precision dd, and chunk 0 d"),
        ([twice, given], "chunk 0 has precision dd, of which d would lose digits: precision='dd'"),
    ]:
        with pytest.raises(ValueError, match=text):
            md.save_rows(parts, tmp_path / f"bad.{suffix}", precision="d")
    with pytest.raises(ValueError, match="chunk 0 brings weights, which a file does not hold"):
        md.save_rows([(given, given[:, 0], given[:, 0])], tmp_path / f"weights.{suffix}")


@pytest.mark.parametrize("kind", TEXTS)
def test_an_unreadable_decimal(kind, tmp_path):
    table = texts_of(*problem()).astype(object)
    table[13, 2] = "1..2"
    place = {
        "csv": r"x\.csv, line 14, column 3: cannot read '1\.\.2'",
        "parquet texts": r"x\.parquet, row 13, column 'c2': '1\.\.2' is no number",
    }.get(kind, r"at \[3, 2\]: cannot read '1\.\.2'")
    with pytest.raises(ValueError, match=f"lstsq: chunk 2: .*{place}"):
        solved(*from_texts(kind, table, tmp_path))


class OfTwoError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def raise_json():
    json.loads('{"a": 1,}')


def raise_unicode():
    b"\xff".decode()


def raise_missing():
    Path("/no/such/file").read_bytes()


def raise_key():
    raise KeyError("b")


def raise_own():
    raise OfTwoError("one", "two")


def raise_stop():
    next(iter(()))


RAISED = [
    (raise_json, ValueError, "JSONDecodeError: "),
    (raise_unicode, ValueError, "UnicodeDecodeError: .*0xff"),
    (raise_missing, FileNotFoundError, "No such file or directory: '/no/such/file'"),
    (raise_key, KeyError, "'b'"),
    (raise_own, RuntimeError, "OfTwoError: one and two"),
    (raise_stop, RuntimeError, "StopIteration"),
]


FAILS = [fail.__name__ for fail, *_ in RAISED]


class Raising:
    """Chunks of which the third one, from a reading on, cannot be made."""

    def __init__(self, fail, since=1):
        self.fail, self.since, self.calls = fail, since, 0

    def __call__(self, i):
        self.calls += i == 2
        if i == 2 and self.calls >= self.since:
            self.fail()
        return chunks_of(*problem())[i]


@pytest.mark.parametrize("kind", [*IN_MEMORY, "dask", "kept", "save", "qr", "gram", "second"])
@pytest.mark.parametrize(
    ("fail", "error", "text"), RAISED, ids=lambda x: getattr(x, "__name__", "")
)
def test_exceptions_of_sources_keep_their_kind_and_get_a_place(kind, fail, error, text, tmp_path):
    call, chunk, options = md.lstsq, Raising(fail, 2 if kind == "second" else 1), {}
    rows, more = md.Rows(chunk, COUNT), []
    if kind in ("delayed", "dask"):
        dask = pytest.importorskip("dask")
        rows = [dask.delayed(chunk)(i) for i in range(COUNT)]
        options = {"scheduler": "threads"}
        if kind == "dask":
            da = pytest.importorskip("dask.array")
            parts = [[dask.delayed(pair)[k] for pair in rows] for k in (0, 1)]
            shapes = (LENGTH, N), (LENGTH,)
            made = [
                da.concatenate([da.from_delayed(x, shape, dtype=float) for x in part])
                for part, shape in zip(parts, shapes, strict=True)
            ]
            rows, *more = made
    elif kind == "iterator":
        rows = map(chunk, range(COUNT))
        if fail is raise_stop:  # which ends an iterator
            return
    elif kind == "list":
        rows = chunks_of(*problem())
        rows[2] = Lazily(fail), rows[2][1]
    elif kind == "kept":
        options = {"checkpoint": tmp_path}
    elif kind == "save":
        pytest.importorskip("h5py")
        call, more = md.save_rows, [tmp_path / "x.h5"]
    elif kind in ("qr", "gram"):
        call = {"qr": lambda rows: md.qr(rows, "r"), "gram": md.gram}[kind]
        rows = md.Rows(lambda i: chunk(i)[0], COUNT)
    with pytest.raises(error, match=f"chunk 2: {text}") as found:
        call(rows, *more, **options)
    assert type(found.value) is error
    if error is FileNotFoundError:
        assert (found.value.errno, found.value.filename) == (2, "/no/such/file")


class Lazily:
    """A matrix that cannot be read."""

    def __init__(self, fail):
        self.fail = fail

    def __iter__(self):
        self.fail()

    def __array__(self, *args, **options):
        self.fail()


def test_named_exceptions_are_pickled():
    for fail, error, _ in RAISED:
        try:
            fail()
        except Exception as found:
            made = pickle.loads(pickle.dumps(named("lstsq", 7, found)))
            assert type(made) is error
            assert re.search("lstsq: chunk 7: ", str(made))


def test_lists_of_numbers_are_floats_and_texts_are_exact():
    a, b = np.random.default_rng(0).normal(size=(9, 2)), np.arange(9.0)
    fit = md.lstsq(a.tolist(), b.tolist(), passes=np.int64(2), fan_in=np.int64(2))
    assert fit.x.precision is mdqr.d
    assert mdqr.array_equal(fit.x, md.lstsq(a, b).x)
    texts = [[f"{i}.1", i] for i in range(1, 4)]
    exact = [mdqr.array(x, precision="qd") for x in (texts, ["1", 2, "3.3"])]
    assert mdqr.array_equal(md.lstsq(texts, ["1", 2, "3.3"], precision="qd").x, md.lstsq(*exact).x)
    with pytest.raises(ValueError, match=r"lstsq: .*inhomogeneous"):
        md.lstsq([[1.0], [1.0, 2.0]], [1.0, 2.0])


@pytest.mark.parametrize("method", ["householder", "products"])
def test_no_columns_and_no_right_hand_sides(method):
    a = mdqr.random.normal((9, 2), precision=mdqr.qd, rng=0)
    for parts in ([(a[:4], a[:4, :0]), (a[4:], a[4:, :0])], [(a[:, :0], a)]):
        fit = md.lstsq(parts, method=method)
        assert fit.x.shape == (parts[0][0].shape[1], parts[0][1].shape[1])
        assert fit.residuals.shape == (parts[0][1].shape[1],)
