"""The problem as a file for other solvers: the mixed-integer program, or the inner program of the founding paper."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from cobic.checks import is_whole, require_choice
from cobic.errors import InputError
from cobic.io.programs import lp_text, mps_text, readable
from cobic.matrix import Floats, Integers
from cobic.methods import require_bearable, solve
from cobic.methods.linearisation import CountRange, Linearisation
from cobic.methods.relaxation import Relaxation, shares_of
from cobic.problem import Problem
from cobic.search.program import LinearProgram, ProgramNames

ModelKind = Literal["linearised", "inner"]
FileFormat = Literal["lp", "mps"]
_LEAST_SHARE = 1e-12  # smaller shares make coefficients that no solver bears
_TEXT = {"lp": lp_text, "mps": mps_text}


def export_model(
    problem: Problem,
    model: ModelKind = "linearised",
    format: FileFormat = "lp",  # noqa: A002
    *,
    shares: ArrayLike | None = None,
    at_least: int | None = None,
) -> str:
    """Write the problem as a linear program, for CPLEX, Gurobi, SCIP, HiGHS, AMPL and others.

    Parameters
    ----------
    problem : Problem
        The problem; every class has features.
    model : {"linearised", "inner"}, default="linearised"
        ``"linearised"``: the exact mixed-integer program (:mod:`cobic.methods.linearisation`). ``"inner"``: the linear
        program of Mucherino & Cafieri (2010) for given shares of the classes (:mod:`cobic.methods.relaxation`).
    format : {"lp", "mps"}, default="lp"
        The LP format of CPLEX, or free MPS.
    shares : array-like of shape (k,), optional
        For ``"inner"``: positive shares of the classes, scaled to add up to 1; those of all features by default.
    at_least : int, optional
        For ``"linearised"``: leave out selections with fewer features, which tightens the model. By default as many as
        the LP fixed point finds; with soft margins, 0.

    Returns
    -------
    str
        The text of the file, with comments at its top. Columns ``x_NAME`` are the features.

    Raises
    ------
    InputError
        If a class has no features, or an argument makes no sense.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.Problem([[5, 1, 1], [4, 2, 2], [1, 6, 1], [2, 5, 3]], ["a", "a", "b", "b"])
    >>> text = cobic.export_model(problem, model="inner")
    >>> "Bounds" in text, text.splitlines()[-1]
    (True, 'End')
    """
    require_choice("model", model, get_args(ModelKind))
    require_choice("format", format, get_args(FileFormat))
    empty = np.flatnonzero(problem.feature_class_sizes == 0)
    if empty.size:
        cls = problem.classes[empty[0]]
        message = f"no feature has its largest mean in class {cls}: no selection is consistent, there is no model"
        raise InputError(message)
    require_bearable(problem)
    if model == "inner":
        if at_least is not None:
            message = "at_least belongs to the linearised model: leave it out, or use model='linearised'"
            raise InputError(message)
        program, names, comments = _inner(problem, _checked_shares(problem, shares))
    else:
        if shares is not None:
            message = "shares belong to the inner model: leave them out, or use model='inner'"
            raise InputError(message)
        linearisation, names, comments = linearised_model(problem, _checked_size(problem, at_least))
        program = linearisation.program
    sizes = zip(problem.classes, problem.feature_class_sizes.tolist(), strict=True)
    of_classes = ", ".join(f"{cls}: {size}" for cls, size in sizes)
    header = [
        "Feature selection by consistent biclustering, written by cobic.",
        f"{problem.n_samples} samples, {problem.n_features} features (of classes {of_classes}).",
    ]
    return _TEXT[format](program, names, [*header, *comments])


def _inner(problem: Problem, shares: Floats) -> tuple[LinearProgram, ProgramNames, list[str]]:
    relaxation = Relaxation(problem)
    samples, features, classes = _names(problem, relaxation.features)
    columns = readable([f"x_{name}" for name in features])
    program = relaxation.with_groups(relaxation.at_shares(shares))
    rows = problem.comparisons.names(samples, classes)
    rows = readable([*rows, *(f"group_{row}" for row in range(program.n_rows - len(rows)))])
    given = ", ".join(f"{cls}: {share:.6g}" for cls, share in zip(classes, shares, strict=True))
    comments = [
        "The inner linear program of Mucherino & Cafieri (2010) for fixed shares of the classes.",
        f"Shares: {given}.",
        "Rows: one per sample and other class, divided by the sample's largest value (or margin); >= stands for >.",
    ]
    if problem.constraints.groups:
        comments.append("Rows group_...: features that are selected together; they share the mean of their values.")
    return program, ProgramNames(columns, rows), comments


def linearised_model(problem: Problem, at_least: int) -> tuple[Linearisation, ProgramNames, list[str]]:
    """The mixed-integer program of a problem, with names and comments for a file."""
    counts = CountRange.of(problem, at_least)
    model = Linearisation(problem, counts)
    given = _names(problem, model.features)
    names = ProgramNames(readable(model.column_names(*given)), readable(model.row_names(*given)))
    limits = zip(problem.classes, counts.low, counts.high, strict=True)
    ranges = ", ".join(f"{cls}: {low} to {high}" for cls, low, high in limits)
    comments = [
        "The exact mixed-integer program: Wu's linearisation, in Busygin, Prokopyev & Pardalos (2005).",
        "x_FEATURE: whether it is selected. z_CLASS: the number of features of the class, divided by the number of",
        "those selected. w_FEATURE: x times z. Rows sample_...: own class mean above the other class mean, divided",
        "by the largest value (or margin) of the sample, times the size of the largest class; >= stands for >.",
        f"Selections with fewer than {at_least} features are left out. Features per class: {ranges}.",
    ]
    if problem.soft:
        comments.append("slack_SAMPLE: the violation of its margin, in the unit of its rows.")
    return model, names, comments


def _names(problem: Problem, features: Integers) -> tuple[list[str], list[str], list[str]]:
    """Names of the samples, of some features, and of the classes."""
    samples = problem.sample_names or [f"s{sample + 1}" for sample in range(problem.n_samples)]
    known = problem.feature_names
    chosen = [f"f{feature + 1}" if known is None else known[feature] for feature in features]
    return list(samples), chosen, [str(cls) for cls in problem.classes]


def _checked_shares(problem: Problem, shares: ArrayLike | None) -> Floats:
    if problem.soft:
        message = "the inner model knows no soft margins: leave slack_penalty at inf, or use model='linearised'"
        raise InputError(message)
    if shares is None:
        return shares_of(problem, problem.selectable.astype(np.float64))
    try:
        given: Floats = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros(0)
    largest = given.max(initial=0.0) if given.shape == (problem.n_classes,) else 0.0
    scaled: Floats = given / largest if np.isfinite(largest) and largest > 0 else np.zeros(1)
    if not (scaled > _LEAST_SHARE).all():
        message = f"shares are {shares}: give {problem.n_classes} positive numbers, one per class in sorted order"
        raise InputError(message)
    return scaled / float(scaled.sum())


def _checked_size(problem: Problem, at_least: int | None) -> int:
    if at_least is None:
        return 0 if problem.soft else solve(problem, method="fixed-point").n_selected
    if not is_whole(at_least) or not 0 <= at_least <= problem.n_selectable:
        message = f"at_least is {at_least!r}: give a whole number from 0 to {problem.n_selectable}"
        raise InputError(message)
    return at_least
