"""Input: arrays of NumPy or CuPy, and the machine that works on them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from mdqr._array.array import MDArray
from mdqr._convert.array_like import plain
from mdqr._errors import shown
from mdqr._limbs.device import is_cuda_array
from mdqr._limbs.planes import Block
from mdqr.tensorcore._engine.protocol import Engine


def real_array(call: str, name: str, x: Any) -> Block:
    """Return `x` as a float32 or float64 array of NumPy or CuPy.

    Raises
    ------
    TypeError
        If `x` is an MDArray or not real.
    """
    if isinstance(x, MDArray):
        raise TypeError(
            f"{call}: {name} is an MDArray of precision {x.precision}, and tensor cores would keep "
            "three of its digits; use mdqr.linalg.qr or mdqr.linalg.lstsq, which keep all, or "
            f"{name}.to_numpy()"
        )
    array = x if is_cuda_array(x) else np.asarray(plain(x))
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    if array.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"{call}: {name} must be float32 or float64; got {array.dtype}: convert it with astype"
        )
    return array


def real_matrix(call: str, name: str, x: Any) -> Block:
    """Return `x` as a matrix; raises as `real_array`, and ValueError unless it has two axes."""
    array = real_array(call, name, x)
    if array.ndim != 2:
        raise ValueError(f"{call}: {name} must have two axes; got the shape {array.shape}")
    return array


def choose(call: str, name: str, value: Any, known: Any) -> None:
    """Raise ValueError unless `value` is one of `known`."""
    if value not in known:
        options = ", ".join(f'"{option}"' for option in known)
        raise ValueError(f"{call}: {name} must be one of {options}; got {shown(value)}")


def engine_for(a: Block) -> Engine:
    """Return what works on arrays like `a`."""
    if isinstance(a, np.ndarray):
        from mdqr.tensorcore._engine.numpy import NumpyEngine

        return NumpyEngine()
    from mdqr._backend import for_block
    from mdqr._backend.cuda.backend import CudaBackend
    from mdqr.tensorcore._engine.cublas import CublasProducts
    from mdqr.tensorcore._engine.cuda import CudaEngine

    kernels = cast(CudaBackend, for_block(a)).kernels
    return CudaEngine(kernels, CublasProducts(kernels))
