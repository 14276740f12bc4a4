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
that mdqr's function does not have raise TypeError, as do functions that have no counterpart; the
message suggests an alternative. Nothing is rounded to float64. Of the methods of ufuncs `outer`,
`reduce` of `add`, `multiply`, `maximum`, `minimum`, `logical_and` and `logical_or`, and
`accumulate` of `add` and `multiply` exist.

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


# NumPy's other names: what to write, or why no array of mdqr has an answer.
INSTEAD = {
    "array2string": "`str(a)` within `mdqr.printoptions`, `a.to_strings(digits)`",
    "array_repr": "`repr(a)`",
    "array_str": "`str(a)`",
    "asanyarray": "`mdqr.asarray`",
    "asarray_chkfinite": "`mdqr.asarray`, `mdqr.isfinite`",
    "ascontiguousarray": "`a.copy()`",
    "asfortranarray": "`a.T.copy().T`",
    "astype": "`a.astype`",
    "apply_over_axes": "reductions take several axes",
    "bmat": "`mdqr.block`",
    "einsum_path": "`mdqr.einsum`",
    "finfo": "`mdqr.finfo`",
    "format_float_positional": '`format(x, "f")`',
    "format_float_scientific": '`format(x, "e")`',
    "from_dlpack": "`mdqr.asarray`, `mdqr.from_limbs`",
    "fromfile": "`mdqr.load`",
    "fromfunction": 'a function of `mdqr.meshgrid(..., indexing="ij")`',
    "fromiter": "`mdqr.array(list(values), precision=...)`",
    "fromregex": "`mdqr.loadtxt`",
    "fromstring": "`mdqr.array(text.split(), precision=...)`",
    "genfromtxt": "`mdqr.loadtxt`",
    "get_printoptions": "`mdqr.printoptions`",
    "isscalar": "`a.ndim == 0`",
    "load": "`mdqr.load`, `mdqr.loadz`",
    "loadtxt": "`mdqr.loadtxt`",
    "mgrid": '`mdqr.meshgrid(x, y, indexing="ij")`',
    "ogrid": '`mdqr.meshgrid(x, y, indexing="ij", sparse=True)`',
    "real_if_close": "`a.real` where `mdqr.isreal(a).all()`",
    "require": "`mdqr.asarray`",
    "result_type": "`max(a.precision, b.precision)`",
    "rollaxis": "`mdqr.moveaxis`",
    "row_stack": "`mdqr.vstack`",
    "save": "`mdqr.save`",
    "savetxt": "`mdqr.savetxt`",
    "savez": "`mdqr.savez`",
    "savez_compressed": "`mdqr.savez`",
    "set_printoptions": "`mdqr.printoptions`",
}
REASONS = {
    "bits and integers: refused": (
        "base_repr binary_repr bitwise_and bitwise_count bitwise_invert bitwise_left_shift "
        "bitwise_not bitwise_or bitwise_right_shift bitwise_xor gcd invert lcm left_shift packbits "
        "right_shift unpackbits"
    ),
    "dates: refused": (
        "busday_count busday_offset datetime_as_string datetime_data is_busday isnat"
    ),
    "NumPy's own, of integers and masks that index arrays of mdqr as well": (
        "broadcast_shapes diag_indices indices ix_ mask_indices ravel_multi_index tril_indices "
        "triu_indices unravel_index"
    ),
    "NumPy's own, of the types and the memory of its arrays": (
        "asmatrix can_cast common_type frombuffer isdtype isfortran issubdtype may_share_memory "
        "min_scalar_type mintypecode nested_iters promote_types shares_memory typename"
    ),
    "NumPy's own, about NumPy": (
        "frompyfunc get_include getbufsize geterr geterrcall info iterable setbufsize seterr "
        "seterrcall show_config show_runtime test"
    ),
}


def other_names() -> dict[str, str]:
    """Return the state of the names of NumPy that no table has."""
    reasons = {name: why for why, names in REASONS.items() for name in names.split()}
    made = {
        name: f"`mdqr.{name}`"
        for name in mdqr.__all__
        if callable(getattr(np, name, None)) and not isinstance(getattr(np, name), type)
    }
    listed = {f.__name__ for f in (*FUNCTIONS, *UFUNCS)} | {"abs", "max", "min", "round"}
    return {
        name: state for name, state in {**made, **reasons, **INSTEAD}.items() if name not in listed
    }


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
    np.matvec: "`a @ x` of batches of both",
    np.vecmat: "`x.conj() @ a` of batches of both",
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
    text += f"## Other names\n\n| of NumPy | state |\n|---|---|\n{lines('numpy', other_names())}\n"
    of_scipy = "`{}` of `mdqr.array_api.special`"
    special = {name: ours(g) or of_scipy.format(name) for name, g in SCIPY_UFUNCS.items()}
    text += f"## SciPy\n\n| of SciPy | of mdqr |\n|---|---|\n{lines('scipy.special', special)}\n"
    return text.rstrip("\n") + "\n" + ATTRIBUTES


if __name__ == "__main__":
    PAGE.write_text(page())
