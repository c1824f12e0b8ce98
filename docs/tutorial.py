"""From a CSV file to a chosen margin, the 30 best genes, the suspects, and classified new samples.

Run it anywhere: ``python tutorial.py``. It makes its own "files from the lab" in the working directory: 38 samples of
two classes, two of them with the wrong label, and 34 new samples.
"""

from pathlib import Path

import numpy as np

import cobic
from cobic.io import table_text

# --- The files from the lab. Yours exist already: one line per sample, a column with the class.
made = cobic.datasets.make_expression(n_features=400, informative=0.5, seed=2)
mislabelled = [12, 33]
labels = made.y.copy()
labels[mislabelled] = np.where(labels[mislabelled] == "A", "B", "A")
Path("lab.csv").write_text(table_text(cobic.Dataset(made.X, labels, made.feature_names, made.sample_names, "lab")))
Path("new.csv").write_text(table_text(made.test))

# --- 1. Read it.
data = cobic.read("lab.csv", labels="class")
print(f"{data.X.shape[0]} samples, {data.X.shape[1]} genes, classes {data.class_sizes}")

# --- 2. Are there samples that do not fit their label?
# Soft margins with a moderate α: who misses the margin by most is the first suspect.
check = cobic.ConsistentBiclustering(alpha=60, slack_penalty="auto").fit(data.X, data.y)
suspects = check.violations_
print("\nSuspects, worst first:")
print(suspects.head(5).to_string(index=False))

# Ask the lab about the worst ones. Here the two at the top turn out to be mislabelled; they are left out.
keep = np.setdiff1d(np.arange(len(data.y)), suspects["sample"].head(2))
X, y = data.X[keep], data.y[keep]

# --- 3. Which margin?
path = cobic.path(X, y, n_margins=5, cv=5, time_limit=3, feature_names=data.feature_names)
print("\nThe curve over α:")
print(path.table[["alpha", "n_selected", "upper_bound", "cv_error", "cv_se"]].to_string(index=False))
print(path.reason)

# --- 4. The 30 best genes.
best = path.top(30)
print("\nThe genes that survive the largest margins:")
print(best.head(10).to_string(index=False))
best.to_csv("best-genes.csv", index=False)

# --- 5. The selection at the chosen margin, its proof, and new samples classified.
problem, result = path.chosen_problem, path.chosen_result
print(f"\n{result}")
print(cobic.verify(problem, result.certificate).reason)

model = cobic.Model.of(problem, result)
model.save("model.json")
new = cobic.read("new.csv", labels="class")
predicted = cobic.Model.load("model.json").predict(new.X, new.feature_names)
print(f"New samples classified as their labels say: {(predicted == new.y).sum()} of {len(new.y)}")
