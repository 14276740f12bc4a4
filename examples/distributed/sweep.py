"""A sweep over a parameter: paths of a homotopy in pieces, on two worker processes.

For each p of a grid x^2 = 1 + p t and y = x + t / 4 are followed from t = 0 to 1, in qd.
"""

from dask.distributed import Client, LocalCluster

import mdqr
from mdqr import distributed as md
from mdqr import series

COUNT = 12


def ends_of(parameters: mdqr.MDArray) -> mdqr.MDArray:
    """Return the ends of the paths of one piece of the sweep."""
    ends = []
    for p in parameters:
        text = f"x^2 - 1 - {p.to_strings().item()}*t"
        system = series.System.from_strings([text, "y - x - t/4"], ["x", "y"], "t")
        ends.append(series.track(system, [1.0, 1.0], precision=mdqr.qd).x[-1])
    return mdqr.stack(ends)


def main() -> None:
    """Follow all paths."""
    parameters = mdqr.arange(1, COUNT + 1, precision=mdqr.qd) / 4
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        ends = md.map_batches(ends_of, parameters, rows=3, scheduler=client)
    for p, end in zip(parameters, ends, strict=True):
        print(f"p = {float(p)}: x = {end[0]}")
    error = abs(ends[:, 0] - mdqr.sqrt(1 + parameters)).max()
    print("largest error:", float(error))


if __name__ == "__main__":
    main()
