"""What the page of a report says, in words and numbers; `static/page.html` says where."""

import base64
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobic.answer.model import Model
from cobic.answer.tables import provenance, violation_table
from cobic.answer.words import answer_sentence, fold_change, proven_line, violations_phrase, why_none_exists
from cobic.matrix import Floats, Integers
from cobic.problem import Problem
from cobic.report import figures
from cobic.report.story import Story
from cobic.report.views import HEATMAP_SPAN, colour, course_view, margins_view
from cobic.search.result import Status

MAX_LISTED = 200  # rows of the smaller tables
MAX_BARS = 12  # samples that are hurt most; more bars have no room for their names
_CITE = (
    "A. Mucherino, S. Cafieri, A New Heuristic for Feature Selection by Consistent Biclustering, 2010, "
    "arXiv:1003.3279.",
    "S. Busygin, O. A. Prokopyev, P. M. Pardalos, Feature selection for consistent biclustering via fractional 0–1 "
    "programming, Journal of Combinatorial Optimization 10 (2005) 7–21.",
)


@dataclass
class _Page:
    """What the page will say: words for the template, numbers, notes under the mouse and figures for the scripts."""

    words: dict[str, Any]
    data: dict[str, Any]
    notes: dict[str, Any]
    figures: list[dict[str, Any]]

    def draw(self, figure: Any, name: str) -> None:
        """Put a figure into its place."""
        self.figures.append(figures.item(figure, f"plot-{name}"))

    def note(self, name: str, places: Floats, texts: list[str]) -> None:
        """Say a text when the mouse is near a place along the horizontal axis."""
        self.notes[name] = {"at": places.tolist(), "text": texts}


def contents(story: Story) -> tuple[dict[str, Any], dict[str, Any]]:
    """Put together what a page says."""
    page = _Page(_heading(story), {}, {}, [])
    for part in (_heatmap, _margins, _course, _dropped, _features, _validation, _path):
        part(story, page)
    classes = [{"name": name, "colour": colour(index)} for index, name in enumerate(story.class_names[:-1])]
    return page.words, {**page.data, "classes": classes, "notes": page.notes, "figures": page.figures}


def _heading(story: Story) -> dict[str, Any]:
    problem, result = story.problem, story.result
    sizes = np.bincount(problem.feature_classes[problem.feature_classes >= 0], minlength=problem.n_classes)
    sections = (
        ("biclusters", "Biclusters", True),
        ("margins", "Margins", True),
        ("bound", "Bound", True),
        ("dropped", "Dropped features", story.has_selection),
        ("features", "Features", True),
        ("new", "New samples", story.new is not None and story.has_selection),
        ("path", "Path", story.curve is not None),
        ("run", "How it was run", True),
    )
    return {
        "version": version("cobic"),
        "answer": answer_sentence(problem, result),
        "explanation": _explanation(story),
        "colours": [colour(cls) for cls in (*range(problem.n_classes), -1)],
        "classes": list(zip(story.class_names[:-1], problem.class_sizes, result.counts, sizes, strict=True)),
        "n_excluded": problem.n_features - problem.n_selectable,
        "run": _run(story),
        "cite": [*_CITE, f"cobic, version {version('cobic')}."],
        "sections": [(name, title) for name, title, there in sections if there],
    }


def _explanation(story: Story) -> str:
    problem, result = story.problem, story.result
    if result.status == Status.INFEASIBLE:
        why = why_none_exists(problem, result)
        cure = "Soft margins (--slack-penalty auto) find the samples that do not fit."
        return f"{_sentence(why)} {cure}" if why else cure
    if result.soft and story.has_selection:
        return f"{_sentence(violations_phrase(problem, result))} {proven_line(problem, result)}"
    if not result.consistent:
        return _sentence(result.reason)
    return (
        f"The class of each of the {problem.n_samples} samples can be read back from the kept features; "
        f"the smallest margin is {_short(result.worst_margin)}{fold_change(problem, result.worst_margin)}."
    )


def _run(story: Story) -> list[tuple[str, str]]:
    """How the answer was found, as terms and texts."""
    problem, result = story.problem, story.result
    document = provenance(problem)
    rules = [f"ties: {problem.ties} ({problem.n_ties} features)", f"β rule: {problem.beta_rule}"]
    rules += [f"transform: {problem.transformation.words}"] if problem.transformation is not None else []
    rules += [f"slack penalty: {problem.slack_penalty:.6g} features per unit of margin"] if problem.soft else []
    further = {
        "features required": int(problem.required.sum()),
        "features excluded": problem.n_features - problem.n_selectable,
        "groups": len(problem.constraints.groups),
    }
    rules += [f"{count} {what}" for what, count in further.items() if count]
    given = {name: value for name, value in (story.options or {}).items() if name not in ("method", "start")}
    how = f"{result.method}, {result.seconds:.2f} s, {result.lps} linear programs"
    proof = f"none: {result.method} makes no certificate"
    if result.certificate is not None:
        proof = "certificate.json; check it with: cobic verify certificate.json DATA"
        if story.checked is not None and story.checked.ok:
            proof += f"; checked against the data when this page was made: {story.checked.reason}"
    rows = {
        "Data": f"{story.source}: {problem.n_samples} samples × {problem.n_features} features".lstrip(": "),
        "Digest": f"SHA-256 {document['digest']['sha256']}",
        "Margins": f"α {_one_or_many(problem.alpha)}, β {_one_or_many(problem.beta)}",
        "Rules": "; ".join(rules),
        "Method": how + (f", stopped by {result.stopped_by}" if result.stopped_by else ""),
        "Options": ", ".join(f"{name} = {value}" for name, value in given.items()),
        "Status": f"{result.status}: {result.reason}",
        "Proof": proof,
        "Time": ", ".join(f"{step} {value:.2f} s" for step, value in (story.timings or {}).items()),
        "Versions": ", ".join(f"{name} {number}" for name, number in document["versions"].items()),
    }
    return [(term, text) for term, text in rows.items() if text]


def _heatmap(story: Story, page: _Page) -> None:
    problem, view = story.problem, story.heatmap
    rows, columns = view.cells.shape
    views = [
        (f"{story.class_names[block.cls] or 'no class'} kept", block.start, block.stop)
        for block in view.blocks
        if block.kept
    ]
    if 0 < view.n_kept < columns:
        views.append(("Dropped", view.n_kept, columns))
    page.words["heatmap"] = {"thinned": view.thinned, "rows": rows, "columns": columns, "views": views}
    page.data["heatmap"] = {
        "rows": [f"{story.sample_names[sample]} · {story.class_of(sample)}" for sample in view.samples],
        "columns": _packed(np.searchsorted(story.listed, view.features), "<i4"),
        "centres": _packed(view.centres, "<f8"),
        "scales": _packed(view.scales, "<f8"),
        "span": HEATMAP_SPAN,
        "cells": _packed(view.cells, "u1"),
    }
    page.draw(figures.heatmap_figure(problem, view), "heatmap")


def _margins(story: Story, page: _Page) -> None:
    if not story.has_selection:
        return
    problem, result = story.problem, story.result
    view = margins_view(problem, result, story.harm)
    page.words["n_binding"] = int(view.binding.sum())
    page.words["margin_rule"] = _margin_rule(problem)
    if result.soft:
        violated = violation_table(problem, result.support).head(MAX_LISTED)
        page.words["violations"] = [
            (str(name), problem.labels[sample], cls, read_as, _short(amount))
            for sample, name, cls, read_as, amount in violated.itertuples(index=False)
        ]
    notes = [
        f"{story.sample_names[sample]} · {story.class_of(sample)} · margin {_short(margin)}"
        f"{fold_change(problem, margin)}{' · binding' if binding else ''}"
        for sample, margin, binding in zip(view.samples, view.margins, view.binding, strict=True)
    ]
    page.note("margins", np.arange(len(notes), dtype=np.float64) + 0.5, notes)
    page.draw(figures.margins_figure(problem, view), "margins")


def _margin_rule(problem: Problem) -> str:
    times = f"β = {_one_or_many(problem.beta)} times " if (problem.beta > 1).any() else ""
    asked = f"the mean over the kept features of its own class minus {times}that of the best other class"
    if (problem.alpha > 0).any():
        asked += f", minus α = {_one_or_many(problem.alpha)}"
    wins = "wins by what was asked" if times or (problem.alpha > 0).any() else "can be read back"
    return f"A sample's margin is {asked}: above zero, its class {wins}."


def _course(story: Story, page: _Page) -> None:
    result = story.result
    view = course_view(result)
    what = "objectives" if result.soft else "numbers of features"
    met = f"A gap of {_short(result.gap)} is left." if np.isfinite(result.gap) else "Nothing was found."
    if result.status == Status.OPTIMAL:
        met = "They met: nothing is better than what was found."
    elif result.status == Status.INFEASIBLE:
        met = "The bound reached zero: there is nothing to be found."
    page.words["course_words"] = f"The {what} that could not be excluded, and the best found, over time. {met}"
    notes = [
        f"{seconds:.2f} s · at most {_short(bound, 7)} · found {_short(found, 7) or 'nothing yet'}"
        for seconds, found, bound in zip(view.seconds, view.found, view.bound, strict=True)
    ]
    page.note("course", view.seconds, notes)
    page.draw(figures.course_figure(view, soft=result.soft), "course")


def _dropped(story: Story, page: _Page) -> None:
    if not story.has_selection:
        return
    problem, harm = story.problem, story.harm
    columns = (harm.features, harm.broken, harm.worst_sample, harm.worst_margin, harm.gain)
    page.words["dropped"] = [
        (
            story.feature_names[feature],
            problem.feature_classes[feature],
            story.class_names[problem.feature_classes[feature]],
            broken,
            story.sample_names[sample] if sample >= 0 else "",
            _short(margin),
            _short(gain),
        )
        for feature, broken, sample, margin, gain in zip(*(each[:MAX_LISTED] for each in columns), strict=True)
    ]
    page.words["n_dropped"] = int((~story.result.support).sum())
    page.words["n_more_dropped"] = harm.features.size - len(page.words["dropped"])
    page.words["dropped_words"] = _dropped_words(story, harm.features.size, int((harm.broken > 0).sum()))
    hurt, most = harm.per_sample, harm.per_sample.max()
    page.words["hurt"] = [
        (story.sample_names[sample], problem.labels[sample], hurt[sample], round(100 * int(hurt[sample]) / int(most)))
        for sample in np.argsort(-hurt, kind="stable")[:MAX_BARS]
        if hurt[sample]
    ]


def _dropped_words(story: Story, dropped: int, breaking: int) -> str:
    what = "1 feature was" if dropped == 1 else f"{dropped} features were"
    if story.result.soft:
        return (
            f"{what} dropped because the margins they cost are worth more than they are. If one of them alone were put "
            "back, this is what it would do; the last column is the change of the objective."
        )
    which = "Each" if breaking == dropped else f"{breaking}"
    return f"{what} dropped. {which} of them, put back alone, would break at least one sample's margin."


def _features(story: Story, page: _Page) -> None:
    problem, listed = story.problem, story.listed
    page.words["table_thinned"] = listed.size if listed.size < problem.n_features else 0
    page.data["features"] = {
        "name": [story.feature_names[feature] for feature in listed],
        "cls": _packed(problem.feature_classes[listed], "<i2"),
        "kept": _packed(story.result.support[listed], "u1"),
        "means": [_packed(mean[listed], "<f8") for mean in problem.class_means],
    }
    if story.curve is not None:
        page.data["features"]["rank"] = _packed(story.curve.rank[listed], "<f8")
        page.data["features"]["survives"] = _packed(story.curve.survives[listed], "<f8")


def _validation(story: Story, page: _Page) -> None:
    new = story.new
    if new is None or not story.has_selection:
        return
    model = Model.of(story.problem, story.result)
    means = model.means(new.X, new.feature_names if story.problem.feature_names is not None else None)
    predicted, ordered = means.argmax(axis=1), np.sort(means, axis=1)
    leads = ordered[:, -1] - ordered[:, -2]
    names = story.class_names[:-1]
    if new.y is None:
        worst = np.argsort(leads, kind="stable")
        wanted = np.full(predicted.size, "")
        found: dict[str, Any] = {
            "words": f"{predicted.size} samples without a class were classified.",
            "wrong_title": "Classes, the least certain first",
        }
    else:
        wanted = np.array([str(label) for label in new.y])
        wrong = wanted != np.array(names)[predicted]
        worst = np.flatnonzero(wrong)[np.argsort(-leads[wrong], kind="stable")]
        right = predicted.size - worst.size
        found = {
            "words": f"{right} of {predicted.size} samples that took no part are given their class.",
            "wrong_title": "Misclassified samples",
            "matrix": _confusion(names, wanted, predicted),
        }
    rows = [
        (new.sample_names[sample], wanted[sample], predicted[sample], names[predicted[sample]], _short(leads[sample]))
        for sample in worst[:MAX_LISTED]
    ]
    page.words["validation"] = {**found, "names": names, "wrong": rows}


def _confusion(names: list[str], wanted: NDArray[Any], predicted: Integers) -> list[tuple[str, list[Any]]]:
    """Rows: the classes of the samples, those that the model does not know last; columns: what they are read as."""
    rows = [*names, *sorted(set(wanted.tolist()) - set(names))]
    return [
        (row, [(((wanted == row) & (predicted == cls)).sum(), row == name) for cls, name in enumerate(names)])
        for row in rows
    ]


def _path(story: Story, page: _Page) -> None:
    curve = story.curve
    if curve is None:
        return
    symbol = "α" if curve.kind == "alpha" else "β"
    columns = [name for name in ("n_selected", "upper_bound", "cv_error", "cv_se") if name in curve.table]
    table = {name: curve.table[name].to_numpy(np.float64) for name in columns}
    table["margin"] = curve.table[curve.kind].to_numpy(np.float64)
    page.words["curve"] = {"symbol": symbol, "words": _sentence(curve.reason), "has_error": "cv_error" in table}
    notes = []
    for row in (dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)):
        note = f"{symbol} = {_short(row['margin'], 6)} · {row['n_selected']:.0f} kept, at most {row['upper_bound']:.0f}"
        if "cv_error" in row:
            note += f" · error {_short(100 * row['cv_error'], 3)} % ± {_short(100 * row['cv_se'], 2)}"
        notes.append(note)
    page.note("path", table["margin"], notes)
    drawn = figures.path_figures(curve.kind, table, curve.chosen)
    for figure, name in zip(drawn, ("path", "error"), strict=False):
        page.draw(figure, name)


def _packed(values: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()


def _short(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}" if np.isfinite(value) else ""


def _one_or_many(values: NDArray[Any]) -> str:
    same = bool((values == values[0]).all())
    return f"{values[0]:.6g}" if same else f"{values.min():.6g} to {values.max():.6g}, one per sample"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
