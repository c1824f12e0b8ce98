"""The report: one page that holds everything it shows."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from cobic.answer.curve import Curve
from cobic.answer.panel import Panel
from cobic.checks import require
from cobic.errors import InputError
from cobic.io import write_text
from cobic.problem import Problem
from cobic.problem.dataset import Dataset
from cobic.report import figures
from cobic.report.contents import contents
from cobic.report.panel_contents import panel_contents
from cobic.report.story import PanelStory, Story
from cobic.search.result import Result


def render(story: Story | PanelStory) -> str:
    """Write the page."""
    from jinja2 import Environment, FunctionLoader
    from markupsafe import Markup

    template = "panel.html" if isinstance(story, PanelStory) else "selection.html"
    words, data = panel_contents(story) if isinstance(story, PanelStory) else contents(story)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(_static))
    own = "".join(_static(f"{name}.js") for name in ("table", "heatmap", "strips", "page"))
    known, scripts = script_json(data), (_static("styles.js"), figures.library(), own)
    page = environment.get_template(template).render(
        **words,
        story=story,
        css=Markup(_static("page.css")),
        scripts=list(map(Markup, scripts)),
        digests=Markup(" ".join(map(_digest, scripts))),
        nonce=hashlib.sha256(known.encode("utf-8", "replace")).hexdigest(),  # whoever puts a name in cannot know it
        data=Markup(known),
    )
    return page.encode("utf-8", "replace").decode()  # half a surrogate pair in a name could not be written


def write_report(
    file: str | Path,
    problem: Problem | Panel,
    result: Result | None = None,
    *,
    path: Any = None,
    frontier: Any = None,
    new: Dataset | None = None,
) -> None:
    """Write an answer as one HTML page that needs nothing else: no network, no other file.

    Parameters
    ----------
    file : str or Path
        Where to write, whole or not at all, replacing what was there.
    problem : Problem or Panel
        What was solved; or the answer of :func:`cobic.panel`, which says itself what was asked.
    result : Result, optional
        The answer to a problem.
    path : cobic.Path, optional
        For a result: a curve over margins of the same data, shown, and its ranking put into the table of features.
    frontier : cobic.Frontier or DataFrame, optional
        For a panel: panels of several sizes of the same data; or their table, with the columns ``size, tail_margin,
        bound`` and, where there was cross-validation, ``cv_error, cv_se`` and ``chosen``, true for the size to take.
    new : Dataset, optional
        New samples over the same features: classified, and counted where their classes are known.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=100, seed=0)
    >>> problem = data.problem()
    >>> cobic.write_report("report.html", problem, cobic.solve(problem), new=data.test)  # doctest: +SKIP
    >>> cobic.write_report("panel.html", cobic.panel(problem, size=4), new=data.test)  # doctest: +SKIP
    """
    story: Story | PanelStory
    if isinstance(problem, Panel):
        require(result is None and path is None, "a panel has neither a result nor a path beside it: leave them out")
        story = PanelStory(problem, new=new, frontier=getattr(frontier, "table", frontier))
    else:
        if result is None:
            message = "a problem is given without its result: give the answer of cobic.solve as well"
            raise InputError(message)
        require(frontier is None, "a frontier goes with a panel, not with a selection: leave it out")
        curve = None if path is None else Curve.of(path)
        if curve is not None:
            size, here = curve.rank.size, problem.n_features
            require(size == here, f"the path is about {size} features and the problem about {here}: other data")
        story = Story(problem, result, new=new, curve=curve)
    write_text(Path(file), render(story))


def script_json(document: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end the element or begin a comment."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _digest(script: str) -> str:
    """A script as the policy of the page names it: no other one is run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _static(name: str) -> str:
    return files("cobic.report").joinpath("static", name).read_text(encoding="utf-8")
