"""The page of NumPy's functions that MDArrays answer, made from the tables of `mdqr._array`.

``python tests/pages/numpy_page.py`` writes it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import mdqr
from mdqr._array.tables import FUNCTIONS, SCIPY_UFUNCS, UFUNCS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "numpy.md"

HEAD = """# NumPy's functions

NumPy's functions take MDArrays and call mdqr's functions: `np.sort(a)` is `mdqr.sort(a)`, and
`scipy.special.gammaln(a)` is `mdqr.lgamma(a)`. Options
that mdqr's function does not have raise TypeError, as do functions that are not listed; the message
suggests an alternative. Nothing is rounded to float64.

<!-- Made by tests/pages/numpy_page.py from the tables in mdqr/_array/tables.py. -->

"""

ATTRIBUTES = """
## Attributes and methods

Attributes and methods of `numpy.ndarray` that have the same name and meaning are not listed.

| of `numpy.ndarray` | of `mdqr.MDArray` |
|---|---|
| `dtype` | `dtype`: an object with `precision` and `is_complex`; it equals none of NumPy's |
| `data`, `__array_interface__`, `ctypes` | `limbs`, an array of float64 of shape `(N, *shape)` |
| `__cuda_array_interface__`, DLPack | those of `limbs`; DLPack of the array itself in precision d |
| `strides`, `flags`, `base` | those of `limbs` |
| `itemsize`, `nbytes` | those of all limbs |
| `astype(np.float64)` | `to_numpy()`, the nearest; `astype(mdqr.dd)` changes the precision |
| `astype(int)` | `xp.astype(a, xp.int64)` with `xp = mdqr.array_api`: exact, towards zero |
| `tolist()` | `tolist()` of 0-d arrays; `to_fractions()` of exact values |
| `item()` | `item()`, a 0-d array; `float(a)`, `int(a)`, `complex(a)` of one value |
| `tofile`, `dump` | `mdqr.save`, pickles |
| `sort(kind=...)`, `partition` | `sort()`, which is always stable; `partition()` sorts |
| `view`, `byteswap`, `setflags`, `getfield`, `resize`, `choose`, `compress` | absent |
"""


def ours(function: object) -> str:
    """Return where a function of mdqr is found, or nothing."""
    found = {id(function), id(getattr(function, "__wrapped__", function))}
    for module, name in ((mdqr, "mdqr"), (mdqr.linalg, "mdqr.linalg")):
        # The name of the function itself before those that NumPy's second names give it.
        for key in (getattr(function, "__name__", ""), *module.__all__):
            if id(getattr(module, key, None)) in found:
                return f"`{name}.{key}`"
    return ""


OPERATORS = {
    np.add: "`a + b`",
    np.subtract: "`a - b`",
    np.multiply: "`a * b`",
    np.divide: "`a / b`",
    np.matmul: "`a @ b`",
    np.divmod: "`divmod(a, b)`",
    np.equal: "`a == b`",
    np.not_equal: "`a != b`",
    np.less: "`a < b`",
    np.less_equal: "`a <= b`",
    np.greater: "`a > b`",
    np.greater_equal: "`a >= b`",
    np.positive: "`+a`",
}
METHODS = {"copy", "ravel", "transpose", "shape", "ndim", "size", "real", "imag"}


def other(name: str) -> str:
    """Return what answers a function that has no counterpart."""
    words = {"iscomplexobj": "`a.is_complex`", "isrealobj": "`not a.is_complex`"}
    words["roots"] = "`mdqr.linalg.roots(p).roots`"
    return words.get(name) or (f"`a.{name}`" if name in METHODS else "of NumPy's name alone")


def linalg() -> list[str]:
    return sorted(
        name
        for name in mdqr.linalg.__all__
        if callable(getattr(np.linalg, name, None)) and name.islower()
    )


def lines(module: str, table: dict[str, str]) -> str:
    """Return the lines of a table, in the order of names."""
    return "".join(f"| `{module}.{name}` | {table[name]} |\n" for name in sorted(table))


def page() -> str:
    """Return the text of the page."""
    functions = {f.__name__: ours(g) or other(f.__name__) for f, g in FUNCTIONS.items()}
    ufuncs = {u.__name__: OPERATORS.get(u) or ours(g) for u, g in UFUNCS.items()}
    tables = [
        ("Elementwise functions (ufuncs)", ufuncs),
        ("Other functions", functions),
        ("Linear algebra", {f"linalg.{name}": f"`mdqr.linalg.{name}`" for name in linalg()}),
    ]
    text = HEAD
    for title, table in tables:
        text += f"## {title}\n\n| of NumPy | of mdqr |\n|---|---|\n{lines('numpy', table)}\n"
    of_scipy = "`{}` of `mdqr.array_api.special`"
    special = {name: ours(g) or of_scipy.format(name) for name, g in SCIPY_UFUNCS.items()}
    text += f"## SciPy\n\n| of SciPy | of mdqr |\n|---|---|\n{lines('scipy.special', special)}\n"
    return text.rstrip("\n") + "\n" + ATTRIBUTES


if __name__ == "__main__":
    PAGE.write_text(page())
