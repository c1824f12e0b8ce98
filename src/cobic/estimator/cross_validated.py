"""The largest consistent selection at the margin that cross-validation chooses, in the manner of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobic.analyses.margin import TimeLeft, cross_validated
from cobic.estimator.biclustering import ASKED, ConsistentBiclustering
from cobic.matrix import TransformName
from cobic.methods import DEFAULT_METHOD
from cobic.problem import BetaRule, Problem, Ties


class ConsistentBiclusteringCV(ConsistentBiclustering):
    """:class:`ConsistentBiclustering` at the additive margin that cross-validation chooses.

    :func:`cobic.path` fits every margin to all samples and to each fold; the largest margin, hence the fewest features,
    whose error is within a standard error of the least is chosen, and the selection is searched for once more there.

    Parameters
    ----------
    alphas : sequence of float, optional
        The margins to try; by default from 0 to the largest that a selection was found for.
    n_margins : int, default=6
        How many where they are not given.
    cv : int or splitter of scikit-learn, default=5
        Folds of the cross-validation.
    n_jobs : int, optional
        Processes for the folds, as in joblib.
    beta, ties, beta_rule, slack_penalty, on_infeasible, fixed_in, fixed_out, groups : optional
        As in :class:`ConsistentBiclustering`.
    transformation, floor, method, method_options, time_limit, random_state, verbose : optional
        As in :class:`ConsistentBiclustering`; `time_limit` is that of everything together, of which the
        cross-validation gets half, in equal parts for each of its fits.

    Attributes
    ----------
    alpha_ : float
        The chosen margin.
    reason_ : str
        Why it was chosen.
    cv_results_ : DataFrame
        One row per margin: the table of :class:`cobic.Path`.

    See Also
    --------
    ConsistentBiclustering : All further attributes.
    cobic.path : The curve by itself.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=100, seed=1)
    >>> model = cobic.ConsistentBiclusteringCV(alphas=[0, 20], cv=3).fit(data.X, data.y)
    >>> model.alpha_
    20.0
    >>> model.cv_results_["cv_error"].shape
    (2,)
    """

    def __init__(
        self,
        *,
        alphas: Sequence[float] | NDArray[Any] | None = None,
        n_margins: int = 6,
        cv: Any = 5,
        n_jobs: int | None = None,
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
        given = dict(locals())
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def _asked_of(
        self, X: Any, y: ArrayLike, time_left: TimeLeft, seed: int
    ) -> tuple[Problem, tuple[NDArray[np.bool_], ...]]:
        """The problem with the margin that is chosen, and the selection of the curve there."""
        problem = self._problem_of(X, y, tuple(name for name in ASKED if name != "alpha"))
        chosen = cross_validated(
            problem,
            time_left,
            alphas=self.alphas,
            n_margins=self.n_margins,
            cv=self.cv,
            n_jobs=self.n_jobs,
            method=self.method,
            method_options=self.method_options,
            random_state=seed,
        )
        self.reason_ = chosen.words
        self.cv_results_ = None if chosen.path is None else chosen.path.table
        return problem.with_margins(chosen.alpha, problem.beta), chosen.known
