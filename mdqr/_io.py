"""Files of limbs, and what pickles call."""

from __future__ import annotations

import os
import zipfile
from math import prod
from os import PathLike
from typing import IO, Any

import numpy as np

from mdqr import _limbs
from mdqr._array import MDArray
from mdqr._device import check_device, host_block, place
from mdqr._precision import as_precision

File = str | PathLike[str] | IO[bytes]

_MEMBERS = ("limbs.npy", "precision.npy", "complex.npy")


def save(file: File, a: MDArray) -> None:
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
        If `a` is not an `MDArray`.
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
    if not isinstance(a, MDArray):
        raise TypeError(f"mdqr.save writes an MDArray; got {type(a).__name__}: use numpy.save")
    members: dict[str, Any] = {
        "limbs": host_block(a._block),
        "precision": np.array(a._precision.name),
        "complex": np.array(a._complex),
    }
    if isinstance(file, (str, PathLike)):
        # numpy.savez would append .npz to the name.
        with open(file, "wb") as stream:
            np.savez(stream, **members)
    else:
        np.savez(file, **members)


def load(file: File, *, device: str | None = None) -> MDArray:
    """Read an array that `mdqr.save` wrote.

    Parameters
    ----------
    file : str, path or binary file
        Where to read. Nothing in it is executed, and no memory is taken for more data than there
        are.
    device : str, optional
        Where the array shall live: "cpu" (default), "cuda" or "cuda:k".

    Returns
    -------
    MDArray
        The array, limb for limb.

    Raises
    ------
    ValueError
        If the file is not one of these, is damaged, or holds limbs that are not normalised.
    OSError
        If the file cannot be read.

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
    check_device(device)
    try:
        with zipfile.ZipFile(file) as archive:
            limbs, name, is_complex = (_member(archive, member) for member in _MEMBERS)
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{file} is not a file that mdqr.save wrote: {error}") from error
    checked = _checked(limbs, name, is_complex)
    return checked if device is None else checked.to_device(device)


def restore(limbs: np.ndarray, name: str, is_complex: bool, device: str) -> MDArray:
    """Return the array of a pickle: host limbs, precision, field and the kind of device."""
    try:
        block = place(limbs, device)
    except (ImportError, ValueError) as error:
        raise type(error)(
            f"this pickle holds an array on {device!r}, which is not available here ({error}). "
            "Write it with mdqr.save(file, a) where it was made, and read it here with "
            'mdqr.load(file, device="cpu")'
        ) from error
    return MDArray._wrap(block, as_precision(name), is_complex)


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return one array of the archive, after a look at its size."""
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
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"member {name} has the unknown format version {version}")
        read_header: Any = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read_header(stream)
        wanted = prod(shape) * dtype.itemsize
        present = info.file_size - stream.tell()
        if wanted != present:
            raise ValueError(
                f"member {name} claims {wanted} bytes ({dtype} of shape {shape}) and has {present}"
            )
    with archive.open(info) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _checked(limbs: np.ndarray, name: np.ndarray, is_complex: np.ndarray) -> MDArray:
    if name.shape or name.dtype.kind != "U" or is_complex.shape or is_complex.dtype != np.bool_:
        raise ValueError("the precision must be one string and the field one boolean")
    precision, field = as_precision(str(name)), bool(is_complex)
    front = (2, precision.limbs) if field else (precision.limbs,)
    if limbs.dtype != np.float64 or limbs.shape[: len(front)] != front:
        raise ValueError(
            f"{'complex' if field else 'real'} limbs of precision {precision} are float64 of "
            f"shape {(*front, '...')}; the file has {limbs.dtype} of shape {limbs.shape}"
        )
    for part in limbs if field else [limbs]:
        if not _limbs.is_normalised(part).all():
            raise ValueError(
                "the limbs in the file are not normalised, so that it was not written by "
                "mdqr.save or is damaged; mdqr.from_limbs takes any limbs"
            )
    return MDArray._wrap(np.ascontiguousarray(limbs), precision, field)
