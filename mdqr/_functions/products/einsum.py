"""Einstein's notation for sums of products."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

from mdqr._backend import for_block
from mdqr._core.promotion import promote
from mdqr._errors import advised
from mdqr._functions import reductions
from mdqr._functions.manipulation.axes import diagonal
from mdqr._functions.manipulation.shapes import broadcast_to

if TYPE_CHECKING:
    from mdqr._array.array import MDArray

_FORM = re.compile(r"([A-Za-z]*(?:\.\.\.[A-Za-z]*)?)").fullmatch
Labels = list[Any]  # a letter, or a number for an axis of the ellipsis


@advised
def einsum(*operands: Any) -> MDArray:
    """Return sums of products in Einstein's notation.

    Parameters
    ----------
    *operands : str, MDArray or array_like
        First the subscripts, a letter for each axis, as in ``"ij,jk->ik"``; ``...`` denotes axes
        that broadcast. Without an arrow the result has the letters that occur once, in alphabetical
        order. Then the arrays, at least one an `MDArray`.

    Returns
    -------
    MDArray
        Sums of K products each: ``|error| <= (K + 8) * eps * sum(|a| |b|)``; of n operands, which
        are multiplied in pairs, smallest results first, up to n - 1 times that and terms in eps**2.

    Raises
    ------
    ValueError
        If the subscripts are not text, or do not fit the operands in number or length.

    Examples
    --------
    >>> import mdqr
    >>> a = mdqr.ones((2, 3), precision=mdqr.qd)
    >>> mdqr.einsum("ij,kj->ik", a, a).to_numpy()
    array([[3., 3.],
           [3., 3.]])
    """
    if len(operands) < 2 or not isinstance(operands[0], str):
        raise ValueError(
            "einsum takes subscripts in one text, then operands; got "
            f"{', '.join(type(x).__name__ for x in operands) or 'nothing'}"
        )
    subscripts = operands[0]
    ops = promote(*operands[1:])
    arrays = [ops.wrap(block) for block in ops.full_blocks()]
    terms, output = _parsed(subscripts, [x.ndim for x in arrays])
    sizes: dict[Any, int] = {}
    for labels, x in zip(terms, arrays, strict=True):
        for label, n in zip(labels, x.shape, strict=True):
            if n != 1 or label not in sizes:
                if sizes.get(label, 1) not in (1, n):
                    raise ValueError(f"axis {label!r} has lengths {sizes[label]} and {n}")
                sizes[label] = n
    if set(output) - set(sizes):
        raise ValueError(f"the result has axes of no operand: {subscripts!r}")
    parts = [_single(x, labels) for x, labels in zip(arrays, terms, strict=True)]
    while len(parts) > 2:
        parts = _fewer(ops, parts, output, sizes)
    if len(parts) == 1:
        (x, labels), summed = parts[0], [c for c in parts[0][1] if c not in output]
        total = _summed(x, labels, summed)
        rest = [c for c in labels if c in output]
        return total.transpose(*[rest.index(c) for c in output])
    return _product(ops, parts, output, sizes)


def _parsed(subscripts: str, ndims: list[int]) -> tuple[list[Labels], Labels]:
    text = subscripts.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    texts = inputs.split(",")
    if len(texts) != len(ndims) or not all(map(_FORM, (*texts, result))):
        raise ValueError(f"subscripts {subscripts!r} do not fit {len(ndims)} operands")
    extra = [n - len(t.replace("...", "")) for t, n in zip(texts, ndims, strict=True)]
    if any(k < 0 or (k and "..." not in t) for k, t in zip(extra, texts, strict=True)):
        raise ValueError(f"subscripts {subscripts!r} do not fit operands of {ndims} axes")
    most = max(extra)
    terms = [_labels(t, range(most - k, most)) for t, k in zip(texts, extra, strict=True)]
    if arrow:
        output = _labels(result, range(most))
    else:
        counts = Counter(c for t in texts for c in t.replace("...", ""))
        output = [*range(most), *sorted(c for c, n in counts.items() if n == 1)]
    if len(set(output)) < len(output):
        raise ValueError(f"the result names an axis twice: {subscripts!r}")
    return terms, output


def _labels(text: str, ellipsis: range) -> Labels:
    head, dots, tail = text.partition("...")
    return [*head, *(ellipsis if dots else ()), *tail]


def _single(x: MDArray, labels: Labels) -> tuple[MDArray, Labels]:
    """Return an operand with one axis for each of its labels."""
    labels = list(labels)
    while len(set(labels)) < len(labels):
        label = next(c for c in labels if labels.count(c) > 1)
        first = labels.index(label)
        second = labels.index(label, first + 1)
        if x.shape[first] != x.shape[second]:
            raise ValueError(f"axis {label!r} has lengths {x.shape[first]} and {x.shape[second]}")
        x = diagonal(x, 0, first, second)
        labels = [c for i, c in enumerate(labels) if i not in (first, second)] + [label]
    return x, labels


def _summed(x: MDArray, labels: Labels, summed: Labels) -> MDArray:
    return reductions.sum(x, tuple(labels.index(c) for c in summed)) if summed else x


def _fewer(ops: Any, parts: list[Any], output: Labels, sizes: dict[Any, int]) -> list[Any]:
    """Return the operands, with the two of them multiplied whose product is smallest."""

    def kept(i: int, j: int) -> Labels:
        others = {c for k, (_, labels) in enumerate(parts) if k not in (i, j) for c in labels}
        both = dict.fromkeys([*parts[i][1], *parts[j][1]])
        return [c for c in both if c in others or c in output]

    pairs = combinations(range(len(parts)), 2)
    i, j = min(pairs, key=lambda pair: prod(sizes[c] for c in kept(*pair)))
    labels = kept(i, j)
    found = _product(ops, [parts[i], parts[j]], labels, sizes)
    rest = [part for k, part in enumerate(parts) if k not in (i, j)]
    return [*rest, (found, labels)]


def _product(ops: Any, parts: list[Any], output: Labels, sizes: dict[Any, int]) -> MDArray:
    """Return the product of two operands as one batched product of matrices."""
    known = [set(labels) for _, labels in parts]
    batch = [c for c in output if c in known[0] and c in known[1]]
    met = [c for c in parts[0][1] if c in known[1] and c not in output]
    free = [
        [c for c in output if c in own and c not in other] for own, other in (known, known[::-1])
    ]
    matrices = []
    for (x, labels), own in zip(parts, free, strict=True):
        wanted = [*batch, *own, *met]
        reduced = _summed(x, labels, [c for c in labels if c not in wanted])
        rest = [c for c in labels if c in wanted]
        ordered = reduced.transpose(*[rest.index(c) for c in wanted])
        spread = broadcast_to(ordered, tuple(sizes[c] for c in wanted))
        shape = [prod(sizes[c] for c in group) for group in (batch, own, met)]
        matrices.append(spread.reshape(shape))
    left, right = matrices
    block = for_block(left._block).matmul(left._block, right.mT._block, kind=ops.kind)
    order = [*batch, *free[0], *free[1]]
    found = ops.wrap(block)._reshaped([sizes[c] for c in order])
    return found.transpose(*[order.index(c) for c in output])
