"""
The largest selection, and its margins
======================================

How many features can be kept such that the class of every sample can still be read back from them?
"""

import matplotlib.pyplot as plt
import numpy as np

import cobic

data = cobic.datasets.make_expression(seed=0)
problem = data.problem(alpha=10)
everything = np.ones(problem.n_features, dtype=bool)
print(f"with all features {(problem.margins(everything) <= 0).sum()} samples are given a wrong class")

result = cobic.solve(problem)
print(f"{result.status}: {result.n_selected} of {problem.n_features} features, at most {result.upper_bound}")

# %%
# Samples from top to bottom by class, features from left to right, the kept ones before the thick line. The dropped
# ones are few, and nearly all were planted as *contaminated*: one sample of the other class has a gross error in them.

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
cobic.plot.heatmap(problem, result, ax)
kinds = np.array(data.feature_kinds)
for kind in np.unique(kinds):
    planted = kinds == kind
    print(f"{kind:<14}{planted.sum():>6} features, {(planted & ~result.support).sum():>4} dropped")

# %%
# The margin of each sample, above α. Diamonds are the samples that decide: a dropped feature, put back, would break
# them.

fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
cobic.plot.margins(problem, result, ax)
ax.set_yscale("symlog", linthresh=10)
ax.set_ylim(-1, 300)

# %%
# How the best selection and the bound met:

fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
cobic.plot.progress(result, ax)
ax.set_ylim(problem.n_features - 100, problem.n_features + 10)
