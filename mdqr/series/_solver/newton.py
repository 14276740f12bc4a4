"""Newton's method on series: each step makes twice as many orders right.

The linear equations of a step have a block Toeplitz matrix, whose diagonal blocks are the Jacobian
at the start (N. Bliss and J. Verschelde 2017). Orders that are right are not computed again (J.
Verschelde 2023).
"""

from __future__ import annotations

from mdqr._limbs import planes
from mdqr._limbs.planes import Block
from mdqr._progress import Reporter
from mdqr.series._solver.equations import Equations
from mdqr.series._solver.online import Start


def expand(
    equations: Equations,
    begin: Start,
    degree: int,
    report: Reporter | None = None,
) -> tuple[Block, list[int]]:
    """Return the nodes of the series, and how many orders were right after each step."""
    kind, backend, n = equations.kind, equations.backend, equations.variables
    batch = planes.value_shape(begin.values, kind.is_complex)[:-2]
    values = equations.empty(batch, degree + 1)
    values[..., 0] = begin.values[..., 0]
    right, width, history = 1, min(1, degree), [1]
    while right <= degree:
        some = values[..., : width + 1]
        equations.products.evaluate(some, equations.backend, kind)
        series = equations.jacobian_series(some)
        rest = [equations.order(some, k) for k in range(right, width + 1)]
        changes: list[Block] = []
        for place, left in enumerate(rest):
            for back, dx in enumerate(reversed(changes), start=1):
                left = backend.matmul(series[back], dx, c=left, subtract=True, kind=kind)
            dx = begin.inverse.solve(begin.jacobian, left, kind)
            changes.append(dx)
            at = right + place
            values[..., :n, at] = backend.binary(
                "subtract", values[..., :n, at], dx[..., 0], kind=kind
            )
        # With `right` orders right before, as many more are after the step.
        right = width + 1
        history.append(right)
        width = min(degree, 2 * right - 1)
        if report is not None:
            report("orders", right, degree + 1)
    equations.products.evaluate(values, equations.backend, kind)
    return values, history
