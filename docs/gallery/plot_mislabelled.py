"""
Mislabelled samples
===================

Two of 38 samples have the wrong label. Soft margins, which may be violated at a price, show who does not fit.
"""

import matplotlib.pyplot as plt
import numpy as np

import cobic

data = cobic.datasets.make_expression(n_features=400, informative=0.5, seed=2)
flipped = [12, 33]
labels = data.y.copy()
labels[flipped] = np.where(labels[flipped] == "A", "B", "A")

problem = cobic.Problem(data.X, labels, alpha=30, slack_penalty="auto", sample_names=data.sample_names)
result = cobic.solve(problem)
print(f"{result.n_selected} of {problem.n_features} features; objective {result.objective:.1f}")
cobic.violation_table(problem, result.support).round(1)

# %%
# Nobody told the search which two they are. Below the line a sample misses its margin of α = 30; the names are those of
# the samples with the wrong label.

margins = problem.margins(result.support)
order = np.argsort(margins)
wrong = np.isin(order, flipped)

fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
places = np.arange(order.size) + 1
ax.plot(places[~wrong], margins[order][~wrong], "o", color="#0072B2", label="right label")
ax.plot(places[wrong], margins[order][wrong], "D", color="#D55E00", label="wrong label")
for place in np.flatnonzero(wrong):
    ax.annotate(
        data.sample_names[order[place]], (place + 1, margins[order[place]]), (8, -3), textcoords="offset points"
    )
ax.axhline(0, color="grey", linewidth=1)
ax.set(xlabel="samples, smallest margin first", ylabel="margin above α")
ax.legend(loc="lower right")

# %%
# Hard margins would have hidden them: features are dropped until the wrong labels fit, and nobody is named.

hard = cobic.solve(cobic.Problem(data.X, labels, alpha=30))
print(f"hard margins: {hard.status}, {hard.n_selected} features, worst margin {hard.worst_margin:.2f}")
print(f"right labels: {cobic.solve(data.problem(alpha=30)).n_selected} features")
