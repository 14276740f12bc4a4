"""Arrays from limbs that exist already: NumPy's, CuPy's, or by DLPack."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from mdqr._backend import for_block
from mdqr._convert.array_like import plain
from mdqr._core.base import ArrayBase
from mdqr._errors import advised
from mdqr._functions.creation import wants_complex
from mdqr._limbs import device as _device
from mdqr._limbs import planes
from mdqr._limbs.planes import Block, Kind
from mdqr._precision import precision_of_limbs

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_DLPACK_CUDA = 2  # kDLCUDA of the DLPack standard


@advised
def from_limbs(limbs: Any, /, *, dtype: Any = float, normalize: bool = True) -> MDArray:
    """Make an array from limbs.

    Parameters
    ----------
    limbs : numpy.ndarray, cupy.ndarray or DLPack object
        float64 of shape ``(N, *shape)``, complex ``(2, N, *shape)``, where N is the number of
        limbs of a precision.
    dtype : {float, complex}, optional
        The field.
    normalize : bool, optional
        If True (default) the limbs of a value may be any doubles in any order; the array holds
        their sum, correctly rounded, and values that are normalised already keep their limbs.
        If False the memory is shared, not copied, and the caller answers for its being normalised:
        ``fl(x[i] + x[i+1]) == x[i]``, zeros +0 and last, +0 under infinity and NaN.

    Returns
    -------
    MDArray
        A new array, or one around the memory of `limbs`.

    Raises
    ------
    TypeError
        If `limbs` is not a float64 array, or an entry of it is masked.
    ValueError
        If its first axes do not fit, or memory to be shared does not hold whole doubles.

    Examples
    --------
    >>> import numpy as np
    >>> import mdqr
    >>> a = mdqr.from_limbs(np.array([[1.0], [2.0**-70]]))
    >>> a.precision, str(a.to_fractions()[0])
    (mdqr.dd, '1180591620717411303425/1180591620717411303424')
    """
    block = _as_block(limbs, normalize)
    is_complex = bool(wants_complex(dtype))
    if is_complex and block.shape[:1] != (2,):
        raise ValueError(
            "complex limbs have shape (2, N, *shape), real planes and imaginary planes; "
            f"got shape {block.shape}"
        )
    if block.ndim < planes.lead(is_complex):
        raise ValueError(
            f"limbs have shape {'(2, N, *shape)' if is_complex else '(N, *shape)'}; "
            f"got shape {block.shape}"
        )
    precision = precision_of_limbs(planes.limb_count(block, is_complex))
    if normalize:
        block = block.copy(order="C")
        for part in block if is_complex else [block]:
            _normalise(part, precision.limbs)
    return ArrayBase._wrap(block, precision, is_complex)


def _as_block(limbs: Any, normalize: bool) -> Block:
    block = plain(limbs) if isinstance(limbs, np.ndarray) else limbs
    if not isinstance(limbs, np.ndarray) and not _device.is_cuda_array(limbs):
        if not hasattr(limbs, "__dlpack__"):
            raise TypeError(
                "limbs must be a float64 NumPy or CuPy array or an object with __dlpack__; "
                f"got {type(limbs).__name__}"
            )
        block = _from_dlpack(limbs)
    if block.dtype != np.float64:
        raise TypeError(f"limbs must be float64; got {block.dtype}")
    if isinstance(block, np.ndarray) and not planes.has_whole_strides(block):
        if not normalize:
            raise ValueError(
                f"the strides {block.strides} of the limbs are no multiples of 8 bytes; "
                "make a copy with numpy.ascontiguousarray first"
            )
        return block.copy(order="C")
    return block.view()  # whose shape the caller does not change


def _from_dlpack(limbs: Any) -> Block:
    """Return the array that shares the memory of a DLPack object, on the CPU or a GPU."""
    kind, number = limbs.__dlpack_device__()
    if kind != _DLPACK_CUDA:
        return np.from_dlpack(limbs)
    _device.check_device(f"cuda:{number}")
    return importlib.import_module("cupy").from_dlpack(limbs)


def _normalise(part: Block, limbs: int) -> None:
    """Renormalise in place those values that are not; the others keep their limbs."""
    broken = ~planes.is_normalised(part)
    if broken.any():
        part[:, broken] = for_block(part).unary(
            "renormalize", part[:, broken], kind=Kind(limbs, False)
        )
