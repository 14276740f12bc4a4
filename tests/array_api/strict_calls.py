"""Calls of the other functions, by name: each returns a list of results."""

import math

import numpy as np
from strict_cases import CASES as ELEMENTWISE
from strict_cases import DTYPES, KINDS, along, pairs_of_dtypes, str_of, unary


def elementary(name, domain=lambda xp, x: x, fields="fz"):
    """Calls of a function of one argument, which `domain` brings to where it is defined."""
    return lambda n: [
        getattr(n.xp, name)(domain(n.xp, getattr(n, field) * 1.0 / 16.0)) for field in fields
    ]


def inside(xp, x):
    return x / (1.0 + xp.abs(x))


def above(xp, x):
    return 1.5 + xp.abs(x)


CASES = {
    **ELEMENTWISE,
    # elementary functions, away from cuts, whose signs of zeros are compared with C99 elsewhere
    **{name: elementary(name) for name in ("cos", "cosh", "exp", "expm1", "sin", "sinh", "tanh")},
    **{name: elementary(name, inside) for name in ("acos", "asin", "atan", "atanh", "tan")},
    **{name: elementary(name, above) for name in ("log", "log10", "log1p", "log2")},
    **{name: elementary(name, above) for name in ("acosh", "asinh")},
    **{
        name: lambda n, name=name: [
            getattr(n.xp, name)(n.f, n.f[0, :]),
            getattr(n.xp, name)(n.m, n.f[:, :3]),
        ]
        for name in ("atan2", "logaddexp")
    },
    # creation
    "arange": lambda n: [
        n.xp.arange(5),
        n.xp.arange(1, 7, 2),
        n.xp.arange(5.0),
        n.xp.arange(1.0, 2.0, 0.25),
        n.xp.arange(3, dtype=n.xp.float64),
        n.xp.arange(5, 0, -2, dtype=n.xp.int8),
        n.xp.arange(3, 3),
    ],
    "asarray": lambda n: [
        *(n.xp.asarray(v) for v in (True, 1, 1.5, 1j, [1, 2], [1.0, 2], [[True]], [1, 1j], [])),
        *(n.xp.asarray(a, copy=copy) for a in (n.x, n.i) for copy in (None, True, False)),
        *(n.xp.asarray([1, 0], dtype=getattr(n.xp, d)) for d in DTYPES),
    ],
    "empty": lambda n: [n.xp.empty((2, 0)), n.xp.empty((0,), dtype=n.xp.int8)],
    "empty_like": lambda n: [n.xp.empty_like(n.e), n.xp.empty_like(n.e, dtype=n.xp.bool)],
    "eye": lambda n: [
        n.xp.eye(2),
        n.xp.eye(2, 3, k=1),
        n.xp.eye(2, 3, k=-1, dtype=n.xp.int8),
        n.xp.eye(2, dtype=n.xp.complex128),
    ],
    "full": lambda n: [
        *(n.xp.full((2, 3), v) for v in (True, 2, 2.5, 1j)),
        n.xp.full(3, 2, dtype=n.xp.float64),
        n.xp.full((), 2, dtype=n.xp.int8),
    ],
    "full_like": lambda n: [
        n.xp.full_like(n.x, 2.0),
        n.xp.full_like(n.x, 2, dtype=n.xp.int8),
        n.xp.full_like(n.i, 2),
    ],
    "linspace": lambda n: [
        n.xp.linspace(0.0, 1.0, 5),
        n.xp.linspace(0, 8, 4, endpoint=False),
        n.xp.linspace(0, 1j, 3),
        n.xp.linspace(1, 2, 0),
        n.xp.linspace(1, 2, 1, dtype=n.xp.float32),
    ],
    "meshgrid": lambda n: [
        *n.xp.meshgrid(n.y, n.v),
        *n.xp.meshgrid(n.y, n.v, n.y, indexing="ij"),
        *n.xp.meshgrid(n.k, n.k),
        *n.xp.meshgrid(n.w),
    ],
    "ones": lambda n: [n.xp.ones((2, 3)), n.xp.ones(2, dtype=n.xp.bool)],
    "ones_like": unary("ones_like", "x", "z", "i", "b"),
    "zeros": lambda n: [n.xp.zeros((2, 3)), n.xp.zeros(2, dtype=n.xp.complex128)],
    "zeros_like": unary("zeros_like", "x", "z", "i", "b"),
    "tril": lambda n: [n.xp.tril(a, k=k) for a in (n.x, n.z, n.i, n.m) for k in (0, 1, -1)],
    "triu": lambda n: [n.xp.triu(a, k=k) for a in (n.x, n.z, n.i, n.m) for k in (0, 1, -1)],
    "from_dlpack": lambda n: [
        n.xp.from_dlpack(np.asarray([1, 2])),
        n.xp.from_dlpack(np.asarray([True])),
    ],
    # dtypes
    "astype": lambda n: [
        n.xp.astype(a, getattr(n.xp, d), copy=copy)
        for a, ds in ((n.f, DTYPES), (n.i, DTYPES), (n.b, DTYPES), (n.z, DTYPES[-2:]))
        for d in ds
        if d != "uint32" or a is n.b
        for copy in (True, False)
    ],
    "can_cast": pairs_of_dtypes("can_cast"),
    "result_type": pairs_of_dtypes("result_type"),
    "isdtype": lambda n: [n.xp.isdtype(getattr(n.xp, d), kind) for d in DTYPES for kind in KINDS],
    "finfo": lambda n: [str_of(n.xp.finfo(getattr(n.xp, d)).dtype, n.xp) for d in DTYPES[4:]],
    "iinfo": lambda n: [
        (i.bits, i.max, i.min) for i in (n.xp.iinfo(getattr(n.xp, d)) for d in DTYPES[1:4])
    ],
    # searching, sorting, sets
    "argmax": along("argmax", "x", "i", several=False),
    "argmin": along("argmin", "x", "i", several=False),
    "count_nonzero": along("count_nonzero", "x", "z", "i", "b"),
    "nonzero": lambda n: [*n.xp.nonzero(n.x), *n.xp.nonzero(n.i), *n.xp.nonzero(n.z)],
    "searchsorted": lambda n: (
        [n.xp.searchsorted(n.xp.sort(n.v), n.f, side=side) for side in ("left", "right")]
        + [
            n.xp.searchsorted(n.xp.sort(n.k), n.i),
            n.xp.searchsorted(n.v, n.f, sorter=n.xp.argsort(n.v)),
        ]
    ),
    "where": lambda n: [
        n.xp.where(n.b, n.x, n.f),
        n.xp.where(n.b, n.x, n.y),
        n.xp.where(n.b, n.i, n.j),
        n.xp.where(n.b, n.x, 0.0),
        n.xp.where(n.b, n.z, n.z * 2),
    ],
    "isin": lambda n: [
        n.xp.isin(n.i, n.k),
        n.xp.isin(n.i, 1),
    ],
    "sort": lambda n: [
        n.xp.sort(a, axis=axis, descending=d)
        for a in (n.f, n.i)
        for axis in (0, -1)
        for d in (False, True)
    ],
    "argsort": lambda n: [
        n.xp.argsort(a, axis=axis, descending=d)
        for a in (n.f, n.i)
        for axis in (0, -1)
        for d in (False, True)
    ],
    "take": lambda n: [
        n.xp.take(n.x, n.k, axis=1),
        n.xp.take(n.y, n.k),
        n.xp.take(n.i, n.k, axis=1),
        n.xp.take(n.z, n.k[:0], axis=0),
    ],
    "take_along_axis": lambda n: [
        n.xp.take_along_axis(n.x, n.j, axis=0),
        n.xp.take_along_axis(n.i, n.j),
        n.xp.take_along_axis(n.z, n.j, axis=-1),
    ],
    "unique_all": lambda n: [*n.xp.unique_all(n.f), *n.xp.unique_all(n.i)],
    "unique_counts": lambda n: [*n.xp.unique_counts(n.f), *n.xp.unique_counts(n.i)],
    "unique_inverse": lambda n: [*n.xp.unique_inverse(n.f), *n.xp.unique_inverse(n.i)],
    "unique_values": lambda n: [
        n.xp.sort(n.xp.unique_values(n.f)),
        n.xp.sort(n.xp.unique_values(n.i)),
    ],
    # statistics
    "sum": along("sum", "f", "z", "i"),
    "prod": along("prod", "f", "z", "i"),
    "max": along("max", "x", "i"),
    "min": along("min", "x", "i"),
    "mean": along("mean", "f"),
    "var": along("var", "f", correction=0.5),
    "std": along("std", "f"),
    "all": along("all", "x", "b", "i"),
    "any": along("any", "x", "b", "i"),
    "cumulative_sum": lambda n: (
        [
            n.xp.cumulative_sum(a, axis=axis, include_initial=initial)
            for a in (n.f, n.z, n.i)
            for axis in (0, -1)
            for initial in (False, True)
        ]
        + [n.xp.cumulative_sum(n.v), n.xp.cumulative_sum(n.k, dtype=n.xp.float64)]
    ),
    "cumulative_prod": lambda n: [
        n.xp.cumulative_prod(a, axis=axis, include_initial=initial)
        for a in (n.f, n.z, n.i)
        for axis in (0, -1)
        for initial in (False, True)
    ],
    "diff": lambda n: [
        n.xp.diff(n.f),
        n.xp.diff(n.f, axis=0, n=2),
        n.xp.diff(n.i),
        n.xp.diff(n.z, prepend=n.z, append=n.z[:, :1]),
    ],
    # products
    "matmul": lambda n: [n.xp.matmul(n.f, n.f.T), n.xp.matmul(n.m, n.v), n.xp.matmul(n.i, n.i.T)],
    "tensordot": lambda n: [
        n.xp.tensordot(n.f, n.f),
        n.xp.tensordot(n.f, n.v, axes=((0,), (0,))),
        n.xp.tensordot(n.i, n.k, axes=1),
        n.xp.tensordot(n.z, n.z.T, axes=1),
    ],
    "vecdot": lambda n: [n.xp.vecdot(n.f, n.f), n.xp.vecdot(n.z, n.z), n.xp.vecdot(n.i, n.k)],
}
LINALG = {
    "cross": lambda n: [n.xp.linalg.cross(n.m, n.v), n.xp.linalg.cross(n.w, n.w)],
    "diagonal": lambda n: [
        n.xp.linalg.diagonal(a, offset=k) for a in (n.x, n.m, n.i) for k in (0, 1)
    ],
    "trace": lambda n: (
        [n.xp.linalg.trace(a, offset=k) for a in (n.f, n.m, n.z, n.i) for k in (0, 1)]
        + [n.xp.linalg.trace(n.i, dtype=n.xp.float64)]
    ),
    "outer": lambda n: [n.xp.linalg.outer(n.v, n.y), n.xp.linalg.outer(n.w, n.w)],
    "matrix_norm": lambda n: [
        n.xp.linalg.matrix_norm(a, ord=order, keepdims=keep)
        for a in (n.f, n.m)
        for order in ("fro", 1, -1, math.inf, -math.inf)
        for keep in (False, True)
    ],
    "vector_norm": lambda n: [
        n.xp.linalg.vector_norm(a, ord=order, axis=axis, keepdims=keep)
        for a in (n.f, n.m)
        for order in (2, 1, math.inf, -math.inf, 0)
        for axis in (None, 0, (0, 1))
        for keep in (False, True)
    ],
    "matrix_power": lambda n: [n.xp.linalg.matrix_power(n.m, p) for p in (0, 1, 2, 5)],
    "solve": lambda n: [
        n.xp.linalg.solve(n.m + 20.0 * n.xp.eye(3), b) for b in (20.0 + n.v, 20.0 + n.m[0, :, :2])
    ],
    "cholesky": lambda n: [
        n.xp.linalg.cholesky(a @ n.xp.matrix_transpose(a) + n.xp.eye(3), upper=upper)
        for a in (n.m / 8.0, n.m[0, ...] / 8.0)
        for upper in (False, True)
    ],
    "svd": lambda n: [
        n.xp.matmul(u * s[..., None, :], vh)
        for a in (n.m + 20.0 * n.xp.eye(3), n.m[0, ...])
        for u, s, vh in [n.xp.linalg.svd(a, full_matrices=False)]
    ],
    "eigh": lambda n: [
        n.xp.matmul(v * w[..., None, :], n.xp.matrix_transpose(v))
        for w, v in [n.xp.linalg.eigh(n.m + n.xp.matrix_transpose(n.m))]
    ],
    "eigvalsh": lambda n: [n.xp.linalg.eigvalsh(n.m + n.xp.matrix_transpose(n.m))],
    "eig": lambda n: [
        found
        for w, v in [n.xp.linalg.eig(n.m)]
        for found in (
            n.xp.matmul(n.m, v) - v * w[..., None, :],
            n.xp.sum(n.xp.abs(v) ** 2.0, axis=-2),
        )
    ],
    "eigvals": lambda n: [n.xp.sum(n.xp.linalg.eigvals(n.m) ** p, axis=-1) for p in (1, 2)],
    "svdvals": lambda n: [n.xp.linalg.svdvals(n.m), n.xp.linalg.svdvals(n.m[..., :2])],
    "matrix_rank": lambda n: [n.xp.linalg.matrix_rank(n.m + 20.0 * n.xp.eye(3))],
    "pinv": lambda n: [n.xp.linalg.pinv(n.m + 20.0 * n.xp.eye(3))],
    "inv": lambda n: [n.xp.linalg.inv(n.m + 20.0 * n.xp.eye(3))],
    "det": lambda n: [n.xp.linalg.det(n.m + 20.0 * n.xp.eye(3))],
    "slogdet": lambda n: [*n.xp.linalg.slogdet(n.m + 20.0 * n.xp.eye(3))],
    "qr": lambda n: [
        n.xp.matmul(*n.xp.linalg.qr(n.m + 20.0 * n.xp.eye(3), mode=mode))
        for mode in ("reduced", "complete")
    ],
    **{
        name: lambda n, name=name: CASES[name](n)
        for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")
    },
}
