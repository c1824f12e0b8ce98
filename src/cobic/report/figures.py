"""The pictures of the page, drawn by Bokeh; the only module that imports it.

Names from data reach a figure as text on its canvas only. What a figure says under the mouse is shown by `page.js`, as
text too, so no name is ever read as HTML.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from cobic.matrix import Bools, Floats, Integers
from cobic.problem import Problem
from cobic.report.views import GREY, Course, Heatmap, TopFeatures, colour

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure

_MOST_DOTS = 100  # along a line: more of them only make it thick
_LONGEST_LABEL = 14  # characters beside an axis, on a narrow screen
_WIDE, _HIGH = 7, 14  # pixels of a character, and of a line, in the type of the axes


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
    centres: dict[float, str] = {}
    along = True  # names stand along the axis while they fit beside their classes; else across, as far as there is room
    for cls in range(problem.n_classes):
        places = np.flatnonzero(labels == cls)
        first, last = int(places[0]), int(places[-1]) + 1
        centre, name = (first + last) / 2, _label(problem.classes[cls])
        along = along and len(name) * _WIDE <= (last - first) * height / rows
        centres[centre] = name
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
    apart = len(centres) if along else max(1, height // _HIGH)
    if len(centres) > apart:  # of too many classes some are named
        centres = dict(list(centres.items())[:: -(-len(centres) // apart)])
    figure.yaxis.ticker = FixedTicker(ticks=list(centres))
    figure.yaxis.major_label_overrides = centres
    figure.yaxis.major_label_orientation = "vertical" if along else "horizontal"
    figure.grid.visible = False
    figure.xaxis.axis_label = "features, kept and then dropped, each by class"
    return figure


def top_figure(problem: Problem, samples: Integers, view: TopFeatures, names: list[str]) -> Any:
    """A few features by name × samples by class, in the colours of the heatmap."""
    from bokeh.models import FixedTicker, LinearColorMapper, Range1d

    rows, columns = view.cells.shape
    figure = _figure(height=44 + 18 * rows, x_range=Range1d(0, columns), y_range=Range1d(rows, -0.6))
    mapper = LinearColorMapper(palette=["#808080"], low=0, high=254, name="cells")  # page.js gives the colours
    figure.image(image=[view.cells], origin="bottom_left", color_mapper=mapper, x=[0], y=[0], dw=[columns], dh=[rows])
    labels, of = problem.labels[samples], problem.feature_classes[view.features]
    starts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), columns]
    figure.quad(
        left=starts[:-1],
        right=starts[1:],
        bottom=-0.1,
        top=-0.6,
        fill_color=[colour(int(labels[start])) for start in starts[:-1]],
        line_color=None,
    )
    for start in starts[1:-1]:
        _rule(figure, "height", start)
    for row in np.flatnonzero(np.diff(of)) + 1:
        _rule(figure, "width", int(row))
    places = [row + 0.5 for row in range(rows)]
    figure.yaxis.ticker = FixedTicker(ticks=places)
    figure.yaxis.major_label_overrides = {place: _label(name) for place, name in zip(places, names, strict=True)}
    figure.xaxis.major_label_text_font_size = "0px"
    figure.xaxis.axis_label = "samples by class, those with the largest margin first"
    figure.grid.visible = False
    return figure


def margins_figure(
    labels: Integers, margins: Floats, marked: Bools, unit: str, tail: tuple[float, float] | None = None
) -> Any:
    """The margins of samples of these classes, smallest first; the marked ones as diamonds.

    The tail, if there is one, is shaded: how many samples it has, and their mean.
    """
    figure = _figure(height=300)
    place = np.arange(margins.size) + 0.5
    colours = np.array([colour(int(cls)) for cls in labels])
    if tail is not None:
        _shade_tail(figure, *tail)
    figure.segment(x0=place, x1=place, y0=0, y1=margins, line_color=colours, line_alpha=0.55, line_width=2)
    for mark in (False, True):
        which = marked == mark
        figure.scatter(
            place[which],
            margins[which],
            size=11 if mark else 7,
            marker="diamond" if mark else "circle",
            line_color=colours[which],
            line_width=1.5,
            fill_color=colours[which],
            fill_alpha=1.0 if mark else 0.35,
        )
    _rule(figure, "width", 0, line_width=1.5, name="ink")
    figure.xgrid.visible = False
    figure.xaxis.axis_label = "samples, smallest margin first"
    figure.yaxis.axis_label = f"margin, {unit}"
    return figure


def _shade_tail(figure: Any, count: float, mean: float) -> None:
    """A grey band behind the samples of the tail, and a line at their mean."""
    from bokeh.models import BoxAnnotation

    figure.add_layout(BoxAnnotation(left=0, right=count, fill_color=GREY, fill_alpha=0.18, line_color=None))
    figure.segment(x0=[0], x1=[count], y0=[mean], y1=[mean], line_color=GREY, line_width=2, line_dash="dashed")


def course_figure(view: Course, label: str, least_edge: float = 0.0) -> Any:
    """How the bound and the best answer met."""
    figure = _figure(height=280)
    both = np.isfinite(view.found) & np.isfinite(view.bound)
    if both.any():  # Bokeh never ends drawing an area of no points
        figure.varea_step(
            view.seconds[both], view.found[both], view.bound[both],
            step_mode="after", fill_color=GREY, fill_alpha=0.15,
        )  # fmt: skip
    for values, shade in ((view.bound, GREY), (view.found, "#0072B2")):
        shown = np.isfinite(values)
        figure.step(view.seconds[shown], values[shown], mode="after", line_color=shade, line_width=2.5)
        if values.size <= _MOST_DOTS:
            figure.scatter(view.seconds[shown], values[shown], size=5, color=shade)
    low, high = view.extent
    edge = max(0.06 * (high - low), least_edge, 1e-3 * abs(high))  # a line is not a picture
    figure.y_range.start, figure.y_range.end = low - edge, high + edge
    figure.x_range.start = 0
    figure.xaxis.axis_label = "seconds"
    figure.yaxis.axis_label = label
    return figure


def curve_figures(table: dict[str, Floats], chosen: float | None, over: str, what: str, **options: Any) -> list[Any]:
    """What was found and its bound, and the cross-validated error where there is one, `over` a margin or size `at`."""
    at = table["at"]
    options |= {"min_border_left": 64}  # the same for both, so that they stand in line
    best = _figure(height=260, **options)
    best.varea(at, table["found"], table["bound"], fill_color=GREY, fill_alpha=0.2)
    best.line(at, table["bound"], line_color=GREY, line_width=1.5)
    best.line(at, table["found"], line_color="#0072B2", line_width=2.5)
    best.scatter(at, table["found"], size=7, color="#0072B2")
    best.yaxis.axis_label = what
    figures = [best]
    if "cv_error" in table:
        error = _figure(height=220, **options)
        low, high = table["cv_error"] - table["cv_se"], table["cv_error"] + table["cv_se"]
        error.segment(x0=at, x1=at, y0=np.maximum(low, 0), y1=high, line_color="#D55E00", line_width=1.5)
        error.line(at, table["cv_error"], line_color="#D55E00", line_width=2)
        error.scatter(at, table["cv_error"], size=7, color="#D55E00")
        error.y_range.start = 0
        error.yaxis.axis_label = "error"
        figures.append(error)
    for each in figures:
        if chosen is not None:
            _rule(each, "height", chosen, line_dash="dotted", line_width=1.5, name="ink")
        if "x_axis_type" in options:
            _tick_at(each, at)
    figures[-1].xaxis.axis_label = over
    return figures


def _tick_at(figure: Any, places: Floats) -> None:
    """Ticks of a logarithmic axis at these places, as far as there is room for their labels."""
    from bokeh.models import FixedTicker

    logs, ticks = np.log(places), [0]
    for place in range(1, places.size):
        if logs[place] - logs[ticks[-1]] >= 0.08 * (logs[-1] - logs[0]):  # 30 of 390 pixels
            ticks.append(place)
    figure.xaxis.ticker = figure.xgrid.ticker = FixedTicker(ticks=places[ticks])
    figure.xaxis.major_label_overrides = {float(at): f"{at:.0f}" for at in places[ticks]}


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
    """A name for an axis: short, and never taken for TeX."""
    text = str(name)
    text = text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"
    for mark in ("$$", "\\[", "\\("):
        text = text.replace(mark, f"{mark[0]}\u200b{mark[1]}")
    return text
