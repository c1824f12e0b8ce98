"""Pictures; matplotlib is an extra and is asked for here only."""

from typing import TYPE_CHECKING, Any

from cobic.errors import InputError

if TYPE_CHECKING:
    from cobic.paths import Path

_SYMBOLS = {"alpha": "α", "beta": "β"}


def new_figure() -> Any:
    """An empty figure that needs no screen.

    Returns
    -------
    matplotlib Figure
        With constrained layout.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        message = "plots need matplotlib: pip install 'cobic[plot]'"
        raise InputError(message) from None
    return Figure(figsize=(7.0, 4.2), layout="constrained")


def plot_path(path: "Path", axes: Any = None) -> Any:
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
    """
    axes = new_figure().subplots() if axes is None else axes
    table, margin = path.table, path.table[path.kind]
    axes.fill_between(margin, table["n_selected"], table["upper_bound"], color="tab:blue", alpha=0.2, label="gap")
    axes.plot(margin, table["n_selected"], "o-", color="tab:blue", markersize=4, label="features kept")
    axes.set_xlabel(f"margin {_SYMBOLS[path.kind]}")
    axes.set_ylabel("features", color="tab:blue")
    axes.set_yscale("log" if table["n_selected"].min() * 5 < table["n_selected"].max() else "linear")
    if "cv_error" in table:
        errors = axes.twinx()
        errors.errorbar(
            margin, table["cv_error"], table["cv_se"], fmt="s--", color="tab:red", markersize=4, capsize=2, linewidth=1
        )
        errors.set_ylabel("cross-validated error", color="tab:red")
        errors.set_ylim(bottom=0.0)
    if path.chosen is not None:
        axes.axvline(path.chosen, color="0.5", linestyle=":", label=f"chosen: {path.chosen:.4g}")
    if path.kind == "alpha" and margin.max() > 0 and margin.max() > 20 * margin[margin > 0].min():
        axes.set_xscale("symlog", linthresh=float(margin[margin > 0].min()))
    axes.legend(loc="lower left")
    return axes
