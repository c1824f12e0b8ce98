"""What the classifiers have in common: selected features, whose means in each class decide; no mathematics here."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from cobic.errors import InputError
from cobic.matrix import Floats, Matrix, as_matrix, stays_where_it_is
from cobic.problem import Problem, frame_names
from cobic.problem.labels import require_no_missing
from cobic.search.result import Progress

_ACCEPTED = {"accept_sparse": ("csr", "csc"), "dtype": "numeric", "ensure_all_finite": False}  # of scikit-learn


class ClassMeansClassifier(SelectorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A selector that classifies by the means over the selected features of each class.

    Those that inherit from it fit `support_`, `classes_` and `_typical_margin`, and say what the means are.
    """

    support_: NDArray[np.bool_]
    _with_data: tuple[str, ...] = ()  # attributes that hold the training data: a pickle goes without them

    @abstractmethod
    def _means(self, X: Any) -> Floats:
        """Mean of each sample over the selected features of each class; −∞ for a class without features."""

    def _seed(self) -> int:
        """One seed for all searches of a fit: a generator would give another one each time it is asked."""
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        return int(seed)

    def _keep_typical(self, margins: Floats) -> None:
        """Remember the size of a margin, by which means become shares."""
        spread = np.abs(margins[np.isfinite(margins)])
        self._typical_margin = float(np.median(spread)) if spread.any() else 1.0

    def _validated(self, X: Any, y: ArrayLike) -> tuple[Any, NDArray[Any]]:
        """Training data as scikit-learn wants them; it would read what is on disk or in chunks into memory."""
        if not stays_where_it_is(X):
            data, labels = validate_data(self, X, y, **_ACCEPTED)
            return data, labels
        matrix = as_matrix(X)
        self.n_features_in_ = matrix.shape[1]
        if hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        return matrix, column_or_1d(y, warn=True)

    def _problem_of(self, X: Any, y: ArrayLike, asked: tuple[str, ...], **instead: Any) -> Problem:
        """The problem of training data, with what is asked of it under the names of parameters, or given in place."""
        sample_names = frame_names(X, "index")
        data, labels = self._validated(X, y)
        require_no_missing(labels)
        check_classification_targets(labels)
        names = getattr(self, "feature_names_in_", None)
        rules = {name: getattr(self, name) for name in asked if name not in instead} | instead
        rules |= {"transform": self.transformation, "floor": self.floor}
        return Problem(data, labels, feature_names=names, sample_names=sample_names, **rules)

    def _new_samples(self, X: Any) -> Matrix:
        """New samples over the features of the training data."""
        if not stays_where_it_is(X):
            return as_matrix(validate_data(self, X, reset=False, **_ACCEPTED))
        matrix = as_matrix(X)
        if matrix.shape[1] != self.n_features_in_:
            message = (
                f"X has {matrix.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
            raise InputError(message)
        return matrix

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected features."""
        if not stays_where_it_is(X):
            return super().transform(X)
        check_is_fitted(self)
        return self._new_samples(X).selected(np.flatnonzero(self.support_))

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def decision_function(self, X: Any) -> Floats:
        """Class means over the selected features: how strongly each class is expressed in a sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) with two classes
            The means, in the units of X; with two classes the mean of the second minus that of the first. ``-inf`` for
            a class without features.
        """
        means = self._means(X)
        if self.classes_.size > 2:
            return means
        difference: Floats = means[:, 1] - means[:, 0]
        return np.nan_to_num(difference, nan=0.0, posinf=np.inf, neginf=-np.inf)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the largest mean over its selected features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            A class label for each sample.
        """
        largest = self._means(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[largest]
        return predicted

    def predict_proba(self, X: Any) -> Floats:
        """Class means as weights that add up to 1; not calibrated probabilities.

        A class whose mean is larger than another's by the median margin of the training samples has e ≈ 2.7 times the
        weight of the other. For probabilities in the sense of frequencies put
        :class:`sklearn.calibration.CalibratedClassifierCV` around the estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The weights, in the order of `classes_`.
        """
        means = self._means(X)
        means /= self._typical_margin
        weights = np.exp(means - means.max(axis=1, keepdims=True))
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the training data."""
        return {name: value for name, value in super().__getstate__().items() if name not in self._with_data}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # scikit-learn's yardstick is three blobs with two features: one class has no feature of its own.
        tags.classifier_tags.poor_score = True
        return tags


def print_progress(event: Progress) -> None:
    """Tell how it goes, where a user asked for it."""
    print(f"[cobic] {event}")  # noqa: T201
