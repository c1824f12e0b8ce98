"""The question that a certificate is about: as a document, in words, and in what another one differs from it."""

from collections.abc import Iterator, Sequence
from typing import Any

from cobic.problem import PanelProblem, Problem
from cobic.problem.identity import problem_parameters

_SHOWN = 5  # features that are named; the rest is counted
_USUAL = {"ties": "first", "beta_rule": "published"}


def parameters_of(asked: Problem | PanelProblem) -> dict[str, Any]:
    """What a certificate states about a question."""
    return asked.parameters if isinstance(asked, PanelProblem) else problem_parameters(asked)


def statement_document(parameters: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The question with the names of its features, and how many of them may be selected."""
    named = {key: [names[i] for i in parameters[key]] for key in ("required", "excluded")}
    groups = {"groups": [[names[i] for i in members] for members in parameters["groups"]]}
    document = {"transform": None, "panel": None, **parameters, **named, **groups}
    if document["panel"] is not None:
        members = [[names[i] for i in group] for group in parameters["panel"]["groups"]]
        document["panel"] = {**parameters["panel"], "groups": members}
    return {**document, "n_selectable": len(names) - len(parameters["excluded"])}


def statement_words(parameters: dict[str, Any], names: Sequence[str]) -> str:
    """The question in words: its margins, and whatever is not as usual."""
    return ", ".join(_words(parameters, names))


def _words(parameters: dict[str, Any], names: Sequence[str]) -> Iterator[str]:
    beta = _margin(parameters["beta"])
    if "panel" in parameters:
        panel = parameters["panel"]
        size = panel["total"] if panel["counts"] is None else " + ".join(map(str, panel["counts"]))
        weights = panel["weights"] if isinstance(panel["weights"], str) else "given"
        yield f"panels of {size} features with tail {panel['tail']:g}, {weights} weights, beta {beta}"
        if panel.get("split") == "even":
            yield "evenly shared"
        if panel["offset"]:
            yield "offsets"
        if panel["groups"]:
            yield f"one feature of each of {len(panel['groups'])} groups"
    else:
        yield f"alpha {_margin(parameters['alpha'])}, beta {beta}"
    if parameters["slack_penalty"] is not None:
        yield f"slack penalty {parameters['slack_penalty']:.6g}"
    if "transform" in parameters:
        transform = parameters["transform"]
        floor = "" if transform["floor"] is None else f" with floor {transform['floor']:g}"
        yield f"{transform['name']}{floor}"
    yield from (f"{name} {parameters[name]}" for name, usual in _USUAL.items() if parameters[name] != usual)
    for name in ("required", "excluded"):
        if parameters[name]:
            yield _counted(parameters[name], names, name)
    if parameters["groups"]:
        yield f"{len(parameters['groups'])} groups"
    yield f"{len(names) - len(parameters['excluded'])} of {len(names)} features selectable"


def differences(expected: dict[str, Any], stated: dict[str, Any], names: Sequence[str]) -> list[str]:
    """In what a question differs from the one that was expected, in words."""
    if ("panel" in expected) != ("panel" in stated):
        return [f"it is about {_kind(stated)}, not about {_kind(expected)}"]
    found = list(_sets(expected, stated, names))
    ours, theirs = ({**each, **each.get("panel", {})} for each in (expected, stated))
    keys = dict.fromkeys([*ours, *theirs])
    for key in ("required", "excluded", "groups", "panel"):
        keys.pop(key, None)
    found += [
        f"{key} is {_value(theirs.get(key))}, not {_value(ours.get(key))}"
        for key in keys
        if ours.get(key) != theirs.get(key)
    ]
    ours, theirs = (each.get("panel", each) for each in (expected, stated))
    if ours["groups"] != theirs["groups"]:
        found.append("the groups are others")
    return found


def _sets(expected: dict[str, Any], stated: dict[str, Any], names: Sequence[str]) -> Iterator[str]:
    for key in ("required", "excluded"):
        ours, theirs = set(expected[key]), set(stated[key])
        if theirs - ours:
            yield f"{_counted(sorted(theirs - ours), names, key)}, which was not expected"
        if ours - theirs:
            yield f"{_counted(sorted(ours - theirs), names, f'not {key}')}, which was expected"


def _kind(parameters: dict[str, Any]) -> str:
    return f"a panel of {parameters['panel']['total']} features" if "panel" in parameters else "the largest selection"


def _margin(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else "one per sample"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return " with floor ".join(str(each) for each in value.values() if each is not None)
    if isinstance(value, list):
        return "one number each"
    return "not given" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _counted(features: Sequence[int], names: Sequence[str], what: str) -> str:
    shown = ", ".join(names[i] for i in features[:_SHOWN])
    more = f" and {len(features) - _SHOWN} more" if len(features) > _SHOWN else ""
    return f"{len(features)} feature{'s' if len(features) > 1 else ''} {what} ({shown}{more})"
