"""The problem: samples with known classes, feature classes, margins, and the only definition of consistency."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from cobic.checks import require_choice
from cobic.errors import InputError
from cobic.matrix import Bools, Floats, Integers, Matrix, Transform, TransformName, as_matrix
from cobic.problem.arguments import margin_vector, names_along, support_mask, transformed
from cobic.problem.assignment import assign_features, order_by_value, small_leads
from cobic.problem.comparisons import all_comparisons
from cobic.problem.constraints import read_constraints
from cobic.problem.exact import EPS, TINY, exact_sum, signed_float
from cobic.problem.identity import digest_of, identical_samples
from cobic.problem.labels import encode_labels

Ties = Literal["first", "exclude"]
BetaRule = Literal["published", "sign-aware"]

_SMALLEST_SCALE = 1e-100  # what is divided by less, or costs less, would overflow


class Problem:
    """Keep as many features as possible such that every sample's class can be read back from them.

    Feature i belongs to the class with the largest mean of feature i. A selection of features is *consistent* if for
    each sample the mean over the selected features of its own class exceeds `alpha` + `beta` × the mean over the
    selected features of any other class. ``alpha=0, beta=1`` is plain consistency.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data; dense in any order, float32, integers, a data frame, or scipy.sparse; also a memory map, an array of
        HDF5, Zarr or dask, or the X of a backed AnnData object, which are read piece by piece. It is not copied: do
        not change it, or close its file, while the problem is in use.
    y : array-like of shape (n_samples,)
        Class of each sample: numbers, strings or booleans; at least two classes.
    alpha, beta : float or array-like of shape (n_samples,), default=0.0 and 1.0
        Additive margin, at least 0, and multiplicative margin, at least 1.
    ties : {"first", "exclude"}, default="first"
        A feature whose largest class means are exactly equal goes to the first of these classes in sorted order, or
        takes no part.
    beta_rule : {"published", "sign-aware"}, default="published"
        The published rule ``own > beta × other`` gets *weaker* as β grows where the other mean is negative. The
        sign-aware rule asks for ``own > alpha + other / beta`` as well.
    slack_penalty : float or "auto", default=inf
        Price of a violated margin, in features per unit of margin: the number of selected features minus
        `slack_penalty` × Σ violations is maximised. ``inf``: every margin must hold. ``"auto"``: the price at which
        violating every sample by a typical margin costs as much as all features are worth.
    fixed_in, fixed_out : mask, names or indices of features, optional
        Features that every selection must hold, or must not hold. A name stands for all features called so.
    groups : sequence of shape (n_features,), optional
        A label per feature: features with the same label are selected together or not at all. None, NaN or ``""`` for
        a feature on its own. (The groups of :func:`cobic.panel` are of another kind: one feature of each at most.)
    transform : {"log2", "log1p", "standardise"} or None, default=None
        What becomes of the values first: log₂ x, where differences are fold changes; ln (1 + x); or, for each feature,
        (x − mean) / standard deviation over the samples. Sparse data take what leaves zeros zero: ``"log1p"``, and
        ``"log2"`` with ``floor=1``.
    floor : float, optional
        The smallest value under a logarithm: what is below counts as it. Without one, values must be above 0, or at
        least 0 for ``"log1p"``.
    feature_names, sample_names : sequence of str, optional
        Names for messages and tables; those of a data frame are taken by default. They need not be unique.

    Attributes
    ----------
    classes, labels : ndarray of shape (k,) and (n_samples,)
        The class labels, sorted, and the class of each sample as an index into them.
    feature_classes : ndarray of shape (n_features,)
        Class of each feature, as an index into `classes`; -1 for a feature excluded by ``ties="exclude"``.
    class_means : ndarray of shape (k, n_features)
        Mean of each feature over the samples of each class.
    leads, n_ties : ndarray of shape (n_features,) and int
        By how much the largest class mean of each feature exceeds the second; for how many the two are exactly equal.
    raw, matrix : Matrix
        The data as they were given, and transformed: the same without a transform.
    transformation : Transform or None
        The transform, which new samples go through as well.
    alpha, beta, slack_penalty : ndarray of shape (n_samples,), and float
        The margins asked of each sample, and the price of a unit of violation; inf with hard margins.
    constraints : Constraints
        What must be selected, may be selected, and stands and falls together.

    Examples
    --------
    >>> import cobic
    >>> X = [[5, 1, 1], [4, 2, 2], [1, 6, 1], [2, 5, 3]]
    >>> problem = cobic.Problem(X, ["a", "a", "b", "b"])
    >>> problem.feature_classes
    array([0, 1, 1])
    >>> problem.margins([True, True, False])
    array([4., 2., 5., 3.])
    >>> problem.is_consistent([True, True, False])
    True
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        alpha: ArrayLike = 0.0,
        beta: ArrayLike = 1.0,
        *,
        ties: Ties = "first",
        beta_rule: BetaRule = "published",
        slack_penalty: float | Literal["auto"] = float("inf"),
        fixed_in: Any = None,
        fixed_out: Any = None,
        groups: Sequence[Any] | None = None,
        transform: TransformName | None = None,
        floor: float | None = None,
        feature_names: Sequence[str] | None = None,
        sample_names: Sequence[str] | None = None,
    ) -> None:
        require_choice("ties", ties, ("first", "exclude"))
        require_choice("beta_rule", beta_rule, ("published", "sign-aware"))
        asked = Transform.named(transform, floor)
        self.raw: Matrix = as_matrix(X)
        self.n_samples, self.n_features = self.raw.shape
        self.feature_names = names_along("feature_names", feature_names, X, "columns", self.n_features)
        self.sample_names = names_along("sample_names", sample_names, X, "index", self.n_samples)
        self.transformation, self.matrix = transformed(self.raw, asked, self.sample_names, self.feature_names)
        self.classes, self.labels = encode_labels(y, self.matrix.shape)
        self.n_classes = int(self.classes.size)
        self.ties, self.beta_rule = ties, beta_rule
        self._set_margins(alpha, beta)
        self._sample_peaks, self._feature_peaks = self.matrix.peaks()
        self.class_sizes = np.bincount(self.labels, minlength=self.n_classes)
        self.feature_classes, self.class_means, self.leads, self.n_ties = assign_features(
            self.matrix, self.labels, self.class_sizes, leave_out_ties=ties == "exclude"
        )
        self._given: dict[str, Any] = {"fixed_in": fixed_in, "fixed_out": fixed_out, "groups": groups}
        self._given |= {"transform": transform, "floor": floor}
        self.constraints = read_constraints(fixed_in, fixed_out, groups, self.feature_classes, self.feature_names)
        self.required, self.selectable = self.constraints.required, self.constraints.selectable
        self.slack_penalty = self._read_penalty(slack_penalty)

    @property
    def soft(self) -> bool:
        """Whether margins may be violated at a price."""
        return bool(np.isfinite(self.slack_penalty))

    @property
    def feature_class_sizes(self) -> Integers:
        """Number of features of each class that may be selected, (k,)."""
        return np.bincount(self.feature_classes[self.selectable], minlength=self.n_classes)

    @property
    def required_sizes(self) -> Integers:
        """Number of features of each class that must be selected, (k,)."""
        return np.bincount(self.feature_classes[self.required], minlength=self.n_classes)

    @cached_property
    def features_of_class(self) -> list[Integers]:
        """Indices of the selectable features of each class, in an order that depends on their values, not their places.

        Methods that go through features in this order give the same answer whatever the order of the columns.
        """
        order = order_by_value(self.matrix)
        of_class = np.where(self.selectable, self.feature_classes, -1)[order]
        return [order[of_class == cls] for cls in range(self.n_classes)]

    @cached_property
    def digest(self) -> dict[str, Any]:
        """Shape of the data, names of the classes, and a SHA-256 of all raw values; computed once."""
        return digest_of(self.raw, self.labels, self.classes)

    @cached_property
    def identical(self) -> list[tuple[int, int]]:
        """Pairs of samples of different classes with the same values."""
        return identical_samples(self.matrix, self.labels)

    @property
    def n_selectable(self) -> int:
        """Number of features that may be selected: all but those of `fixed_out` and those tied and excluded."""
        return int(self.selectable.sum())

    def ambiguous_features(self, eps: float) -> Bools:
        """Features that small changes of the data can move to another class.

        Parameters
        ----------
        eps : float
            The largest lead of the best class mean over the second best that is not clear, at least 0.

        Returns
        -------
        ndarray of bool, shape (n_features,)
            True where the class of a feature is ambiguous. The comparison is exact.
        """
        if not (eps >= 0 and np.isfinite(eps)):
            message = f"eps is {eps}: it must be a finite number of at least 0"
            raise InputError(message)
        return small_leads(self.matrix, self.labels, self.class_sizes, self.leads, eps)

    def counts(self, support: ArrayLike) -> Integers:
        """Number of selected features of each class, (k,)."""
        chosen = self.feature_classes[self.check_support(support)]
        return np.bincount(chosen[chosen >= 0], minlength=self.n_classes)

    def sums(self, weights: Floats) -> Floats:
        """For each sample the weighted sum over the features of each class, (n, k)."""
        return self.matrix.class_sums(weights, self.feature_classes, self.n_classes)

    def means(self, support: ArrayLike) -> Floats:
        """Mean of each sample over the selected features of each class, (n, k); NaN where none is selected."""
        counts, sums = self.counts(support), self.sums(self.check_support(support).astype(np.float64))
        return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)

    def margins(self, support: ArrayLike) -> Floats:
        """Worst margin of each sample: the minimum over its comparisons of own − β·other − α.

        Parameters
        ----------
        support : array-like of bool, shape (n_features,)
            The selected features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Margins by the true means. Their *sign* is always exact: where floating point cannot tell it, the margin
            is computed in rationals. ``-inf`` if a class has no selected feature, because its mean does not exist.
        """
        support = self.check_support(support)
        if not self.counts(support).all():
            return np.full(self.n_samples, -np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            margins: Floats = self.comparisons.margins(self.means(support)).min(axis=1)
            unsure = np.flatnonzero(~(np.abs(margins) > self.margin_errors))
        for sample in unsure:
            row = self.matrix.rows(np.array([sample]))[0]
            chosen = [row[support & (self.feature_classes == cls)] for cls in range(self.n_classes)]
            means = [exact_sum(values) / values.size for values in chosen]
            margins[sample] = signed_float(self.comparisons.exact_margin(int(sample), means, self.beta[sample]))
        return margins

    def worst_margin(self, support: ArrayLike) -> float:
        """Smallest margin over all samples; positive if and only if every sample's class can be read back."""
        return float(self.margins(support).min())

    def is_consistent(self, support: ArrayLike) -> bool:
        """Tell whether a selection is consistent: strictly, and decided in exact arithmetic.

        A selection that leaves a class without features, that holds a feature excluded by ``ties="exclude"`` or
        `fixed_out`, that lacks one of `fixed_in`, or that breaks a group, is not consistent.

        Parameters
        ----------
        support : array-like of bool, shape (n_features,)
            The selected features.

        Returns
        -------
        bool
            Whether every sample's own class wins by more than its margin.
        """
        support = self.check_support(support)
        return self.constraints.admit(support) and bool((self.margins(support) > 0).all())

    def violations(self, support: ArrayLike) -> Floats:
        """By how much each sample misses its margin, (n,): 0 where it holds; inf if a class has no feature."""
        return np.maximum(-self.margins(support), 0.0)

    def objective(self, support: ArrayLike) -> float:
        """What is maximised: the number of selected features minus `slack_penalty` × Σ violations.

        Parameters
        ----------
        support : array-like of bool, shape (n_features,)
            The selected features.

        Returns
        -------
        float
            ``-inf`` for a selection that is not allowed: a class without features, a group that is broken, a feature
            that must be in or out and is not; with hard margins, every selection that is not consistent.
        """
        support = self.check_support(support)
        if not self.soft:
            return float(support.sum()) if self.is_consistent(support) else -np.inf
        if not self.constraints.admit(support):
            return -np.inf
        return float(support.sum()) - self.slack_penalty * float(self.violations(support).sum())

    def subset(self, samples: Integers) -> Problem:
        """The problem of some of the samples, with everything else as it is.

        Parameters
        ----------
        samples : ndarray of int
            Rows of X.

        Returns
        -------
        Problem
            Feature classes, and what a transform learns, are those of these samples alone.
        """
        names = None if self.sample_names is None else [self.sample_names[sample] for sample in samples]
        return Problem(
            self.raw.take(samples),
            self.classes[self.labels[samples]],
            self.alpha[samples],
            self.beta[samples],
            ties=self.ties,
            beta_rule=self.beta_rule,
            slack_penalty=self.slack_penalty,
            feature_names=self.feature_names,
            sample_names=names,
            **self._given,
        )

    def objective_ceiling(self, support: ArrayLike) -> float:
        """A number that the objective does not exceed, whatever the rounding; it is nearly equal to it."""
        support = self.check_support(support)
        if not self.soft:
            return self.objective(support)
        if not self.constraints.admit(support) or not self.counts(support).all():
            return -np.inf
        margins, errors = self.margins(support), self.margin_errors
        unsure = margins <= errors  # the others hold for certain
        violation = float(np.maximum(-margins, 0.0).sum())
        objective = float(support.sum()) - self.slack_penalty * violation
        error = self.slack_penalty * (float(errors[unsure].sum()) + self.n_samples * EPS * violation)
        return objective + error + 8 * EPS * (int(support.sum()) + self.slack_penalty * violation)

    def with_margins(self, alpha: ArrayLike = 0.0, beta: ArrayLike = 1.0) -> Self:
        """The same data with other margins; nothing is computed anew but what depends on them.

        Parameters
        ----------
        alpha, beta : float or array-like of shape (n_samples,)
            The margins.

        Returns
        -------
        Problem
            It shares the data with this one.
        """
        other = copy(self)
        other._set_margins(alpha, beta)
        return other

    def _set_margins(self, alpha: ArrayLike, beta: ArrayLike) -> None:
        self.alpha = margin_vector("alpha", alpha, 0.0, self.n_samples)
        self.beta = margin_vector("beta", beta, 1.0, self.n_samples)
        sign_aware = self.beta_rule == "sign-aware"
        self.comparisons = all_comparisons(self.labels, self.n_classes, self.alpha, self.beta, sign_aware=sign_aware)

    def softened(self, slack_penalty: float | Literal["auto"]) -> Self:
        """The same problem with another price of violations.

        Parameters
        ----------
        slack_penalty : float or "auto"
            Features per unit of margin; inf for hard margins.

        Returns
        -------
        Problem
            It shares the data with this one.
        """
        other = copy(self)
        other.slack_penalty = other._read_penalty(slack_penalty)
        return other

    def deciding(self, feature: int, *, inside: bool) -> Self:
        """The same problem with one more feature that must, or must not, be selected; it is in no group."""
        other = copy(self)
        other.required, other.selectable = self.required.copy(), self.selectable.copy()
        other.required[feature] = other.selectable[feature] = inside
        other.constraints = replace(self.constraints, required=other.required, selectable=other.selectable)
        other.__dict__["features_of_class"] = [members[other.selectable[members]] for members in self.features_of_class]
        return other

    def columns(self, features: Integers) -> Floats:
        """Some features, dense (n, len(features)), each replaced by the mean of its part of a group."""
        columns = self.matrix.columns(features)
        part = self.constraints.part_of[features]
        if self.constraints.groups and (part >= 0).any():
            columns[:, part >= 0] = self._part_means[:, part[part >= 0]]
        return columns

    @cached_property
    def _part_means(self) -> Floats:
        """Mean of each sample over each part of a group, (n, n_parts)."""
        inside = np.flatnonzero(self.constraints.part_of >= 0)
        part = self.constraints.part_of[inside]
        weights = np.zeros((self.n_features, self.constraints.n_parts))
        weights[inside, part] = 1.0 / np.bincount(part)[part]
        return self.matrix.products(weights)

    @property
    def margin_errors(self) -> Floats:
        """Bound on the rounding error of each sample's margin in floating point, (n,).

        The error of a sum of m numbers in any order is at most (m − 1)·ε/2 times the sum of their sizes, so that of
        a mean is at most m·ε/2 times the largest size; the factor 2 covers the few operations that follow. Means below
        the smallest normal number are off by a fixed amount, which β multiplies.
        """
        spread = 1.0 + self.comparisons.factor.max(axis=1)
        with np.errstate(over="ignore"):
            errors: Floats = (
                EPS * ((self.n_features + 8) * spread * self._sample_peaks + 4 * self.alpha) + TINY * spread
            )
        return errors

    @cached_property
    def _selectable_peaks(self) -> Floats:
        """Largest absolute value of each sample, without features that may not be selected where these are larger."""
        features = np.flatnonzero(self.selectable)
        others = self._feature_peaks[~self.selectable]
        if features.size == 0 or others.max(initial=0.0) <= self._feature_peaks[features].max():
            return self._sample_peaks
        return self.matrix.row_peaks(self.selectable)

    def row_scale(self) -> Floats:
        """Size of each sample's values and α, (n,), positive: dividing by it brings a linear program's rows to O(1)."""
        scale = np.maximum(self._selectable_peaks, self.alpha)
        return np.where(scale > _SMALLEST_SCALE, scale, 1.0)

    def check_support(self, support: ArrayLike) -> Bools:
        """Return a selection as a boolean mask over the features, or raise `InputError`."""
        return support_mask(support, self.n_features)

    def __repr__(self) -> str:
        """Shape, classes and their features in one line."""
        sizes = ", ".join(
            f"{cls}: {samples} samples/{features} features"
            for cls, samples, features in zip(self.classes, self.class_sizes, self.feature_class_sizes, strict=True)
        )
        return f"<Problem {self.n_samples} samples × {self.n_features} features; {sizes}>"

    def _read_penalty(self, given: float | str) -> float:
        if isinstance(given, str) and given == "auto":
            with np.errstate(over="ignore", invalid="ignore"):
                margins = np.abs(self.comparisons.margins(self.means(self.selectable)).min(axis=1))
            typical = float(np.median(margins))
            return self.n_selectable / (self.n_samples * typical) if 0 < typical < np.inf else 1.0
        if isinstance(given, (int, float, np.number)) and given > _SMALLEST_SCALE:
            return float(given)
        message = f'slack_penalty is {given!r}: give a number above 0, "auto", or inf for margins that must hold'
        raise InputError(message)
