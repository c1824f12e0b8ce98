"""A panel: the features that were chosen, what they attain, and what is proven about all others of that size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd

from cobic.answer.model import Model, transform_of_selected
from cobic.errors import InputError
from cobic.matrix import Bools, Floats, Integers
from cobic.problem import PanelProblem
from cobic.search.result import Progress, Status

_SAME = 1e-6  # of the tail margin: bound and panel are equal as far as floating point can tell


@dataclass(frozen=True, eq=False)
class Panel:
    """The answer of :func:`panel`.

    Attributes
    ----------
    problem : PanelProblem
        What was asked.
    support : ndarray of bool, shape (n_features,)
        The features of the panel.
    tail_margin : float
        Mean of the worst share of the samples' margins.
    worst_margin : float
        The smallest margin of all samples, offsets included; above 0 if the class of every one can be read back.
    bound : float
        No panel of that size has a larger tail margin.
    status : Status
        ``"optimal"`` if bound and tail margin are equal to a millionth, else ``"feasible"``; ``"unknown"`` if time was
        too short for any panel.
    counts : tuple of int
        Features of each class, in the order of `classes`.
    classes : tuple
        The class labels.
    seconds : float
        Wall-clock time.
    history : tuple of Progress
        How tail margin and bound moved, as `objective` and `objective_bound`.
    stopped_by : str or None
        ``"time limit"`` or ``"interrupt"`` if the search was cut short.
    certificate : dict
        Proof of the bound, which :func:`cobic.verify` checks.
    offsets : tuple of float or None
        With ``offset=True`` what is added to the mean of each class, in the order of `classes`; the first is 0.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=60, seed=0)
    >>> panel = cobic.panel(data.X, data.y, size=4, feature_names=data.feature_names)
    >>> panel.features, panel.counts
    (('gene_17', 'gene_58', 'gene_28', 'gene_30'), (2, 2))
    >>> panel.model.predict(data.test.X).shape
    (34,)
    """

    problem: PanelProblem
    support: Bools
    tail_margin: float
    worst_margin: float
    bound: float
    status: Status
    counts: tuple[int, ...]
    classes: tuple[Any, ...]
    seconds: float
    history: tuple[Progress, ...] = field(default=(), repr=False)
    stopped_by: str | None = None
    certificate: dict[str, Any] = field(default_factory=dict, repr=False)
    offsets: tuple[float, ...] | None = None

    @classmethod
    def of(
        cls,
        problem: PanelProblem,
        support: Bools,
        bound: float,
        *,
        offsets: tuple[float, ...] | None = None,
        seconds: float,
        history: Iterable[Progress],
        stopped_by: str | None,
        certificate: dict[str, Any],
    ) -> Self:
        """The answer that a panel is (or none, where nothing is selected), judged by its margins and the bound."""
        value, scale = problem.tail_margin(support, offsets), problem.largest_margin
        proven = bound - value <= _SAME * max(abs(value), _SAME * scale)
        status = Status.UNKNOWN if not support.any() else Status.OPTIMAL if proven else Status.FEASIBLE
        exact = problem.problem.worst_margin(support)
        return cls(
            problem=problem,
            support=support,
            tail_margin=value,
            worst_margin=exact if offsets is None else float(problem.margins(support, offsets).min()),
            bound=bound,
            status=status,
            counts=tuple(problem.problem.counts(support).tolist()),
            classes=tuple(problem.problem.classes.tolist()),
            seconds=seconds,
            history=tuple(history),
            stopped_by=stopped_by,
            certificate=certificate,
            offsets=offsets,
        )

    @property
    def margins(self) -> Floats:
        """Worst margin of each training sample, (n_samples,), offsets included."""
        base = self.problem.problem.margins(self.support)  # of which the signs are exact
        return base if self.offsets is None else self.problem.margins(self.support, self.offsets)

    @property
    def read_as(self) -> Integers:
        """The class that each training sample is given, as an index into `classes`, (n_samples,)."""
        means = self.problem.problem.means(self.support)
        return np.asarray((means if self.offsets is None else means + np.array(self.offsets)).argmax(axis=1))

    @property
    def features(self) -> tuple[Any, ...]:
        """The features by name, or by index where they have none, class by class, those that differ most first."""
        return tuple(self.table["feature"].tolist())

    @property
    def order(self) -> Integers:
        """Columns of the features in that order."""
        base, chosen = self.problem.problem, np.flatnonzero(self.support)
        return chosen[np.lexsort((chosen, -base.leads[chosen], base.feature_classes[chosen]))]

    @property
    def table(self) -> pd.DataFrame:
        """The features in that order: name, class, mean in each class, and by how much the largest mean leads."""
        base, order = self.problem.problem, self.order
        means = {f"mean in {cls}": base.class_means[place, order] for place, cls in enumerate(self.classes)}
        classes = [str(self.classes[cls]) for cls in base.feature_classes[order]]
        names = order if base.feature_names is None else [base.feature_names[at] for at in order]
        return pd.DataFrame({"feature": names, "class": classes, **means, "lead": base.leads[order]})

    @property
    def gap(self) -> float:
        """How much better a panel could be at most, as a share of the tail margin."""
        return float((self.bound - self.tail_margin) / abs(self.tail_margin)) if self.tail_margin else float("inf")

    @property
    def model(self) -> Model:
        """The classifier made of the panel."""
        if not self.support.any():
            message = "there is no panel yet, so nothing to classify with: give it more time"
            raise InputError(message)
        base, asked = self.problem.problem, self.problem.parameters
        parameters = {**asked["panel"], "ties": base.ties, "beta": asked["beta"], "tail_margin": self.tail_margin}
        transform = transform_of_selected(base, self.support)
        names, of = base.feature_names, base.feature_classes
        return Model(self.classes, of, self.support, names, parameters, transform, self.offsets)

    def __repr__(self) -> str:
        """The answer in one line."""
        counts = ", ".join(f"{cls}: {count}" for cls, count in zip(self.classes, self.counts, strict=True))
        return (
            f"<Panel {self.status}: {self.problem.total} of {self.support.size} features ({counts}), tail margin "
            f"{self.tail_margin:.4g}, at most {self.bound:.4g}; worst margin {self.worst_margin:.4g}; "
            f"{self.seconds:.2f} s>"
        )
