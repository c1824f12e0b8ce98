"""A panel in words: the question, the answer in one sentence, what it means, and two lines for the command line."""

import numpy as np

from cobic.answer.panel import Panel
from cobic.answer.words import NBSP, margin_words, percent, with_fold
from cobic.problem import Problem
from cobic.search.result import Status

_FEW_CLASSES = 4  # a sentence that names more of them is none


def panel_sentence(panel: Panel) -> str:
    """What was found and what is proven, in one sentence."""
    what = margin_name(panel)
    most = f"no panel of {panel.problem.sizes} features has a {what} above {panel.bound:.6g}: proven"
    if panel.status == Status.UNKNOWN:
        return f"No panel was found; {most}"
    found = f"{panel.problem.total} of {panel.support.size} features with a {what} of {panel.tail_margin:.6g}"
    gap = "" if panel.status == Status.OPTIMAL or not percent(panel.gap) else f", a gap of {percent(panel.gap)}"
    return f"{found}; {most}{gap}"


def panel_question(panel: Panel) -> str:
    """What was asked."""
    asked, names = panel.problem, [str(cls) for cls in panel.classes]
    few = len(names) <= _FEW_CLASSES
    classes = f"{', '.join(names[:-1])} and {names[-1]}" if few else f"the {len(names)} classes"
    size = f"{asked.sizes} of the" if asked.sizes == str(asked.total) else f"{asked.total} ({asked.sizes}) of the"
    return f"Which {size} {panel.support.size} features tell {classes} apart by the widest margin?"


def panel_explanation(panel: Panel) -> str:
    """What was found, in plain words."""
    if panel.status == Status.UNKNOWN:
        return "Time was too short for any panel."
    problem, tail = panel.problem.problem, panel.problem.tail
    other = "those of any other class" if problem.n_classes > 2 else "those of the other class"
    times = f"{problem.beta.max():.4g} times " if (problem.beta > 1).any() else ""
    own = "the features of the sample's own class are"
    other += ", offsets included" if panel.offsets is not None else ""
    worst = f"{_higher(problem, panel.worst_margin)} than {times}{other}"
    if not tail:
        return f"In the worst of the {problem.n_samples} samples, {own} on average {worst}. {read_back(panel)}"
    share = f"worst {100 * tail:.4g}\u00a0% of the " if tail < 1 else ""
    mean = f"{_higher(problem, panel.tail_margin)} than {times}{other}"
    return (
        f"In the {share}{problem.n_samples} samples, {own} on average {mean}; in the worst sample, "
        f"{_higher(problem, panel.worst_margin)}. {read_back(panel)}"
    )


def _higher(problem: Problem, difference: float) -> str:
    return f"{with_fold(problem, abs(difference))} {'lower' if difference < 0 else 'higher'}"


def margin_name(panel: Panel) -> str:
    """What is maximised: of the worst sample alone, of all samples, or of a share of them."""
    return {0.0: "worst margin", 1.0: "mean margin"}.get(panel.problem.tail, "tail margin")


def read_back(panel: Panel) -> str:
    """How many training samples are given another class than their own."""
    count = panel.problem.problem.n_samples
    wrong = int((panel.margins <= 0).sum())
    are = "is" if wrong == 1 else "are"
    if not wrong:
        return "The class of every sample is read back."
    return " ".join([f"{wrong} of the {count} samples {are} not read back.", *_mostly_wrong(panel)])


def _mostly_wrong(panel: Panel) -> list[str]:
    """Classes of which most samples are given another class: a small one may not matter to the mean of a tail."""
    labels, n_classes = panel.problem.problem.labels, len(panel.classes)
    sizes = np.bincount(labels, minlength=n_classes)
    wrong = np.bincount(labels[panel.margins <= 0], minlength=n_classes)
    told = [f"{wrong[at]} of {sizes[at]} of class {panel.classes[at]}" for at in np.flatnonzero(2 * wrong > sizes)]
    if not told:
        return []
    helps = panel.problem.tail > 0 and panel.problem.weights_name == "equal"
    cure = ": with balanced weights (--weights balanced) all classes count the same" if helps else ""
    return [f"These are {', '.join(told)}{cure}."]


def panel_lines(panel: Panel) -> str:
    """What was found and what is proven, a line each for a person."""
    base = panel.problem.problem
    tail_margin, worst = margin_words(base, panel.tail_margin), margin_words(base, panel.worst_margin)
    share = f"Mean of the worst {100 * panel.problem.tail:g} % of margins {tail_margin}, worst margin"
    lines = [f"{share if panel.problem.tail else 'Worst margin'} {worst}. {read_back(panel)}"]
    if panel.offsets is not None:
        lines.append(offset_words(panel))
    return "\n".join([*lines, _proven_words(panel)])


def _proven_words(panel: Panel) -> str:
    """What is proven about other panels: in percent, where that means something."""
    other = f"no other panel of {panel.problem.sizes} features"
    if panel.status == Status.OPTIMAL:
        return f"Proven optimal: {other} is better."
    if panel.tail_margin > 0 and panel.gap <= 1:
        return f"Proven: {other} is better by more than {percent(panel.gap).replace(NBSP, ' ')}."
    return f"Proven: {other} has a {margin_name(panel)} above {margin_words(panel.problem.problem, panel.bound)}."


def offset_words(panel: Panel) -> str:
    """What is added to the means of the classes."""
    if panel.offsets is None:
        return ""
    added = (f"{offset:.4g} to {cls}" for cls, offset in zip(panel.classes[1:], panel.offsets[1:], strict=True))
    return f"Added to the means: {', '.join(added)}."
