"""One table after the other: what each says, and how it is made of the rows of a run."""

from __future__ import annotations

import itertools
import re

from benchmarks.common.rows import FASTER, Row
from benchmarks.common.tables import Found, grid, joined, number, titled
from benchmarks.tensorcore import paper

FORMAT_NAMES = ("fp16", "bf16", "tf32", "fp32", "fp16x2")
FAST = ("caqr", "cholesky")
SPEED = "factorisations"

AIMS = "What was aimed at before the work began. Rates and gains should be above, errors below."
TIMES = (
    "Milliseconds. geqrf and orgqr are cuSOLVER's, on a matrix that is there already; "
    "`cupy.linalg.qr` calls the same with its copies. The last columns are one call of "
    '`mdqr.tensorcore.qr` with `compute="fp16"`, Q and R.'
)
PRODUCTS = (
    f"TFLOP/s, in each cell this run / the paper's {paper.MACHINE}, a different machine: context, "
    "no comparison. A^T B is (k x 32768)(32768 x k), A B is (32768 x k)(k x k), geqrf of 32768 x k "
    "in float32. fp32 products are pedantic: no tensor cores."
)
ESTIMATES = (
    "TFLOP/s that formulas (4) and (7) of the paper give for 32768 x 16384 with panels of B "
    f"columns by geqrf, in each cell from the table above / from that of the {paper.MACHINE}. "
    "Products count with the harmonic mean of both kinds. Gram-Schmidt is given for the operations "
    "of Householder QR, a sixth fewer than its own."
)
CONDITIONS = (
    "Arithmetic singular values. Backward error: Frobenius norm of A - Q R by that of A, over the "
    "last 2048 columns at most. Orthogonality: Frobenius norm of Q^T Q - I over the root of the "
    'columns. "again" is `reorthogonalize=True`, with the passes in parentheses. Panels by caqr. '
    "The paper's figures are pictures without numbers."
)
AGAIN = (
    "Milliseconds of Q and R with `reorthogonalize=True`, and how many times faster that is than "
    f"geqrf and orgqr together. The paper reports 3.7 to 7.7 times on the {paper.MACHINE}."
)
PANEL = (
    'One pass of `compute="fp16"` by panel: how many times faster than geqrf in float32, TFLOP/s '
    "(2 n^2 (m - n/3) operations, as Householder QR needs for R), and the share of the fastest "
    "fp16 product of this run that the 2 m n^2 operations of Gram-Schmidt reach. The paper reports "
    f"3.0 to 14.6 times on the {paper.MACHINE}, {paper.CAQR_MEASURED} TFLOP/s at 32768 x 16384 and "
    "36.6 at 32768 x 32768."
)
FORMATS = (
    "Milliseconds of Q and R in one pass, and how many times faster than geqrf in float32, by "
    "panel and by what the operands of products are rounded to."
)
SWITCHES = (
    'Milliseconds of Q and R with "caqr" panels, by the format of the products inside of panels '
    "(between their parts of 32 columns, here by cuBLAS in both formats) and of those between "
    "panels; tensor cores work on fp16. The last two have the caqr panel as it is. The paper's "
    "bars are pictures; it says that tensor cores help little in the panel, and that without them "
    "in the update its QR may be slower than cuSOLVER's."
)
LSTSQ = (
    'Milliseconds. mdqr: `lstsq` with panels by cholesky, to float64 accuracy; "direct" is the '
    "factorisation and solution by cuSOLVER. Singular values as named, with their condition. The "
    f"paper reports on the {paper.MACHINE} up to 8.9 and 13.5 times against float32 and float64 "
    "direct, some 20 iterations for uniform (0, 1) at 32768 x 16384, 20 to 30 for geometric values "
    "(1e3), mostly below 10 for other types, and no convergence to float64 for geometric 1e4."
)
SOLUTIONS = (
    "Norm of A^T (A x - b) relative to the Frobenius norm of A and the norm of b; clustered "
    "singular values, all but the smallest 1. The paper's figure is a picture; it says that x from "
    "R and Q alone is two digits worse than float32's, and with CGLS as good as float64's."
)
LOW_RANK = (
    "QR-SVD, arithmetic singular values, condition 1e6: milliseconds, and errors in the Frobenius "
    f"norm relative to that of A. The paper's errors and times are its {paper.MACHINE}'s: "
    f"{paper.TABLE_4_TIMES[0]:.0f} ms against {paper.TABLE_4_TIMES[1]:.0f} by cuSOLVER."
)
ORTHONORMAL = (
    "`orthogonalize` of normal random matrices: the root mean square of the columns of Q^T Q - I, "
    "by products in float64, what is accepted, and what the call itself estimated."
)
PARTS = (
    "Milliseconds between events at the borders of the parts, in calls of their own: the events "
    "and Python between them make a call longer than it is, most of all for small matrices."
)
PANELS = "Microseconds of a panel, and of the kernels of one by cholesky with their launches."


def cell(one: float | None, other: float) -> str:
    """Return two numbers for one cell."""
    return "" if one is None else f"{number(one)} / {number(other)}"


def by_size(found: Found, group: str, columns: dict[str, dict[str, str]]) -> list[str]:
    """Return a line a size and a column each for rows of a group."""
    sizes = found.sizes(group)
    cells = [[x, *(found.text(group, x, **row) for row in columns.values())] for x in sizes]
    return grid(["size", *columns], cells)


def by_what(found: Found, group: str) -> list[str]:
    """Return a line a name and a column a size."""
    sizes = found.sizes(group)
    names = dict.fromkeys(row.what for row in found.group(group))
    cells = [[name, *(found.text(group, size, what=name) for size in sizes)] for name in names]
    return grid(["what", *sizes], cells)


def times(found: Found) -> list[str]:
    """Times of this run at every size."""
    calls = {"geqrf": ("cuSOLVER", "geqrf"), "orgqr": ("cuSOLVER", "orgqr")}
    calls |= {f"cupy {what}": ("cupy.linalg.qr", what) for what in ("R", "Q and R")}
    columns = {
        f"{name}, {kind}": {"what": what, "who": who, "precision": kind, "unit": "ms"}
        for kind in ("float32", "float64")
        for name, (who, what) in calls.items()
    }
    fast = {x: {"what": f"Q and R, {x}", "precision": "fp16", "unit": "ms"} for x in FAST}
    return by_size(found, SPEED, columns | fast)


def rates(found: Found) -> dict[int, paper.Rates]:
    """Return table 3 as far as the run has it."""
    all_of_them = {}
    for k, there in paper.TABLE_3.items():
        sizes = {"A^T B": f"{k}x{paper.ROWS}x{k}", "A B": f"{paper.ROWS}x{k}x{k}"}
        products = [
            found.value("products", size, what=what, precision=by)
            for what, size in sizes.items()
            for by in ("fp16", "fp32")
        ]
        size = f"{paper.ROWS}x{k}"
        ms = found.value(SPEED, size, what="geqrf", precision="float32")
        if ms and all(products):
            geqrf = 2e-9 * k * k * (paper.ROWS - k / 3) / ms
            all_of_them[k] = type(there)(*products, geqrf)
    return all_of_them


def products(found: Found) -> list[str]:
    """Table 3."""
    here = rates(found)
    cells = [[str(k), *map(cell, here[k], paper.TABLE_3[k])] for k in here]
    head = ["k", "A^T B, fp16", "A^T B, fp32", "A B, fp16", "A B, fp32", "geqrf"]
    return grid(head, cells)


def estimates(found: Found) -> list[str]:
    """Figures 1 and 2, and the estimate that the caqr panel leads to."""
    here, cells = rates(found), []
    if list(here) != list(paper.TABLE_3):
        return []
    for width in list(here)[:-1]:
        line = [str(width)]
        for low in (True, False):
            pair = (paper.householder(t, width, low) for t in (here, paper.TABLE_3))
            line.append(cell(*pair))
        for low in (True, False):
            pair = (paper.recursive(t, width, low) for t in (here, paper.TABLE_3))
            line.append(cell(*map(paper.as_householder, pair)))
        cells.append(line)
    head = ["B", "blocked Householder, fp16", "fp32", "recursive Gram-Schmidt, fp16", "fp32 "]
    what = {"what": "Q and R, caqr", "precision": "fp16"}
    ms = found.value(SPEED, f"{paper.ROWS}x128", unit="ms", **what)
    wide = found.value(SPEED, f"{paper.ROWS}x{paper.COLUMNS}", unit="ms", **what)
    if ms is None or wide is None:
        return grid(head, cells)
    panel = 2e-9 * paper.ROWS * 128**2 / ms
    estimate = paper.recursive(here, 128, True, panel)
    measured = 2e-9 * paper.ROWS * paper.COLUMNS**2 / wide
    note = (
        f"With the caqr panel of 32768 x 128 as one call takes it ({panel:.2g} TFLOP/s), formula "
        f"(7) gives {estimate:.3g} TFLOP/s of 2 m n^2 operations; measured are {measured:.3g}. The "
        f"paper: {paper.CAQR_PANEL}, {paper.CAQR_ESTIMATE:.3g} and {paper.CAQR_MEASURED} TFLOP/s."
    )
    return joined(grid(head, cells), [note])


def conditions(found: Found) -> list[str]:
    """Figures 3 and 4."""
    group, tables = "conditions", []
    shapes = dict.fromkeys(size.split(", ")[0] for size in found.sizes(group))
    head = ["condition", "cuSOLVER float32", *FORMAT_NAMES]
    for shape, what in itertools.product(shapes, ("backward error", "orthogonality")):
        rows = [row for row in found.group(group) if row.size.startswith(shape + ",")]
        for more in ("", ", again"):
            cells = condition_lines(found, [row for row in rows if row.what == what], bool(more))
            tables.append(titled(f"{shape}, {what}{more}:", grid(head, cells)))
    return joined(*tables)


def condition_lines(found: Found, rows: list[Row], again: bool) -> list[list[str]]:
    """Return a line a condition: cuSOLVER, and every format."""
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        line = lines.setdefault(row.size, dict.fromkeys(("float32", *FORMAT_NAMES), ""))
        name, _, passes = row.precision.partition(", ")
        if row.who == "cuSOLVER" or bool(passes) == again:
            wanted = {"what": row.what, "who": row.who, "precision": row.precision}
            value = found.text(row.group, row.size, **wanted)
            line[name] = f"{value} ({passes.removesuffix(' passes')})" if passes else value
    return [[size.split(", ")[1], *line.values()] for size, line in lines.items()]


def again(found: Found) -> list[str]:
    """Figure 5."""
    cells = []
    for size in found.sizes(SPEED):
        peer = {"precision": "float32", "unit": "ms"}
        line = [size, *(found.text(SPEED, size, what=w, **peer) for w in ("geqrf", "orgqr"))]
        for panel in FAST:
            line.append(found.text(SPEED, size, what=f"orthonormal Q and R, {panel}"))
            what = f"geqrf and orgqr / orthonormal, {panel}"
            line.append(found.text(SPEED, size, what=what))
        if line[3]:
            cells.append(line)
    return grid(["size", "geqrf", "orgqr", "caqr", "gain", "cholesky", "gain"], cells)


def panel(found: Found) -> list[str]:
    """Figure 6, with rates and shares of the fastest product."""
    fastest = max((r.value for r in found.group("products") if r.precision == "fp16"), default=None)
    head, cells, names = ["size"], [], (*FAST, "geqrf")
    for name in names:
        head += [f"{name}: gain", "TFLOP/s", "share"]
    for size in found.sizes(SPEED):
        (m, n), line = map(int, size.split("x")), [size]
        for name in names:
            what = {"what": f"Q and R, {name}", "precision": "fp16"}
            gain = {"what": f"geqrf / {name}", "precision": "fp16", "unit": FASTER}
            ms = found.value(SPEED, size, unit="ms", **what)
            share = 2e-9 * m * n * n / ms / fastest if ms and fastest else None
            line.append(found.text(SPEED, size, **gain))
            line.append(found.text(SPEED, size, unit="TFLOP/s", **what))
            line.append(number(share, 2))
        cells.append(line)
    return grid(head, cells)


def formats(found: Found) -> list[str]:
    """Every format, by the fast panels."""
    cells = []
    for size in found.sizes(SPEED):
        line = [size]
        for name in FAST:
            for compute in FORMAT_NAMES:
                what = {"what": f"Q and R, {name}", "precision": compute}
                ms = found.text(SPEED, size, unit="ms", **what)
                gain = found.text(SPEED, size, what=f"geqrf / {name}", precision=compute)
                line.append(f"{ms} ({gain})" if gain else ms)
                # The rate says the same a third time, and is not shown.
                found.row(SPEED, size, unit="TFLOP/s", **what)
        cells.append(line)
    head = [f"{name}, {compute}" for name in FAST for compute in FORMAT_NAMES]
    return grid(["size", *head], cells)


def switches(found: Found) -> list[str]:
    """Figure 7."""
    inside = ("fp16", "fp32", "as qr")
    names = [f"panel {i}, update {o}" for i in inside for o in ("fp16", "fp32")]
    return by_size(found, "switches", {name: {"precision": name} for name in names})


def iterations(row: Row) -> str:
    """Return the iterations of a solution, and that float64 followed if it did."""
    method, made = re.match(r"(\w+), (\d+) iterations", row.what).groups()
    return made if method == "cgls" else f"{made}, then float64"


def iterated(found: Found, group: str, size: str, **wanted: str) -> list[str]:
    """Return the value and the iterations of what was iterated, nothing twice without it."""
    for row in found.group(group):
        fits = all(getattr(row, name) == value for name, value in wanted.items())
        if row.size == size and "iterations" in row.what and fits:
            found.row(group, size, what=row.what, **wanted)
            return [number(row.value), iterations(row)]
    return ["", ""]


def least_squares(found: Found) -> list[str]:
    """Figure 8: times; then the accuracy of the same solutions."""
    group, tables = "least squares", []
    head = ["fp16", "iterations", "gain", "fp16x2", "iterations", "gain"]
    head = ["type", *head, "float64 direct", "float32 direct"]
    kinds = ("fp16", "fp16x2", "float64", "float32")
    other = ["type", *kinds[:2], *(f"cuSOLVER {kind}" for kind in kinds[2:])]
    for shape in dict.fromkeys(size.split(", ", 1)[0] for size in found.sizes(group)):
        lines, errors = [], []
        for size in found.sizes(group):
            if not size.startswith(shape + ","):
                continue
            line = [size.split(", ", 1)[1]]
            error = (found.text(group, size, what="A^T r, relative", precision=k) for k in kinds)
            errors.append([*line, *error])
            for compute in kinds[:2]:
                line += iterated(found, group, size, precision=compute, unit="ms")
                gain = {"what": "float64 direct / mdqr", "precision": compute}
                line.append(found.text(group, size, **gain))
            direct = (found.text(group, size, what="direct", precision=k) for k in kinds[2:])
            lines.append([*line, *direct])
        tables.append(titled(f"{shape}:", grid(head, lines)))
        title = f"{shape}, norm of A^T (A x - b) as in figure 9:"
        tables.append(titled(title, grid(other, errors)))
    return joined(*tables)


def solutions(found: Found) -> list[str]:
    """Figure 9."""
    group, cells = "solutions", []
    for size in found.sizes(group):
        peers = ("float32", "float64")
        line = [size, *(found.text(group, size, what="direct", precision=p) for p in peers)]
        line.append(found.text(group, size, what="R^-1 Q^T b"))
        cells.append(line + iterated(found, group, size))
    head = ["size, condition", "cuSOLVER float32", "cuSOLVER float64", "R^-1 Q^T b, fp16"]
    return grid([*head, "CGLS, fp16", "iterations"], cells)


def low_rank(found: Found) -> list[str]:
    """Table 4."""
    group, cells = "low rank", []
    for size in found.sizes(group):
        for r, theirs in paper.TABLE_4.items():
            name = f"rank {r}"
            both = ("mdqr", "cuSOLVER")
            line = [str(r), size, *(found.text(group, size, what=name, who=w) for w in both)]
            line.append(found.text(group, size, what=f"cuSOLVER / mdqr, {name}"))
            line += [found.text(group, size, what=f"error of {name}", who=w) for w in both]
            ratio = found.value(group, size, what=f"error of {name} / best")
            line += ["" if ratio is None else f"{ratio - 1:.1e}", number(theirs)]
            if line[2]:
                cells.append(line)
    head = ["rank", "size", "mdqr, ms", "cuSOLVER, ms", "gain", "error", "cuSOLVER's error"]
    tables = [grid([*head, "error / best - 1", "the paper's error"], cells)]
    for size in found.sizes(group):
        ms = found.value(group, size, what="cupy.linalg.svd")
        if ms is not None:
            tables.append([f"The whole SVD of {size} by `cupy.linalg.svd` took {number(ms)} ms."])
    return joined(*tables)


def orthonormal(found: Found) -> list[str]:
    """Bases of random matrices."""
    group, cells = "orthonormal", []
    for size in found.sizes(group):
        row = found.row(group, size, what="root mean square of columns")
        if row is not None:
            line = [size, number(row.value), number(row.aim)]
            line.append(found.text(group, size, what="its estimate"))
            _, _, passes = row.precision.partition(", ")
            cells.append([*line, passes.removesuffix(" passes")])
    return grid(["size", "departure", "accepted", "estimated", "passes"], cells)
