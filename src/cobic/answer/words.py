"""The answer in words: one sentence for a heading, and two lines for the command line."""

import numpy as np

from cobic.methods import METHODS
from cobic.problem import Problem
from cobic.problem.identity import twins
from cobic.search.result import Result, Status

NBSP = "\u00a0"  # a space at which no line ends


def answer_sentence(problem: Problem, result: Result) -> str:
    """What was found and what is proven, in one sentence."""
    word = whose_word(problem, result)
    if result.status == Status.INFEASIBLE:
        return f"No selection of features is consistent: {word or 'not proven'}"
    kept = f"{result.n_selected} of {problem.n_features} features kept"
    if result.soft and all(result.counts):
        best = f"no selection has an objective above {result.objective_bound:.6g}: {word}"
        better = best if word else "nothing is proven about better ones"
        return f"{kept}, an objective of {result.objective:.6g}; {better}"
    if not result.consistent:
        kept = "No consistent selection was found"
    if not word or not bound_is_proven(problem, result):
        return f"{kept}; nothing is proven about larger selections"
    gap = "" if result.status == Status.OPTIMAL or not result.consistent else f", a gap of {result.gap}"
    return f"{kept}; no selection can keep more than {result.upper_bound}: {word}{gap}"


def whose_word(problem: Problem, result: Result) -> str:
    """Who says that there is nothing better: a proof, or the solver; nobody (empty) where neither is there.

    That no more features can be kept than there are needs no proof.
    """
    trivial = result.objective_bound >= problem.n_selectable and result.upper_bound >= problem.n_selectable
    if result.certificate is not None or trivial:
        return "proven"
    method = METHODS.get(result.method)
    return "by the word of HiGHS" if method is not None and method.claims else ""


def bound_is_proven(problem: Problem, result: Result) -> bool:
    """Whether the bound says more than that there are no more features."""
    return result.status == Status.OPTIMAL or result.upper_bound < problem.n_selectable


def why_none_exists(problem: Problem, result: Result) -> str:
    """Why no selection is consistent, where more is known than that: of a class or two samples, or whose word it is."""
    plain = problem.feature_class_sizes.all() and twins(problem) is None
    return "" if plain and result.certificate is not None else result.reason


def found_line(problem: Problem, result: Result) -> str:
    """What was found, in one line for a person."""
    if result.status == Status.INFEASIBLE:
        why = why_none_exists(problem, result)
        return f"No consistent selection exists{': ' if why else ''}{why}."
    if result.soft and all(result.counts):
        return f"{_kept(problem, result)}; {violations_phrase(problem, result)}."
    if not result.consistent:
        return f"{_none_found(result)}."
    return (
        f"{_kept(problem, result)}; every training sample's class can be read back from them, "
        f"worst margin {margin_words(problem, result.worst_margin)}."
    )


def _none_found(result: Result) -> str:
    """That nothing was found, what ended the search, and what there is instead."""
    ended = f" before the {result.stopped_by}" if result.stopped_by else ""
    ended = ended or (" with the linear programs that were allowed" if result.left_open_by == "max_programs" else "")
    instead = f": {result.reason}" if result.support.any() else ""
    return f"No consistent selection was found{ended}{instead}"


def proven_line(problem: Problem, result: Result) -> str:
    """What is proven, by which method and in what time, in one line for a person."""
    took = f"{result.method}, {result.seconds:.1f} s" + (f", {result.stopped_by}" if result.stopped_by else "")
    word = whose_word(problem, result)
    if not word:
        return f"Nothing is proven about larger selections: there is no certificate ({took})."
    word = f"{word[:1].upper()}{word[1:]}"
    if result.status == Status.INFEASIBLE:
        return f"{word} ({took})."
    if result.soft:
        size = f"{result.n_selected} features − {problem.slack_penalty:.4g} × violations = {result.objective:.6g}"
        return f"Objective {size}; {word[:1].lower()}{word[1:]}: at most {result.objective_bound:.6g} ({took})."
    if result.status == Status.OPTIMAL:
        return f"{word}: no consistent selection has more than {result.upper_bound} features ({took})."
    if bound_is_proven(problem, result) and not result.consistent:
        return f"{word}: none has more than {result.upper_bound} features ({took}); whether there is any is open."
    if bound_is_proven(problem, result):
        on = "; more time may close it" if result.stopped_by == "time limit" else ""
        on = "; --gap 0 goes on" if result.left_open_by in ("target gap", "patience") else on
        return f"{word}: at most {result.upper_bound} features are possible, a gap of {result.gap} ({took}){on}."
    method = METHODS.get(result.method)
    computes = method is not None and method.proves
    why = "no bound was found before it ended" if computes else f"{result.method} computes no bound"
    return f"Nothing is proven about larger selections: {why} ({took})."


def violations_phrase(problem: Problem, result: Result) -> str:
    """How many samples violate their margin, and which one most."""
    violations = problem.violations(result.support)
    worst = ""
    if violations.any():
        sample = int(violations.argmax())
        name = sample if problem.sample_names is None else problem.sample_names[sample]
        worst = f", worst {name} by {violations[sample]:.4g}"
    return f"{int((violations > 0).sum())} of {problem.n_samples} samples violate their margin{worst}"


def _kept(problem: Problem, result: Result) -> str:
    counts = ", ".join(f"{cls}: {count}" for cls, count in zip(result.classes, result.counts, strict=True))
    return f"Kept {result.n_selected} of {problem.n_features} features ({counts})"


def is_fold(problem: Problem) -> bool:
    """Whether differences are logarithms of factors to base 2."""
    return problem.transformation is not None and problem.transformation.name == "log2"


def with_fold(problem: Problem, difference: float) -> str:
    """A difference and, where values are logarithms, the factor that it is."""
    text = f"{'−' if difference < 0 else ''}{abs(difference):.4g}"
    if not is_fold(problem):
        return text
    factor = float(np.exp2(min(difference, 1000.0)))  # beyond there is nothing to measure, but an overflow
    return f"{text} ({factor:.0f}-fold)" if factor >= 100 else f"{text} ({factor:.2g}-fold)"


def margin_words(problem: Problem, margin: float) -> str:
    """A margin and, where that is what it means, the factor: not with β, or on top of an α."""
    plain = not problem.alpha.any() and (problem.beta == 1).all() and np.isfinite(margin)
    return with_fold(problem, margin) if plain else f"{margin:.4g}"


def margin_unit(problem: Problem) -> str:
    """In what margins are measured."""
    transform = None if problem.transformation is None else problem.transformation.name
    units = {None: "in units of the data", "log2": "in powers of 2", "log1p": "in natural logarithms"}
    return units.get(transform, "in standard deviations of a feature")


def percent(share: float) -> str:
    """A share in percent, for a sentence; empty if it is no number."""
    if not np.isfinite(share):
        return ""
    return f"{100 * share:.0f}{NBSP}%" if share >= 0.995 else f"{100 * share:.2g}{NBSP}%"  # not as 1e+02
