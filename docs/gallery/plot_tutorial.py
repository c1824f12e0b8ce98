"""
From a table to classified samples
==================================

One way through, with a table from the lab in which two samples have the wrong label: who does not fit, which margin,
which genes, and what new samples are.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import cobic

# %%
# The files from the lab. Yours exist already: one line per sample, a column with the class.

lab = Path(tempfile.mkdtemp())
made = cobic.datasets.make_expression(n_features=400, informative=0.5, seed=2)
mislabelled = [12, 33]
labels = made.y.copy()
labels[mislabelled] = np.where(labels[mislabelled] == "A", "B", "A")
for name, part, classes in (("lab.csv", made, labels), ("new.csv", made.test, made.test.y)):
    table = pd.DataFrame(part.X, index=part.sample_names, columns=part.feature_names)
    table.insert(0, "class", classes)
    table.to_csv(lab / name)

# %%
# Read them. What is understood of a file says ``cobic inspect lab.csv``, too.

data = cobic.read(lab / "lab.csv", labels="class")
print(f"{data.X.shape[0]} samples, {data.X.shape[1]} genes, classes {data.class_sizes}")

# %%
# Are there samples that do not fit their label? With soft margins and a moderate α, who misses the margin by most is
# the first suspect.

check = cobic.ConsistentBiclustering(alpha=60, slack_penalty="auto").fit(data.X, data.y)
suspects = check.violations_
suspects.round(1)

# %%
# Ask the lab about the worst ones. Here the two on top turn out to be mislabelled; they are left out.

keep = np.setdiff1d(np.arange(len(data.y)), suspects["sample"].head(2))
X, y = data.X[keep], data.y[keep]

# %%
# Which margin? The largest whose error in cross-validation is within one standard error of the least.

path = cobic.path(X, y, alphas=[0, 30, 60, 90], cv=3, feature_names=data.feature_names)
print(path.reason)

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
path.plot(ax)

# %%
# The 30 genes that survive the largest margins, of which these come first:

best = path.top(30)
best.to_csv(lab / "best-genes.csv", index=False)
best.head(5).round(1)

# %%
# The selection at the chosen margin, and its proof:

problem, result = path.chosen_problem, path.chosen_result
print(cobic.verify(problem, result.certificate).reason)

# %%
# New samples:

cobic.Model.of(problem, result).save(lab / "model.json")
new = cobic.read(lab / "new.csv", labels="class")
predicted = cobic.Model.load(lab / "model.json").predict(new.X, new.feature_names)
print(f"classified as their labels say: {(predicted == new.y).sum()} of {len(new.y)}")
