"""A path, or a frontier, on matplotlib axes; matplotlib is an extra and is asked for here only."""

from typing import TYPE_CHECKING, Any

from cobic.errors import InputError

if TYPE_CHECKING:
    from cobic.analyses.frontier import Frontier
    from cobic.analyses.path import Path

_MANY_TICKS = 8  # sizes of up to five digits: more would run into each other
_SYMBOLS = {"alpha": "α", "beta": "β"}


def axes_or_new(axes: Any) -> Any:
    """Some axes, or those of a new figure that needs no screen."""
    if axes is not None:
        return axes
    try:
        from matplotlib.figure import Figure
    except ImportError:
        message = "plots need matplotlib: pip install 'cobic[plot]'"
        raise InputError(message) from None
    return Figure(figsize=(7.0, 4.2), layout="constrained").subplots()


def draw_path(path: "Path", axes: Any = None) -> Any:
    """The number of features and the cross-validated error over a margin."""
    axes = axes_or_new(axes)
    table, margin = path.table, path.table[path.kind]
    axes.fill_between(margin, table["n_selected"], table["upper_bound"], color="#0072B2", alpha=0.2, label="gap")
    axes.plot(margin, table["n_selected"], "o-", color="#0072B2", markersize=4, label="features kept")
    axes.set_xlabel(f"margin {_SYMBOLS[path.kind]}")
    axes.set_ylabel("features", color="#0072B2")
    axes.set_yscale("log" if table["n_selected"].min() * 5 < table["n_selected"].max() else "linear")
    _draw_errors(axes, margin, table)
    if path.chosen is not None:
        axes.axvline(path.chosen, color="0.5", linestyle=":", label=f"chosen: {path.chosen:.4g}")
    if path.kind == "alpha" and margin.max() > 0 and margin.max() > 20 * margin[margin > 0].min():
        axes.set_xscale("symlog", linthresh=float(margin[margin > 0].min()))
    axes.legend(loc="lower left")
    return axes


def draw_frontier(frontier: "Frontier", axes: Any = None) -> Any:
    """The tail margin, found and proven, and the cross-validated error over the size."""
    axes = axes_or_new(axes)
    table, size = frontier.table, frontier.table["size"]
    axes.fill_between(size, table["tail_margin"], table["bound"], color="#0072B2", alpha=0.2)
    axes.plot(size, table["bound"], "-", color="#0072B2", alpha=0.5, linewidth=1, label="no panel is better than this")
    axes.plot(size, table["tail_margin"], "o-", color="#0072B2", markersize=4, label="tail margin found")
    axes.set_xlabel("features")
    axes.set_ylabel("tail margin", color="#0072B2")
    axes.set_xscale("log")
    axes.set_xticks(size, [f"{each:,}" for each in size], rotation=45 if len(size) > _MANY_TICKS else 0)
    axes.minorticks_off()
    _draw_errors(axes, size, table)
    if frontier.chosen is not None:
        axes.axvline(frontier.chosen, color="0.5", linestyle=":", label=f"chosen: {frontier.chosen}")
    axes.legend(loc="best")
    return axes


def _draw_errors(axes: Any, places: Any, table: Any) -> None:
    """The cross-validated error with its standard error, on axes of its own; nothing where there was none."""
    if "cv_error" not in table:
        return
    errors = axes.twinx()
    errors.errorbar(
        places, table["cv_error"], table["cv_se"], fmt="s--", color="#D55E00", markersize=4, capsize=2, linewidth=1
    )
    errors.set_ylabel("cross-validated error", color="#D55E00")
    errors.set_ylim(bottom=0.0)
