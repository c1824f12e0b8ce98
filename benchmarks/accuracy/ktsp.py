"""Top scoring pairs (Geman et al. 2004; k pairs: Tan et al. 2005), for two classes.

The score of a pair (i, j) is the difference between the classes in how often feature i is below feature j. Among equal
scores the pair whose ranks differ more between the classes comes first. The k best pairs without a common feature vote.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.data import Floats, Fold, f_statistics
from benchmarks.accuracy.protocol import CHOSEN, INNER_FOLDS, Answer, Size, split

FILTERED = 1000  # features with the best F test are paired: all pairs of 12,600 would take a minute per fold
CHOICES = (1, 3, 5, 7, 9)  # pairs to choose from, as in Tan et al.

Pairs = NDArray[np.intp]  # (k, 2): if the first is below the second, the sample is of the second class
Counts = NDArray[np.unsignedinteger[Any]]


def below(X: Floats) -> Counts:
    """In how many samples feature i is below feature j, for all i and j."""
    counts = np.zeros((X.shape[1], X.shape[1]), dtype=np.min_scalar_type(X.shape[0]))
    for sample in X:
        counts += sample[:, None] < sample[None, :]
    return counts


def best_pairs(first: Counts, second: Counts, sizes: tuple[int, int], ranks: tuple[Floats, Floats], k: int) -> Pairs:
    """The k best pairs without a common feature, from the counts and mean ranks of both classes."""
    scores = np.float32(1.0 / sizes[1]) * second - np.float32(1.0 / sizes[0]) * first
    gap = ranks[1] - ranks[0]
    pairs: list[tuple[int, int]] = []
    while len(pairs) < k:
        top = float(scores.max())
        if top <= 0:
            break
        i, j = np.nonzero(scores >= top - 1e-6)
        order = np.argsort(gap[i] - gap[j], kind="stable")  # i rises less than j from the first class to the second
        for place in order:
            a, b = int(i[place]), int(j[place])
            if len(pairs) < k and scores[a, b] > 0:
                pairs.append((a, b))
                for feature in (a, b):
                    scores[feature, :] = scores[:, feature] = -1.0
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)


def top_pairs(X: Floats, second: NDArray[np.bool_], k: int) -> Pairs:
    """The k best pairs of some samples, of which some are of the second class."""
    ranks = rankdata(X, axis=1)
    return best_pairs(
        below(X[~second]),
        below(X[second]),
        (int((~second).sum()), int(second.sum())),
        (ranks[~second].mean(axis=0), ranks[second].mean(axis=0)),
        k,
    )


def votes(pairs: Pairs, X: Floats) -> NDArray[np.bool_]:
    """Whether the majority of the pairs says that a sample is of the second class."""
    said = X[:, pairs[:, 0]] < X[:, pairs[:, 1]]
    return np.asarray(2 * said.sum(axis=1) > pairs.shape[0])


def leave_one_out(X: Floats, second: NDArray[np.bool_], numbers: Sequence[int]) -> dict[int, int]:
    """How many samples are right when each is held out, by some numbers of pairs among all features."""
    ranks = rankdata(X, axis=1)
    counts, sums = [below(X[~second]), below(X[second])], [ranks[~second].sum(axis=0), ranks[second].sum(axis=0)]
    right = dict.fromkeys(numbers, 0)
    for sample, rank, is_second in zip(X, ranks, second, strict=True):
        mine, sizes = int(is_second), [int((~second).sum()), int(second.sum())]
        sizes[mine] -= 1
        held_out = below(sample[None, :]).astype(counts[mine].dtype)
        counts[mine] -= held_out
        sums[mine] -= rank
        means = sums[0] / sizes[0], sums[1] / sizes[1]
        pairs = best_pairs(counts[0], counts[1], (sizes[0], sizes[1]), means, max(numbers))
        for k in numbers:
            right[k] += int(votes(pairs[:k], sample[None, :])[0] == is_second)
        counts[mine] += held_out
        sums[mine] += rank
    return right


def predictions(fold: Fold, numbers: Sequence[int]) -> dict[int, Answer]:
    """Predictions by some numbers of pairs: fewer pairs are the first of more."""
    classes = np.unique(fold.y)
    kept = np.sort(np.argsort(-f_statistics(fold.X, fold.y), kind="stable")[:FILTERED])
    pairs = kept[top_pairs(fold.X[:, kept], fold.y == classes[1], max(numbers))]
    return {k: (classes[votes(pairs[:k], fold.new).astype(int)], np.unique(pairs[:k])) for k in numbers}


def answers(fold: Fold, sizes: Sequence[Size]) -> dict[Size, Answer]:
    """Pairs of at most so many features, an odd number of them; or as many pairs as are best inside."""
    numbers: dict[Size, int] = {}
    for size in sizes:
        if size == CHOSEN:
            numbers[size] = _best_number(fold)
        elif int(size) <= fold.X.shape[1]:
            numbers[size] = (int(size) // 2 - 1) // 2 * 2 + 1
    found = predictions(fold, sorted(set(numbers.values()))) if numbers else {}
    return {size: found[k] for size, k in numbers.items()}


def _best_number(fold: Fold) -> int:
    """The number of pairs with the least error inside the training part, the fewest of them."""
    choices = [k for k in CHOICES if 2 * k <= fold.X.shape[1]]
    wrong = dict.fromkeys(choices, 0)
    parts = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0)
    for train, test in split(parts, fold.X, fold.y):
        for k, (predicted, _) in predictions(fold.inner(train, test), choices).items():
            wrong[k] += int((predicted != fold.y[test]).sum())
    return min(choices, key=lambda k: (wrong[k], k))
