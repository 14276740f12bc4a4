"""Files of limbs, and what pickles call."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable
from math import prod
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mdqr._convert.array_like import check_characters
from mdqr._core.base import ArrayBase
from mdqr._errors import shortened
from mdqr._limbs import planes
from mdqr._limbs.device import check_device, host_block
from mdqr._pickles import FORMAT
from mdqr._precision import from_file

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

File = str | PathLike[str] | IO[bytes]

_MEMBERS = ("limbs.npy", "precision.npy", "complex.npy")
_FORMAT = "format.npy"  # a number, which rises with changes that earlier versions would misread
_KINDS = ("cpu", "cuda")  # of devices, in pickles
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(..)\{'descr': '([<>|][biufcSUO][0-9]{0,3})', "
    rb"'fortran_order': (?:True|False), 'shape': \(((?:[0-9]{1,18}(?:, |,|(?=\))))*)\), \} *\n",
    re.DOTALL,
).match
_LONGEST_HEADER = 2048  # of 64 axes
_SHOWN = 100  # characters of what a file holds that a message repeats


def save(file: File, a: MDArray, /) -> None:
    """Write an array to an uncompressed ``.npz`` file of its limbs.

    Parameters
    ----------
    file : str, path or binary file
        Where to write; the name is taken as it is.
    a : MDArray
        The array. The limbs are written as they are.

    Raises
    ------
    TypeError
        If `a` is not an `MDArray`, or `file` is not a file.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import io
    >>> import mdqr
    >>> file = io.BytesIO()
    >>> mdqr.save(file, mdqr.array(["0.1", "0.2"], precision=mdqr.qd))
    >>> _ = file.seek(0)
    >>> mdqr.load(file).precision
    mdqr.qd
    """
    _write("mdqr.save", file, {"": a})


def savez(file: File, /, *arrays: MDArray, **named: MDArray) -> None:
    """Write several arrays to an uncompressed ``.npz`` file of their limbs.

    Parameters
    ----------
    file : str, path or binary file
        Where to write; the name is taken as it is.
    *arrays : MDArray
        Arrays that get the names ``arr_0``, ``arr_1`` and so on.
    **named : MDArray
        Arrays with their names.

    Raises
    ------
    TypeError
        If one is not an `MDArray`, or `file` is not a file.
    ValueError
        If no array is given, two have one name, or a name is empty or has a slash.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import io
    >>> import mdqr
    >>> file = io.BytesIO()
    >>> mdqr.savez(file, x=mdqr.qd("0.1"), y=mdqr.ones((2, 3), precision=mdqr.dd))
    >>> _ = file.seek(0)
    >>> {name: a.shape for name, a in mdqr.loadz(file).items()}
    {'x': (), 'y': (2, 3)}
    """
    found = {f"arr_{i}": a for i, a in enumerate(arrays)}
    if both := sorted(found.keys() & named.keys()):
        raise ValueError(f"mdqr.savez: the name {both[0]!r} is that of an array without a name")
    found |= named
    if not found:
        raise ValueError("mdqr.savez writes one array or more; none was given")
    for name in found:
        if not name or "/" in name or "\0" in name:
            raise ValueError(f"mdqr.savez: {name!r} is no name of an array; give it one without /")
    _write("mdqr.savez", file, {f"{name}/": a for name, a in found.items()})


def _write(function: str, file: File, arrays: dict[str, MDArray]) -> None:
    """Write arrays, each with what stands in front of the names of its members."""
    for a in arrays.values():
        if not isinstance(a, ArrayBase):
            raise TypeError(f"{function} writes an MDArray; got {type(a).__name__}: use numpy.save")
    _check_file(function, file, "write")
    members: dict[str, Any] = {}
    for front, a in arrays.items():
        values = (host_block(a._block), np.array(a._precision.name), np.array(a._complex))
        members |= {front + name[:-4]: x for name, x in zip(_MEMBERS, values, strict=True)}
        members[front + _FORMAT[:-4]] = np.array(FORMAT)
    try:
        if isinstance(file, (str, PathLike)):
            # numpy.savez would append .npz to the name.
            with open(file, "wb") as stream:
                np.savez(stream, **members)
        else:
            np.savez(file, **members)
    except ValueError as error:
        # zipfile raises it when it closes an archive whose writing has failed.
        cause: BaseException | None = error
        while cause and not isinstance(cause, MemoryError):
            cause = cause.__context__
        if cause:
            raise MemoryError(f"{function}: no memory for the file") from None
        raise


def load(file: File, *, device: str | None = None) -> MDArray:
    """Read the array that `mdqr.save` wrote.

    Parameters
    ----------
    file : str, path or binary file
        Where to read. Nothing in it is executed, and no memory is taken beyond the data of the
        file.
    device : str, optional
        Where the array is to live: "cpu" (default), "cuda" or "cuda:k".

    Returns
    -------
    MDArray
        The array, limb for limb.

    Raises
    ------
    TypeError
        If `file` is not a file.
    ValueError
        If the file was not written by `mdqr.save`, is damaged, or holds limbs that are not
        normalised. Files of `mdqr.savez` are for `mdqr.loadz`.
    OSError
        If the file cannot be read.
    MemoryError
        If memory for the limbs that the file has cannot be allocated.

    Examples
    --------
    >>> import io
    >>> import mdqr
    >>> file = io.BytesIO()
    >>> mdqr.save(file, mdqr.qd("0.1"))
    >>> _ = file.seek(0)
    >>> bool(mdqr.load(file) == mdqr.qd("0.1"))
    True
    """
    return _arrays("mdqr.load", file, device, check=_check_single)[""]


def loadz(file: File, *, device: str | None = None) -> dict[str, MDArray]:
    """Read the arrays that `mdqr.savez` wrote.

    Parameters
    ----------
    file, device
        As in `mdqr.load`.

    Returns
    -------
    dict of str to MDArray
        The arrays by name, in the order of the file. The array of `mdqr.save`, which has no name,
        is ``arr_0``.

    Raises
    ------
    TypeError, ValueError, OSError, MemoryError
        As in `mdqr.load`.

    Examples
    --------
    >>> import io
    >>> import mdqr
    >>> file = io.BytesIO()
    >>> mdqr.savez(file, mdqr.qd("0.1"), scale=mdqr.dd(2))
    >>> _ = file.seek(0)
    >>> [(name, a.precision) for name, a in mdqr.loadz(file).items()]
    [('arr_0', mdqr.qd), ('scale', mdqr.dd)]
    """
    found = _arrays("mdqr.loadz", file, device)
    return {front[:-1] or "arr_0": a for front, a in found.items()}


def _check_single(fronts: list[str]) -> None:
    """Raise ValueError unless a file holds one array without a name."""
    if "" not in fronts:
        names = ", ".join(shortened(repr(front[:-1]), _SHOWN) for front in fronts[:9])
        raise ValueError(f"the file holds arrays by name ({names}): read them with mdqr.loadz")


def _arrays(
    function: str,
    file: File,
    device: str | None,
    check: Callable[[list[str]], None] = lambda _: None,
) -> dict[str, MDArray]:
    """Return the arrays of a file by the text in front of the names of their members."""
    check_device(device)
    _check_file(function, file, "read")
    try:
        with zipfile.ZipFile(file) as archive:
            fronts = _fronts(archive)
            check(fronts)
            found = {front: _read(archive, front) for front in fronts}
    except (zipfile.BadZipFile, EOFError, IndexError, RuntimeError, UnicodeDecodeError) as error:
        # IndexError: a member without a name; RuntimeError: encrypted ones, and features of zip
        # files that Python does not have
        raise ValueError(
            f"{file} is not a file that mdqr.save wrote: {shortened(str(error), _SHOWN)}"
        ) from error
    if device is not None:
        found = {front: a.to_device(device) for front, a in found.items()}
    return found


def _fronts(archive: zipfile.ZipFile) -> list[str]:
    """Return what stands in front of the names of the members of each array.

    Raises
    ------
    ValueError
        If the members are not those of arrays, or lie on top of each other.
    """
    names = archive.namelist()
    fronts = list(dict.fromkeys(name[: name.rfind("/") + 1] for name in names)) or [""]
    if "" in fronts:
        return [""]  # who has the members of one array and others, has one array
    wanted = {front + member for front in fronts for member in _MEMBERS}
    wanted |= {front + _FORMAT for front in fronts}.intersection(names)
    if len(names) != len(wanted) or set(names) != wanted or any(f.count("/") > 1 for f in fronts):
        raise ValueError(
            f"the members are not those of arrays; mdqr.savez writes {', '.join(_MEMBERS)} and "
            f"{_FORMAT} in a folder for each"
        )
    assert archive.fp is not None
    length = archive.fp.seek(0, os.SEEK_END)
    claimed = sum(info.file_size for info in archive.infolist())
    if claimed > length:
        raise ValueError(f"the members claim {claimed} bytes; the file has only {length} in all")
    return fronts


def _read(archive: zipfile.ZipFile, front: str) -> MDArray:
    """Return one array."""
    has_number = front + _FORMAT in archive.namelist()
    number = _member(archive, front + _FORMAT) if has_number else np.array(1)
    if number.shape or number.dtype.kind != "i" or number < 1:
        raise ValueError("the format must be one integer of at least 1")
    if number > FORMAT:
        raise ValueError(f"the file has format {number}: it was written by a newer mdqr")
    limbs, name, is_complex = (_member(archive, front + member) for member in _MEMBERS)
    if name.shape or name.dtype.kind != "U" or is_complex.shape or is_complex.dtype != np.bool_:
        raise ValueError("the precision must be one string and the field one boolean")
    check_characters(name)
    return _checked(limbs, str(name), bool(is_complex))


def _check_file(function: str, file: Any, method: str) -> None:
    """Raise TypeError unless `file` is a name, a path or has the method of a file."""
    if not isinstance(file, (str, PathLike)) and not hasattr(file, method):
        raise TypeError(
            f"{function} needs the name of a file, a path or a binary file; "
            f"got {type(file).__name__}" + (": use io.BytesIO" if isinstance(file, bytes) else "")
        )


def restored(limbs: np.ndarray, name: str, is_complex: bool, device: str) -> MDArray:
    """Return the array of a pickle: host limbs, precision, field and the kind of device.

    Raises
    ------
    ValueError
        If these are not what `MDArray` pickles, or the device is not there.
    ImportError
        If the device needs CuPy and CuPy cannot be imported.
    """
    what = "this pickle is damaged: "
    if device not in _KINDS:
        raise ValueError(
            f"{what}the device is one of {_KINDS}; it has {shortened(repr(device), _SHOWN)}"
        )
    if not isinstance(limbs, np.ndarray):
        raise ValueError(f"{what}the limbs are a NumPy array; it has {type(limbs).__name__}")
    if not isinstance(name, str) or not isinstance(is_complex, bool):
        raise ValueError(f"{what}the precision is a string and the field a boolean")
    a = _checked(limbs, name, is_complex, what)
    try:
        return a if device == "cpu" else a.to_device(device)
    except (ImportError, ValueError) as error:
        raise type(error)(
            f"this pickle holds an array on {device!r}, which is not available here ({error}). "
            "Write it with mdqr.save(file, a) where it was made, and read it here with "
            'mdqr.load(file, device="cpu")'
        ) from error


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return one array of the archive, after a check of its size."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise ValueError(
            f"the file has no member {name}; mdqr.save writes {', '.join(_MEMBERS)}"
        ) from None
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"member {name} is compressed; mdqr.save writes it as it is")
    assert archive.fp is not None
    # The directory is the writer's word: a stored member cannot be larger than the file.
    length = archive.fp.seek(0, os.SEEK_END)
    if info.file_size != info.compress_size or info.header_offset + info.file_size > length:
        raise ValueError(
            f"member {name} claims {info.file_size} bytes; the file has only {length} in all"
        )
    with archive.open(info) as stream:
        _check_header(name, stream.read(_LONGEST_HEADER), info.file_size)
    with archive.open(info) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _check_header(name: str, head: bytes, present: int) -> None:
    """Raise unless a member of `present` bytes begins with the header that NumPy writes.

    NumPy's reader evaluates any Python literal, which may be nested without end.
    """
    match = _HEADER(head)
    if match is None:
        raise ValueError(f"member {name} does not begin with the header of a NumPy array")
    length, kind, axes = match.groups()
    if match.end() != 10 + int.from_bytes(length, "little"):
        raise ValueError(f"member {name} has a header of another length than it claims")
    try:
        dtype = np.dtype(kind.decode())
    except TypeError:
        raise ValueError(f"member {name} has the unknown dtype {kind.decode()}") from None
    shape = tuple(map(int, filter(None, axes.split(b","))))
    wanted = prod(shape) * dtype.itemsize
    if wanted != present - match.end():
        what = f"{dtype} of shape {shortened(str(shape), _SHOWN)}"
        raise ValueError(
            f"member {name} claims {wanted} bytes ({what}) and has {present - match.end()}"
        )


def _checked(limbs: np.ndarray, name: str, is_complex: bool, what: str = "") -> MDArray:
    """Return an array of limbs from outside, if they are those of an array; `what` holds them."""
    try:
        precision = from_file(name)
    except ValueError as error:
        raise ValueError(f"{what}{error}") from None
    front = (2, precision.limbs) if is_complex else (precision.limbs,)
    if limbs.dtype != np.float64 or limbs.shape[: len(front)] != front:
        dtype, shape = (shortened(str(x), _SHOWN) for x in (limbs.dtype, limbs.shape))
        raise ValueError(
            f"{what}{'complex' if is_complex else 'real'} limbs of precision {precision} are "
            f"float64 of shape {(*front, '...')}; there are {dtype} of shape {shape}"
        )
    block = np.require(limbs, requirements=["C", "A", "E"])
    for part in block if is_complex else [block]:
        if not planes.is_normalised(part).all():
            raise ValueError(
                f"{what}the limbs are not normalised, so that they were not written by mdqr or are "
                "damaged; mdqr.from_limbs takes any limbs"
            )
    return ArrayBase._wrap(block, precision, is_complex)
