"""What the page of a selection says, in words and numbers; `static/selection.html` says where."""

from typing import Any

import numpy as np

from cobic.answer.model import Model
from cobic.answer.tables import provenance, violation_table
from cobic.answer.words import (
    answer_sentence,
    margin_unit,
    margin_words,
    proven_line,
    violations_phrase,
    why_none_exists,
)
from cobic.report import figures, parts
from cobic.report.parts import Page, one_or_many, packed, sentence, short
from cobic.report.story import Story
from cobic.report.views import HEATMAP_SPAN, course_view, margins_view
from cobic.search.result import Status

MAX_BARS = 12  # samples that are hurt most; more bars have no room for their names


def contents(story: Story) -> tuple[dict[str, Any], dict[str, Any]]:
    """Put together what a page says."""
    page = Page(_heading(story))
    for part in (_heatmap, _top, _margins, _course, _dropped, _features, _validation, _path):
        part(story, page)
    return page.whole(story.names)


def _heading(story: Story) -> dict[str, Any]:
    problem, result = story.problem, story.result
    sections = (
        ("biclusters", "Biclusters", True),
        ("top", "Top features", story.top.features.size),
        ("margins", "Margins", True),
        ("dropped", "Dropped features", story.has_selection),
        ("features", "Features", True),
        ("new", "New samples", story.new is not None and story.has_selection),
        ("path", "Path", story.curve is not None),
        ("bound", "Bound", True),
        ("run", "How it was run", True),
    )
    return {
        **parts.heading(story.names, result.counts, sections),
        "answer": answer_sentence(problem, result),
        "explanation": [_explanation(story)],
        "kept_words": "kept",
        "n_excluded": problem.n_features - problem.n_selectable,
        "run": _run(story),
    }


def _explanation(story: Story) -> str:
    problem, result = story.problem, story.result
    if result.status == Status.INFEASIBLE:
        why = why_none_exists(problem, result)
        cure = "Soft margins (--slack-penalty auto) find the samples that do not fit."
        return f"{sentence(why)} {cure}" if why else cure
    if result.soft and story.has_selection:
        return f"{sentence(violations_phrase(problem, result))} {proven_line(problem, result)}"
    if not result.support.any():
        return "A smaller margin, soft margins (--slack-penalty auto), a panel, or more time may lead further."
    if not result.consistent:
        return sentence(result.reason)
    return (
        f"The class of each of the {problem.n_samples} samples can be read back from the kept features; "
        f"the smallest margin is {margin_words(problem, result.worst_margin)}."
    )


def _run(story: Story) -> list[tuple[str, str]]:
    """How the answer was found, as terms and texts."""
    problem, result = story.problem, story.result
    document = provenance(problem)
    rules = [f"ties: {problem.ties} ({problem.n_ties} features)", f"β rule: {problem.beta_rule}"]
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
    proof = proof if result.certificate is None else parts.proof_words(story.checked)
    rows = {
        "Data": parts.data_words(story.source, problem),
        "Digest": f"SHA-256 {document['digest']['sha256']}",
        "Values": "" if problem.transformation is None else problem.transformation.words,
        "Margins": f"α {one_or_many(problem.alpha)}, β {one_or_many(problem.beta)}",
        "Rules": "; ".join(rules),
        "Method": how + (f", stopped by {result.stopped_by}" if result.stopped_by else ""),
        "Options": ", ".join(f"{name} = {value}" for name, value in given.items()),
        "Status": f"{result.status}: {result.reason}",
        "Proof": proof,
        "Time": ", ".join(f"{step} {value:.2f} s" for step, value in (story.timings or {}).items()),
        "Versions": ", ".join(f"{name} {number}" for name, number in document["versions"].items()),
    }
    return [(term, text) for term, text in rows.items() if text]


def _heatmap(story: Story, page: Page) -> None:
    problem, view = story.problem, story.heatmap
    rows, columns = view.cells.shape
    views = [
        (f"{story.names.classes[block.cls] or 'no class'} kept", block.start, block.stop)
        for block in view.blocks
        if block.kept
    ]
    if 0 < view.n_kept < columns:
        views.append(("Dropped", view.n_kept, columns))
    page.words["heatmap"] = {"thinned": view.thinned, "rows": rows, "columns": columns, "views": views}
    page.data["heatmap"] = {
        "rows": [f"{story.names.samples[sample]} · {story.names.class_of(sample)}" for sample in view.samples],
        "columns": packed(np.searchsorted(story.listed, view.features), "<i4"),
        "centres": packed(view.centres, "<f8"),
        "scales": packed(view.scales, "<f8"),
        "span": HEATMAP_SPAN,
        "cells": packed(view.cells, "u1"),
    }
    page.draw(figures.heatmap_figure(problem, view), "heatmap")


def _top(story: Story, page: Page) -> None:
    problem, view = story.problem, story.top
    if not view.features.size:
        return
    names = [story.names.features[feature] for feature in view.features]
    which = "kept " if story.result.support.any() else ""
    by = "the margin that they survive on the path" if story.curve is not None else "Welch's t, which describes them"
    page.words["top_words"] = f"The best {which}features of each class by {by}, in the colours of the heatmap above."
    page.data["top"] = {"features": names, "cells": packed(view.cells, "u1")}
    page.draw(figures.top_figure(problem, story.heatmap.samples, view, names), "top")


def _margins(story: Story, page: Page) -> None:
    if not story.has_selection:
        return
    problem, result = story.problem, story.result
    view = margins_view(problem, result, story.harm)
    page.words["n_binding"] = int(view.binding.sum())
    page.words["margin_rule"] = parts.margin_rule(problem, "kept features")
    if result.soft:
        violated = violation_table(problem, result.support).head(parts.MAX_LISTED)
        page.words["violations"] = [
            (str(name), problem.labels[sample], cls, read_as, short(amount))
            for sample, name, cls, read_as, amount in violated.itertuples(index=False)
        ]
    remarks = [" · binding" if binding else "" for binding in view.binding]
    parts.add_margin_notes(page, story.names, view.samples, view.margins, remarks)
    drawn = figures.margins_figure(problem.labels[view.samples], view.margins, view.binding, margin_unit(problem))
    page.draw(drawn, "margins")


def _course(story: Story, page: Page) -> None:
    result = story.result
    what = "objectives" if result.soft else "numbers of features"
    met = f"A gap of {short(result.gap)} is left." if np.isfinite(result.gap) else "Nothing was found."
    if result.status == Status.OPTIMAL:
        met = "They met: nothing is better than what was found."
    elif result.status == Status.INFEASIBLE:
        met = "The bound reached zero: there is nothing to be found."
    page.words["course_words"] = f"The {what} that could not be excluded, and the best found, over time. {met}"
    parts.add_course(page, course_view(result), "objective" if result.soft else "features", 0.5)  # of a feature


def _dropped(story: Story, page: Page) -> None:
    if not story.has_selection:
        return
    problem, harm = story.problem, story.harm
    columns = (harm.features, harm.broken, harm.worst_sample, harm.worst_margin, harm.gain)
    page.words["dropped"] = [
        (
            story.names.features[feature],
            problem.feature_classes[feature],
            story.names.classes[problem.feature_classes[feature]],
            broken,
            story.names.samples[sample] if sample >= 0 else "",
            short(margin),
            short(gain),
        )
        for feature, broken, sample, margin, gain in zip(*(each[: parts.MAX_LISTED] for each in columns), strict=True)
    ]
    page.words["n_dropped"] = int((~story.result.support).sum())
    page.words["n_more_dropped"] = harm.features.size - len(page.words["dropped"])
    page.words["dropped_words"] = _dropped_words(story, harm.features.size, int((harm.broken > 0).sum()))
    hurt, most = harm.per_sample, harm.per_sample.max()
    page.words["hurt"] = [
        (story.names.samples[sample], problem.labels[sample], hurt[sample], round(100 * int(hurt[sample]) / int(most)))
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


def _features(story: Story, page: Page) -> None:
    problem, listed = story.problem, story.listed
    page.words["table_thinned"] = listed.size if listed.size < problem.n_features else 0
    more: dict[str, Any] = {"kept": packed(story.result.support[listed], "u1")}
    if story.curve is not None:
        more["rank"] = packed(story.curve.rank[listed], "<f8")
        more["survives"] = packed(story.curve.survives[listed], "<f8")
        more["more"] = [("rank", "rank", 48), ("survives", "survives", 70)]
        more["sorted"] = "rank"
    parts.add_features(page, story.names, listed, story.effects, **more)


def _validation(story: Story, page: Page) -> None:
    if story.new is not None and story.has_selection:
        parts.add_new_samples(page, story.names, Model.of(story.problem, story.result), story.new)


def _path(story: Story, page: Page) -> None:
    curve = story.curve
    if curve is None:
        return
    symbol = "α" if curve.kind == "alpha" else "β"
    columns = {
        curve.kind: "at",
        "n_selected": "found",
        "upper_bound": "bound",
        "cv_error": "cv_error",
        "cv_se": "cv_se",
    }
    table = {key: curve.table[name].to_numpy(np.float64) for name, key in columns.items() if name in curve.table}
    has_error = "cv_error" in table
    page.words["curve"] = {"title": f"Path over {symbol}", "words": sentence(curve.reason), "has_error": has_error}
    notes = []
    for row in (dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)):
        note = f"{symbol} = {short(row['at'], 6)} · {row['found']:.0f} kept, at most {row['bound']:.0f}"
        notes.append(note + (f" · error {error}" if (error := parts.error_words(row)) else ""))
    drawing = {"over": f"margin {symbol}", "what": "features kept"}
    parts.add_curve(page, table, notes, chosen=curve.chosen, **drawing)
