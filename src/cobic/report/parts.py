"""What pages have in common, in words and numbers; `static/page.html` and `static/parts.html` say where."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cobic.answer.model import Model
from cobic.answer.words import margin_unit
from cobic.checker import Verification
from cobic.matrix import Floats, Integers
from cobic.problem import Problem
from cobic.problem.dataset import Dataset
from cobic.report import figures
from cobic.report.story import Names
from cobic.report.views import MAX_ROWS, Course, colour, thin

MAX_LISTED = 200  # rows of the smaller tables
_CITE = (
    "A. Mucherino, S. Cafieri, A New Heuristic for Feature Selection by Consistent Biclustering, 2010, "
    "arXiv:1003.3279.",
    "S. Busygin, O. A. Prokopyev, P. M. Pardalos, Feature selection for consistent biclustering via fractional 0–1 "
    "programming, Journal of Combinatorial Optimization 10 (2005) 7–21.",
)


@dataclass
class Page:
    """What a page will say: words for the template, numbers, notes under the mouse and figures for the scripts."""

    words: dict[str, Any]
    data: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    figures: list[dict[str, Any]] = field(default_factory=list)

    def draw(self, figure: Any, name: str) -> None:
        """Put a figure into its place."""
        self.figures.append(figures.item(figure, f"plot-{name}"))

    def note(self, name: str, places: Floats, texts: list[str]) -> None:
        """Say a text when the mouse is near a place along the horizontal axis."""
        self.notes[name] = {"at": places.tolist(), "text": texts}

    def whole(self, names: Names) -> tuple[dict[str, Any], dict[str, Any]]:
        """The words of the template, and the data of the scripts."""
        classes = [{"name": name, "colour": colour(index)} for index, name in enumerate(names.classes[:-1])]
        return self.words, {**self.data, "classes": classes, "notes": self.notes, "figures": self.figures}


def heading(names: Names, counts: Sequence[int], sections: Sequence[tuple[str, str, Any]]) -> dict[str, Any]:
    """The words of every page: its classes, with so many features chosen, and the sections that are there."""
    problem = names.problem
    sizes = np.bincount(problem.feature_classes[problem.feature_classes >= 0], minlength=problem.n_classes)
    return {
        "version": version("cobic"),
        "colours": [colour(cls) for cls in (*range(problem.n_classes), -1)],
        "classes": list(zip(names.classes[:-1], problem.class_sizes, counts, sizes, strict=True)),
        "cite": [*_CITE, f"cobic, version {version('cobic')}."],
        "sections": [(name, title) for name, title, there in sections if there],
    }


def proof_words(checked: Verification | None) -> str:
    """Where the proof is, and whether it was looked at."""
    proof = "certificate.json; check it with: cobic verify certificate.json DATA"
    if checked is not None and checked.ok:
        proof += f"; checked against the data when this page was made: {checked.reason}"
    return proof


def data_words(source: str, problem: Problem) -> str:
    """Where the data are, and how large."""
    return f"{source}: {problem.n_samples} samples × {problem.n_features} features".lstrip(": ")


def margin_rule(problem: Problem, features: str) -> str:
    """What a margin is."""
    times = f"β = {one_or_many(problem.beta)} times " if (problem.beta > 1).any() else ""
    asked = f"the mean over the {features} of its own class minus {times}that of the best other class"
    if (problem.alpha > 0).any():
        asked += f", minus α = {one_or_many(problem.alpha)}"
    wins = "wins by what was asked" if times or (problem.alpha > 0).any() else "can be read back"
    return f"A sample's margin is {asked}, {margin_unit(problem)}: above zero, its class {wins}."


def add_features(page: Page, names: Names, listed: Integers, effects: pd.DataFrame, **more: Any) -> None:
    """The table of features: columns of X in this order, with what describes them."""
    page.words["effects_words"] = sentence(
        f"{', '.join(effects.columns[:-1])} and {effects.columns[-1]} compare a feature's class with all other samples "
        "(area under the ROC curve, Welch's t, p adjusted by Benjamini and Hochberg over all features). They describe "
        "the data, and took no part in the selection."
    )
    page.data["features"] = {
        "name": [names.features[feature] for feature in listed],
        "cls": packed(names.problem.feature_classes[listed], "<i2"),
        "means": [packed(mean[listed], "<f8") for mean in names.problem.class_means],
        "effects": {name: packed(values.to_numpy()[listed], "<f8") for name, values in effects.items()},
        "more": [],  # title, key and width of further columns of numbers
        **more,
    }


def add_course(page: Page, view: Course, label: str, least_edge: float = 0.0) -> None:
    """How bound and answer met."""
    notes = [
        f"{seconds:.2f} s · at most {short(bound, 7)} · found {short(found, 7) or 'nothing yet'}"
        for seconds, found, bound in zip(view.seconds, view.found, view.bound, strict=True)
    ]
    page.note("course", view.seconds, notes)
    page.draw(figures.course_figure(view, label, least_edge), "course")


def add_margin_notes(page: Page, names: Names, samples: Integers, margins: Floats, remarks: list[str]) -> None:
    """What is said of each sample beside its margin."""
    notes = [
        f"{names.samples[sample]} · {names.class_of(sample)} · margin {short(margin)}{remark}"
        for sample, margin, remark in zip(samples, margins, remarks, strict=True)
    ]
    page.note("margins", np.arange(len(notes), dtype=np.float64) + 0.5, notes)


def add_curve(page: Page, table: dict[str, Floats], notes: list[str], **drawing: Any) -> None:
    """Something over a margin or size, with its error where there is one."""
    page.note("path", table["at"], notes)
    drawn = figures.curve_figures(table, **drawing)
    for figure, name in zip(drawn, ("path", "error"), strict=False):
        page.draw(figure, name)


def error_words(row: dict[str, float]) -> str:
    """A cross-validated error and its standard error; empty where there is none."""
    known = np.isfinite(row.get("cv_error", np.nan))
    return f"{short(100 * row['cv_error'], 3)} % ± {short(100 * row['cv_se'], 2)}" if known else ""


def add_new_samples(page: Page, names: Names, model: Model, new: Dataset, *, drawn: bool = False) -> None:
    """What new samples are read as, counted where their classes are known; as a picture, too, if that is wanted."""
    means = model.means(new.X, new.feature_names if names.problem.feature_names is not None else None)
    predicted, ordered = means.argmax(axis=1), np.sort(means, axis=1)
    leads = ordered[:, -1] - ordered[:, -2]
    known = names.classes[:-1]
    if new.y is None:
        worst = np.argsort(leads, kind="stable")
        wanted = np.full(predicted.size, "")
        found: dict[str, Any] = {
            "words": f"{predicted.size} samples without a class were classified.",
            "wrong_title": "Classes, the least certain first",
        }
    else:
        wanted = np.array([str(label) for label in new.y])
        wrong = wanted != np.array(known)[predicted]
        worst = np.flatnonzero(wrong)[np.argsort(-leads[wrong], kind="stable")]
        found = {
            "words": f"{(~wrong).sum()} of {wrong.size} samples that took no part are given their class.",
            "accuracy": f"{100 * (~wrong).mean():.3g}",
            "balanced": f"{100 * np.mean([(~wrong)[wanted == name].mean() for name in set(wanted.tolist())]):.3g}",
            "wrong_title": "Misclassified samples",
            "matrix": _confusion(known, wanted, predicted),
        }
    rows = [
        (new.sample_names[sample], wanted[sample], predicted[sample], known[predicted[sample]], short(leads[sample]))
        for sample in worst[:MAX_LISTED]
    ]
    page.words["validation"] = {**found, "names": known, "wrong": rows, "drawn": drawn}
    if drawn:
        _draw_newcomers(page, names, new, wanted, means)


def _draw_newcomers(page: Page, names: Names, new: Dataset, wanted: NDArray[Any], means: Floats) -> None:
    """The margins of new samples, smallest first; without a class, those of the class that they are read as."""
    known = names.classes[:-1]
    predicted = means.argmax(axis=1)
    labels = predicted if new.y is None else np.array([known.index(name) if name in known else -1 for name in wanted])
    own = np.take_along_axis(means, np.maximum(labels, 0)[:, None], axis=1)[:, 0]
    ordered = np.sort(means, axis=1)
    best, second = ordered[:, -1], ordered[:, -2]
    margins = np.where(labels == predicted, best - second, own - best)
    margins = np.where(labels < 0, second - best, margins)  # of a class that the model does not know
    order = thin(np.argsort(margins, kind="stable"), MAX_ROWS)
    notes = [
        f"{new.sample_names[at]}{f' · {wanted[at]}' if wanted[at] else ''} · read as {known[predicted[at]]}"
        f" · margin {short(margins[at])}"
        for at in order
    ]
    page.note("newcomers", np.arange(order.size, dtype=np.float64) + 0.5, notes)
    marked = np.zeros(order.size, dtype=np.bool_) if new.y is None else (labels != predicted)[order]
    page.draw(figures.margins_figure(labels[order], margins[order], marked, margin_unit(names.problem)), "newcomers")


def _confusion(names: list[str], wanted: NDArray[Any], predicted: Integers) -> list[tuple[str, list[Any]]]:
    """Rows: the classes of the samples, those that the model does not know last; columns: what they are read as."""
    rows = [*names, *sorted(set(wanted.tolist()) - set(names))]
    return [
        (row, [(((wanted == row) & (predicted == cls)).sum(), row == name) for cls, name in enumerate(names)])
        for row in rows
    ]


def packed(values: NDArray[Any], kind: str) -> str:
    """Numbers as a text from which the scripts make an array."""
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()


def short(value: float, digits: int = 4) -> str:
    """A number for people; empty if it is none."""
    return f"{value:.{digits}g}" if np.isfinite(value) else ""


def one_or_many(values: NDArray[Any]) -> str:
    """The number of all samples, or from where to where theirs go."""
    same = bool((values == values[0]).all())
    return f"{values[0]:.6g}" if same else f"{values.min():.6g} to {values.max():.6g}, one per sample"


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
