"""Rebuild the proof of a certificate from the raw data; no solver takes part.

example: cobic verify answer/certificate.json leukaemia.csv --labels class --alpha 50
"""

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from cobic.answer.statement import differences, parameters_of, statement_document, statement_words
from cobic.checker import FORMAT, Verification, verify
from cobic.checks import require
from cobic.cli import common
from cobic.cli.main import EXIT_DOES_NOT_CHECK
from cobic.errors import InputError
from cobic.io import read_groups
from cobic.io.files import settle
from cobic.io.source import readable, require_ordinary
from cobic.problem import PanelProblem, Problem
from cobic.problem.dataset import Dataset
from cobic.problem.identity import problem_arguments

_MOST_BYTES = 1 << 28  # of a certificate, 256 MB: 30 million indices
_PANELS_ONLY = ("split", "tail", "weights", "offset")
_SELECTIONS_ONLY = ("alpha", "beta_rule", "slack_penalty")
_BOTH = ("beta", "ties", "fixed_in", "fixed_out", "groups", *common.TRANSFORM_ARGUMENTS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("certificate", metavar="CERTIFICATE", help="certificate.json of `cobic select` or `panel`")
    common.add_table_arguments(parser)
    parser.add_argument("--exact", action="store_true", help="check in whole numbers and rationals: nothing is rounded")
    common.add_margin_arguments(parser)
    common.add_rule_arguments(parser)
    add = parser.add_argument_group("the panel that is expected").add_argument
    add("--size", metavar="N", help="features in all, or of each class as A=5,B=5")
    common.add_panel_choices(add, split="any")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    usual = {name: parser.get_default(name) for name in (*_PANELS_ONLY, *_SELECTIONS_ONLY, *_BOTH)}
    parser.set_defaults(usual=usual, **dict.fromkeys(usual))


def run(arguments: argparse.Namespace) -> int:
    """Read both, check, tell."""
    asked, place = common.reading(arguments), arguments.certificate
    certificate = _read(Path(place))
    if certificate.get("format") != FORMAT:
        return _refuse(arguments, "is not a certificate")
    data = common.read_data(asked)
    data.problem()  # complains about the data themselves, if there is something to complain about
    expected = _expected(arguments, data)
    try:
        parameters = certificate["problem"]
        stated = data.problem(**problem_arguments(parameters, len(data.feature_names)))
        problem = PanelProblem.stated(stated, parameters) if "panel" in parameters else stated
    except (InputError, ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError):
        return _refuse(arguments, "does not hold: it does not say which problem it is about")
    names = data.feature_names
    differs = [] if expected is None else differences(parameters_of(expected), parameters_of(problem), names)
    checked = verify(problem, certificate, exact=arguments.exact)
    reason = f"it is about another problem: {'; '.join(differs)}" if differs else checked.reason
    ok = checked.ok and not differs
    if arguments.json:
        _print_json(
            arguments,
            replace(checked, ok=ok, reason=reason),
            statement_document(parameters_of(problem), names),
            differs,
        )
    elif ok:
        whose = "of the problem stated in the certificate" if expected is None else "of the problem that was expected"
        how = "Proven in exact arithmetic" if arguments.exact else "Proven"
        print(f"{how}, {whose}: {statement_words(parameters_of(problem), names)}: {checked.reason}.")
    else:
        print(f"{place} does not hold: {reason}")
    return 0 if ok else EXIT_DOES_NOT_CHECK


def _refuse(arguments: argparse.Namespace, fault: str) -> int:
    """Say that a file is no certificate of anything."""
    if arguments.json:
        _print_json(
            arguments, Verification(ok=False, n_selected=None, upper_bound=None, reason=f"it {fault}"), None, []
        )
    else:
        print(f"{arguments.certificate} {fault}")
    return EXIT_DOES_NOT_CHECK


def _print_json(
    arguments: argparse.Namespace, found: Verification, question: dict[str, Any] | None, differs: list[str]
) -> None:
    common.print_json({**asdict(found), "exact": arguments.exact, "problem": question, "differences": differs})


def _expected(arguments: argparse.Namespace, data: Dataset) -> Problem | PanelProblem | None:
    """The problem that `cobic select` or `cobic panel` would solve with these arguments; None if there are none."""
    given = {name: value for name in arguments.usual if (value := getattr(arguments, name)) is not None}
    if not given and arguments.size is None:
        return None
    other, kind = (_PANELS_ONLY, "--size is not") if arguments.size is None else (_SELECTIONS_ONLY, "--size is")
    wrong = next((name for name in other if name in given), "")
    require(not wrong, f"--{wrong.replace('_', '-')} says nothing where {kind} given: leave out one of them")
    rules = {name: given.get(name, arguments.usual[name]) for name in (*_SELECTIONS_ONLY, *_BOTH)}
    groups = rules.pop("groups")
    labels = None if groups is None else read_groups(groups, data.feature_names)
    if arguments.size is None:
        return data.problem(**rules, groups=labels)
    choices = {name: given.get(name, arguments.usual[name]) for name in _PANELS_ONLY}
    return PanelProblem(data.problem(**rules), common.panel_size(arguments.size), **choices, groups=labels)


def _read(path: Path) -> dict[str, Any]:
    """The document in a file; nothing if it is none, or says something twice."""
    settle(path.parent)
    with readable(path):
        require_ordinary(path)
        size = path.stat().st_size
        require(size <= _MOST_BYTES, f"{path} has {size >> 20} MB, which is more than a certificate takes")
        content = path.read_bytes()
    try:
        document = json.loads(content.decode(), object_pairs_hook=_once, parse_constant=_not_json)
    except (ValueError, RecursionError, MemoryError):
        return {}
    return document if isinstance(document, dict) else {}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, none of whose keys is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        message = "a key is there twice"
        raise ValueError(message)
    return found


def _not_json(name: str) -> None:
    message = f"{name} is no number of JSON"
    raise ValueError(message)
