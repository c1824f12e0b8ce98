"""
A path over the margin
======================

The wider the margin that is asked for, the fewer features are left. Which margin serves new samples best?
"""

import matplotlib.pyplot as plt

import cobic

data = cobic.datasets.make_expression(n_features=300, informative=0.5, seed=3)
path = cobic.path(data.problem(), alphas=[0, 25, 50, 75, 100, 125], cv=3)
path.table[["alpha", "n_selected", "upper_bound", "worst_margin", "cv_error", "cv_se"]].round(3)

# %%
# Blue: the features that are kept, shaded up to what is proven to be the most. Orange: the error of selections that
# were made anew in each fold, with its standard error. The choice is the largest margin whose error is within one
# standard error of the least.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
path.plot(ax)
print(path.reason)

# %%
# The features that survive the largest margins come first:

path.top(8).round(1)

# %%
# Samples that took no part:

model = cobic.Model.of(path.chosen_problem, path.chosen_result)
predicted = model.predict(data.test.X)
print(f"{(predicted == data.test.y).sum()} of {data.test.y.size} new samples are given their class")
