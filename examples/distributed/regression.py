"""A regression of more rows than memory holds, on two worker processes of 1 GiB each.

``python examples/distributed/regression.py --rows 10_000_000`` takes some minutes in dd, od longer.
"""

import argparse
from pathlib import Path

from dask.distributed import Client, LocalCluster

import mdqr
from mdqr import distributed as md


class Chunk:
    """Rows made on the fly: chunk i is the same whenever it is asked for."""

    def __init__(self, rows: int, columns: int, precision: str) -> None:
        self.rows, self.columns, self.precision = rows, columns, precision

    def __call__(self, i: int) -> tuple[mdqr.MDArray, mdqr.MDArray]:
        """Return a chunk."""
        shape = self.rows, self.columns
        a = mdqr.random.normal(shape, precision=self.precision, rng=i)
        a[:, 0] = 1
        noise = mdqr.random.normal(self.rows, precision=self.precision, rng=10**9 + i)
        return a, a.sum(axis=1) + noise / 1000


def peak() -> int:
    """Return the largest memory of this process so far, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--chunk", type=int, default=20_000, help="rows of a chunk")
    parser.add_argument("--precision", default="dd")
    options = parser.parse_args()
    chunk = Chunk(options.chunk, options.columns, options.precision)
    rows = md.Rows(chunk, -(-options.rows // options.chunk))
    workers = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GiB"}
    with LocalCluster(**workers, dashboard_address=":0") as cluster, Client(cluster) as client:
        fit = md.lstsq(rows, scheduler=client)
        peaks = client.run(peak) if Path("/proc/self/status").exists() else {}
    print(f"{sum(fit.info.rows)} rows in {fit.info.chunks} chunks, {fit.info.passes} passes")
    print("seconds of each pass:", *(round(s, 1) for s in fit.info.seconds))
    print("peak memory of each worker, MiB:", *peaks.values())
    print("the first coefficient:", fit.x[0], "+-", fit.info.standard_errors()[0].to_numpy())
    print("correct digits of all:", fit.info.digits.min())


if __name__ == "__main__":
    main()
