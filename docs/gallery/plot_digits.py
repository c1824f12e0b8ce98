"""
Ten pixels, and a support vector machine
========================================

Panels in scikit-learn: which pixels tell a 4 from a 9, and how well do they classify beside a support vector machine?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import cobic

digits = load_digits()
use = np.isin(digits.target, [4, 9])
X, y = digits.data[use], digits.target[use]

model = cobic.PanelClassifier(size=10).fit(X, y)
print(f"{model.status_}: tail margin {model.tail_margin_:.3f} of 16 shades, at most {model.bound_:.3f}")

# %%
# Blue pixels are darker in a 4, orange ones in a 9: they are compared, and the darker colour wins.

fig, axes = plt.subplots(1, 2, figsize=(6, 3.2), layout="constrained")
for ax, digit in zip(axes, (4, 9), strict=True):
    ax.imshow(X[y == digit].mean(axis=0).reshape(8, 8), cmap="Greys")
    for pixel, cls in zip(model.panel_.order, model.panel_.table["class"], strict=True):
        row, column = divmod(pixel, 8)
        colour = {"4": "#0072B2", "9": "#D55E00"}[cls]
        corner = column - 0.45, row - 0.45
        ax.add_patch(plt.Rectangle(corner, 0.9, 0.9, fill=False, linewidth=2.5, color=colour))
    ax.set(title=f"mean of all {digit}s", xticks=[], yticks=[])

# %%
# Beside a linear support vector machine with as many pixels, chosen one by one (analysis of variance), and with all 64.
# Everything is chosen anew in each of five folds.

SIZES = [2, 4, 6, 10, 20]


def right(*steps: object) -> float:
    """The share of images that are read right by these steps, in five folds."""
    return cross_val_score(make_pipeline(*steps), X, y, cv=5).mean()


panels = [right(cobic.PanelClassifier(size, target_gap=0.05)) for size in SIZES]
machine = StandardScaler(), LinearSVC()
machines = [right(VarianceThreshold(), SelectKBest(k=size), *machine) for size in SIZES]
everything = right(*machine)
for size, ours, theirs in zip(SIZES, panels, machines, strict=True):
    print(f"{size:>2} pixels: panel {ours:.3f}, support vector machine {theirs:.3f}")
print(f"all 64:    support vector machine {everything:.3f}")

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.plot(SIZES, panels, "o-", color="#0072B2", label="panel")
ax.plot(SIZES, machines, "s--", color="#D55E00", label="best pixels one by one, support vector machine")
ax.axhline(everything, color="grey", linestyle=":", label="all 64 pixels, support vector machine")
ax.set(xlabel="pixels", ylabel="share of images read right", xticks=SIZES)
ax.legend(loc="lower right")

# %%
# A panel is a selector, too: in a pipeline, another classifier can be fitted to its pixels.

both = right(cobic.PanelClassifier(10, target_gap=0.05), *machine)
print(f"ten pixels of a panel, then a support vector machine: {both:.3f}")
