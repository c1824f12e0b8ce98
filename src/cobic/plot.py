"""Pictures of an answer on matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cobic.analyses.picture import axes_or_new, draw_frontier, draw_path
from cobic.errors import InputError
from cobic.problem import Problem
from cobic.report.views import GREY, HEATMAP_SPAN, LEVELS, colour, course_view, heatmap_view, margins_view
from cobic.search.result import Result

if TYPE_CHECKING:
    from cobic.analyses.frontier import Frontier
    from cobic.analyses.path import Path

__all__ = ["frontier", "heatmap", "margins", "path", "progress"]


def heatmap(problem: Problem, result: Result, axes: Any = None) -> Any:
    """Draw samples by class × features by class, the kept features first.

    Parameters
    ----------
    problem, result : Problem and Result
        What was solved, and its answer.
    axes : matplotlib Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    matplotlib Axes
        Colours are standard deviations from the mean of each feature. Dropped features are right of the thick line.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=100, seed=0).problem()
    >>> axes = cobic.plot.heatmap(problem, cobic.solve(problem))
    >>> axes.get_ylabel()
    'samples'
    """
    axes = axes_or_new(axes)
    from matplotlib.patches import Rectangle  # an extra, known to be there by now

    view = heatmap_view(problem, result)
    rows, columns = view.cells.shape
    scores = (view.cells.astype(np.float32) * (2 / LEVELS) - 1) * HEATMAP_SPAN
    image = axes.imshow(
        scores, aspect="auto", cmap="PRGn", vmin=-HEATMAP_SPAN, vmax=HEATMAP_SPAN, extent=(0, columns, rows, 0)
    )
    axes.figure.colorbar(image, ax=axes, label="standard deviations", shrink=0.8)
    band = rows * 0.04
    for block in view.blocks:
        size, alpha = (block.stop - block.start, -band), 1.0 if block.kept else 0.5
        axes.add_patch(Rectangle((block.start, 0), *size, color=colour(block.cls), alpha=alpha, linewidth=0))
        if block.start:
            thick = block.start == view.n_kept
            axes.axvline(block.start, color="black" if thick else GREY, linewidth=1.6 if thick else 0.8)
    starts = np.searchsorted(problem.labels[view.samples], np.arange(problem.n_classes + 1))
    for start in starts[1:-1]:
        axes.axhline(start, color=GREY, linewidth=0.8)
    axes.set_yticks((starts[1:] + starts[:-1]) / 2, [_plain(cls) for cls in problem.classes])
    axes.set(ylim=(rows, -band), xlabel="features, kept and then dropped, each by class", ylabel="samples")
    return axes


def margins(problem: Problem, result: Result, axes: Any = None) -> Any:
    """Draw each sample's margin, smallest first.

    Parameters
    ----------
    problem, result : Problem and Result
        What was solved, and its answer, with a selected feature of every class.
    axes : matplotlib Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    matplotlib Axes
        Diamonds are binding samples: at least one dropped feature, put back alone, would break them.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=100, seed=0).problem()
    >>> cobic.plot.margins(problem, cobic.solve(problem)).get_ylabel()
    'margin'
    """
    if not all(result.counts):
        message = f"there is no selection whose margins could be drawn: {result.reason}"
        raise InputError(message)
    axes = axes_or_new(axes)
    view = margins_view(problem, result)
    place = np.arange(view.samples.size) + 1
    for cls in range(problem.n_classes):
        for binding in (False, True):
            which = (problem.labels[view.samples] == cls) & (view.binding == binding)
            axes.vlines(place[which], 0, view.margins[which], color=colour(cls), alpha=0.5)
            axes.plot(
                place[which], view.margins[which], "D" if binding else "o", color=colour(cls),
                markersize=6 if binding else 4, markerfacecolor=colour(cls) if binding else "none",
                label=None if binding else _plain(problem.classes[cls]),
            )  # fmt: skip
    axes.axhline(0, color="black", linewidth=1)
    axes.set(xlabel="samples, smallest margin first", ylabel="margin")
    axes.legend(loc="upper left", frameon=False)
    return axes


def progress(result: Result, axes: Any = None) -> Any:
    """Draw how the bound and the best selection met.

    Parameters
    ----------
    result : Result
        The answer.
    axes : matplotlib Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    matplotlib Axes
        Seconds, and features or, with soft margins, the objective.

    Examples
    --------
    >>> import cobic
    >>> problem = cobic.datasets.make_expression(n_features=100, seed=0).problem()
    >>> cobic.plot.progress(cobic.solve(problem)).get_xlabel()
    'seconds'
    """
    axes = axes_or_new(axes)
    view = course_view(result)
    axes.fill_between(view.seconds, view.found, view.bound, step="post", color=GREY, alpha=0.2)
    axes.step(view.seconds, view.bound, where="post", color=GREY, label="no selection is better than this")
    axes.step(view.seconds, view.found, where="post", color="#0072B2", label="best selection so far")
    axes.set_xlim(left=0)
    axes.set(xlabel="seconds", ylabel="objective" if result.soft else "features")
    axes.legend(frameon=False)
    return axes


def path(path: Path, axes: Any = None) -> Any:
    """Draw the number of features and the cross-validated error over a margin.

    Parameters
    ----------
    path : Path
        What :func:`cobic.path` found.
    axes : matplotlib Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    matplotlib Axes
        The axes of the number of features.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=100, seed=0)
    >>> cobic.plot.path(cobic.path(data.X, data.y, alphas=[0, 20], cv=None)).get_xlabel()
    'margin α'
    """
    return draw_path(path, axes)


def frontier(frontier: Frontier, axes: Any = None) -> Any:
    """Draw the tail margin, found and proven, and the cross-validated error over the size of panels.

    Parameters
    ----------
    frontier : Frontier
        What :func:`cobic.frontier` found.
    axes : matplotlib Axes, optional
        Where to draw; those of a new figure by default.

    Returns
    -------
    matplotlib Axes
        The axes of the tail margin.

    Examples
    --------
    >>> import cobic
    >>> data = cobic.datasets.make_expression(n_features=30, seed=0)
    >>> cobic.plot.frontier(cobic.frontier(data.X, data.y, sizes=[2, 30], cv=None)).get_xlabel()
    'features'
    """
    return draw_frontier(frontier, axes)


def _plain(name: Any) -> str:
    """A name that matplotlib does not take for mathematics, nor for a label to be hidden."""
    return f"\u200b{name}".replace("$", r"\$") if str(name).startswith("_") or "$" in str(name) else str(name)
