"""Classifying new samples by the selected features, and the file that carries this from one place to another."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cobic.checks import require
from cobic.errors import InputError, ModelError
from cobic.io import write_text
from cobic.io.files import settle
from cobic.io.source import readable, require_ordinary
from cobic.matrix import TRANSFORMS, Floats, Integers, Matrix, Transform, as_matrix
from cobic.problem import Problem, frame_names
from cobic.problem.arguments import undefined
from cobic.problem.identity import problem_parameters
from cobic.search.result import Result

_FORMAT = "cobic-model"
# A cobic that knows neither transforms nor offsets would leave them out, and misclassify: it must refuse the second
# version, which is written where there are any.
_PLAIN, _EXTENDED = 1, 2


@dataclass(frozen=True, eq=False)
class Model:
    """Selected features and their classes: all that is needed to classify a new sample.

    A sample gets the class with the largest mean over its selected features (the first one in sorted order if two are
    exactly equal), after the offset of the class is added where there are offsets.

    Attributes
    ----------
    classes : tuple
        The class labels.
    feature_classes : ndarray of shape (n_features,)
        Class of each feature, as an index into `classes`; -1 for none.
    support : ndarray of bool, shape (n_features,)
        The selected features.
    feature_names : tuple of str or None
        Names of all features, in order.
    parameters : dict
        How the selection was made: for people, not used in classifying.
    transformation : Transform or None
        What becomes of the selected features of new samples first; None for nothing.
    offsets : tuple of float or None
        What is added to the mean of each class.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=300, seed=0)
    >>> problem = data.problem()
    >>> model = cobic.Model.of(problem, cobic.solve(problem))
    >>> model.predict(data.test.X)[:3]
    array(['A', 'A', 'A'], dtype='<U1')
    """

    classes: tuple[Any, ...]
    feature_classes: Integers
    support: NDArray[np.bool_]
    feature_names: tuple[str, ...] | None
    parameters: dict[str, Any]
    transformation: Transform | None = None
    offsets: tuple[float, ...] | None = None

    @classmethod
    def of(cls, problem: Problem, result: Result) -> Self:
        """Make the model of a result.

        Parameters
        ----------
        problem : Problem
            What was solved.
        result : Result
            Its answer; every class must have a selected feature.

        Returns
        -------
        Model
            The classifier.
        """
        message = f"a result without selected features of every class classifies nothing: {result.reason}"
        require(all(result.counts), message)
        asked = problem_parameters(problem)
        parameters = {
            **{name: asked[name] for name in ("alpha", "beta", "ties", "beta_rule")},
            "method": result.method,
            "status": str(result.status),
            "n_selected": result.n_selected,
            "upper_bound": result.upper_bound,
            "worst_margin": result.worst_margin,
        }
        transform = transform_of_selected(problem, result.support)
        names = problem.feature_names
        return cls(result.classes, problem.feature_classes, result.support, names, parameters, transform)

    @property
    def n_features(self) -> int:
        """Number of features that new data must have."""
        return int(self.support.size)

    def means(self, X: Any, feature_names: tuple[str, ...] | None = None) -> Floats:
        """Mean of each sample over the selected features of each class, (n_samples, n_classes): the largest decides.

        Offsets are added.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New samples over the same features, in the same order; an `InputError` names the first that differs.
        feature_names : tuple of str, optional
            Their names, compared with the model's; those of a data frame are taken by default.
        """
        names = frame_names(X, "columns") if feature_names is None else feature_names
        names = None if names is None else tuple(str(name) for name in names)
        matrix = as_matrix(X)
        self._require_same_features(matrix.shape, names)
        require_finite(matrix)
        of = self.feature_classes
        means = class_means(matrix, self.support, of, len(self.classes), self.transformation)
        return means if self.offsets is None else np.asarray(means + np.array(self.offsets))

    def predict(self, X: Any, feature_names: tuple[str, ...] | None = None) -> NDArray[Any]:
        """Classify new samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New samples over the same features, in the same order.
        feature_names : tuple of str, optional
            Their names, compared with the model's.

        Returns
        -------
        ndarray of shape (n_samples,)
            A class label for each sample.
        """
        predicted: NDArray[Any] = np.array(self.classes)[self.means(X, feature_names).argmax(axis=1)]
        return predicted

    def save(self, path: str | Path) -> None:
        """Write the model as JSON, whole or not at all; the format is described in ``docs/files.md``."""
        write_text(Path(path), self.to_json())

    def to_json(self) -> str:
        """The model as JSON text."""
        document = {
            "format": _FORMAT,
            "version": _PLAIN if self.transformation is None and self.offsets is None else _EXTENDED,
            "created_by": f"cobic {version('cobic')}",
            "classes": list(self.classes),
            "n_features": self.n_features,
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "feature_classes": self.feature_classes.tolist(),
            "selected": np.flatnonzero(self.support).tolist(),
            "parameters": self.parameters,
            **({} if self.transformation is None else {"transform": _document(self.transformation)}),
        }
        if self.offsets is not None:
            document["offsets"] = list(self.offsets)
        return json.dumps(document, allow_nan=False) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model file.

        Parameters
        ----------
        path : str or Path
            A file written by :meth:`save`.

        Returns
        -------
        Model
            The classifier.

        Raises
        ------
        InputError
            If there is no such file.
        ModelError
            If it is not a model that this version understands; nothing in it is ever executed.
        """
        settle(Path(path).parent)
        with readable(Path(path)):
            require_ordinary(Path(path))
            try:
                document = json.loads(Path(path).read_text(encoding="utf-8"))
            except (ValueError, RecursionError):
                message = f"{path} is not a cobic model: it is not JSON"
                raise ModelError(message) from None
        fault = _fault(document)
        require(not fault, f"{path} is not a usable cobic model: {fault}", ModelError)
        support = np.zeros(document["n_features"], dtype=np.bool_)
        support[document["selected"]] = True
        names, offsets = document["feature_names"], document.get("offsets")
        return cls(
            classes=tuple(document["classes"]),
            feature_classes=np.array(document["feature_classes"], dtype=np.intp),
            support=support,
            feature_names=None if names is None else tuple(names),
            parameters=document["parameters"],
            transformation=_transform(document),
            offsets=None if offsets is None else tuple(float(each) for each in offsets),
        )

    def _require_same_features(self, shape: tuple[int, int], names: tuple[str, ...] | None) -> None:
        message = f"the new data have {shape[1]} features, the model has {self.n_features}"
        pairs = enumerate(zip(names or (), self.feature_names or (), strict=False), start=1)
        for number, (new, old) in pairs:
            if new != old:
                where = f"feature {number} is {new!r} where the model has {old!r}"
                message = f"the new data do not have the model's features: {where}"
                break
        else:
            if shape[1] == self.n_features:
                return
        looks_transposed = shape[0] == self.n_features
        raise InputError(message + ("; the new data look transposed: samples go in rows" if looks_transposed else ""))


def class_means(
    matrix: Matrix,
    support: NDArray[np.bool_],
    feature_classes: Integers,
    n_classes: int,
    transform: Transform | None = None,
) -> Floats:
    """Means of new samples over the selected features of each class, (n, k), after the transform of these features."""
    weights = class_mean_weights(support, feature_classes, n_classes)
    if transform is None:
        return matrix.products(weights)
    chosen, means = np.flatnonzero(support), np.empty((matrix.shape[0], n_classes))
    for block, rows in matrix.row_blocks():  # of which nothing but the selected features need be defined
        values = transform.of(rows[:, chosen])
        bad = np.argwhere(~np.isfinite(values))
        if bad.size:
            sample, at = bad[0].tolist()
            where = f"new data at sample {block.start + sample}, feature {chosen[at]}"
            raise InputError(undefined(transform, float(rows[sample, chosen[at]]), where, "make the model with"))
        means[block] = values @ weights[chosen]
    return means


def transform_of_selected(problem: Problem, support: NDArray[np.bool_]) -> Transform | None:
    """What the selected features of new samples go through."""
    return None if problem.transformation is None else problem.transformation.part(np.flatnonzero(support))


def class_mean_weights(support: NDArray[np.bool_], feature_classes: Integers, n_classes: int) -> Floats:
    """Weights (m, k) that turn sums over features into means over the selected ones of each class; 0 without any."""
    chosen = np.flatnonzero(support & (feature_classes >= 0))
    of = feature_classes[chosen]
    weights = np.zeros((support.size, n_classes))
    weights[chosen, of] = 1.0 / np.bincount(of, minlength=n_classes)[of]
    return weights


def require_finite(matrix: Matrix) -> None:
    """Complain about the first missing or infinite value in new data."""
    bad = matrix.first_not_finite()
    if bad is not None:
        what = "a missing value (NaN)" if np.isnan(bad[2]) else "an infinite value (inf)"
        message = f"new data have {what} at sample {bad[0]}, feature {bad[1]}: impute it first"
        raise InputError(message)


def _fault(document: Any) -> str:
    """The first thing that is wrong with a model document; empty if nothing is."""
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        return f'"format" is not "{_FORMAT}"'
    if document.get("version") not in (_PLAIN, _EXTENDED):
        return f'"version" is {document.get("version")!r}; this cobic reads versions {_PLAIN} and {_EXTENDED}'
    needed = ("classes", "n_features", "feature_classes", "selected", "feature_names")
    parts: list[Any] = [document.get(name) for name in needed]
    classes, size, of, selected, names = parts
    if not (_is_list_of(classes, (str, int, float, bool)) and len(classes) >= 2 and len(set(classes)) == len(classes)):
        return '"classes" is not a list of two or more different labels'
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        return '"n_features" is not a positive whole number'
    if not (_is_index_list(of, -1, len(classes)) and len(of) == size):
        return '"feature_classes" does not give a class index for each feature'
    if not (_is_index_list(selected, 0, size) and len(set(selected)) == len(selected)):
        return '"selected" is not a list of different feature indices'
    if names is not None and not (_is_list_of(names, (str,)) and len(names) == size):
        return '"feature_names" does not give a name for each feature'
    if {of[index] for index in selected} - {-1} != set(range(len(classes))):
        return '"selected" leaves a class without features'
    if not isinstance(document.get("parameters"), dict):
        return '"parameters" is missing'
    offsets = document.get("offsets")
    if offsets is not None and not (_is_list_of_numbers(offsets) and len(offsets) == len(classes)):
        return '"offsets" does not give a finite number for each class'
    for name in ("offsets", "transform"):
        if document.get(name) is not None and document["version"] == _PLAIN:
            return f'"{name}" is given, which version {_PLAIN} does not have'
    return _transform_fault(document)


def _document(transform: Transform) -> dict[str, Any]:
    document: dict[str, Any] = {"name": transform.name, "floor": transform.floor}
    if transform.centre is not None and transform.scale is not None:
        document |= {"centre": transform.centre.tolist(), "scale": transform.scale.tolist()}
    return document


def _transform(document: dict[str, Any]) -> Transform | None:
    """The transform of a document without fault; its features are those selected, which may be in any order."""
    given = document.get("transform")
    if given is None:
        return None
    centre, scale = (np.array(given[name], float) if name in given else None for name in ("centre", "scale"))
    return Transform(given["name"], given.get("floor"), centre, scale).part(np.argsort(document["selected"]))


def _transform_fault(document: dict[str, Any]) -> str:
    """What is wrong with the transform of a model document."""
    given = document.get("transform")
    if given is None:
        return ""
    if not isinstance(given, dict):
        return '"transform" is not an object with a name'
    name = given.get("name")
    if name not in TRANSFORMS:
        return f"it has a transform {name!r} that this cobic does not have: it has {', '.join(TRANSFORMS)}"
    try:
        Transform.named(name, given.get("floor"))
    except InputError as error:
        return str(error)
    size = len(document["selected"]) if name == "standardise" else 0
    for part, least in (("centre", -np.inf), ("scale", 0.0)):
        numbers = given.get(part, [])
        if (
            not _is_list_of(numbers, (int, float))
            or len(numbers) != size
            or not all(least <= x < np.inf for x in numbers)
        ):
            return f'"{part}" of the transform does not give a number for each selected feature'
    return ""


def _is_list_of(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, list) and all(isinstance(each, kinds) for each in value)


def _is_list_of_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(each) in (int, float) and math.isfinite(each) for each in value)


def _is_index_list(value: Any, least: int, end: int) -> bool:
    return isinstance(value, list) and all(type(each) is int and least <= each < end for each in value)
