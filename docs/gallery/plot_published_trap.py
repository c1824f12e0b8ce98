"""
The trap in the published criterion
===================================

The heuristic of Mucherino and Cafieri (2010) stops when its own measure of inconsistency, g, is 0. On Golub's data it
stops at a selection that is not consistent.
"""

import matplotlib.pyplot as plt
import numpy as np

import cobic

golub = cobic.datasets.load_golub()
problem = golub.problem()
printed = cobic.solve(problem, method="bilevel-vns", criterion="published")
margins = problem.margins(printed.support)
print(f"g = {printed.runs[0].g:g} at {printed.runs[0].f} features")
print(f"worst margin by the true means: {margins.min():.2f}; {(margins <= 0).sum()} samples misread")

# %%
# g measures means whose denominators are assumed shares of the classes, and nothing ties these to the shares that the
# selection has. By the true means some of the patients are given the wrong class:

certified = cobic.solve(problem)
print(f"{certified.status}: {certified.n_selected} features, at most {certified.upper_bound}")

fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
for title, result, style, colour in (
    (f"published criterion, {printed.runs[0].f} features", printed, "x", "#D55E00"),
    (f"the largest consistent selection, {certified.n_selected} features", certified, "o", "#0072B2"),
):
    ax.plot(np.sort(problem.margins(result.support))[:12], style, color=colour, label=title)
ax.axhline(0, color="grey", linewidth=1)
ax.set(xlabel="the twelve samples with the smallest margins", ylabel="margin", xticks=[])
ax.legend()

# %%
# So no consistent selection has as many features: what was found is above the proven maximum. cobic runs the heuristic
# as printed on request, and calls its answer what it is:

print(printed.status, "-", printed.reason)
