"""Rebuild the proof of a certificate from the raw data; no solver takes part.

example: cobic verify answer/certificate.json leukaemia.csv --labels class
"""

import argparse
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from cobic.checker import FORMAT, verify
from cobic.cli import common
from cobic.cli.main import EXIT_DOES_NOT_CHECK
from cobic.errors import InputError
from cobic.io.files import settle
from cobic.io.source import readable, require_ordinary
from cobic.problem import PanelProblem
from cobic.problem.identity import problem_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("certificate", metavar="CERTIFICATE", help="certificate.json of `cobic select` or `panel`")
    common.add_table_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Read both, check, tell."""
    asked = common.reading(arguments)
    certificate = _read(Path(arguments.certificate))
    if certificate.get("format") != FORMAT:
        print(f"{arguments.certificate} is not a certificate")
        return EXIT_DOES_NOT_CHECK
    data = common.read_data(asked)
    data.problem()  # complains about the data themselves, if there is something to complain about
    try:
        parameters = certificate["problem"]
        stated = data.problem(**problem_arguments(parameters, len(data.feature_names)))
        problem = PanelProblem.stated(stated, parameters) if "panel" in parameters else stated
    except (InputError, KeyError, TypeError, ValueError, IndexError, OverflowError):
        print(f"{arguments.certificate} does not hold: it does not say which problem it is about")
        return EXIT_DOES_NOT_CHECK
    checked = verify(problem, certificate)
    if arguments.json:
        found = {"ok": checked.ok, "n_selected": checked.n_selected, "upper_bound": checked.upper_bound}
        objective = {"objective": checked.objective, "objective_bound": checked.objective_bound}
        common.print_json({**found, **objective, "reason": checked.reason})
    elif checked.ok:
        print(f"Proven for {_margins(parameters)}: {checked.reason}.")
    else:
        print(f"{arguments.certificate} does not hold: {checked.reason}")
    return 0 if checked.ok else EXIT_DOES_NOT_CHECK


def _read(path: Path) -> dict[str, Any]:
    settle(path.parent)
    with readable(path):
        require_ordinary(path)
        content = path.read_bytes()
    with suppress(ValueError, RecursionError):
        document = json.loads(content.decode())
        return document if isinstance(document, dict) else {}
    return {}


def _margins(parameters: dict[str, Any]) -> str:
    shown = {name: value if isinstance(value, (int, float)) else "one per sample" for name, value in parameters.items()}
    asked = f"alpha {shown['alpha']}, beta {shown['beta']}"
    if "panel" in parameters:
        panel = parameters["panel"]
        weights = panel["weights"] if isinstance(panel["weights"], str) else "given"
        asked = f"panels with tail {panel['tail']:g}, {weights} weights, beta {shown['beta']}"
        asked += ", evenly shared" if panel.get("split") == "even" else ""
        asked += ", offsets" if panel["offset"] else ""
        asked += f", one feature of each of {len(panel['groups'])} groups" if panel["groups"] else ""
    if parameters["slack_penalty"] is not None:
        asked += f", slack penalty {parameters['slack_penalty']:.6g}"
    if "transform" in parameters:
        transform = parameters["transform"]
        asked += f", {transform['name']}" + (
            "" if transform["floor"] is None else f" with floor {transform['floor']:g}"
        )
    usual = {"ties": "first", "beta_rule": "published"}
    asked += "".join(f", {name} {parameters[name]}" for name, value in usual.items() if parameters[name] != value)
    for name in ("required", "excluded"):
        if parameters[name]:
            asked += f", {len(parameters[name])} features {name}"
    return asked + (f", {len(parameters['groups'])} groups" if parameters["groups"] else "")
