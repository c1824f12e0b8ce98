"""The report: one page that holds everything it shows."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from cobic.answer.curve import Curve
from cobic.checks import require
from cobic.io import write_text
from cobic.problem import Problem
from cobic.problem.dataset import Dataset
from cobic.report import figures
from cobic.report.contents import contents
from cobic.report.story import Story
from cobic.search.result import Result


def render(story: Story) -> str:
    """Write the page."""
    from jinja2 import Environment
    from markupsafe import Markup

    words, data = contents(story)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(_static("page.html")).render(
        **words,
        story=story,
        css=Markup(_static("page.css")),
        table_js=Markup(_static("table.js")),
        page_js=Markup(_static("page.js")),
        library=Markup(figures.library()),
        data=Markup(script_json(data)),
    )
    return page.encode("utf-8", "replace").decode()  # half a surrogate pair in a name could not be written


def write_report(
    file: str | Path, problem: Problem, result: Result, *, path: Any = None, new: Dataset | None = None
) -> None:
    """Write an answer as one HTML page that needs nothing else: no network, no other file.

    Parameters
    ----------
    file : str or Path
        Where to write, whole or not at all, replacing what was there.
    problem : Problem
        What was solved.
    result : Result
        Its answer.
    path : cobic.Path, optional
        A curve over margins of the same data: shown, and its ranking put into the table of features.
    new : Dataset, optional
        New samples over the same features: classified, and counted where their classes are known.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=100, seed=0)
    >>> problem = data.problem()
    >>> cobic.write_report("report.html", problem, cobic.solve(problem), new=data.test)  # doctest: +SKIP
    """
    curve = None if path is None else Curve.of(path)
    if curve is not None:
        size, here = curve.rank.size, problem.n_features
        require(size == here, f"the path is about {size} features and the problem about {here}: other data")
    write_text(Path(file), render(Story(problem, result, new=new, curve=curve)))


def script_json(document: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end the element or begin a comment."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _static(name: str) -> str:
    return files("cobic.report").joinpath("static", name).read_text(encoding="utf-8")
