"""
Ten genes for two leukaemias
============================

Golub's data (1999): 38 patients with acute lymphoblastic (ALL) or myeloid (AML) leukaemia, 7129 probes. Which ten, five
of each class, separate them by the widest margin?
"""

import matplotlib.pyplot as plt
import numpy as np

import cobic

golub = cobic.datasets.load_golub()
problem = golub.problem(transform="log2", floor=20)
panel = cobic.panel(problem, size={"ALL": 5, "AML": 5})
print(f"{panel.status}: {panel.tail_margin:.4f}, no other ten above {panel.bound:.4f}")
print(f"read back: {(panel.margins > 0).sum()} of {golub.y.size}")
table = panel.table.assign(fold=2 ** panel.table["lead"])
table["gene"] = [golub.feature_descriptions[column] for column in panel.order]
table[["feature", "gene", "class", "fold"]].round(1)

# %%
# On log2 a difference of means is a fold change.

COLOURS = {"ALL": "#0072B2", "AML": "#D55E00"}
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.barh(table["feature"], table["lead"], color=table["class"].map(COLOURS))
ax.invert_yaxis()
ax.set_xlabel("mean of its class − mean of the other, log2")
ax.set_title("blue: higher in ALL, orange: higher in AML")

# %%
# The 34 patients that Golub and his colleagues kept for a test, by the mean of the five genes of each class. Above the
# line a sample is read as AML.

means = panel.model.means(golub.test.X)
predicted = panel.model.predict(golub.test.X)
print(f"{(predicted == golub.test.y).sum()} of {golub.test.y.size} test samples are given their class")

fig, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
for cls, colour in COLOURS.items():
    ax.plot(*means[golub.test.y == cls].T, "o", color=colour, label=cls)
ends = np.array([means.min(), means.max()])
ax.plot(ends, ends, color="grey", linewidth=1)
ax.set(xlabel="mean of the genes of ALL, log2", ylabel="mean of the genes of AML, log2")
ax.legend(title="diagnosis")
