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


HUGE = npy(np.zeros((2, 3))).replace(b"(2, 3), }          ", b"(2, 999999999999), }")
UNNORMALISED = np.array([[1.0, 1, 1], [1, 1, 1]])
WRONG = {
    "no member precision": {"precision": None},
    "no member limbs": {"limbs": None},
    r"limbs\.npy claims 15999999999984 bytes": {"limbs": HUGE},
    "limbs.npy claims": {"limbs": npy(np.zeros((2, 3)))[:-8]},
    "claims 8 bytes": {"precision": np.array({"pickle": "me"}, dtype=object)},
    "unknown format version": {"limbs": b"\x93NUMPY\x09\x00"},
    "magic string": {"limbs": b"not an array"},
    'precision must be one of .*"qd"': {"precision": np.array("xd")},
    "one string and the field one boolean": {"precision": np.array(["dd"])},
    "the field one boolean": {"complex": np.array(0)},
    r"real limbs of precision qd are float64 of shape \(4, '...'\)": {"precision": np.array("qd")},
    r"complex limbs of precision dd are float64 of shape \(2, 2": {"complex": np.array(True)},
    "the file has float32": {"limbs": np.zeros((2, 3), dtype=np.float32)},
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
