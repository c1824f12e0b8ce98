"""
Which size?
===========

How wide a margin has each number of genes, how wide could it be, and from where on do new samples gain nothing?
"""

import matplotlib.pyplot as plt

import cobic

data = cobic.datasets.make_expression(n_features=200, informative=0.3, contaminated=0, seed=4)
problem = data.problem(transform="log2", floor=20)
frontier = cobic.frontier(problem, sizes=[2, 6, 20, 60, 150], cv=3, target_gap=0.1)
frontier.table[["size", "tail_margin", "bound", "cv_error", "cv_shortfall"]].round(3)

# %%
# Blue: the margin of the best panel that was found, and what is proven to be the most (the search ends here as soon as
# they are within 10 %). A few genes are more apart than many, whose means carry along genes that say less. Orange: the
# error of panels that were chosen anew in each fold of a cross-validation. The choice goes by how far held-out samples
# fall short of a typical margin, which says more than errors where samples are few.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
frontier.plot(ax)
print(frontier.reason)

# %%
# Samples that took no part in the choice of the size:

predicted = frontier.panel.model.predict(data.test.X)
print(f"{(predicted == data.test.y).sum()} of {data.test.y.size} new samples are given their class")
