"""Panels in scikit-learn: a selector of a given number of features, and the classifier made of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from cobic.analyses.panel import panel
from cobic.answer.model import Model
from cobic.answer.panel import Panel
from cobic.checks import is_whole, require
from cobic.errors import InconsistentDataWarning
from cobic.estimator.base import ClassMeansClassifier, print_progress
from cobic.matrix import Floats, TransformName
from cobic.problem import Problem, Ties
from cobic.problem.panel import ClassSplit, Size, Weights, most_features

_ASKED = ("beta", "ties", "fixed_in", "fixed_out")  # of the problem


class PanelClassifier(ClassMeansClassifier):
    """Choose a given number of features that separate the classes by the widest margin, and classify by them.

    Feature i belongs to the class with the largest mean of feature i. The margin of a sample is the mean of the panel's
    features of its own class minus the largest mean of those of another class. The panel has the largest mean of the
    worst margins, and it is proven how much better any other could be. A new sample gets the class with the largest
    mean.

    Parameters
    ----------
    size : int or mapping of classes to int, default=20
        Number of features in all, or of each class. If the training data have fewer, all of them are taken and a
        warning says so: a part of a cross-validation may have fewer than the whole.
    split : {"even", "any"}, default="even"
        How a total is shared among the classes: as evenly as their features allow, or as serves the margin of the
        training samples best.
    tail : float, default=0.3
        Share of the samples whose margins count, the worst first: 0 for the worst sample alone, 1 for all.
    weights : {"equal", "balanced"} or array-like of shape (n_samples,), default="equal"
        What each sample counts; balanced: all classes count the same.
    offset : bool, default=False
        Whether a constant is added to the mean of each class, fitted with the panel: for features that are standardised
        or on different scales. Not with `beta`.
    transformation, floor : str or None, and float, optional
        What becomes of the values first, in training and in new samples: ``"log2"``, ``"log1p"`` or ``"standardise"``,
        and the smallest value under a logarithm. This is `transform` of :class:`cobic.Problem`; here that is the
        method that reduces X to the panel, whose values it leaves as they are.
    beta : float or array-like of shape (n_samples,), default=1.0
        How often the mean of another class counts.
    ties : {"first", "exclude"}, default="first"
        What becomes of a feature whose largest class means are equal.
    fixed_in, fixed_out : mask, names or indices of features, optional
        Features that must, or must not, be in the panel.
    groups : sequence of shape (n_features,), optional
        A label per feature, such as the gene that a probe measures: a panel holds at most one feature of each group.
    time_limit : float or None, default=10.0
        Seconds for the search; the best panel so far is used then, and after Ctrl-C.
    target_gap : float, default=0.0
        Share of the tail margin: the search ends as soon as no panel can be better by more. Where only predictions
        matter, as in a search over many sizes, 0.01 or more saves time.
    random_state : int, RandomState instance or None, default=0
        Seed of everything random.
    verbose : bool, default=False
        Print how panel and bound move.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_ : ndarray of bool, shape (n_features,)
        The features of the panel.
    features_ : tuple
        The same by name, or by index where X has no names, class by class, those that differ most first.
    counts_ : ndarray of int, shape (n_classes,)
        Features of each class.
    tail_margin_, worst_margin_ : float
        What the panel attains: the mean of the worst share of the margins, and the smallest of all.
    bound_, gap_ : float
        No panel of that size has a larger tail margin; and how much that is above `tail_margin_`, as a share of it.
    status_ : str
        "optimal" or "feasible", as in :class:`cobic.Panel`; "infeasible" if fewer than two classes have features.
    margins_ : ndarray of shape (n_samples,)
        Margin of each training sample; ``-inf`` for samples of a class without features.
    certificate_ : dict or None
        Proof of `bound_`, for :func:`cobic.verify` with ``panel_.problem``.
    panel_ : Panel or None
        All that is known about the panel. It holds the training data, which a pickled estimator no longer has.
    model_ : Model or None
        The classifier, to be saved as a file.
    n_features_in_, feature_names_in_ : int and ndarray of str
        Number of features, and their names if X has names.

    See Also
    --------
    cobic.panel : The same as a function.
    cobic.frontier : Which size to choose.

    Notes
    -----
    A class in which no feature has its largest mean has no features to be recognised by. A warning says so, the panel
    is chosen for the others, and the class is never predicted.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=40, informative=0.8, seed=1)
    >>> model = cobic.PanelClassifier(size=2).fit(data.X, data.y)
    >>> model.status_, model.transform(data.X).shape
    ('optimal', (38, 2))
    >>> model.score(data.test.X, data.test.y) > 0.8
    True
    """

    _with_data = ("panel_",)
    panel_: Panel | None
    model_: Model | None
    certificate_: dict[str, Any] | None

    def __init__(
        self,
        size: Size = 20,
        *,
        split: ClassSplit = "even",
        tail: float = 0.3,
        weights: Weights = "equal",
        offset: bool = False,
        transformation: TransformName | None = None,
        floor: float | None = None,
        beta: ArrayLike = 1.0,
        ties: Ties = "first",
        fixed_in: Any = None,
        fixed_out: Any = None,
        groups: Any = None,
        time_limit: float | None = 10.0,
        target_gap: float = 0.0,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.size = size
        self.split = split
        self.tail = tail
        self.weights = weights
        self.offset = offset
        self.transformation = transformation
        self.floor = floor
        self.beta = beta
        self.ties = ties
        self.fixed_in = fixed_in
        self.fixed_out = fixed_out
        self.groups = groups
        self.time_limit = time_limit
        self.target_gap = target_gap
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Choose the panel.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,)
            Class of each sample.

        Returns
        -------
        PanelClassifier
            This estimator.
        """
        problem = self._problem_of(X, y, _ASKED)
        self.classes_ = problem.classes
        known = problem.feature_class_sizes > 0
        if not known.all():
            _warn_of(problem.classes[~known].tolist())
        if known.sum() < 2:
            self._keep_alone(problem, int(known.argmax()))
        else:
            self._keep(problem, known, self._choose(problem, known[problem.labels]))
        return self

    def _choose(self, problem: Problem, samples: Any) -> Panel:
        """The panel of the samples whose classes have features."""
        weights = self.weights
        if not samples.all():
            problem = problem.subset(np.flatnonzero(samples))
            weights = np.asarray(weights)[samples] if np.shape(weights) == samples.shape else weights
        found = panel(
            problem,
            size=self._attainable(problem),
            split=self.split,
            tail=self.tail,
            weights=weights,
            offset=self.offset,
            groups=self.groups,
            time_limit=self.time_limit,
            target_gap=self.target_gap,
            seed=self._seed(),
            on_progress=print_progress if self.verbose else None,
        )
        if found.stopped_by == "interrupt" and not found.support.any():
            raise KeyboardInterrupt  # there is nothing to keep
        require(found.support.any(), f"no panel was found in {self.time_limit} seconds: raise time_limit")
        return found

    def _attainable(self, problem: Problem) -> Size:
        """The size, or as much of it as these data have features for."""
        of_class, in_all = most_features(problem, self.groups)
        if isinstance(self.size, Mapping):
            left_out = {*map(str, self.classes_)} - {*map(str, problem.classes)}
            asked = {str(cls): count for cls, count in self.size.items() if str(cls) not in left_out}
            most = dict(zip(map(str, problem.classes), of_class.tolist(), strict=True))
            size: Any = {cls: _at_most(most.get(cls), count) for cls, count in asked.items()}
            fewer = size != asked
        else:
            size = _at_most(in_all, self.size)
            fewer = size != self.size
        if fewer:
            message = f"size is {self.size}, more features than these data have: all of them are taken, {size}"
            warnings.warn(message, UserWarning, stacklevel=4)
        return cast("Size", size)

    def _keep(self, problem: Problem, known: Any, found: Panel) -> None:
        self.panel_ = found
        self.model_ = found.model
        self._places = np.flatnonzero(known)
        self.support_ = found.support
        self.features_ = found.features
        self.counts_ = problem.counts(found.support)
        self.tail_margin_, self.worst_margin_ = found.tail_margin, found.worst_margin
        self.bound_, self.gap_ = found.bound, found.gap
        self.status_ = str(found.status)
        self.certificate_ = found.certificate
        self.margins_ = np.full(problem.n_samples, -np.inf)
        self.margins_[known[problem.labels]] = found.margins
        self._keep_typical(self.margins_)

    def _keep_alone(self, problem: Problem, cls: int) -> None:
        """Nothing is compared where one class has all features; those that lead by most stand for it."""
        wanted = problem.n_selectable if isinstance(self.size, Mapping) else _at_most(problem.n_selectable, self.size)
        mine = np.flatnonzero(problem.selectable)
        best = mine[np.argsort(-problem.leads[mine], kind="stable")[:wanted]]
        require(best.size > 0, "no feature has a largest class mean of its own: there is nothing to choose from")
        self.panel_ = self.model_ = self.certificate_ = None
        self._places = np.array([cls])
        self.support_ = np.zeros(problem.n_features, dtype=np.bool_)
        self.support_[best] = True
        names = problem.feature_names
        self.features_ = tuple(best.tolist() if names is None else [names[at] for at in best])
        self.counts_ = problem.counts(self.support_)
        self.tail_margin_ = self.worst_margin_ = self.bound_ = -np.inf
        self.gap_, self.status_ = np.nan, "infeasible"
        self.margins_ = np.full(problem.n_samples, -np.inf)
        self._keep_typical(self.margins_)

    def _means(self, X: Any) -> Floats:
        check_is_fitted(self)
        matrix = self._new_samples(X)
        means = np.full((matrix.shape[0], self.classes_.size), -np.inf)
        means[:, self._places] = 0.0 if self.model_ is None else self.model_.means(matrix)
        return means


def _at_most(limit: int | None, count: Any) -> Any:
    """A number of features within a limit; what is none is left to be complained about."""
    return min(count, limit) if is_whole(count) and limit is not None else count


def _warn_of(missing: list[Any]) -> None:
    names = ", ".join(str(cls) for cls in missing)
    message = f"no feature has its largest mean in class {names}: the panel is chosen without it, it is never predicted"
    warnings.warn(message, InconsistentDataWarning, stacklevel=3)
