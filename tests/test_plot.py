import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import cobic


@pytest.fixture(scope="module")
def solved():
    data = cobic.datasets.make_expression(n_features=120, contaminated=0.05, seed=3)
    problem = cobic.Problem(data.X, np.where(data.y == "A", "$a_1$", "_b"))
    return problem, cobic.solve(problem)


def test_every_picture_is_drawn_on_given_axes(solved):
    problem, result = solved
    path = cobic.path(problem.matrix, problem.classes[problem.labels], alphas=[0, 10], cv=3)
    axes = Figure(figsize=(9, 9)).subplots(2, 2).ravel()
    assert cobic.plot.heatmap(problem, result, axes[0]) is axes[0]
    assert cobic.plot.margins(problem, result, axes[1]) is axes[1]
    assert cobic.plot.progress(result, axes[2]) is axes[2]
    assert cobic.plot.path(path, axes[3]) is axes[3]
    axes[0].figure.canvas.draw()


def test_the_heatmap_shows_standard_deviations_by_class(solved):
    problem, result = solved
    image = cobic.plot.heatmap(problem, result).images[0].get_array()
    first = problem.class_sizes[0]
    kept = result.counts
    means = [
        [image[rows, columns].mean() for columns in (slice(0, kept[0]), slice(kept[0], sum(kept)))]
        for rows in (slice(0, first), slice(first, None))
    ]
    assert image.shape == (38, 120)
    assert min(means[0][0], means[1][1]) > 0 > max(means[0][1], means[1][0])


def test_the_margins_are_those_of_the_problem(solved):
    problem, result = solved
    lines = [line for line in cobic.plot.margins(problem, result).lines if line.get_marker() in "oD"]
    drawn = np.sort(np.concatenate([line.get_ydata() for line in lines]))
    assert np.allclose(drawn, np.sort(problem.margins(result.support)))


def test_names_are_text_not_mathematics(solved):
    axes = cobic.plot.margins(*solved)
    axes.figure.canvas.draw()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert [label.replace("\u200b", "").replace("\\", "") for label in labels] == ["$a_1$", "_b"]


def test_nothing_to_draw_is_an_error_that_says_why():
    problem = cobic.Problem([[1.0, 1.0], [1.0, 1.0]], ["a", "b"])
    result = cobic.solve(problem)
    with pytest.raises(cobic.InputError, match="no selection whose margins could be drawn"):
        cobic.plot.margins(problem, result)
    assert cobic.plot.heatmap(problem, result).images
    assert cobic.plot.progress(result)


def test_without_matplotlib_the_error_names_the_extra():
    script = (
        "import sys; sys.modules['matplotlib'] = sys.modules['matplotlib.figure'] = None\n"
        "import cobic\n"
        "problem = cobic.Problem([[3, 1], [1, 4]], ['a', 'b'])\n"
        "try: cobic.plot.margins(problem, cobic.solve(problem))\n"
        "except cobic.InputError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told == "plots need matplotlib: pip install 'cobic[plot]'\n"


def test_importing_cobic_loads_no_plotting_library():
    script = "import sys, cobic; print([name for name in ('matplotlib', 'bokeh', 'jinja2') if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told == "[]\n"
