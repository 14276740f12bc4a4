"""A program: one rank of several, each with a GPU, by NCCL; it leaves its answers in a folder.

python gpu_rank.py FOLDER SIZE RANK
"""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path

import numpy as np

import mdqr
from mdqr import distributed as md

METHODS = ("products", "householder")
CASES = ((mdqr.dd, complex), (mdqr.qd, float), (mdqr.od, float))


def problem(precision, dtype):
    """Return columns of other sizes, one of them constant, and two right-hand sides."""
    a = mdqr.random.normal((300, 20), precision=precision, dtype=dtype, rng=0)
    a = a * 10.0 ** (np.arange(20) % 5)
    a[:, 2] = 1
    return a, mdqr.random.normal((300, 2), precision=precision, dtype=dtype, rng=1) * 1e10


def rows_of(size):
    """Return the rows of each rank, not as many of each."""
    cuts = [0, *(140 + 20 * rank for rank in range(size - 1)), 300]
    return [slice(*cuts[i : i + 2]) for i in range(size)]


def answers(solve, triangle, gram):
    """Return limbs of x and R, bounds and digits, by functions of the precision and the method."""
    found = []
    for precision, dtype in CASES:
        for method in METHODS:
            fit, r = solve(precision, dtype, method), triangle(precision, dtype, method)
            limbs = [x.to_device("cpu").limbs for x in (fit.x, r)]
            found.append([*limbs, fit.info.error_bound, fit.info.digits, fit.info.method])
        found.append([gram(precision, dtype).to_device("cpu").limbs])
    return found


def main(folder, size, rank):
    """Make all calls, and one whose rows only the last rank gets wrong."""
    import cupy
    from cupy.cuda import nccl

    path = folder / "id"
    if rank == 0:
        (folder / "part").write_bytes(pickle.dumps(nccl.get_unique_id()))
        (folder / "part").rename(path)
    while not path.exists():
        time.sleep(0.01)
    cupy.cuda.Device(rank).use()
    comm = nccl.NcclCommunicator(size, pickle.loads(path.read_bytes()), rank)

    def own(precision, dtype):
        part = rows_of(size)[rank]
        return [x[part].to_device(f"cuda:{rank}") for x in problem(precision, dtype)]

    found = answers(
        lambda p, t, method: md.lstsq(*own(p, t), comm=comm, method=method),
        lambda p, t, method: md.qr(own(p, t)[0], "r", comm=comm, method=method),
        lambda p, t: md.gram(own(p, t)[0], comm=comm),
    )
    a, b = own(*CASES[1])
    if rank == size - 1:
        a[3, 4] = np.nan
    try:
        md.lstsq(a, b, comm=comm)
    except np.linalg.LinAlgError as error:
        found.append(str(error))
    (folder / f"rank-{rank}").write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
