"""The pictures of the page, drawn by Bokeh; the only module that imports it.

Names from data reach a figure as text on its canvas only. What a figure says under the mouse is shown by `page.js`, as
text too, so no name is ever read as HTML.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from cobic.matrix import Floats
from cobic.problem import Problem
from cobic.report.views import GREY, Course, Heatmap, Margins, colour

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure

_LONGEST_LABEL = 14  # characters beside an axis, on a narrow screen


def library() -> str:
    """The JavaScript of Bokeh's core, to be put into a page."""
    from bokeh.resources import Resources

    return str(Resources(mode="inline", components=["bokeh"]).js_raw[0])  # what follows sets a log level


def item(figure: Any, target: str) -> dict[str, Any]:
    """A figure as the JSON document that BokehJS embeds into the element `target`."""
    from bokeh.embed import json_item

    return dict(json_item(figure, target))


def heatmap_figure(problem: Problem, view: Heatmap) -> Any:
    """Samples by class × features by class, with a band of the classes along both."""
    from bokeh.models import BoxAnnotation, BoxZoomTool, FixedTicker, LinearColorMapper, Range1d, WheelZoomTool

    rows, columns = view.cells.shape
    height = int(np.clip(rows * 8, 280, 520))
    band = rows * 8 / height  # about 8 pixels
    figure = _figure(
        height=height,
        x_range=Range1d(0, columns, bounds=(0, columns), min_interval=4),
        y_range=Range1d(rows, -2 * band),
        tools="xpan",
    )
    drag = BoxZoomTool(dimensions="width")
    wheel = WheelZoomTool(dimensions="width", modifiers={"ctrl": True})  # the bare wheel scrolls the page
    figure.add_tools(drag, wheel)
    figure.toolbar.active_drag, figure.toolbar.active_scroll = drag, wheel
    mapper = LinearColorMapper(palette=["#808080"], low=0, high=254, name="cells")  # page.js gives the colours
    blank = view.cells[:, :1]  # page.js puts the cells there, averaged where there are more of them than pixels
    place = {"x": [0], "y": [0], "dw": [columns], "dh": [rows]}
    figure.image(image=[blank], origin="bottom_left", color_mapper=mapper, **place)
    figure.quad(
        left=[block.start for block in view.blocks],
        right=[block.stop for block in view.blocks],
        fill_color=[colour(block.cls) for block in view.blocks],
        fill_alpha=[1.0 if block.kept else 0.45 for block in view.blocks],
        bottom=[-band * 0.4] * len(view.blocks),
        top=[-2 * band] * len(view.blocks),
        line_color=None,
    )
    labels = problem.labels[view.samples]
    centres = {}
    for cls in range(problem.n_classes):
        places = np.flatnonzero(labels == cls)
        first, last = int(places[0]), int(places[-1]) + 1
        centres[(first + last) / 2] = _label(problem.classes[cls])
        figure.add_layout(
            BoxAnnotation(
                left=0, right=5, left_units="screen", right_units="screen", top=first, bottom=last,
                fill_color=colour(cls), fill_alpha=1.0, line_color=None,
            )
        )  # fmt: skip
        if first:
            _rule(figure, "width", first)
    for block in view.blocks:
        if block.start > 0:
            thick = {"line_width": 2, "name": "ink"} if block.start == view.n_kept else {}
            _rule(figure, "height", block.start, **thick)
    figure.yaxis.ticker = FixedTicker(ticks=list(centres))
    figure.yaxis.major_label_overrides = centres
    figure.yaxis.major_label_orientation = "vertical"
    figure.grid.visible = False
    figure.xaxis.axis_label = "features, kept and then dropped, each by class"
    return figure


def margins_figure(problem: Problem, view: Margins) -> Any:
    """Each sample's margin, smallest first; binding samples filled, the others hollow."""
    figure = _figure(height=300)
    place = np.arange(view.samples.size) + 0.5
    colours = np.array([colour(int(cls)) for cls in problem.labels[view.samples]])
    figure.segment(x0=place, x1=place, y0=0, y1=view.margins, line_color=colours, line_alpha=0.55, line_width=2)
    for binding in (False, True):
        which = view.binding == binding
        figure.scatter(
            place[which],
            view.margins[which],
            size=11 if binding else 7,
            marker="diamond" if binding else "circle",
            line_color=colours[which],
            line_width=1.5,
            fill_color=colours[which],
            fill_alpha=1.0 if binding else 0.35,
        )
    _rule(figure, "width", 0, line_width=1.5, name="ink")
    figure.xgrid.visible = False
    figure.xaxis.axis_label = "samples, smallest margin first"
    figure.yaxis.axis_label = "margin"
    return figure


def course_figure(view: Course, *, soft: bool) -> Any:
    """How the bound and the best selection met."""
    figure = _figure(height=280)
    both = np.isfinite(view.found) & np.isfinite(view.bound)
    figure.varea_step(
        view.seconds[both], view.found[both], view.bound[both],
        step_mode="after", fill_color=GREY, fill_alpha=0.15,
    )  # fmt: skip
    for values, shade in ((view.bound, GREY), (view.found, "#0072B2")):
        shown = np.isfinite(values)
        figure.step(view.seconds[shown], values[shown], mode="after", line_color=shade, line_width=2.5)
        figure.scatter(view.seconds[shown], values[shown], size=5, color=shade)
    known = np.concatenate([view.found, view.bound])
    low, high = np.nanmin(known), np.nanmax(known)
    edge = max(0.06 * (high - low), 0.5)  # at least a feature high
    figure.y_range.start, figure.y_range.end = low - edge, high + edge
    figure.x_range.start = 0
    figure.xaxis.axis_label = "seconds"
    figure.yaxis.axis_label = "objective" if soft else "features"
    return figure


def path_figures(kind: str, table: dict[str, Floats], chosen: float | None) -> list[Any]:
    """Features kept, and the cross-validated error where there is one, over a margin."""
    margin = table["margin"]
    kept = _figure(height=260)
    kept.varea(margin, table["n_selected"], table["upper_bound"], fill_color=GREY, fill_alpha=0.2)
    kept.line(margin, table["n_selected"], line_color="#0072B2", line_width=2.5)
    kept.scatter(margin, table["n_selected"], size=7, color="#0072B2")
    kept.yaxis.axis_label = "features kept"
    figures = [kept]
    if "cv_error" in table:
        error = _figure(height=220)
        low, high = table["cv_error"] - table["cv_se"], table["cv_error"] + table["cv_se"]
        error.segment(x0=margin, x1=margin, y0=np.maximum(low, 0), y1=high, line_color="#D55E00", line_width=1.5)
        error.line(margin, table["cv_error"], line_color="#D55E00", line_width=2)
        error.scatter(margin, table["cv_error"], size=7, color="#D55E00")
        error.y_range.start = 0
        error.yaxis.axis_label = "error"
        figures.append(error)
    for each in figures:
        if chosen is not None:
            _rule(each, "height", chosen, line_dash="dotted", line_width=1.5, name="ink")
    figures[-1].xaxis.axis_label = f"margin {'α' if kind == 'alpha' else 'β'}"
    return figures


def _figure(**options: Any) -> "Figure":
    from bokeh.plotting import figure

    options = {"tools": "", **options}
    made = figure(sizing_mode="stretch_width", toolbar_location=None, min_border_right=16, **options)
    made.background_fill_color = made.border_fill_color = made.outline_line_color = None
    made.axis.minor_tick_line_color = made.axis.axis_line_color = made.axis.major_tick_line_color = None
    made.axis.axis_label_text_font_style = "normal"
    made.axis.axis_label_text_font_size = made.axis.major_label_text_font_size = "12px"
    made.axis.axis_label_text_font = made.axis.major_label_text_font = "system-ui, sans-serif"
    made.axis.axis_label_standoff = 10
    return made


def _rule(figure: Any, dimension: str, location: float, **options: Any) -> None:
    """A line across the whole figure; page.js gives those called "ink" the colour of the text."""
    from bokeh.models import Span

    figure.add_layout(Span(dimension=dimension, location=location, **{"line_color": GREY, "line_width": 1, **options}))


def _label(name: Any) -> str:
    """A class name for an axis: short, and never taken for TeX."""
    text = str(name)
    text = text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"
    for mark in ("$$", "\\[", "\\("):
        text = text.replace(mark, f"{mark[0]}\u200b{mark[1]}")
    return text
