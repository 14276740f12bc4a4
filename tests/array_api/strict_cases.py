"""Numbers for one namespace or the other, and calls of elementwise and rearranging functions."""

import array_api_strict as strict
import numpy as np
from array_cases import SPECIALS
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

VERSION = "2025.12"
strict.set_array_api_strict_flags(api_version=VERSION)

REAL = st.sampled_from([*SPECIALS, 2.0, 3.0, 0.5, -2.5, 1.5, 7.0])
SMALL = st.integers(-4, 4)


class Numbers:
    """The same arrays for one namespace or the other."""

    def __init__(self, xp, draw):
        self.xp = xp
        for name, values in draw.items():
            setattr(self, name, xp.asarray(values.tolist(), dtype=getattr(xp, values.dtype.name)))


@st.composite
def numbers(draw):
    finite = SMALL.map(float)
    both = st.builds(complex, finite, finite)
    shapes = {
        "x": ((3, 4), float, REAL),
        "y": ((4,), float, REAL),
        "f": ((3, 4), float, finite),
        "v": ((3,), float, finite),
        "s": ((), float, REAL),
        "z": ((3, 4), complex, both),
        "w": ((3,), complex, both),
        "i": ((3, 4), np.int64, SMALL),
        "j": ((3, 4), np.int64, st.integers(0, 2)),
        "k": ((4,), np.int64, st.integers(0, 3)),
        "b": ((3, 4), bool, st.booleans()),
        "c": ((4,), bool, st.booleans()),
        "m": ((2, 3, 3), float, finite),
        "e": ((0, 3), float, finite),
    }
    return {
        name: draw(hnp.arrays(dtype, shape, elements=elements))
        for name, (shape, dtype, elements) in shapes.items()
    }


def each(function, *names):
    """Call a function of one array for several."""
    return lambda n: [function(n.xp, getattr(n, name)) for name in names]


def unary(name, *arrays):
    return each(lambda xp, x: getattr(xp, name)(x), *arrays)


def binary(name, *pairs):
    return lambda n: [
        getattr(n.xp, name)(*(getattr(n, a) if isinstance(a, str) else a for a in pair))
        for pair in pairs
    ]


def along(name, *arrays, **options):
    """Reduce along every axis."""
    axes = (None, 0, 1, -1, (0, 1), ()) if options.pop("several", True) else (None, 0, 1, -1)
    return lambda n: [
        getattr(n.xp, name)(getattr(n, a), axis=axis, keepdims=keepdims, **options)
        for a in arrays
        for axis in axes
        for keepdims in (False, True)
    ]


REALS, FIELDS, ALL = ("x", "s", "e"), ("x", "s", "e", "z"), ("x", "s", "e", "z", "i")
PAIRS = (("x", "y"), ("x", "s"), ("x", 2.0), (3, "x"), ("i", "k"), ("i", 2))
KINDS = (
    *("bool", "signed integer", "unsigned integer", "integral", "real floating"),
    *("complex floating", "numeric", ("bool", "real floating")),
)
DTYPES = ("bool", "int8", "uint32", "int64", "float32", "float64", "complex64", "complex128")


def pairs_of_dtypes(name):
    def call(n):
        floating = [d for d in DTYPES if d[0] in "fc"]
        integral = [d for d in DTYPES if d[:3] in ("int", "uin")]
        return [
            str_of(getattr(n.xp, name)(getattr(n.xp, a), getattr(n.xp, b)), n.xp)
            for group in (floating, integral[:1] + integral[2:])
            for a in group
            for b in group
        ]

    return call


def str_of(found, xp):
    """Return the name in the standard of a dtype; other things as they are."""
    names = [name for name in DTYPES if not isinstance(found, bool) and getattr(xp, name) == found]
    return names[0] if names else found


CASES = {
    # elementwise
    "abs": unary("abs", *ALL),
    "ceil": unary("ceil", *REALS, "i"),
    "floor": unary("floor", *REALS, "i"),
    "trunc": unary("trunc", *REALS, "i"),
    "round": unary("round", *ALL),
    "sign": unary("sign", *REALS, "i"),
    "negative": unary("negative", *ALL),
    "positive": unary("positive", *ALL),
    "square": unary("square", "x", "s", "e", "z", "i"),
    "sqrt": unary("sqrt", *REALS),
    "reciprocal": unary("reciprocal", *REALS),
    "signbit": unary("signbit", *REALS),
    "isfinite": unary("isfinite", *ALL),
    "isinf": unary("isinf", *ALL),
    "isnan": unary("isnan", *ALL),
    "conj": unary("conj", "z"),
    "real": unary("real", "z"),
    "imag": unary("imag", "z"),
    "logical_not": unary("logical_not", "b"),
    "bitwise_invert": unary("bitwise_invert", "b", "i"),
    "add": binary("add", *PAIRS, ("z", "z")),
    "subtract": binary("subtract", *PAIRS, ("z", "z")),
    "multiply": binary("multiply", *PAIRS, ("z", "z")),
    "divide": binary("divide", ("x", "y"), ("x", "s"), ("x", 2.0)),
    "floor_divide": binary("floor_divide", ("x", "y"), ("x", 2.0), ("i", 3)),
    "remainder": binary("remainder", ("x", "y"), ("x", 2.0), ("i", 3)),
    "maximum": binary("maximum", *PAIRS),
    "minimum": binary("minimum", *PAIRS),
    "equal": binary("equal", *PAIRS, ("z", "z"), ("b", "c")),
    "not_equal": binary("not_equal", *PAIRS, ("z", "z"), ("b", "c")),
    "less": binary("less", *PAIRS),
    "less_equal": binary("less_equal", *PAIRS),
    "greater": binary("greater", *PAIRS),
    "greater_equal": binary("greater_equal", *PAIRS),
    "copysign": binary("copysign", ("x", "y"), ("x", -1.0)),
    "hypot": binary("hypot", ("f", "f")),
    "logical_and": binary("logical_and", ("b", "c"), ("b", True)),
    "logical_or": binary("logical_or", ("b", "c")),
    "logical_xor": binary("logical_xor", ("b", "c")),
    "bitwise_and": binary("bitwise_and", ("b", "c"), ("i", "k"), ("i", 3)),
    "bitwise_or": binary("bitwise_or", ("b", "c"), ("i", "k")),
    "bitwise_xor": binary("bitwise_xor", ("b", "c"), ("i", "k")),
    "bitwise_left_shift": binary("bitwise_left_shift", ("i", "k")),
    "bitwise_right_shift": binary("bitwise_right_shift", ("i", "k")),
    "clip": lambda n: [
        n.xp.clip(n.x, -1.0, 2.0),
        n.xp.clip(n.x, n.y),
        n.xp.clip(n.x, max=n.y),
        n.xp.clip(n.i, -1, 2),
        n.xp.clip(n.x),
    ],
    # manipulation
    "broadcast_arrays": lambda n: n.xp.broadcast_arrays(n.x, n.y, n.i, n.s),
    "broadcast_to": lambda n: [n.xp.broadcast_to(a, (2, 3, 4)) for a in (n.x, n.y, n.z, n.k)],
    "concat": lambda n: [
        *(n.xp.concat([a, a], axis=axis) for a in (n.x, n.z, n.b, n.e) for axis in (0, -1, None)),
        n.xp.concat((n.i, n.j)),
    ],
    "stack": lambda n: [
        n.xp.stack([a, a], axis=axis) for a in (n.x, n.z, n.b, n.s) for axis in (0, -1)
    ],
    "expand_dims": lambda n: [
        n.xp.expand_dims(a, axis=axis) for a in (n.x, n.b) for axis in (0, 1, -1, (0, -1))
    ],
    "flip": lambda n: [
        n.xp.flip(a, axis=axis) for a in (n.x, n.z, n.i) for axis in (None, 0, (0, 1))
    ],
    "moveaxis": lambda n: [n.xp.moveaxis(n.m, 0, 2), n.xp.moveaxis(n.m, (0, 1), (-1, 0))],
    "permute_dims": lambda n: [n.xp.permute_dims(a, (1, 0)) for a in (n.x, n.z, n.i)],
    "repeat": lambda n: [
        n.xp.repeat(n.x, 2),
        n.xp.repeat(n.x, n.k, axis=1),
        n.xp.repeat(n.i, n.k, axis=1),
        n.xp.repeat(n.z, 0, axis=0),
    ],
    "reshape": lambda n: [
        n.xp.reshape(a, shape, copy=copy)
        for a in (n.x, n.z, n.i)
        for shape in ((12,), (2, -1), (4, 3, 1))
        for copy in (None, True, False)
    ],
    "roll": lambda n: [
        n.xp.roll(a, shift, axis=axis)
        for a in (n.x, n.z, n.i)
        for shift, axis in ((1, None), (-2, 0), ((1, 2), (0, 1)))
    ],
    "squeeze": lambda n: [
        n.xp.squeeze(a[:1, ...], axis=axis) for a in (n.x, n.i) for axis in (0, (0,))
    ],
    "tile": lambda n: [n.xp.tile(a, reps) for a in (n.x, n.i) for reps in ((2,), (2, 1, 3), ())],
    "unstack": lambda n: [*n.xp.unstack(n.x, axis=1), *n.xp.unstack(n.i)],
    "matrix_transpose": unary("matrix_transpose", "x", "m", "i"),
}
