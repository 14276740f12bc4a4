"""Signs of the rows of float triangles: kernels/cuda/floats/signs.cu."""

from __future__ import annotations

from mdqr._backend.cuda.runtime.kernels import Kernels, Module, fields
from mdqr._limbs.planes import Block, Kind

_MODULE = Module("floats/signs", Kind(1, False))
_THREADS = 256


def sign_rows(kernels: Kernels, r: Block, count: int, columns: int) -> Block:
    """Make a diagonal not negative, and clear what lies below it, in one launch.

    Parameters
    ----------
    kernels : Kernels
        Where the kernels run.
    r : Block
        A float matrix ``(m, n)`` of 32 or 64 bits, real or complex with a real diagonal, whose
        rows are contiguous.
    count : int
        Rows that get a sign, at most the smaller of m and n.
    columns : int
        The first so many columns are cleared.

    Returns
    -------
    Block
        What the first `count` rows were multiplied by: 1 and -1, real.
    """
    xp, (m, n) = kernels.xp, r.shape
    parts = 2 if r.dtype.kind == "c" else 1
    item = r.dtype.itemsize // parts
    signs = xp.empty(count, dtype=f"f{item}")
    if r.size:
        kernels.launch(
            _MODULE,
            "mdqr_float_signs",
            fields(
                kernels.address(r), kernels.address(signs), n * parts, r.strides[0] // item, parts,
                item, count, columns * parts,
            ),
            grid=(m,),
            threads=_THREADS,
        )  # fmt: skip
    return signs
