"""Damaged files, pickles, tables and texts: an array, or one of the documented errors, and soon."""

from __future__ import annotations

import contextlib
import io
import pickle
import random
import re
import signal
import zipfile
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import mdqr
from mdqr import _pickles
from mdqr._cli import main
from mdqr._limbs import planes
from mdqr._precision import PRECISIONS

LONGLEY = Path(__file__).resolve().parents[2] / "examples" / "longley.csv"
SECONDS = 5.0  # of the processor for one input of a few kB; what hangs takes minutes
LONGEST = 2000  # characters of a message

DECIMALS = [
    "0.1",
    "-2.5e-3",
    "1e400",
    "-1e-400",
    "nan",
    "-inf",
    "1_0.5",
    "٣",
    "12345678901234567890",
]
SPECIAL = ["0x1p-5", "-0x1.8p3+0x1p-60", "(0x1p0)+(0x1p1)j", "1-2j", "j", "", " 7 ", "0x1p-99999"]
PIECES = [
    *DECIMALS,
    *SPECIAL,
    "e",
    "+",
    "-",
    "_",
    ".",
    "(",
    ")",
    "x",
    "p",
    "\x00",
    "\u2003",
    "9" * 50,
]
NUMBERS = [0, 1, 2, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1]


class HangError(BaseException):
    """More time than any input may take; no handler of errors takes it."""


def stop(*_):
    raise HangError


# -- damage ----------------------------------------------------------------------------------


def damaged(content, rng, pieces, most=4):
    """Return bytes or text with one to `most` places changed."""
    for _ in range(rng.randint(1, most)):
        a, b = sorted(rng.randint(0, len(content)) for _ in range(2))
        b = min(b, a + rng.choice([1, 1, 2, 8, 64, 10**9]))
        part, piece = content[a:b], rng.choice(pieces)
        content = rng.choice(
            [
                content[:a] + content[b:],
                content[:a] + piece + content[b:],
                content[:a] + piece + content[a:],
                content[:a] + piece + content[a + len(piece) :],
                content[:a] + piece + content[a + len(piece) :],
                content[:b] + part * rng.choice([1, 2, 50]) + content[b:],
                content[:a],
                content[:a] + part[::-1] + content[b:],
            ]
        )
    return content


def byte_pieces(rng):
    """Return bytes and little-endian integers to put into a file."""
    numbers = [rng.choice(NUMBERS).to_bytes(rng.choice([4, 8]), "little") for _ in range(4)]
    return [*numbers, bytes([rng.randrange(256)]), b"\x00", b"PK\x01\x02", b"((((", b"9" * 20]


def some_array(rng):
    """Return a small array of any precision and field."""
    shape = tuple(rng.randint(0, 3) for _ in range(rng.randint(0, 3)))
    a = mdqr.random.normal(
        shape,
        precision=rng.choice(PRECISIONS),
        rng=rng.randrange(2**32),
        dtype=rng.choice([float, complex]),
    )
    return a.T if rng.random() < 0.3 else a


def check_usable(a):
    """Raise unless an array keeps the rules of storage and can be worked with."""
    block = a.limbs
    assert type(block) is np.ndarray
    assert block.dtype == np.float64
    assert block.shape[: planes.lead(a.is_complex)][-1] == a.precision.limbs
    for part in block if a.is_complex else [block]:
        assert planes.is_normalised(part).all()
    assert (a + a).shape == a.shape
    assert repr(a)


# -- the kinds of input: each returns what came of one of them -------------------------------


def from_archive(rng):
    """Load a file whose bytes, or those of a member, are damaged."""
    file = io.BytesIO()
    mdqr.save(file, some_array(rng))
    content = file.getvalue()
    if rng.random() < 0.6:  # with the right checksums, so that the damage is seen further on
        with zipfile.ZipFile(file) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        victim = rng.choice([*members, "limbs.npy"])
        text = members[victim]
        end = text.find(b"\n") + 1 if rng.random() < 0.7 else len(text)
        members[victim] = damaged(text[:end], rng, byte_pieces(rng)) + text[end:]
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name, member in members.items():
                archive.writestr(name, member)
        content = file.getvalue()
    else:
        content = damaged(content, rng, byte_pieces(rng))
    with refusals(ValueError, OSError) as refused:
        check_usable(mdqr.load(io.BytesIO(content)))
    return refused


class Dtype:
    """Stands for `numpy.dtype`, whose state could not be damaged without harm to NumPy."""

    def __init__(self, code, *_):
        self.code, self.order = code, "="

    def __setstate__(self, state):
        self.order = state[1]


class Array:
    """Stands for an array of NumPy between its two steps."""

    def __init__(self, *_):
        self.value = np.zeros(0)

    def __setstate__(self, state):
        _, shape, dtype, is_fortran, content = state
        self.fill(content, dtype, shape, "F" if is_fortran else "C")

    def fill(self, content, dtype, shape, order):
        flat = np.frombuffer(content, np.dtype(dtype.order + dtype.code))
        self.value = flat.reshape(shape, order=order)
        return self


class Unpickler(pickle._Unpickler):
    """Reads what pickles of arrays name; in Python, since the one in C fills gigantic memos."""

    dispatch: ClassVar = dict(pickle._Unpickler.dispatch)

    def load_bytearray(self):
        # Python's pickle allocates what is claimed before it reads
        self.append(bytearray(self.read(int.from_bytes(self.read(8), "little"))))

    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray

    def find_class(self, module, name):
        known = {
            "restore": self.restore,
            "dtype": Dtype,
            "ndarray": Array,
            "_reconstruct": Array,
            "_frombuffer": Array().fill,
        }
        if name not in known or not module.startswith(("numpy", "mdqr")):
            raise pickle.UnpicklingError(f"{module}.{name}")
        return known[name]

    def restore(self, kind, state):
        if type(state) is dict:
            state = {k: v.value if isinstance(v, Array) else v for k, v in state.items()}
        with refusals(ValueError) as refused:
            check_usable(_pickles.restore(kind, state))
        self.outcome = refused


def from_pickle(rng):
    """Read a pickle whose bytes are damaged, as far as the pickle module comes."""
    # protocol 2 names codecs besides
    content = pickle.dumps(some_array(rng), rng.randint(3, pickle.HIGHEST_PROTOCOL))
    unpickler = Unpickler(io.BytesIO(damaged(content, rng, byte_pieces(rng), most=1)))
    unpickler.outcome = ["no array"]
    try:
        unpickler.load()
    except AssertionError:
        raise
    except Exception:  # of the pickle module, which names no full list
        return unpickler.outcome
    return unpickler.outcome


def some_table(rng):
    """Return text of a few rows and columns, damaged."""
    if rng.random() < 0.3:
        text = LONGLEY.read_text(encoding="utf-8")
    else:
        width = rng.randint(1, 4)
        rows = [[rng.choice([f"x{i}", f'"a,{i}"', str(i), "y"]) for i in range(width)]]
        pool = [*DECIMALS[:2], "3", "7.25", "-1e3", '"5"', *(PIECES if rng.random() < 0.3 else [])]
        rows += [[rng.choice(pool) for _ in range(width)] for _ in range(rng.randint(0, 9))]
        text = rng.choice(["\n", "\r\n", "\n\n"]).join(",".join(row) for row in rows)
    if rng.random() < 0.3:
        return text
    joined = "+".join(["0x1p-5"] * rng.choice([2, 20, 9000]))
    return damaged(text, rng, [*PIECES, ",", ",,", '"', "\n", "\r", ";", "\ufeff", joined])


def from_table(rng):
    """Read a damaged table by `mdqr.loadtxt`."""
    options = {
        "precision": rng.choice(PRECISIONS),
        "delimiter": rng.choice([",", ",", ",", ";", " ", "\t", "x", "é"]),
        "header": rng.random() < 0.5,
        "usecols": rng.choice([None, None, None, 0, -1, [0, 1], "y", ["x0", 5]]),
        "dtype": rng.choice([None, None, complex, float]),
    }
    with refusals(ValueError, TypeError) as refused:
        check_usable(mdqr.loadtxt(io.StringIO(some_table(rng), newline=""), **options))
    if refused[0] == "TypeError":
        assert options["dtype"] is float
    return refused


def from_command(rng, path):
    """Fit a damaged table by the command line."""
    content = some_table(rng).encode("utf-8", "surrogatepass")
    path.write_bytes(damaged(content, rng, byte_pieces(rng)) if rng.random() < 0.1 else content)
    options = rng.choice(
        [
            [],
            [],
            ["--no-header"],
            ["--header"],
            ["--poly", "2"],
            ["--no-intercept"],
            ["--target", "x0"],
            ["--features", "x0,x1"],
            ["--no-header", "--target", "c0", "--weights", "c1"],
        ]
    )
    precision = rng.choice(PRECISIONS).name
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.main(["lstsq", str(path), "--precision", precision, *options])
    assert code in (0, 1, 2)
    assert bool(out.getvalue()) == (code == 0)
    lines = err.getvalue().splitlines()
    assert all(re.match("mdqr: (warning: )?.", line) and len(line) < LONGEST for line in lines)
    assert code == 0 or len(lines) == 1
    assert all(c.isprintable() or c == "\n" for c in out.getvalue() + err.getvalue())
    return [f"exit {code}"]


def from_text(rng):
    """Read a damaged text of a number, as float() and complex() do."""
    text = damaged(rng.choice(PIECES), rng, PIECES)
    limbs = None
    with refusals(ValueError) as refused:
        a = mdqr.array(text, precision=rng.choice(PRECISIONS))
        check_usable(a)
        limbs = mdqr.d(text).to_numpy()[()]
    for plain in (float, complex):
        with contextlib.suppress(ValueError):
            wanted = plain(text)
            # repr tells NaN and the sign of zero; what is not complex here is real
            assert repr(complex(limbs)) == repr(complex(wanted))
    return refused


@contextlib.contextmanager
def refusals(*kinds):
    """Yield a list that becomes ["array"], or the name of a documented error that was raised."""
    refused = ["array"]
    try:
        yield refused
    except kinds as error:
        if not 0 < len(str(error)) < LONGEST:
            raise AssertionError(f"a message of {len(str(error))} characters") from error
        refused[0] = next(kind.__name__ for kind in kinds if isinstance(error, kind))


KINDS = {
    "archives": from_archive,
    "pickles": from_pickle,
    "tables": from_table,
    "texts": from_text,
}


def outcomes(kind, seeds, tmp_path):
    """Return how often what came of the damaged inputs with these seeds."""
    counts = Counter()
    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        for seed in seeds:
            rng = random.Random(f"{kind} {seed}")
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                result = (
                    from_command(rng, tmp_path / "t.csv")
                    if kind == "commands"
                    else KINDS[kind](rng)
                )
            except BaseException as error:
                raise AssertionError(f"{kind}, seed {seed}: {error!r}") from error
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            counts[result[0]] += 1
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return counts


@pytest.mark.parametrize("kind", [*KINDS, "commands"])
def test_damaged_input_is_read_or_refused(kind, tmp_path):
    counts = outcomes(kind, range(100), tmp_path)
    # neither always read nor always refused: the damage is of the right size
    assert len(counts) > 1
    assert counts["array"] + counts["exit 0"] > 0


@pytest.mark.long
@pytest.mark.parametrize("kind", [*KINDS, "commands"])
def test_much_damaged_input_is_read_or_refused(kind, tmp_path):
    counts = outcomes(kind, range(100, 5100), tmp_path)
    print(kind, dict(counts))
    assert counts.total() == 5000


def test_a_member_without_a_name_is_refused():
    file = io.BytesIO()
    mdqr.save(file, mdqr.qd([1, 2]))
    data = file.getvalue().replace(b"limbs.npy", b"\0imbs.npy")
    with pytest.raises(ValueError, match=r"mdqr\.save"):
        mdqr.load(io.BytesIO(data))


def test_saving_without_memory_says_so():
    """zipfile closes the archive and raises that it is closed."""

    class Full(io.BytesIO):
        def write(self, data):
            if self.tell() + len(data) > 1000:
                self.close()
                raise MemoryError
            return super().write(data)

    with pytest.raises(MemoryError, match=r"mdqr\.save"):
        mdqr.save(Full(), mdqr.ones(1000, precision="dd"))
