"""Checking a certificate: from the raw data, with numpy and rationals, without any solver.

Read `docs/certificate.md` beside this room; it states what is checked here as mathematics. Nothing that finds answers
is used here, and nothing is shared with it but the problem and its matrix: a slip there is not repeated here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cobic.checker.exact import checked
from cobic.checker.proof import Proof
from cobic.checker.state import Refuted, require
from cobic.checker.stated import KEYS, OFFSET_KEYS
from cobic.checker.values import require_transformed
from cobic.matrix import Bools
from cobic.problem import PanelProblem, Problem
from cobic.problem.exact import signed_float
from cobic.problem.identity import checksum, digest_of, problem_parameters

FORMAT, VERSION = "cobic-certificate", 2


@dataclass(frozen=True)
class Verification:
    """What a certificate proves.

    Attributes
    ----------
    ok : bool
        Whether everything in it holds.
    n_selected : int or None
        Size of its selection, checked to be consistent; None if it has none, or if it does not hold.
    upper_bound : int or None
        The proven bound; None if it does not hold.
    reason : str
        What is proven, or the first thing that does not hold.
    objective, objective_bound : float or None
        Objective of the selection and the proven bound on it: the same as the numbers above with hard margins.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=60, seed=0).problem()
    >>> found = cobic.verify(problem, cobic.solve(problem).certificate)
    >>> found.ok, found.n_selected, found.upper_bound
    (True, 48, 48)
    """

    ok: bool
    n_selected: int | None
    upper_bound: int | None
    reason: str
    objective: float | None = None
    objective_bound: float | None = None


def verify(problem: Problem | PanelProblem, certificate: dict[str, Any], *, exact: bool = False) -> Verification:
    """Check a certificate against the data it speaks of.

    Parameters
    ----------
    problem : Problem or PanelProblem
        The data, the classes and the margins; for a panel, what was asked for.
    certificate : dict
        As in `Result.certificate`, or read from its JSON file.
    exact : bool, default=False
        Check it in whole numbers and rationals, where nothing is rounded: slower, and what decides in case of doubt.

    Returns
    -------
    Verification
        True to what was checked; never raises for a bad certificate.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=300, seed=1).problem()
    >>> result = cobic.solve(problem)
    >>> cobic.verify(problem, result.certificate).ok, cobic.verify(problem, result.certificate, exact=True).ok
    (True, True)
    """
    try:
        if exact:
            return _exactly(problem, certificate)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused
            if isinstance(problem, PanelProblem):
                return _checked_panel(problem, certificate)
            return _checked(problem, certificate)
    except Refuted as fault:
        return _refused(str(fault))
    except MemoryError:
        return _refused("checking it takes more memory than there is")
    except (OverflowError, TypeError, ValueError, LookupError, RecursionError):
        return _refused("a value in it is out of range")


def _refused(fault: str) -> Verification:
    return Verification(ok=False, n_selected=None, upper_bound=None, reason=fault)


def _exactly(problem: Problem | PanelProblem, certificate: dict[str, Any]) -> Verification:
    """The same by the exact checker, which has the tables, and what the certificate itself states."""
    plain = problem.problem if isinstance(problem, PanelProblem) else problem
    raw = np.vstack([rows for _, rows in plain.raw.row_blocks()])
    values = raw if plain.matrix is plain.raw else np.vstack([rows for _, rows in plain.matrix.row_blocks()])
    fault, value = checked(raw, values, plain.labels, certificate)
    require(not fault, fault)
    _require_question(problem, certificate)
    classes = [str(cls) for cls in plain.classes]
    require(certificate["data"]["classes"] == classes, "the classes are not those of the certificate")
    n_selected = len(certificate["selected"]) or None
    bound, objective_bound = certificate["upper_bound"], float(certificate["objective_bound"])
    return _proven(problem, n_selected, bound, None if value is None else signed_float(value), objective_bound)


def _proven(
    problem: Problem | PanelProblem,
    n_selected: int | None,
    bound: int,
    objective: float | None,
    objective_bound: float,
) -> Verification:
    """What is proven, in words, too."""
    if isinstance(problem, PanelProblem):
        reason = f"no panel of {problem.sizes} features has a tail margin above {objective_bound:.6g}"
        if objective is not None:
            reason = f"a panel of {problem.sizes} features has the tail margin {objective:.6g}, and {reason}"
    elif problem.soft and problem.feature_class_sizes.all():
        reason = f"no selection has an objective above {objective_bound:.6g}"
        if objective is not None:
            reason = f"a selection of {n_selected} features has the objective {objective:.6g}, and {reason}"
    else:
        reason = _conclusion(problem, n_selected, bound)
    return Verification(
        ok=True,
        n_selected=n_selected,
        upper_bound=bound,
        reason=reason,
        objective=objective,
        objective_bound=objective_bound,
    )


def _checked_panel(panel: PanelProblem, certificate: dict[str, Any]) -> Verification:
    """What a certificate proves about panels."""
    problem = panel.problem
    _require_same(panel, certificate)
    bound, selected = float(certificate["objective_bound"]), certificate["selected"]
    require(bool(np.isfinite(bound)), '"objective_bound" is not a finite number')
    require(certificate["upper_bound"] == panel.total, '"upper_bound" is not the size of the panel')
    value = None
    if selected:
        support = _mask(problem, selected)
        require(panel.admits(support), "the selection is not a panel of the size that was asked for")
        value = _attained(panel, support, certificate)
        require(value <= bound, "the panel exceeds the bound")
    Proof(problem, certificate, panel).check_panel(panel, bound)
    return _proven(panel, panel.total if selected else None, panel.total, value, bound)


def _attained(panel: PanelProblem, support: Bools, certificate: dict[str, Any]) -> float:
    """The tail margin of a panel; with offsets, at those of the certificate."""
    if not panel.offset:
        return panel.tail_margin(support)
    offsets, stated = certificate["offsets"], certificate["tail_margin"]
    listed = isinstance(offsets, list) and all(type(each) in (int, float) for each in offsets)
    require(listed and len(offsets) == panel.problem.n_classes, '"offsets" does not give a number for each class')
    given = np.array(offsets, dtype=np.float64)
    inside = np.isfinite(given).all() and given[0] == 0 and np.ptp(given) <= panel.widest_offsets
    require(bool(inside), '"offsets" do not begin with 0, or differ too much')
    value = panel.tail_margin(support, given)
    right = type(stated) in (int, float) and abs(value - stated) <= panel.tail_error
    require(right, '"tail_margin" is not that of the panel with these offsets')
    return value


def _require_same(asked: Problem | PanelProblem, certificate: dict[str, Any]) -> None:
    """Go on only with a certificate that is whole, and is about these data and this question."""
    problem = asked.problem if isinstance(asked, PanelProblem) else asked
    _require_form(certificate)
    require(certificate["checksum"] == checksum(certificate), "the checksum does not match the content")
    data = digest_of(problem.raw, problem.labels, problem.classes)  # not what the problem has kept
    require(certificate["data"] == data, "the data are not those of the certificate")
    _require_question(asked, certificate)
    require_transformed(problem)


def _require_question(asked: Problem | PanelProblem, certificate: dict[str, Any]) -> None:
    parameters = asked.parameters if isinstance(asked, PanelProblem) else problem_parameters(asked)
    require(certificate["problem"] == parameters, "the margins or rules are not the certificate's")


def _checked(problem: Problem, certificate: dict[str, Any]) -> Verification:
    """What a certificate proves: a selection, if it has one, and the bounds."""
    _require_same(problem, certificate)
    support = _checked_selection(problem, certificate)
    bound, objective_bound = _checked_bound(problem, certificate, support)
    objective = None if support is None else problem.objective(support)
    return _proven(problem, None if support is None else int(support.sum()), bound, objective, objective_bound)


def _require_form(certificate: Any) -> None:
    require(isinstance(certificate, dict), "it is not a JSON object")
    require(certificate.get("format") == FORMAT, f'"format" is not "{FORMAT}"')
    require(certificate.get("version") == VERSION, f'"version" is not {VERSION}')
    kinds: dict[str, type | tuple[type, ...]] = {
        "checksum": str,
        "data": dict,
        "problem": dict,
        "selected": list,
        "upper_bound": int,
        "objective_bound": (int, float),
        "multipliers": list,
        "slopes": list,
        "tree": list,
    }
    for key, kind in kinds.items():
        require(isinstance(certificate.get(key), kind), f'"{key}" is missing or of the wrong kind')
    panel = certificate["problem"].get("panel")
    offsets = isinstance(panel, dict) and panel.get("offset") and certificate["selected"]
    unknown = sorted(set(certificate) - KEYS - (OFFSET_KEYS if offsets else set()))
    require(not unknown, f"it has {', '.join(map(repr, unknown[:3]))}, which says nothing there")


def _conclusion(problem: Problem, n_selected: int | None, bound: int) -> str:
    if bound == 0:
        return "no selection is consistent"
    most = f"no consistent selection of the {problem.n_features} features has more than {bound}"
    if n_selected is None:
        return most
    return f"a selection of {n_selected} features is consistent, and {most}" + (
        ": it is optimal" if n_selected == bound else ""
    )


def _checked_selection(problem: Problem, certificate: dict[str, Any]) -> Bools | None:
    selected = certificate["selected"]
    if not selected:
        return None
    support = _mask(problem, selected)
    if problem.soft:
        require(np.isfinite(problem.objective(support)), "the selection is not allowed")
    else:
        require(problem.is_consistent(support), "the selection is not consistent")
    return support


def _mask(problem: Problem, selected: list[Any]) -> Bools:
    inside = all(type(index) is int and 0 <= index < problem.n_features for index in selected)
    different = inside and np.unique(np.array(selected)).size == len(selected)
    require(different, '"selected" is not a list of different feature indices')
    support = np.zeros(problem.n_features, dtype=np.bool_)
    support[selected] = True
    return support


def _checked_bound(problem: Problem, certificate: dict[str, Any], support: Bools | None) -> tuple[int, float]:
    bound, objective_bound = int(certificate["upper_bound"]), float(certificate["objective_bound"])
    require(bool(np.isfinite(objective_bound)), '"objective_bound" is not a finite number')
    require(bound >= len(certificate["selected"]), "the selection is larger than the bound")
    if problem.soft and problem.feature_class_sizes.all():
        require(bound == problem.n_selectable, '"upper_bound" is not what may be selected at most')
        require(support is None or problem.objective(support) <= objective_bound, "the selection exceeds the bound")
        if objective_bound < problem.n_selectable:
            Proof(problem, certificate).check_objective(objective_bound)
        else:
            _require_no_tree(certificate)
        return bound, objective_bound
    require(objective_bound == bound, '"objective_bound" is not "upper_bound"')
    if bound >= problem.n_selectable or not problem.feature_class_sizes.all():
        _require_no_tree(certificate)
        return bound, objective_bound
    # A consistent selection has the required features and one of every class, so a smaller total needs no proof.
    Proof(problem, certificate).check(max(bound + 1, int(np.maximum(problem.required_sizes, 1).sum())))
    return bound, objective_bound


def _require_no_tree(certificate: dict[str, Any]) -> None:
    require(not certificate["tree"], "there is a tree where nothing is left to prove")
