"""What identifies a problem: a digest of its data, the values of its margins and rules; and a checksum of documents."""

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cobic.matrix import Integers, Matrix

if TYPE_CHECKING:
    from cobic.problem.problem import Problem

_SAME_SUM = 1e-9  # of a sum: equal samples have equal sums but for rounding
_ITEMS_AT_ONCE = 1 << 14  # of a long list: as one text it would take many times the memory


def digest_of(matrix: Matrix, labels: Integers, classes: NDArray[Any]) -> dict[str, Any]:
    """Shape of the data and SHA-256 of their values (float64, little-endian, by sample) and class indices (int64)."""
    digest = hashlib.sha256()
    n_samples, n_features = matrix.shape
    for _, rows in matrix.row_blocks():
        digest.update(np.ascontiguousarray(rows + 0.0, dtype="<f8").data)  # + 0.0 turns −0 into 0
    digest.update(labels.astype("<i8").tobytes())
    return {
        "n_samples": n_samples,
        "n_features": n_features,
        "classes": [str(cls) for cls in classes],
        "sha256": digest.hexdigest(),
    }


def problem_parameters(problem: "Problem") -> dict[str, Any]:
    """The margins and rules of a problem: a number where all samples have the same margin, else one per sample.

    A transform is named only if there is one, so that certificates without one stay what they were.
    """
    own = problem.transformation
    alpha, beta = (vector.tolist() for vector in (problem.alpha, problem.beta))
    return {
        "alpha": alpha[0] if len(set(alpha)) == 1 else alpha,
        "beta": beta[0] if len(set(beta)) == 1 else beta,
        "ties": problem.ties,
        "beta_rule": problem.beta_rule,
        "slack_penalty": problem.slack_penalty if problem.soft else None,
        "required": np.flatnonzero(problem.required).tolist(),
        "excluded": np.flatnonzero(~problem.selectable).tolist(),
        "groups": [members.tolist() for members in problem.constraints.groups],
        **({} if own is None else {"transform": {"name": own.name, "floor": own.floor}}),
    }


def problem_arguments(parameters: dict[str, Any], n_features: int) -> dict[str, Any]:
    """Arguments of :class:`cobic.Problem` from what :func:`problem_parameters` says."""
    groups: list[int | None] = [None] * n_features
    for number, members in enumerate(parameters["groups"]):
        for feature in members:
            groups[feature] = number
    price, transform = parameters["slack_penalty"], parameters.get("transform")
    return {
        **{name: parameters[name] for name in ("alpha", "beta", "ties", "beta_rule")},
        "slack_penalty": float("inf") if price is None else price,
        "fixed_in": parameters["required"],
        "fixed_out": parameters["excluded"],
        "groups": groups,
        **({} if transform is None else {"transform": transform["name"], "floor": transform["floor"]}),
    }


def checksum(certificate: dict[str, Any]) -> str:
    """SHA-256 of all of a certificate but its checksum, as JSON with sorted keys and no spaces."""
    digest = hashlib.sha256(b"{")
    for place, key in enumerate(sorted(certificate.keys() - {"checksum"})):
        digest.update(f"{',' if place else ''}{json.dumps(key)}:".encode())
        for piece in _json_pieces(certificate[key]):
            digest.update(piece.encode())
    digest.update(b"}")
    return digest.hexdigest()


def _json_pieces(value: Any) -> Iterator[str]:
    """JSON with sorted keys and no spaces; of a long list, which as a whole takes much memory, a part at a time."""
    if not isinstance(value, list) or len(value) <= _ITEMS_AT_ONCE:
        yield json.dumps(value, sort_keys=True, separators=(",", ":"))
        return
    for start in range(0, len(value), _ITEMS_AT_ONCE):
        part = json.dumps(value[start : start + _ITEMS_AT_ONCE], sort_keys=True, separators=(",", ":"))
        yield ("," if start else "[") + part[1:-1]
    yield "]"


def identical_samples(matrix: Matrix, labels: Integers) -> list[tuple[int, int]]:
    """Pairs of samples of different classes with the same values: neighbours by a random sum, then compared."""
    weights = np.random.default_rng(0).random((matrix.shape[1], 1))
    with np.errstate(over="ignore", invalid="ignore"):
        sums = matrix.products(weights)[:, 0]
        order = np.argsort(sums, kind="stable")
        near = np.abs(np.diff(sums[order])) <= _SAME_SUM * np.abs(sums[order[1:]])
    pairs = [(int(a), int(b)) for a, b in zip(order[:-1][near], order[1:][near], strict=True) if labels[a] != labels[b]]
    return [(a, b) for a, b in pairs if (matrix.rows(np.array([a])) == matrix.rows(np.array([b]))).all()]


def twins(problem: "Problem") -> tuple[int, int] | None:
    """Two samples of different classes with the same values, of which no β is above 1; None without any.

    Their margins in any selection add up to −α of both, so that not both of them are positive.
    """
    return next(((a, b) for a, b in problem.identical if problem.beta[a] == problem.beta[b] == 1), None)
