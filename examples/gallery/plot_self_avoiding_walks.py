"""
The growth constant of self-avoiding walks
==========================================

How many walks of n steps on the square lattice never visit a point twice? About ``mu^n``, and
nobody has a formula for mu. The numbers of closed ones, polygons, grow by the same mu
(Hammersley, 1961) and are known up to 130 steps.

Differential approximants (Guttmann and Joyce, 1972) fit a linear differential equation with
polynomial coefficients to the generating function: ``sum Q_k (x d/dx)^k f = P``. Roots of the
leading coefficient are singularities of f, the nearest one ``1 / mu^2``. There are as many
approximants as ways to choose degrees: where they agree they are believed, and their scatter is
the error bar. The systems have exact integers of 50 digits and conditions far beyond 1e16.

Reference: ``mu = 2.63815853032790(3)`` by J. L. Jacobsen, C. R. Scullard and A. J. Guttmann, *On
the growth constant for square-lattice self-avoiding walks*, 2016. The numbers are those of N.
Clisby and I. Jensen (2012), OEIS `A002931 <https://oeis.org/A002931>`_ and `github.com/IwanJensen
<https://github.com/IwanJensen/Self-avoiding-walks-and-polygons>`_.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

import mdqr
from mdqr.linalg import roots, solve

MU = "2.63815853032790"
POLYGONS = """
1 2 7 28 124 588 2938 15268 81826 449572 2521270 14385376 83290424 488384528 2895432660 17332874364
104653427012 636737003384 3900770002646 24045500114388 149059814328236 928782423033008
5814401613289290 36556766640745936 230757492737449636 1461972662850874916 9293993428791901042
59270905595010696944 379108737793289505364 2431560774079622817356 15636142410456687798584
100792521026456246096640 651206027727607425003232 4216407618470423070733556
27355731801639756123505014 177822806050324126648352460 1158018792676190545425711414
7554259214694896127239818088 49360379260931646965916677280 323028185951187646733521902740
2117118644744425875029583096670 13895130612692826326409919713700 91319729650588816198004801698400
600931442757555468862970353941700 3959306049439766117380237943449096
26117050944268596220897591868398452 172472018113289556124895798382016316
1140203722938033441542255979068861816 7545649677448506970646886033356862162
49985425311177130573540712929060556804 331440783010043009106782321492277936522
2199725502650970871182263620080571090156 14612216410979678692651320184958285074180
97148177367657853074723038687712338567772 646414111975777272517734370762400697757978
4304591798055577073477026735313861700713176 28687064652813390269800415016181829385121162
191320663411431818964849556990106874938907548 1276875276296096391140817393830149918943464494
8527773411790633004325737459634720668141188468 56991966408991589554333823232058663722205631080
381130017241685467740337492217602004487643160168 2550382601811089051031712642200910692143744745034
17076613429289025223970687974244417384681143572320
"""  # of 4, 6, 8, ... steps

# %%
# One approximant: the coefficients of ``Q_0, ..., Q_K`` and P from as many numbers of polygons,
# the root of ``Q_K`` nearest to ``1 / mu^2``, and from ``Q_(K-1)`` the exponent of the
# singularity there.


def approximant(f, order, inhomogeneous):
    """The growth constant and the exponent."""
    n, j = len(f), np.arange(len(f))
    lag = np.maximum(j[:, None] - j, 0)
    sizes = [(n - inhomogeneous + k) // (order + 1) for k in range(order + 1)]
    shifted = [mdqr.tril(f[lag] * lag**k)[:, :m] for k, m in enumerate(sizes)]
    a = mdqr.concatenate([*shifted, -mdqr.eye(n, inhomogeneous + 1, precision=f.precision)], axis=1)
    one = sum(sizes[:-1])  # the column of the coefficient that is set to 1
    a, b = mdqr.concatenate([a[:, :one], a[:, one + 1 :]], axis=1), -a[:, one]
    if f.precision is mdqr.d:  # NumPy's solution, since `solve` calls these matrices singular
        rest = mdqr.array(np.linalg.solve(a.to_numpy(), b.to_numpy()), precision="d")
    else:
        rest = solve(a, b)
    below, leading = rest[one - sizes[-2] : one], rest[one : one + sizes[-1] - 1]
    leading = mdqr.concatenate([mdqr.ones(1, precision=f.precision), leading])
    found = roots(leading[::-1]).roots
    x = found[abs(found.to_numpy() - float(MU) ** -2).argmin()].real
    slope = mdqr.polyval(mdqr.polyder(leading[::-1]), x)
    exponent = order - 1 - mdqr.polyval(below, x, increasing=True) / (x * slope)
    return float(1 / mdqr.sqrt(x) - mdqr.array(MU, precision="qd")), float(exponent)


# %%
# 96 of them, of orders 2 to 4, in float64 and in quad-double.

choices = list(itertools.product(range(61, 65), (2, 3, 4), range(1, 9)))
found = {}
for name in ("d", "qd"):
    f = mdqr.array(POLYGONS.split(), precision=name)
    found[name] = np.array([approximant(f[:n], *choice) for n, *choice in choices])
    middle = np.median(found[name], axis=0)
    scatter = np.median(abs(found[name] - middle), axis=0)
    print(f"{name:>2}: mu - reference {middle[0]:.1e}, scatter {scatter[0]:.0e}", end="")
    print(f", exponent {middle[1]:.9f}")

# %%
# The exponent is believed to be 3/2 (Nienhuis, 1982). Approximants that miss it miss mu as well,
# and nearly by a multiple: a line through them, at 3/2, is nearer than their median.

shifts, exponents = found["qd"].T
near = abs(exponents - 1.5) < 3 * np.median(abs(exponents - 1.5))
line, covariance = np.polyfit(exponents[near] - 1.5, shifts[near], 1, cov=True)
mu = mdqr.array(MU, precision="qd") + line[1]
print(f"at the exponent 3/2: mu = {mu.to_strings(digits=13)} +- {covariance[1, 1] ** 0.5:.0e}")
print(f"the reference:       mu = {MU[:14]}")

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
for name, color in (("d", "tab:orange"), ("qd", "tab:blue")):
    left.plot(*(found[name] - [0, 1.5]).T, ".", color=color, label=name)
left.set(xlim=(-5e-9, 5e-9), ylim=(-2e-6, 2e-6))
left.legend()
right.plot(shifts[near], exponents[near] - 1.5, ".")
right.plot(np.polyval(line, exponents[near] - 1.5), exponents[near] - 1.5, linewidth=0.8)
right.plot(0, 0, "k+", markersize=12, label="reference")
for ax in (left, right):
    ax.set(xlabel=r"$\mu$ - reference", ylabel="exponent - 3/2")
right.legend()
fig.tight_layout()
plt.show()

# %%
# What this page claims: ten digits without the exponent and eleven with it; float64 has nine.
# Octo-double scatters as quad-double does: what is missing is not precision but polygons of more
# steps. The reference has 15 digits by another method, a topological transfer matrix.

middle = {name: np.median(each[:, 0]) for name, each in found.items()}
assert abs(middle["qd"]) < 2e-11
assert abs(line[1]) < 3e-12
assert abs(middle["d"]) > 1e-10
