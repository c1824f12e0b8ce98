"""The largest consistent selection in scikit-learn: a selector, a classifier and a biclustering in one."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BiclusterMixin
from sklearn.utils.validation import check_is_fitted

from cobic.analyses.margin import TimeLeft, choose_alpha, feasible_words, is_in_words
from cobic.analyses.path import survival
from cobic.answer.model import class_means, require_finite, transform_of_selected
from cobic.answer.tables import violation_table
from cobic.answer.words import violations_phrase
from cobic.checks import require_choice
from cobic.errors import InconsistentDataWarning, InputError
from cobic.estimator.base import ClassMeansClassifier, print_progress
from cobic.matrix import Floats, TransformName
from cobic.methods import DEFAULT_METHOD, attempt, find_method
from cobic.problem import BetaRule, Problem, Ties
from cobic.search.result import Result, Status

_HARD_PART = 0.75  # of the time, for hard margins that may not exist; soft ones that come after need some, too
# Of the problem.
ASKED = ("alpha", "beta", "ties", "beta_rule", "slack_penalty", "fixed_in", "fixed_out", "groups")


class ConsistentBiclustering(BiclusterMixin, ClassMeansClassifier):  # type: ignore[misc]
    """Select the features that agree with the classes, and classify by them.

    Feature i belongs to the class with the largest mean of feature i. As many features as possible are selected such
    that for each training sample the mean over the selected features of its own class exceeds `alpha` + `beta` × the
    mean over those of any other class; with the default `method` it is proven how many that can be. A new sample gets
    the class with the largest mean.

    The method is made for data with many features and few samples, such as gene expression. On data with few features
    a consistent selection often does not exist; then, unless ``on_infeasible="raise"``, soft margins are used.

    Parameters
    ----------
    alpha : float, array-like of shape (n_samples,) or str, default=0.0
        Additive margin, at least 0, in the units of X; as a text a share of the largest that a selection was found
        for, such as ``"30%"``, or ``"auto"``: chosen by cross-validation, as in :class:`ConsistentBiclusteringCV`.
    beta : float or array-like of shape (n_samples,), default=1.0
        Multiplicative margin, at least 1.
    ties : {"first", "exclude"}, default="first"
        What becomes of a feature whose largest class means are equal.
    beta_rule : {"published", "sign-aware"}, default="published"
        How `beta` treats negative means.
    slack_penalty : float or "auto", default=inf
        Price of a violated margin, in features per unit of margin; inf: margins must hold.
    on_infeasible : {"soft", "raise"}, default="soft"
        If no consistent selection exists: warn and fit with ``slack_penalty="auto"``, or raise an error.
    fixed_in, fixed_out : mask, names or indices of features, optional
        Features that must, or must not, be selected.
    groups : sequence of shape (n_features,), optional
        A label per feature; features with the same label are selected together or not at all.
    transformation, floor : str or None, and float, optional
        What becomes of the values first, in training and in new samples: ``"log2"``, ``"log1p"`` or ``"standardise"``,
        and the smallest value under a logarithm. This is `transform` of :class:`cobic.Problem`; here that is the
        method that reduces X to the selected features, whose values it leaves as they are.
    method, method_options : str and dict, default="certified" and no options
        Name and options of the method, as in :func:`cobic.solve`.
    time_limit : float or None, default=60.0
        Seconds for the whole fit; the best selection so far is used then, and after Ctrl-C if there is one.
    random_state : int, RandomState instance or None, default=0
        Seed of everything random.
    verbose : bool, default=False
        Print how selection and bound move.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_ : ndarray of bool, shape (n_features,)
        The selected features.
    alpha_ : float or ndarray of shape (n_samples,)
        The additive margin that was used.
    n_selected_, upper_bound_ : int
        Their number, and the one that no consistent selection exceeds.
    objective_, objective_bound_ : float
        What is maximised and the bound on it; they differ from the two above with soft margins only.
    status_ : str
        "optimal", "feasible", "infeasible" or "unknown", as in :class:`cobic.Result`.
    feature_classes_ : ndarray of shape (n_features,)
        Class of each feature as an index into `classes_`; -1 for a feature excluded by `ties`.
    margins_ : ndarray of shape (n_samples,)
        Margin of each training sample; negative if it is violated.
    violations_ : DataFrame
        The training samples whose margin is violated, worst first: the suspects for label errors. Columns ``sample``
        (row of X), ``name``, ``class``, ``read_as``, ``amount``.
    slack_penalty_ : float
        The price that was used; inf with hard margins.
    result_ : Result
        All that is known about the selection.
    certificate_, infeasibility_certificate_ : dict or None
        Proofs for :func:`cobic.verify`: of the bound, and that soft margins had to be used.
    rows_, columns_ : ndarray of bool, shape (n_classes, n_samples) and (n_classes, n_features)
        The biclusters: the samples, and the selected features, of each class.
    n_features_in_, feature_names_in_ : int and ndarray of str
        Number of features, and their names if X has names.
    ranking_ : ndarray of int, shape (n_features,)
        1 for the feature that survives the largest margin, and so on: see :func:`cobic.path`. It is computed when it is
        first asked for, from the training data, which a pickled estimator no longer has.

    See Also
    --------
    sklearn.neighbors.NearestCentroid : The nearest relative among classifiers.
    cobic.path : The curve over `alpha` or `beta`, and which value to choose.

    References
    ----------
    .. [1] S. Busygin, O. A. Prokopyev, P. M. Pardalos, "Feature selection for consistent biclustering via fractional
       0-1 programming", Journal of Combinatorial Optimization 10 (2005) 7-21.
    .. [2] A. Mucherino, S. Cafieri, "A New Heuristic for Feature Selection by Consistent Biclustering", 2010.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=300, informative=0.5, seed=2)
    >>> model = cobic.ConsistentBiclustering(alpha=10).fit(data.X, data.y)
    >>> model.status_, bool(model.n_selected_ == model.upper_bound_)
    ('optimal', True)
    >>> model.score(data.test.X, data.test.y)
    1.0
    >>> model.transform(data.X).shape == (38, model.n_selected_)
    True
    """

    _with_data = ("_problem",)

    def __init__(
        self,
        *,
        alpha: ArrayLike | str = 0.0,
        beta: ArrayLike = 1.0,
        ties: Ties = "first",
        beta_rule: BetaRule = "published",
        slack_penalty: float | Literal["auto"] = float("inf"),
        on_infeasible: Literal["soft", "raise"] = "soft",
        fixed_in: Any = None,
        fixed_out: Any = None,
        groups: Any = None,
        transformation: TransformName | None = None,
        floor: float | None = None,
        method: str = DEFAULT_METHOD,
        method_options: dict[str, Any] | None = None,
        time_limit: float | None = 60.0,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.ties = ties
        self.beta_rule = beta_rule
        self.slack_penalty = slack_penalty
        self.on_infeasible = on_infeasible
        self.fixed_in = fixed_in
        self.fixed_out = fixed_out
        self.groups = groups
        self.transformation = transformation
        self.floor = floor
        self.method = method
        self.method_options = method_options
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Select features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,)
            Class of each sample.

        Returns
        -------
        ConsistentBiclustering
            This estimator.
        """
        require_choice("on_infeasible", self.on_infeasible, ("soft", "raise"))
        find_method(self.method, self.method_options or {})
        time_left = TimeLeft(self.time_limit)
        seed = self._seed()
        problem, known = self._asked_of(X, y, time_left, seed)
        hard_part = 1.0 if self.on_infeasible == "raise" or problem.soft else _HARD_PART
        result = self._solve(problem, self.method, time_left, seed, hard_part, known)
        self.infeasibility_certificate_: dict[str, Any] | None = None
        if result.status in (Status.INFEASIBLE, Status.UNKNOWN):
            problem, result = self._without_consistency(problem, result, time_left, seed)
        self._keep(problem, result)
        return self

    def _asked_of(
        self, X: Any, y: ArrayLike, time_left: TimeLeft, seed: int
    ) -> tuple[Problem, tuple[NDArray[np.bool_], ...]]:
        """The problem, and selections from which to start; α may be in words."""
        if not is_in_words(self.alpha):
            return self._problem_of(X, y, ASKED), ()
        problem = self._problem_of(X, y, ASKED, alpha=0.0)
        chosen = choose_alpha(problem, self.alpha, time_left, seed)
        return problem.with_margins(chosen.alpha, problem.beta), chosen.known

    def _solve(
        self,
        problem: Problem,
        method: str,
        time_left: TimeLeft,
        seed: int,
        part: float = 1.0,
        known: tuple[NDArray[np.bool_], ...] = (),
    ) -> Result:
        options = dict(self.method_options or {}) if method == self.method else {}
        if known and method == DEFAULT_METHOD:
            options.setdefault("start", list(known))
        printer = print_progress if self.verbose else None
        result = attempt(problem, method, time_left.seconds, seed, printer, options, part)
        if result.stopped_by == "interrupt" and result.status not in (Status.OPTIMAL, Status.FEASIBLE):
            raise KeyboardInterrupt  # there is nothing to keep, and Ctrl-C does not ask for another search
        return result

    def _without_consistency(
        self, problem: Problem, hard: Result, time_left: TimeLeft, seed: int
    ) -> tuple[Problem, Result]:
        """Soft margins where hard ones cannot be had; all features where a class has none to show."""
        proven = hard.status == Status.INFEASIBLE
        stopped = "" if hard.stopped_by is None else f" before the {hard.stopped_by}"
        fact = f"{hard.reason}{stopped}, which proves nothing"
        if proven:
            fact = f"no consistent selection exists for these data ({hard.reason}); this is proven"
        smaller = feasible_words(problem, time_left.part(_HARD_PART))
        smaller = smaller and f"; {smaller}"
        if self.on_infeasible == "raise":
            message = f'{fact}{smaller}: lower alpha or beta, or use soft margins (on_infeasible="soft")'
            raise InputError(message)
        self.infeasibility_certificate_ = hard.certificate if proven else None
        if problem.soft or not problem.feature_class_sizes.all():
            done = "all features are kept, and a class without features is never predicted"
            warnings.warn(f"{fact}: {done}", InconsistentDataWarning, stacklevel=3)
            kept = problem.selectable
            counts = tuple(problem.counts(kept).tolist())
            return problem, replace(hard, support=kept, counts=counts, worst_margin=problem.worst_margin(kept))
        soft = problem.softened("auto")
        result = self._solve(soft, DEFAULT_METHOD, time_left, seed)  # the method that knows soft margins
        done = (
            f"fitted with soft margins instead, slack_penalty={soft.slack_penalty:.4g}; they keep {result.n_selected} "
            f"of {soft.n_features} features and {violations_phrase(soft, result)}; this is another question, so do not "
            "compare that number with those of hard margins"
        )
        warnings.warn(f"{fact}{smaller}: {done}", InconsistentDataWarning, stacklevel=3)
        return soft, result

    def _keep(self, problem: Problem, result: Result) -> None:
        self.__dict__.pop("_ranking", None)  # of an earlier fit
        self._problem = problem
        same = (problem.alpha == problem.alpha[0]).all()
        self.alpha_ = float(problem.alpha[0]) if same else problem.alpha
        self._learnt = transform_of_selected(problem, result.support)
        self.result_ = result
        self.classes_ = problem.classes
        self.support_ = result.support
        self.n_selected_ = result.n_selected
        self.upper_bound_ = result.upper_bound
        self.objective_, self.objective_bound_ = result.objective, result.objective_bound
        self.status_ = str(result.status)
        self.certificate_ = result.certificate
        self.slack_penalty_ = problem.slack_penalty
        self.feature_classes_ = problem.feature_classes
        self.margins_ = problem.margins(result.support)
        self.violations_ = violation_table(problem, result.support)
        index = np.arange(problem.n_classes)[:, None]
        self.rows_ = problem.labels == index
        self.columns_ = (problem.feature_classes == index) & result.support
        self._keep_typical(self.margins_)

    def _means(self, X: Any) -> Floats:
        """Mean of each sample over the selected features of each class; −∞ for a class without features."""
        check_is_fitted(self)
        matrix = self._new_samples(X)
        require_finite(matrix)
        kept, n_classes = self.support_, self.classes_.size
        means = class_means(matrix, kept, self.feature_classes_, n_classes, self._learnt)
        of = self.feature_classes_[kept]
        means[:, np.bincount(of[of >= 0], minlength=n_classes) == 0] = -np.inf
        return means

    @property
    def ranking_(self) -> NDArray[np.intp]:
        """Rank of each feature by the largest margin at which it is selected."""
        check_is_fitted(self)
        if not hasattr(self, "_ranking"):
            problem = getattr(self, "_problem", None)
            if problem is None:
                message = "ranking_ needs the training data, which are not stored in a file: fit again"
                raise AttributeError(message)
            self._ranking = survival(problem, time_limit=self.time_limit, start=[self.support_]).ranking
        return self._ranking
