"""Files of limbs: every bit comes back, and what is wrong with a file is said."""

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest
from array_cases import few_examples, same_bits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mdqr
from mdqr._precision import PRECISIONS
from mdqr.testing import arrays

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


@few_examples
@given(data=st.data())
def test_round_trip(data, precision, dtype):
    a = data.draw(arrays(precision, data.draw(SHAPES), dtype=dtype))
    for view in (a, a.T):
        file = io.BytesIO()
        mdqr.save(file, view)
        file.seek(0)
        b = mdqr.load(file, device="cpu")
        assert same_bits(b, view)
        assert b.limbs.flags.writeable
        b[...] = 0


def test_names_are_taken_as_they_are(tmp_path, precision):
    a = mdqr.ones(3, precision=precision)
    for name in (tmp_path / "a", str(tmp_path / "b.npz")):
        mdqr.save(name, a)
        assert same_bits(mdqr.load(name), a)
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b.npz"}
    with np.load(tmp_path / "a", allow_pickle=False) as plain:
        np.testing.assert_array_equal(plain["limbs"], a.limbs)


@few_examples
@given(data=st.data())
def test_several_arrays(data):
    def draw():
        precision = data.draw(st.sampled_from(PRECISIONS))
        dtype = data.draw(st.sampled_from([float, complex]))
        return data.draw(arrays(precision, data.draw(SHAPES), dtype=dtype))

    names = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1)
    named = {name: draw() for name in data.draw(st.lists(names, max_size=3, unique=True))}
    unnamed = [draw() for _ in range(data.draw(st.integers(not named, 2)))]
    file = io.BytesIO()
    mdqr.savez(file, *unnamed, **named)
    file.seek(0)
    found = mdqr.loadz(file, device="cpu")
    wanted = {f"arr_{i}": a for i, a in enumerate(unnamed)} | named
    assert list(found) == list(wanted)
    assert all(same_bits(found[name], a) for name, a in wanted.items())


def test_names_of_several_arrays(tmp_path):
    one = mdqr.ones(2, precision=mdqr.dd)
    path = tmp_path / "a"
    for arguments, named, message in (
        ((one,), {"arr_0": one}, "'arr_0' is that of an array without a name"),
        ((), {}, "one array or more"),
        ((), {"a/b": one}, "'a/b' is no name of an array"),
        ((), {"": one}, "'' is no name of an array"),
    ):
        with pytest.raises(ValueError, match=message):
            mdqr.savez(path, *arguments, **named)
    with pytest.raises(TypeError, match=r"mdqr\.savez writes an MDArray; got list"):
        mdqr.savez(path, one, x=[1.0])
    assert not path.exists()
    mdqr.savez(path, file=one)
    assert list(mdqr.loadz(path)) == ["file"]


def test_members_of_several_arrays_are_checked(tmp_path):
    path = tmp_path / "a"
    mdqr.savez(path, x=mdqr.ones(200, precision=mdqr.dd), y=mdqr.ones(1, precision=mdqr.d))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        assert set(members) == {
            f"{a}/{name}.npy" for a in "xy" for name in ("limbs", "precision", "complex", "format")
        }

    def rewritten(changed):
        with zipfile.ZipFile(path, "w") as archive:
            for name, value in changed.items():
                archive.writestr(name, value)
        return path

    few = {name: value for name, value in members.items() if name != "y/complex.npy"}
    for changed in (
        few,
        {**members, "z/limbs.npy": b""},
        {f"a/{n}": v for n, v in members.items()},
    ):
        with pytest.raises(ValueError, match="members are not those of arrays"):
            mdqr.loadz(rewritten(changed))
    with pytest.raises(ValueError, match="does not begin with the header"):
        mdqr.loadz(rewritten({**members, "y/limbs.npy": b"no array"}))
    # a directory whose entries are one member: each fits into the file, and all do not
    rewritten(members)
    with zipfile.ZipFile(path, "a") as archive:
        (large,) = [info for info in archive.infolist() if info.filename == "x/limbs.npy"]
        for info in archive.infolist():
            info.header_offset, info.file_size = large.header_offset, large.file_size
            info.compress_size = large.compress_size
        archive.comment = b"written again"
    with pytest.raises(ValueError, match=r"the members claim \d+ bytes; the file has only \d+"):
        mdqr.loadz(path)


def test_only_arrays_are_saved(tmp_path):
    with pytest.raises(TypeError, match=r"writes an MDArray; got ndarray: use numpy\.save"):
        mdqr.save(tmp_path / "a", np.ones(2))
    assert not list(tmp_path.iterdir())


def archive(compression=zipfile.ZIP_STORED, **members):
    """Return a file with these members instead of, or beside, the usual ones."""
    usual = {
        "limbs": np.zeros((2, 3)),
        "precision": np.array("dd"),
        "complex": np.array(False),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as target:
        for name, value in {**usual, **members}.items():
            if value is not None:
                target.writestr(f"{name}.npy", value if isinstance(value, bytes) else npy(value))
    file.seek(0)
    return file


def npy(value):
    """Return the bytes of a .npy file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, value, allow_pickle=True)
    return stream.getvalue()


HUGE = npy(np.zeros((2, 3))).replace(b"(2, 3), }           ", b"(2, 999999999999), }")
REST = npy(np.zeros((2, 3)))[9:]
UNNORMALISED = np.array([[1.0, 1, 1], [1, 1, 1]])
WRONG = {
    "no member precision": {"precision": None},
    "no member limbs": {"limbs": None},
    r"limbs\.npy claims 15999999999984 bytes": {"limbs": HUGE},
    "limbs.npy claims": {"limbs": npy(np.zeros((2, 3)))[:-8]},
    "claims 8 bytes": {"precision": np.array({"pickle": "me"}, dtype=object)},
    "limbs.npy does not begin with the header": {"limbs": b"\x93NUMPY\x09\x00"},
    "not begin with the header of a NumPy array": {"limbs": b"not an array"},
    "header of another length than it claims": {"limbs": npy(np.zeros((2, 3)))[:8] + b"w" + REST},
    "precision must be one of .*'qd'.*; it is 'xd'": {"precision": np.array("xd")},
    r"it is 'x{96}\.\.\.$": {"precision": np.array("x" * 900)},
    "unknown dtype <f7": {"limbs": npy(np.zeros((2, 3))).replace(b"<f8", b"<f7")},
    "one string and the field one boolean": {"precision": np.array(["dd"])},
    "the field one boolean": {"complex": np.array(0)},
    r"real limbs of precision qd are float64 of shape \(4, '...'\)": {"precision": np.array("qd")},
    r"complex limbs of precision dd are float64 of shape \(2, 2": {"complex": np.array(True)},
    "there are float32 of shape": {"limbs": np.zeros((2, 3), dtype=np.float32)},
    "are not normalised": {"limbs": UNNORMALISED},
    "not normalised": {"limbs": np.array([[0.0, np.inf, 1], [0, 1, 0]])},
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_files(message):
    with pytest.raises(ValueError, match=message):
        mdqr.load(archive(**WRONG[message]))


def test_files_of_another_kind(tmp_path):
    for content in (b"", b"PK but no archive", pickle.dumps([1, 2])):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(ValueError, match=r"is not a file that mdqr\.save wrote"):
            mdqr.load(tmp_path / "x")
    with pytest.raises(ValueError, match=r"member limbs\.npy is compressed"):
        mdqr.load(archive(zipfile.ZIP_DEFLATED))
    with pytest.raises(FileNotFoundError):
        mdqr.load(tmp_path / "missing")


def test_a_damaged_file_is_noticed():
    file = io.BytesIO()
    mdqr.save(file, mdqr.random.normal(50, precision=mdqr.qd, rng=1))
    content = bytearray(file.getvalue())
    content[len(content) // 3] ^= 1
    with pytest.raises(ValueError, match=r"not a file that mdqr\.save wrote"):
        mdqr.load(io.BytesIO(bytes(content)))


DEEP = b"(" * 700 + b")" * 700
HEADERS = {
    "an open string": b"{'descr': '<f8",
    "an open bracket": b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3",
    "deep tuples": b"{'descr': '<f8', 'fortran_order': False, 'shape': " + DEEP + b", }\n",
    "deep signs": b"-" * 9000 + b"1\n",
    "a structure": b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 3), }\n",
    "a call": b"{'descr': exit(), 'fortran_order': False, 'shape': (2, 3), }\n",
    "a long integer": b"{'descr': '<f8', 'fortran_order': False, 'shape': ("
    + b"9" * 5000
    + b",), }\n",
    "negative axes": b"{'descr': '<f8', 'fortran_order': False, 'shape': (-2, -3), }\n",
    "no text": b"\xff\x00" * 500,
    "Python 2": b"{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L), }\n",
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("version", [b"\x01\x00", b"\x02\x00", b"\x03\x00"])
def test_headers_that_are_no_headers(header, version):
    """NumPy's reader raised TokenError, RecursionError, MemoryError(''), or pages of text."""
    text = HEADERS[header]
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    content = b"\x93NUMPY" + version + size + text + bytes(48)
    with pytest.raises(ValueError, match=r"limbs\.npy does not begin with the header") as caught:
        mdqr.load(archive(limbs=content))
    assert len(str(caught.value)) < 200


# What a directory entry of a zip file says: (place in the entry, bytes, message)
ENTRIES = {
    "a later version of zip": (6, struct.pack("<H", 99), "zip file version 9.9"),
    "an encrypted member": (8, struct.pack("<H", 1), "is encrypted"),
    "another compression": (10, struct.pack("<H", 99), "is compressed"),
    "a name that is no text": (8, struct.pack("<H", 0x800), "is not a file that"),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_directories_of_other_zip_files(entry):
    """zipfile raises RuntimeError, a kind of it, and UnicodeDecodeError for them."""
    place, value, message = ENTRIES[entry]
    data = bytearray(archive().getvalue())
    at = data.index(b"PK\x01\x02")
    data[at + place : at + place + len(value)] = value
    if "name" in entry:
        data[at + 46 : at + 48] = b"\xff\xfe"
    with pytest.raises(ValueError, match=message) as caught:
        mdqr.load(io.BytesIO(bytes(data)))
    assert len(str(caught.value)) < 200


def test_long_names_of_a_damaged_file_are_cut():
    data = archive().getvalue()
    name, long = b"limbs.npy", b"l" * 30_000
    at = data.rindex(name)
    entry = bytearray(data[: at - 18] + struct.pack("<H", len(long)) + data[at - 16 : at])
    with pytest.raises(ValueError, match=r"not a file that mdqr\.save wrote|no member") as caught:
        mdqr.load(io.BytesIO(bytes(entry) + long + data[at + len(name) :]))
    assert len(str(caught.value)) < 200


def pickled(**changes):
    """Return the arguments of a pickle of two complex dd numbers, or others."""
    usual = {"limbs": np.zeros((2, 2, 3)), "name": "dd", "is_complex": True, "device": "cpu"}
    return tuple({**usual, **changes}.values())


DAMAGED = {
    "the precision must be one of 'd', 'dd'.*; it is 'td'": {"name": "td"},
    r"it is 'x{96}\.\.\.$": {"name": "x" * 900},
    "the precision is a string": {"name": mdqr.dd},
    "the field a boolean": {"is_complex": 1},
    r"complex limbs of precision qd are float64 of shape \(2, 4, '\.\.\.'\)": {"name": "qd"},
    r"there are float64 of shape \(1, 100000\)": {"limbs": np.zeros((1, 100_000))},
    r"there are float64 of shape \(\)": {"limbs": np.zeros(())},
    "there are float32": {"limbs": np.zeros((2, 2, 3), dtype=np.float32)},
    "there are >f8": {"limbs": np.zeros((2, 2, 3), dtype=">f8")},
    "there are object": {"limbs": np.zeros((2, 2, 3), dtype=object)},
    "the limbs are a NumPy array; it has list": {"limbs": [[[1.0]]]},
    "the limbs are not normalised": {"limbs": np.ones((2, 2, 3))},
    "limbs are not normalised": {"limbs": np.full((2, 2, 3), np.nan)},
    "the device is one of .*'cuda'.*; it has 'tpu'": {"device": "tpu"},
    "it has 'cuda:0'": {"device": "cuda:0"},
    "it has None": {"device": None},
    r"it has \[\]": {"device": []},
    r"it has 'c{96}\.\.\.$": {"device": "c" * 999},
    "precision is a string": {"name": b"dd"},
    "field a boolean": {"is_complex": np.True_},
    "a string and the field a boolean": {"is_complex": None},
    "array; it has NoneType": {"limbs": None},
    "array; it has float64": {"limbs": np.float64(1)},
    "there are <U5": {"limbs": np.zeros((2, 2, 3), dtype="U5")},
    r"of shape \(2, 2, 3\)$": {"limbs": np.zeros((2, 2, 3), dtype=np.int64)},
}


@pytest.mark.parametrize("message", DAMAGED)
def test_damaged_pickles(message):
    """Limbs of another shape than the precision wants were written behind their memory."""
    with pytest.raises(ValueError, match=f"this pickle is damaged.*{message}"):
        mdqr._io.files.restored(*pickled(**DAMAGED[message]))


def test_pickles_of_any_memory():
    limbs = mdqr.random.normal((3, 4), precision=mdqr.dd, rng=1).limbs
    raw = bytearray(limbs.nbytes + 1)
    odd = np.frombuffer(raw, dtype=np.float64, offset=1, count=limbs.size).reshape(limbs.shape)
    odd[...] = limbs
    for block in (limbs.copy("F"), odd, limbs[:, ::-1][:, ::-1], limbs.view(np.memmap)):
        a = mdqr._io.files.restored(*pickled(limbs=block, is_complex=False))
        assert a.limbs.tobytes() == limbs.tobytes()
        assert type(a.limbs) is np.ndarray
        assert a.limbs.flags.aligned
        assert (a + 1).shape == (3, 4)


@pytest.mark.parametrize("file", [None, b"x", 3, [1]], ids=repr)
def test_what_is_no_file_is_refused(file):
    with pytest.raises(TypeError, match=rf"mdqr\.load needs .*; got {type(file).__name__}"):
        mdqr.load(file)
    with pytest.raises(TypeError, match=rf"mdqr\.save needs .*; got {type(file).__name__}"):
        mdqr.save(file, mdqr.qd(1))


def test_load_onto_a_device_that_is_not_there(no_cupy):
    with pytest.raises(ImportError, match="needs CuPy"):
        mdqr.load(archive(), device="cuda")


def test_member_that_claims_more_than_the_file():
    # NumPy would reserve what the directory says before it reads.
    data = bytearray(archive().getvalue())
    at = data.index(b"PK\x01\x02")
    data[at + 20 : at + 28] = struct.pack("<II", 2**31 - 1, 2**31 - 1)
    with pytest.raises(ValueError, match="claims 2147483647 bytes; the file has only"):
        mdqr.load(io.BytesIO(bytes(data)))
