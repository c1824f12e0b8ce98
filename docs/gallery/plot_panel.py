"""
The best few features
=====================

Which six genes separate two classes by the widest margin, and how much better can any other six be?
"""

import matplotlib.pyplot as plt
import numpy as np

import cobic

data = cobic.datasets.make_expression(seed=0)
problem = data.problem(transform="log2", floor=20)
panel = cobic.panel(problem, size=6)
print(f"{panel.status}: tail margin {panel.tail_margin:.3f}, no other six above {panel.bound:.3f}")
panel.table.round(2)

# %%
# Each gene belongs to the class in which its mean is highest. These are its values, in all samples; a point far off is
# a gross error, of one sample.

COLOURS = {"A": "#0072B2", "B": "#D55E00"}
values = np.log2(np.maximum(data.X[:, panel.order], 20))
fig, axes = plt.subplots(1, 6, figsize=(9, 3), sharey=True, layout="constrained")
for ax, gene, column in zip(axes, panel.features, values.T, strict=True):
    for place, (cls, colour) in enumerate(COLOURS.items()):
        of_class = column[data.y == cls]
        beside = place + np.linspace(-0.25, 0.25, of_class.size)
        ax.plot(beside, of_class, "o", color=colour, alpha=0.6, markersize=4)
    ax.set(title=gene, xticks=[0, 1], xticklabels=COLOURS, xlim=(-0.5, 1.5))
axes[0].set_ylabel("log2 of the value")

# %%
# The margin of a sample is the mean of the genes of its class minus that of the others: 1 is a factor of 2. A sample
# with a margin below 0 would be given the wrong class. The panel has the largest mean of the worst 30 % of the margins,
# so that no single sample with a gross error rules the choice. New samples have not been looked at.

lead = np.diff(panel.model.means(data.test.X), axis=1).ravel()
new = np.where(data.test.y == "B", lead, -lead)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
for ax, title, labels, margins in (
    (axes[0], "the samples that it was chosen from", data.y, panel.margins),
    (axes[1], "new samples", data.test.y, new),
):
    order = np.argsort(margins)
    for cls, colour in COLOURS.items():
        places = np.flatnonzero(labels[order] == cls)
        ax.plot(places + 1, margins[order][places], "o", color=colour, label=cls)
    ax.axhline(0, color="grey", linewidth=1)
    ax.set(title=title, xlabel="samples, smallest margin first")
axes[0].set_ylabel("margin, as log2 of a factor")
axes[1].legend(title="class", loc="lower right")
print(f"read back: {(panel.margins > 0).sum()} of {data.y.size}, {(new > 0).sum()} of {new.size} new ones")
