"""Matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from mdqr._array.array import MDArray
from mdqr._backend.exact import ExactProducts
from mdqr._errors import advised, shown
from mdqr._limbs import planes
from mdqr._limbs.device import check_device, device_of
from mdqr._limbs.planes import Block
from mdqr._progress import Progress, Report, Reporter, with_report
from mdqr._typing import MatmulMethod, PrecisionLike
from mdqr.linalg._products.exact import product as exact
from mdqr.linalg._shared import tuning
from mdqr.linalg._shared.first_calls import expect
from mdqr.linalg._shared.operands import (
    Inputs,
    broadcast_batch,
    gather,
    on_host,
    trim,
)

_METHODS = ("auto", "direct", "exact")

# Limb products between two reports, some tenths of a second on a CPU.
_PIECE = 2**32

# A product of so many products of limbs takes no longer on a device than looking for zero limbs,
# some 100 us on an H100, for which the host waits; nor does one of so few rows or columns.
_QUICK, _THIN = 2**27, 2

# Kernels take columns by tiles: cut between two of them, a product has the bits of the whole.
_COLUMNS = 64


@advised
def matmul(
    a: Any,
    b: Any,
    /,
    *,
    method: MatmulMethod = "auto",
    precision: PrecisionLike | None = None,
    progress: Progress = None,
    devices: Sequence[str] = (),
) -> MDArray:
    """Multiply matrices, as `numpy.matmul`.

    Parameters
    ----------
    a, b : array_like
        Vectors ``(k,)`` or matrices ``(..., m, k)`` and ``(..., k, n)``; leading dimensions
        broadcast. A 1-D `a` is a row, a 1-D `b` a column, and that axis is removed from the result.
    method : {"auto", "direct", "exact"}, optional
        "direct" forms products of limbs or digits with exact partial sums. "exact" rounds rows and
        columns to integers, multiplies these modulo small coprime numbers, and rounds once:
        exactly rounded where the bits of each row of `a` and of each column of `b` span at most
        53 N + 5, as for smaller integers, N the limbs of the product, and no limb is
        subnormal. "auto" takes the faster one that keeps the bound below.
    precision : Precision or str, optional
        The precision of the product; by default the highest of the operands.
    progress : callable or bool, optional
        Called as ``progress("matmul", done, total)`` after each block of columns; columns are
        computed in one block without it. Where matrices are multiplied one by one, through
        residues, `total` counts the columns of all of them; with `devices` each matrix is one
        block. True for a bar.
    devices : sequence of str, optional
        Experimental. GPUs, as "cuda:1", that share in products through residues with the one that
        has the operands and gets the result: each forms some of its rows, with the same limbs. Rows
        stay where they are if copying the operands would take longer.

    Returns
    -------
    MDArray
        The product; 0-d for two vectors.

    Raises
    ------
    TypeError
        If `progress` is neither callable nor a bool, or `devices` is not a sequence of names.
    ValueError
        If an operand is a scalar, the shapes do not fit, `method` is unknown, or `devices` are
        given with operands on the CPU, with "direct", or that are not GPUs of this machine.
    numpy.linalg.LinAlgError
        If `method` is "exact", and an entry is not finite or the bound of its error would be.

    Notes
    -----
    With "auto" and "direct", ``abs(error) <= (k + 8) eps (abs(a) @ abs(b))`` in every entry.
    Operands keep their own limb counts: a float64 matrix times an od vector costs 1 x 8 limb
    products.

    With "exact", ``abs(error) <= k 2**(e + f - 53 N - 3)`` and one rounding to N limbs, ``2**e``
    above the row of `a` and ``2**f`` above the column of `b` (twice that if complex), e and f at
    least -1021, after columns of `a` and rows of `b` were balanced by powers of two. More than
    2**17 - 16 terms are added up in runs of so many. It works in at most
    `mdqr.config.set_workspace` bytes in addition to the operands, or in what the residues of 128
    rows and their sums take where that is more, on each device. Other `devices` have a copy of `b`
    and their rows besides.

    The method is Ozaki, Uchino and Imamura, "Ozaki Scheme II", arXiv 2504.08009, 2025, for
    expansions. "auto" chooses by a table of shapes for CPUs and one for GPUs, so that limbs do not
    depend on the model of either.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.array([[1.0, 2.0], [3.0, 4.0]], precision=mdqr.qd)
    >>> mdqr.linalg.matmul(a, [1.0, 1.0]).to_numpy().tolist()
    [3.0, 7.0]
    """
    if not (progress is None or isinstance(progress, Report)):
        return with_report(matmul, locals())
    if method not in _METHODS:
        raise ValueError(f'matmul: method must be "auto", "direct" or "exact"; got {shown(method)}')
    expect("matmul", a, precision)
    numbers = _numbers(devices, method, on_host(a, b))
    inputs = gather(a, b, precision=precision, trimmed=on_host(a, b))
    left, right = inputs.shape(0), inputs.shape(1)
    if not left or not right:
        raise ValueError(
            f"matmul: scalars are no matrices; got shapes {left} and {right}: use a * b"
        )
    row, column = len(left) == 1, len(right) == 1
    blocks: list[Block] = [
        inputs.blocks[0][..., None, :] if row else inputs.blocks[0],
        inputs.blocks[1][..., None] if column else inputs.blocks[1],
    ]
    if left[-1] != blocks[1].shape[-2]:
        raise ValueError(
            f"matmul: shapes {left} and {right} do not fit: {left[-1]} columns against "
            f"{blocks[1].shape[-2]} rows"
        )
    m, k, n = blocks[0].shape[-2], left[-1], blocks[1].shape[-1]
    if method == "auto" and not tuning.residues_are_faster(
        inputs.backend, m, k, n, kind=inputs.kind
    ):
        method = "direct"
    field = inputs.is_complex
    batch, wide = broadcast_batch("matmul", blocks, field)
    # Exact products find zero planes by themselves.
    if method == "direct" and min(m, n) > _THIN and not on_host(a, b):
        limb_products = math.prod(batch) * m * k * n * inputs.kind.limbs**2 * (4 if field else 1)
        if limb_products > _QUICK:
            blocks = [block for block, _ in trim([(block, field) for block in blocks])]
            _, wide = broadcast_batch("matmul", blocks, field)
    product = _product(inputs, wide[0], wide[1], method, progress, numbers)
    if row:
        product = product[..., 0, :]
    if column:
        product = product[..., 0]
    return inputs.wrap(product)


def _numbers(devices: Sequence[str], method: str, is_host: bool) -> list[int]:
    """Return the numbers of GPUs; raises as `matmul`."""
    if isinstance(devices, str) or not isinstance(devices, Sequence):
        raise TypeError(
            f'matmul: devices must be a sequence of names, as ["cuda:1"]; got {shown(devices)}'
        )
    if devices and method == "direct":
        raise ValueError('matmul: devices share in products through residues: "exact" or "auto"')
    if devices and is_host:
        raise ValueError(
            'matmul: devices are for operands on a GPU; move these with to_device("cuda")'
        )
    numbers = [check_device(device) for device in devices]
    if None in numbers:
        raise ValueError(f'matmul: devices must be GPUs, as "cuda:1"; got {list(devices)!r}')
    return list(dict.fromkeys(number for number in numbers if number is not None))


def _product(
    inputs: Inputs,
    a: Block,
    b: Block,
    method: str,
    report: Reporter | None,
    devices: list[int],
) -> Block:
    """Multiply; by blocks of columns where the caller needs to hear of them."""
    kind, total = inputs.kind, int(b.shape[-1])
    *batch, m, k = planes.value_shape(a, inputs.is_complex)
    if method != "direct" and 0 not in (*batch, m, k, total):
        told = None if report is None else partial(report, "matmul")
        return exact.product(
            cast(ExactProducts, inputs.backend),
            a,
            b,
            kind=kind,
            all_bits=method == "exact",
            report=told,
            devices=[number for number in devices if device_of(a) != f"cuda:{number}"],
        )
    if report is None:
        return inputs.backend.matmul(a, b, kind=kind)
    tiles = _PIECE // max(1, math.prod(batch) * m * k * kind.limbs**2 * _COLUMNS)
    width = _COLUMNS * max(1, tiles)
    out = kind.empty(inputs.backend.xp, (*batch, m, total))
    for start in range(0, total, width):
        columns = (..., slice(start, start + width))
        inputs.backend.matmul(a, b[columns], out=out[columns], kind=kind)
        report("matmul", min(start + width, total), total)
    return out
