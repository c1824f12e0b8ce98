"""What the page of a panel says, in words and numbers; `static/panel.html` says where."""

from typing import Any

import numpy as np

from cobic.answer.effects import effect_table
from cobic.answer.panel_words import (
    margin_name,
    offset_words,
    panel_explanation,
    panel_question,
    panel_sentence,
)
from cobic.answer.tables import provenance
from cobic.answer.words import is_fold, margin_unit, percent, with_fold
from cobic.report import figures, parts
from cobic.report.parts import Page, one_or_many, packed, short
from cobic.report.story import PanelStory
from cobic.report.views import course_view, strips_view, tail_view
from cobic.search.result import Status


def panel_contents(story: PanelStory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Put together what a page says."""
    page = Page(_heading(story))
    if story.has_panel:
        for part in (_features, _strips, _margins, _new_samples):
            part(story, page)
    _course(story, page)
    _frontier(story, page)
    return page.whole(story.names)


def _heading(story: PanelStory) -> dict[str, Any]:
    panel = story.panel
    sections = (
        ("features", "Features", story.has_panel),
        ("values", "Values", story.has_panel),
        ("margins", "Margins", True),
        ("frontier", "Frontier", story.frontier is not None),
        ("new", "New samples", story.new is not None and story.has_panel),
        ("bound", "Bound", True),
        ("run", "How it was run", True),
    )
    return {
        **parts.heading(story.names, panel.counts, sections),
        "answer": panel_sentence(panel),
        "explanation": [panel_question(panel), panel_explanation(panel)],
        "kept_words": "in the panel",
        "run": _run(story),
    }


def _run(story: PanelStory) -> list[tuple[str, str]]:
    """How the panel was found, as terms and texts."""
    panel, problem, asked = story.panel, story.problem, story.panel.problem
    document = provenance(problem)
    rules = [f"β {one_or_many(problem.beta)}", f"ties: {problem.ties} ({problem.n_ties} features)"]
    rules += ["offsets"] if asked.offset else []
    further = {
        "features required": int(problem.required.sum()),
        "features excluded": problem.n_features - problem.n_selectable,
        "groups, of which at most one feature is chosen": 0 if asked.groups is None else len(asked.groups.members),
    }
    rules += [f"{count} {what}" for what, count in further.items() if count]
    stopped = f", stopped by {panel.stopped_by}" if panel.stopped_by else ""
    rows = {
        "Data": parts.data_words(story.source, problem),
        "Digest": f"SHA-256 {document['digest']['sha256']}",
        "Command": story.command,
        "Panel": f"{asked.sizes} features, tail {asked.tail:g}, weights: {asked.weights_name or 'given'}",
        "Values": "" if problem.transformation is None else problem.transformation.words,
        "Rules": "; ".join(rules),
        "Offsets": offset_words(panel),
        "Status": f"{panel.status}, {panel.seconds:.2f} s{stopped}",
        "Proof": parts.proof_words(story.checked),
        "Time": ", ".join(f"{step} {value:.2f} s" for step, value in (story.timings or {}).items()),
        "Versions": ", ".join(f"{name} {number}" for name, number in document["versions"].items()),
    }
    return [(term, text) for term, text in rows.items() if text]


def _features(story: PanelStory, page: Page) -> None:
    problem, listed = story.problem, story.panel.order
    leads = problem.leads[listed]
    more: dict[str, Any] = {"lead": packed(leads, "<f8"), "more": [("lead", "lead", 76)]}
    words = "The features to measure. Each belongs to the class in which its mean is largest; the lead is by how much."
    if is_fold(problem):
        more |= {"fold": packed(np.exp2(leads), "<f8")}
        more["more"] += [("fold change", "fold", 100)]
        words += " Means are logarithms to base 2, so the fold change is 2 to the power of the lead."
    page.words["features_words"] = words
    effects = effect_table(problem).iloc[:, 1:]  # beside the lead, a difference says little
    parts.add_features(page, story.names, listed, effects, **more)


def _strips(story: PanelStory, page: Page) -> None:
    problem, listed = story.problem, story.panel.order
    view = strips_view(problem, listed)
    leads = problem.leads[listed[view.features]]
    fold = is_fold(problem)
    page.data["strips"] = {
        "features": view.features.tolist(),
        "samples": [story.names.samples[sample] for sample in view.samples],
        "labels": packed(problem.labels[view.samples], "<i2"),
        "values": packed(view.values, "<f4"),
        "leads": [f"{np.exp2(lead):.3g}-fold" if fold else f"+{short(lead, 3)}" for lead in leads],
    }
    words = (
        "One point per sample, one row per class, each feature on its own scale; the upright lines are the class "
        f"means. Beside the name is the {'fold change' if fold else 'lead'}."
    )
    some = [
        f"{shown} of {count} {what}"
        for shown, count, what in (
            (view.features.size, listed.size, "features"),
            (view.samples.size, problem.n_samples, "samples"),
        )
        if shown < count
    ]
    page.words["strips_words"] = words + (f" To keep the page small, {' and '.join(some)} are shown." if some else "")


def _margins(story: PanelStory, page: Page) -> None:
    panel, problem = story.panel, story.problem
    view = tail_view(panel)
    rule = parts.margin_rule(problem, "features of the panel")
    page.words["margin_rule"] = f"{rule} {offset_words(panel)}".rstrip()
    page.words["tail_words"] = _tail_words(story)
    margins, read_as = panel.margins, panel.read_as
    wrong = np.flatnonzero(margins <= 0)
    wrong = wrong[np.argsort(margins[wrong], kind="stable")]
    page.words["n_more_misread"] = max(wrong.size - parts.MAX_LISTED, 0)
    page.words["misread"] = [
        (
            story.names.samples[sample],
            problem.labels[sample],
            story.names.class_of(sample),
            story.names.classes[read_as[sample]],
            short(margins[sample]),
        )
        for sample in wrong[: parts.MAX_LISTED]
    ]
    remarks = [" · not read back" if misread else "" for misread in view.misread]
    parts.add_margin_notes(page, story.names, view.samples, view.margins, remarks)
    tail = view.tail, panel.tail_margin
    page.draw(
        figures.margins_figure(problem.labels[view.samples], view.margins, view.misread, margin_unit(problem), tail),
        "margins",
    )


def _tail_words(story: PanelStory) -> str:
    panel, problem = story.panel, story.problem
    mean = with_fold(problem, panel.tail_margin)
    words = f"Shaded is the tail, the worst {100 * panel.problem.tail:.4g}\u00a0%; the dashed line is its mean, {mean}."
    if not panel.problem.tail:
        words = f"Shaded is the worst sample, whose margin is maximised: {mean}."
    if (panel.margins <= 0).any():
        words += " Diamonds are samples that are not read back."
    return words


def _course(story: PanelStory, page: Page) -> None:
    panel = story.panel
    met = f"A gap of {percent(panel.gap)} is left." if percent(panel.gap) else "Nothing was found."
    if panel.status == Status.OPTIMAL:
        met = f"They met: no panel of {panel.problem.sizes} features is better than what was found."
    what = margin_name(panel)
    page.words["course_words"] = f"The {what}s that could not be excluded, and the best found, over time. {met}"
    parts.add_course(page, course_view(panel), what)


def _new_samples(story: PanelStory, page: Page) -> None:
    if story.new is not None:
        parts.add_new_samples(page, story.names, story.panel.model, story.new, drawn=True)


def _frontier(story: PanelStory, page: Page) -> None:
    frontier = story.frontier
    if frontier is None:
        return
    columns = {"size": "at", "tail_margin": "found", "bound": "bound", "cv_error": "cv_error", "cv_se": "cv_se"}
    table = {key: frontier[name].to_numpy(np.float64) for name, key in columns.items() if name in frontier}
    table["found"] = np.where(np.isfinite(table["found"]), table["found"], np.nan)  # no panel of that size
    what = margin_name(story.panel)
    taken = frontier["chosen"].to_numpy(np.bool_) if "chosen" in frontier else np.zeros(len(frontier), dtype=np.bool_)
    chosen = float(table["at"][taken][0]) if taken.any() else None
    words = f"The largest {what} found for each size, and what no panel of that size exceeds."
    words += f" Chosen by cross-validation: {chosen:.0f} features." if chosen is not None else ""
    rows, notes = [], []
    for row in (dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)):
        gap = percent((row["bound"] - row["found"]) / abs(row["found"])) if row["found"] else ""
        size, found, bound, error = f"{row['at']:.0f}", short(row["found"]), short(row["bound"]), parts.error_words(row)
        rows.append((size, found, bound, gap, error, row["at"] == chosen))
        notes.append(
            f"{size} features · {what} {found or 'not found'}, at most {bound}" + (f" · error {error}" if error else "")
        )
    has_error = "cv_error" in table
    page.words["curve"] = {"title": "Frontier", "words": words, "has_error": has_error, "rows": rows}
    drawing = {"over": "features, on a logarithmic scale", "what": what, "x_axis_type": "log"}
    parts.add_curve(page, table, notes, chosen=chosen, **drawing)
