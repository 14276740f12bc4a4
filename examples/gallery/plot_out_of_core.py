"""
A regression whose rows are never all in memory
===============================================

Rows come in chunks, and each is forgotten before the next. What people do then is to sum up the
normal equations: twice the condition, in powers of ten, so that a polynomial of degree 10 has
no digit left. ``mdqr.distributed.lstsq`` keeps triangles instead, and refines the solution when it
reads the rows again.

Reference: the same float64 rows, solved with 127 digits.
"""

import matplotlib.pyplot as plt
import numpy as np

import mdqr
from mdqr import distributed

CHUNKS, ROWS = 16, 1000
DEGREES = range(2, 17, 2)

# %%
# A chunk is made when it is asked for, here of random numbers; it might be read from a file.


def chunk(i, degree):
    """Return rows of float64 numbers."""
    rng = np.random.default_rng(i)
    t = rng.uniform(1, 2, ROWS)
    return np.vander(t, degree + 1), np.sin(6 * t) + 1e-3 * rng.normal(size=ROWS)


def fit(degree, precision):
    """Return the coefficients, from one chunk at a time."""
    rows = distributed.Rows(
        lambda i: tuple(mdqr.array(each, precision=precision) for each in chunk(i, degree)), CHUNKS
    )
    return distributed.lstsq(rows)


# %%
# Correct digits of the worst coefficient: normal equations in float64, and chunks in dd and qd.

right = {"normal equations, float64": [], "all rows, float64": [], "dd": [], "qd": []}
claimed = []
for degree in DEGREES:
    exact = fit(degree, "od").x
    parts = [chunk(i, degree) for i in range(CHUNKS)]
    gram = sum(a.T @ a for a, _ in parts)
    together = map(np.concatenate, zip(*parts, strict=True))
    answers = {
        "normal equations, float64": np.linalg.solve(gram, sum(a.T @ b for a, b in parts)),
        "all rows, float64": np.linalg.lstsq(*together)[0],
    }
    answers |= {p: fit(degree, p) for p in ("dd", "qd")}
    claimed.append(float(answers["dd"].info.digits.min()))
    for name, x in answers.items():
        error = abs(getattr(x, "x", x) / exact - 1).max()
        right[name].append(float(max(0.0, -mdqr.log10(error))))
for name, found in right.items():
    print(f"{name:26}", *(f"{d:5.1f}" for d in found))
print(f"{'claimed in dd':26}", *(f"{d:5.1f}" for d in claimed))

# %%
# Digits against the degree.

fig, ax = plt.subplots(figsize=(5, 4))
for name, found in right.items():
    ax.plot(DEGREES, found, "o-", markersize=4, label=name)
ax.set(
    xlabel="degree of the polynomial", ylabel="correct digits, worst coefficient", ylim=(0, None)
)
ax.legend()
fig.tight_layout()
plt.show()

# %%
# What this page claims: dd keeps all digits that it promises, and normal equations of degree 10
# have none.

assert all(d >= c - 0.5 for d, c in zip(right["dd"], claimed, strict=True))
assert min(right["dd"]) > 25
assert right["normal equations, float64"][4] < 1
