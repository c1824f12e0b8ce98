"""What the folders of answers have in common: pictures, and how files are read back and checked against the data."""

import io
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from cobic.checker import Verification, verify
from cobic.checks import require
from cobic.errors import InputError, ModelError
from cobic.io.files import settle
from cobic.problem import PanelProblem, Problem
from cobic.problem.dataset import Dataset
from cobic.problem.identity import problem_arguments
from cobic.search.result import Progress

DAMAGED = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)


def picture(name: str, draw: Callable[[], Any]) -> dict[str, str]:
    """The axes that are drawn as the text of a file, by name; none where matplotlib is not installed."""
    with suppress(InputError):
        image = io.StringIO()
        draw().figure.savefig(image, format="svg")
        return {name: image.getvalue()}
    return {}


def read_file(folder: Path, name: str, parse: Callable[[bytes], Any]) -> Any:
    """What a file holds; None if it cannot be parsed."""
    settle(folder)
    try:
        return parse((folder / name).read_bytes())
    except OSError:
        made_by = "`cobic select --out` or `cobic panel --out`"
        message = f"{folder} is not a folder of {made_by}: cannot read {name} in it"
        raise InputError(message) from None
    except (ValueError, RecursionError):  # pandas' own errors are such, too
        return None


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The JSON object of a file."""
    document = read_file(folder, name, json.loads)
    require(isinstance(document, dict), f"{folder / name} is damaged: it is not a JSON object", ModelError)
    return dict(document)


def stated_problem(folder: Path, name: str, document: dict[str, Any], data: Dataset) -> Problem:
    """The problem that a document is about, of the data that it was about."""
    data.problem()  # complains about the data themselves, if there is something to complain about
    try:
        problem = data.problem(**problem_arguments(document["problem"], len(data.feature_names)))
        known = document["digest"]
    except (*DAMAGED, InputError):
        message = f"{folder}/{name} does not say which problem it is about: make {folder} again"
        raise InputError(message) from None
    message = f"{data.source} does not hold the data of {folder}: values, shape or classes differ"
    require(known == problem.digest, message)
    return problem


def checked_certificate(folder: Path, problem: Problem | PanelProblem) -> tuple[dict[str, Any], Verification]:
    """The certificate and what it proves."""
    certificate = read_json(folder, "certificate.json")
    checked = verify(problem, certificate)
    require(checked.ok, f"{folder / 'certificate.json'} does not hold: {checked.reason}", ModelError)
    return certificate, checked


def require_names(folder: Path, what: str, then: list[Any], now: Sequence[str] | None) -> None:
    """Complain about the first name that is another than it was."""
    for number, (old, new) in enumerate(zip(then, now or (), strict=False), start=1):
        if old != new:
            message = f"the data have other names than those of {folder}: {what} {number} is {new!r}, it was {old!r}"
            raise InputError(message)


def history_of(events: list[dict[str, Any]]) -> tuple[Progress, ...]:
    """The course of a run; an error unless all of it are numbers, or None."""
    history = tuple(Progress(**event) for event in events)
    np.array([astuple(event) for event in history], dtype=np.float64)
    return history


def stopped_by(document: dict[str, Any]) -> str | None:
    """What cut a run short."""
    return None if document["stopped_by"] is None else str(document["stopped_by"])


def timings_of(folder: Path, name: str, document: dict[str, Any], problem: Problem) -> dict[str, float]:
    """Seconds by step; complains if the samples have other names than they had."""
    try:
        then = [str(each) for each in document["sample_names"] or ()]
        timings = {str(step): float(seconds) for step, seconds in document["timings"].items()}
    except DAMAGED:
        message = f"{folder}/{name} is damaged: sample_names or timings are missing or of the wrong kind"
        raise ModelError(message) from None
    require_names(folder, "sample", then, problem.sample_names)
    return timings
