"""Answers as JSON and back, without loss; and what identifies a value."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from cobic.matrix import Bools
from cobic.problem import Problem
from cobic.search.result import Progress, Result, Run, Status

_AS_THEY_ARE = [
    field.name
    for field in fields(Result)
    if field.name not in ("support", "status", "counts", "classes", "history", "runs")
]


def result_document(result: Result) -> dict[str, Any]:
    """A result as values that JSON knows; :func:`read_result` makes the same result of it."""
    return {
        "support": mask_text(result.support),
        "status": str(result.status),
        "counts": list(result.counts),
        "history": [asdict(event) for event in result.history],
        "runs": [asdict(run) for run in result.runs],
        **{name: described(getattr(result, name)) for name in _AS_THEY_ARE},
    }


def read_result(document: Mapping[str, Any], problem: Problem) -> Result:
    """The result that :func:`result_document` described."""
    return Result(
        support=read_mask(document["support"], problem.n_features),
        status=Status(document["status"]),
        counts=tuple(document["counts"]),
        classes=tuple(problem.classes.tolist()),
        history=tuple(Progress(**event) for event in document["history"]),
        runs=tuple(Run(**run) for run in document["runs"]),
        **{name: document[name] for name in _AS_THEY_ARE},
    )


def mask_text(mask: Bools) -> str:
    """A selection as a short text."""
    return np.packbits(mask).tobytes().hex()


def read_mask(text: str, size: int) -> Bools:
    """The selection that :func:`mask_text` wrote."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8), count=size).astype(np.bool_)


def described(value: Any) -> Any:
    """A value as JSON knows it; arrays by their digest, and what JSON cannot hold by how Python writes it."""
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"shape": list(value.shape), "type": str(value.dtype), "sha256": digest}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(name): described(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    return value if value is None or isinstance(value, (str, int, float)) else repr(value)
