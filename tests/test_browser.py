"""The report in a real browser: it opens by itself, is small, answers the mouse, and shows names as names."""

import base64
import io
import re
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import cobic
from chromium import ARTEFACTS, Chromium
from clocks import CtrlC, Ticking, time_by
from cobic.answer.curve import Curve
from cobic.io.plain import EXACT
from cobic.report.page import render
from cobic.report.story import PanelStory, Story
from test_panel_report import AWKWARD, awkward

pytestmark = pytest.mark.browser

LONG = "a_name_without_a_space_that_is_as_long_as_some_identifiers_in_real_files_are_" * 3
EVIL = [
    "<script>alert(1)</script>",
    "</script>",
    "<img src=x onerror=alert(2)>",
    '=1+1,"quoted"',
    "<b>bold</b>",
    LONG,
]


class Browser(Chromium):
    """Chromium with a report in it."""

    def open(self, path, **window):
        super().open(path, **window)
        WebDriverWait(self.driver, 120, 0.02).until(lambda _: self.run("return document.documentElement.dataset.ready"))
        return float(self.run("return document.documentElement.dataset.ready"))

    def rows(self):
        """What the table shows, by column."""
        return [
            [cell.get_attribute("textContent") for cell in row.find_elements(By.CSS_SELECTOR, "[role=cell]")]
            for row in self.all("#table .row:not(.head)")
        ]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium = Browser(tmp_path_factory.mktemp("downloads"))
    yield chromium
    chromium.driver.quit()


@pytest.fixture(scope="module")
def solved():
    data = cobic.datasets.make_expression(n_features=300, contaminated=0.04, informative=0.6, seed=2)
    problem = data.problem()
    return data, problem, cobic.solve(problem)


@pytest.fixture(scope="module")
def page(solved, tmp_path_factory):
    data, problem, result = solved
    path = cobic.path(data.X, data.y, alphas=[0, 20, 40], cv=3, feature_names=data.feature_names)
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(render(Story(problem, result, source="made.csv", new=data.test, curve=Curve.of(path))))
    return file


def test_it_opens_without_a_complaint(browser, page, solved):
    browser.open(page)
    browser.settle()
    assert browser.complaints() == []
    assert f"{solved[2].n_selected} of 300 features kept; no selection can keep more" in browser.find("h1").text
    for name in ("heatmap", "margins", "course", "path", "error"):
        assert browser.run("return document.getElementById(arguments[0]).offsetHeight", f"plot-{name}") > 180


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420], ids=["wide", "narrow"])
def test_no_window_scrolls_sideways(browser, page, width, dark):
    browser.open(page, width=width, dark=dark)
    browser.settle()
    assert browser.run("return document.documentElement.scrollWidth") <= width
    picture = browser.keep(f"report-{width}-{'dark' if dark else 'light'}.png", width)
    brightness = np.asarray(picture).mean()
    assert brightness < 90 if dark else brightness > 200
    assert browser.complaints() == []


def test_the_theme_follows_the_system_until_it_is_toggled(browser, page):
    browser.open(page)
    paper = "return getComputedStyle(document.body).backgroundColor"
    axis = "return Bokeh.documents[0].roots()[0].below[0].major_label_text_color"
    light, light_axis = browser.run(paper), browser.run(axis)
    browser.prefer("dark")
    browser.settle()
    dark, dark_axis = browser.run(paper), browser.run(axis)
    assert (light, light_axis) != (dark, dark_axis)
    assert browser.find("#theme").text == "Light"
    browser.find("#theme").click()
    assert (browser.run(paper), browser.run(axis)) == (light, light_axis)
    browser.prefer("light")
    browser.find("#theme").click()
    assert (browser.run(paper), browser.run(axis)) == (dark, dark_axis)


def test_the_table_is_sorted_and_filtered(browser, page, solved):
    _, problem, result = solved
    table = cobic.selection_table(problem, result)
    browser.open(page)
    heads = {head.text: head for head in browser.all("#table .head button")}
    about = ["difference", "AUC", "t", "p", "adjusted p"]
    assert list(heads) == ["feature", "class", "selected", "rank ↑", "survives", "mean A", "mean B", *about]
    assert [row[3] for row in browser.rows()[:3]] == ["1", "2", "3"]  # the best first
    heads["mean B"].click()
    assert browser.rows()[0][0] == table.sort_values("mean B")["feature"].iloc[0]
    next(head for head in browser.all("#table .head button") if head.text.startswith("mean B")).click()
    assert browser.rows()[0][0] == table.sort_values("mean B")["feature"].iloc[-1]
    assert browser.all("#table [aria-sort=descending]")[0].text.startswith("mean B")
    browser.find("#search").send_keys("_01")
    expected = table[table["feature"].str.contains("_01")].sort_values("mean B", ascending=False)["feature"]
    assert [row[0] for row in browser.rows()] == expected.head(len(browser.rows())).tolist()
    assert browser.find("#shown").text == f"{len(expected)} of 300 features"
    browser.find("#search").clear()
    browser.run("const box = document.getElementById('search'); box.value = ''; box.dispatchEvent(new Event('input'))")
    browser.find("#which option[value=dropped]").click()
    assert browser.find("#shown").text == f"{300 - result.n_selected} of 300 features"
    assert {row[2] for row in browser.rows()} == {"dropped"}


@pytest.mark.parametrize("width", [390, 360, 320])
def test_a_phone_shows_both_means(browser, page, panel_page, width):
    for each in (page, panel_page):
        browser.open(each, width=width)
        heads = [head.text.split(" ↑")[0] for head in browser.all("#table .head button")]
        assert {"feature", "mean A", "mean B"} <= set(heads)


def taken(browser, button):
    """What a button lets one download: its name, and the file when it is whole."""
    button.click()

    def whole(_):
        files = [each for each in browser.folder.iterdir() if each.suffix in (".svg", ".png")]
        return files[0] if files and files[0].stat().st_size > 0 else None

    file = WebDriverWait(browser.driver, 60).until(whole)
    content = file.read_bytes()
    file.unlink()
    return file.name, content


@pytest.mark.parametrize(
    ("which", "names"),
    [
        ("page", {"heatmap", "top", "margins", "course", "path", "error"}),
        ("panel_page", {"values", "margins", "course", "path", "error", "newcomers"}),
    ],
)
def test_every_picture_can_be_taken_as_a_file(browser, request, which, names):
    browser.open(request.getfixturevalue(which))
    browser.settle()
    found = set()
    for button in browser.all(".downloads button"):
        browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
        name, content = taken(browser, button)
        ARTEFACTS.mkdir(exist_ok=True)
        (ARTEFACTS / f"{which}-{name}").write_bytes(content)
        if name.endswith(".png"):
            picture = Image.open(io.BytesIO(content)).convert("RGB")
            assert min(picture.size) > 100
            assert len(picture.getcolors(1 << 24)) > 10
        else:
            root = ET.fromstring(content)
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            assert float(root.get("width")) > 300
            assert len(list(root.iter())) > 20
        found.add(name)
    assert found == {f"{name}.{kind}" for name in names for kind in ("svg", "png")}
    assert browser.complaints() == []


def test_the_top_features_are_named_and_answer_the_mouse(browser, page, solved):
    data, _, result = solved
    browser.open(page)
    plot = browser.find("#plot-top")
    browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
    ActionChains(browser.driver).move_to_element_with_offset(plot, 60, -60).perform()
    browser.settle()
    name, sample, label, score = re.fullmatch(
        r"(.+) — (.+) · (\w) · ([+−][\d.]+) sd", browser.find("#read-top").text
    ).groups()
    feature, row = data.feature_names.index(name), data.sample_names.index(sample)
    assert result.support[feature]
    assert label == data.y[row]
    true_score = (data.X[row, feature] - data.X[:, feature].mean()) / data.X[:, feature].std()
    assert abs(np.clip(true_score, -2, 2) - float(score.replace("−", "-"))) < 0.07
    labels = browser.run(
        "const roots = [...(Bokeh.index.roots || Object.values(Bokeh.index))];"
        "const root = roots.find((each) => each.el.parentElement.id === 'plot-top');"
        "return [...root.model.left[0].major_label_overrides.values()]"
    )
    assert name in labels
    assert len(labels) == 30


def test_the_course_of_the_search_comes_after_the_genes(browser, page):
    browser.open(page)
    order = browser.run("return [...document.querySelectorAll('main > section')].map((each) => each.id)")
    assert order.index("top") < order.index("features") < order.index("bound")
    assert [link.get_attribute("href").split("#")[1] for link in browser.all("nav a")] == order


def test_accuracy_stands_beside_the_confusion_matrix_and_margins_have_units(browser, page, solved):
    data, problem, result = solved
    browser.open(page)
    right = cobic.Model.of(problem, result).predict(data.test.X) == data.test.y
    classes = [right[data.test.y == cls].mean() for cls in "AB"]
    words = f"{100 * right.mean():.3g} % accuracy; the mean over the classes is {100 * np.mean(classes):.3g} %."
    assert browser.find("#new .accuracy").text.replace("\u00a0", " ") == words
    assert "in units of the data" in browser.find("#margins").text


def test_only_the_rows_in_sight_exist(browser, page):
    browser.open(page)
    assert len(browser.rows()) < 40
    browser.run("document.getElementById('table').scrollTop = 1e9")
    browser.settle()
    assert browser.rows()[-1][3] == "300"  # the last one in the ranking


def test_the_csv_is_the_selection(browser, page, solved):
    _, problem, result = solved
    browser.open(page)
    browser.find("#csv").click()
    file = browser.folder / "features.csv"
    WebDriverWait(browser.driver, 120).until(lambda _: file.exists() and file.stat().st_size > 0)
    got = pd.read_csv(file, **EXACT)
    file.unlink()
    assert got["rank"].tolist() == list(range(1, 301))  # as they are shown
    got = got.sort_values("feature", ignore_index=True)
    expected = cobic.selection_table(problem, result)
    pd.testing.assert_frame_equal(got[list(expected)], expected, check_exact=True)


def test_the_heatmap_answers_the_mouse(browser, page, solved):
    data, problem, result = solved
    browser.open(page)
    plot = browser.find("#plot-heatmap")
    seen = set()
    for across, down in ((-0.3, -0.2), (-0.1, 0.1), (0.1, -0.1), (0.3, 0.05), (0.42, -0.25)):
        offset = int(plot.size["width"] * across), int(plot.size["height"] * down)
        ActionChains(browser.driver).move_to_element_with_offset(plot, *offset).perform()
        browser.settle()
        said = browser.find("#read-heatmap").text
        form = r"(.+) · (\w) · (kept|dropped) — (.+) · (\w) · about (\S+)( or beyond)? \(([+−])([\d.]+) sd\)"
        name, cls, kept, sample, label, value, beyond, sign, score = re.fullmatch(form, said).groups()
        feature, row = data.feature_names.index(name), data.sample_names.index(sample)
        assert cls == str(problem.classes[problem.feature_classes[feature]])
        assert label == data.y[row]
        assert (kept == "kept") == result.support[feature]
        column = data.X[:, feature]
        true_score = (data.X[row, feature] - column.mean()) / column.std()
        assert (sign == "+") == (true_score >= 0) or abs(true_score) < 0.05
        assert abs(true_score) >= 1.99 if beyond else abs(abs(true_score) - float(score)) < 0.07
        assert beyond or abs(float(value) - data.X[row, feature]) < 0.02 * column.std() + 1e-3 * abs(float(value))
        seen.add(name)
    assert len(seen) == 5


def test_the_heatmap_is_drawn_the_right_way_up(browser, page, solved):
    """Samples of a class are high (green) in the features of their class: the blocks on the diagonal."""
    browser.open(page)
    browser.settle()
    where = browser.run(
        "const root = Bokeh.index.roots ? Bokeh.index.roots : Object.values(Bokeh.index);"
        "const view = [...root].find((each) => each.model.renderers.some((r) => r.glyph.type === 'Image'));"
        "const { left, top, width, height } = view.frame.bbox, box = view.el.getBoundingClientRect();"
        "return [box.x + left, box.y + top + scrollY, width, height]"
    )
    picture = np.asarray(browser.keep("heatmap.png", 1400)).astype(float)
    left, top, width, height = (int(value) for value in where)
    _, problem, result = solved
    green = picture[top : top + height, left : left + width, 1] - picture[top : top + height, left : left + width, 0]
    across, down = int(width * result.counts[0] / 300), int(height * problem.class_sizes[0] / 38)
    wide = int(width * result.n_selected / 300)
    rows, columns = (
        (slice(20, down), slice(down + 5, None)),
        (slice(10, across // 3), slice(across + 5, across + wide // 6)),
    )
    means = [[green[row, column].mean() for column in columns] for row in rows]
    assert min(means[0][0], means[1][1]) > max(means[0][1], means[1][0])


def test_the_heatmap_is_zoomed(browser, page, solved):
    browser.open(page)
    extent = "const { start, end } = Bokeh.documents[0].roots()[0].x_range; return [start, end]"
    assert browser.run(extent) == [0, 300]
    dropped = next(button for button in browser.all("#zoom button") if button.text == "Dropped")
    dropped.click()
    assert browser.run(extent) == [solved[2].n_selected, 300]
    assert dropped.get_attribute("aria-pressed") == "true"
    browser.all("#zoom button")[0].click()
    plot = browser.find("#plot-heatmap")
    actions = ActionChains(browser.driver).move_to_element_with_offset(plot, -100, 0)
    actions.click_and_hold().move_by_offset(150, 0).release().perform()
    browser.settle()
    start, end = browser.run(extent)
    assert 20 < end - start < 80
    ActionChains(browser.driver).double_click(plot).perform()
    browser.settle()
    assert browser.run(extent) == [0, 300]


@pytest.mark.parametrize(
    ("name", "words"), [("margins", "margin"), ("course", "at most"), ("path", "kept"), ("error", "error")]
)
def test_the_other_pictures_answer_the_mouse(browser, page, name, words):
    browser.open(page)
    browser.run(
        "document.getElementById(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})", f"plot-{name}"
    )
    ActionChains(browser.driver).move_to_element(browser.find(f"#plot-{name}")).perform()
    browser.settle()
    assert words in browser.find(f"#read-{'path' if name == 'error' else name}").text


def test_it_prints_in_light_colours(browser, page):
    browser.open(page, dark=True)
    pdf = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
    ARTEFACTS.mkdir(exist_ok=True)
    (ARTEFACTS / "report.pdf").write_bytes(pdf)
    assert pdf.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 8
    pictures = browser.run("return [...document.querySelectorAll('.printed')].map((each) => each.naturalWidth)")
    assert len(pictures) == 6
    assert min(pictures) > 500
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"


def test_names_are_shown_and_never_run(browser, tmp_path):
    rng = np.random.default_rng(1)
    n_features = 2 * len(EVIL)
    X = rng.normal(size=(12, n_features)) + 3 * (np.arange(12)[:, None] % 2 == np.arange(n_features) % 2)
    X[0, :4] = [-40, 60, -40, 60]
    labels = np.array([EVIL[0], LONG])[np.arange(12) % 2]
    samples = tuple(f"{EVIL[i % len(EVIL)]}{i}" for i in range(12))
    data = cobic.Dataset(X, labels, tuple(EVIL * 2), samples, EVIL[1])
    problem = data.problem(slack_penalty=1.0)
    result = cobic.solve(problem)
    file = tmp_path / "evil.html"
    file.write_text(render(Story(problem, result, source=EVIL[1], new=data)))
    browser.open(file)
    ActionChains(browser.driver).move_to_element(browser.find("#plot-heatmap")).perform()
    browser.settle()
    assert browser.complaints() == []  # an alert would also make selenium fail
    assert browser.all("img, b b, script[src]") == []
    assert sorted(row[0] for row in browser.rows()) == sorted(EVIL * 2)
    assert any(name in browser.find("#read-heatmap").text for name in EVIL)
    browser.keep("names-1400.png", 1400)
    browser.open(file, width=420)
    browser.settle()
    assert browser.run("return document.documentElement.scrollWidth") <= 420
    browser.keep("names-420.png", 420)
    browser.find("#csv").click()
    csv = browser.folder / "features.csv"
    WebDriverWait(browser.driver, 120).until(lambda _: csv.exists() and csv.stat().st_size > 0)
    got = pd.read_csv(csv)
    csv.unlink()
    formula = EVIL.index('=1+1,"quoted"')
    assert got["feature"][formula] == "'" + EVIL[formula]  # a spreadsheet would compute it
    assert [name.removeprefix("'") for name in got["feature"]] == EVIL * 2
    assert got["class"].tolist() == cobic.selection_table(problem, result)["class"].tolist()


def test_the_report_on_golub(browser, golub, tmp_path):
    problem = golub.problem()
    file = tmp_path / "golub.html"
    cobic.write_report(file, problem, cobic.solve(problem), new=golub.test)
    assert file.stat().st_size < 5e6
    browser.open(file)
    answer = "7080 of 7129 features kept; no selection can keep more than 7080: proven"
    assert browser.find("h1").text.replace("\n", " ") == answer
    assert "32 of 34 samples that took no part are given their class." in browser.find("#new").text
    assert "49 features were dropped" in browser.find("#dropped").text
    browser.keep("golub-1400-light.png", 1400)
    assert browser.complaints() == []


@pytest.mark.parametrize(
    ("n_features", "sizes", "megabytes"),
    [(7129, (27, 11), 5.0), (22_000, (60, 40), 15.0)],
    ids=["7129x38", "22000x100"],
)
def test_a_large_report_is_small_and_holds_only_the_rows_in_view(browser, tmp_path, n_features, sizes, megabytes):
    data = cobic.datasets.make_expression(n_features=n_features, class_sizes=sizes, seed=0)
    problem = data.problem(alpha=20.0)
    result = cobic.solve(problem, method="fixed-point")
    file = tmp_path / "large.html"
    file.write_text(render(Story(problem, result, new=data.test)))
    size = file.stat().st_size / 1e6
    told = f"{size:.2f} MB, interactive after {browser.open(file) / 1000:.2f} s\n"
    ARTEFACTS.mkdir(exist_ok=True)
    (ARTEFACTS / f"{n_features}x{sum(sizes)}.txt").write_text(told)
    assert size < megabytes
    browser.run("document.querySelectorAll('#table .head button')[3].click()")
    browser.run("document.getElementById('table').scrollTop = 1e9")
    browser.settle()
    assert 0 < len(browser.rows()) < 200
    assert browser.complaints() == []


# --- the page of a panel


@pytest.fixture(scope="module")
def panel_page(tmp_path_factory):
    data = cobic.datasets.make_expression(n_features=60, seed=0)
    names = {"feature_names": data.feature_names, "sample_names": data.sample_names}
    panel = cobic.panel(data.X, data.y, size={"A": 4, "B": 3}, tail=0.3, transform="log2", floor=20, **names)
    sizes = pd.DataFrame({"size": [2, 4, 8, 16, 60], "tail_margin": [1.0, 1.5, 1.4, 1.2, 0.5]})
    sizes = sizes.assign(bound=sizes["tail_margin"] * 1.1, cv_error=0.1, cv_se=0.05, chosen=sizes["size"] == 4)
    file = tmp_path_factory.mktemp("page") / "panel.html"
    file.write_text(render(PanelStory(panel, "made.csv", "cobic panel made.csv", new=data.test, frontier=sizes)))
    return file


def painted(browser, place):
    """How many pixels of a strip have a colour."""
    script = (
        "const canvas = document.querySelectorAll('.strip canvas')[arguments[0]];"
        "const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
        "return pixels.filter((value, index) => index % 4 === 3 && value).length"
    )
    return browser.run(script, place)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390], ids=["wide", "narrow"])
def test_the_page_of_a_panel_fits_every_window(browser, panel_page, width, dark):
    browser.open(panel_page, width=width, dark=dark)
    browser.settle()
    assert browser.run("return document.documentElement.scrollWidth") <= width
    picture = browser.keep(f"panel-{width}-{'dark' if dark else 'light'}.png", width)
    brightness = np.asarray(picture).mean()
    assert brightness < 90 if dark else brightness > 200
    assert browser.complaints() == []
    assert browser.find("h1").text.replace("\n", " ").startswith("7 of 60 features with a tail margin of")
    assert len(browser.all(".strip")) == 7
    assert min(painted(browser, place) for place in range(7)) > 500
    for name in ("margins", "course", "path", "error", "newcomers"):
        assert browser.run("return document.getElementById(arguments[0]).offsetHeight", f"plot-{name}") > 180


def test_the_values_of_a_panel_answer_the_mouse(browser, panel_page):
    browser.open(panel_page)
    browser.run("document.getElementById('strips').scrollIntoView({block: 'center', behavior: 'instant'})")
    browser.settle()
    where = browser.run(  # a point of the first strip, read off its canvas
        "const canvas = document.querySelector('.strip canvas'), ratio = devicePixelRatio;"
        "const { width, height } = canvas, wide = Math.floor(width / 2);"
        "const pixels = canvas.getContext('2d').getImageData(wide, 0, width - wide, 20).data;"
        "let at = 0; while (pixels[at * 4 + 3] < 150 || pixels[at * 4 + 2] < 150 || pixels[at * 4] > 120) at++;"
        "return [wide + at % (width - wide), Math.floor(at / (width - wide)), width, height]"
    )
    across, down, width, height = where
    strip = browser.find(".strip canvas")
    ActionChains(browser.driver).move_to_element_with_offset(strip, across - width // 2, down - height // 2).perform()
    browser.settle()
    said = browser.find("#read-strips").text
    data = cobic.datasets.make_expression(n_features=60, seed=0)
    name, sample, cls, value = re.fullmatch(r"(.+) — (.+) · (\w) · (\S+)", said).groups()
    assert name == browser.rows()[0][0]
    row, column = data.sample_names.index(sample), data.feature_names.index(name)
    assert data.y[row] == cls
    assert float(value) == pytest.approx(np.log2(max(data.X[row, column], 20)), rel=1e-3)


def test_the_page_of_a_panel_prints(browser, panel_page):
    browser.open(panel_page, dark=True)
    pdf = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
    ARTEFACTS.mkdir(exist_ok=True)
    (ARTEFACTS / "panel.pdf").write_bytes(pdf)
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 8
    assert len(browser.all(".printed")) == 5


@pytest.mark.parametrize("kind", AWKWARD)
def test_every_panel_has_a_page_that_opens(browser, tmp_path, kind):
    file = tmp_path / "panel.html"
    file.write_text(render(PanelStory(awkward(kind))))
    for width in (1400, 390):
        browser.open(file, width=width)
        browser.settle()
        assert browser.complaints() == []
        assert browser.run("return document.documentElement.scrollWidth") <= width
        browser.keep(f"panel-{kind.replace(' ', '-')}-{width}.png", width)
    assert browser.all("img, b b, script[src]") == []
    if kind != "none":
        assert painted(browser, 0) > 100


def test_a_selection_that_does_not_exist_has_a_page_that_opens(browser, tmp_path):
    problem = cobic.Problem([[1.0, 1.0], [1.0, 1.0]], ["a", "b"])
    cobic.write_report(tmp_path / "none.html", problem, cobic.solve(problem))
    browser.open(tmp_path / "none.html")
    assert browser.complaints() == []
    assert browser.find("h1").text.startswith("No selection of features is consistent")


def test_nothing_that_is_put_into_a_page_is_run(browser, page, tmp_path):
    text = page.read_text()
    planted = '<base href="https://example.org/"><script>window.ran = 1</script><style>body { opacity: 0.5 }</style>'
    planted += (
        '<img src="x" onerror="window.ran = 2"><p id="p" style="opacity: 0.5">x</p><form action="https://example.org">'
    )
    (tmp_path / "planted.html").write_text(
        text.replace("<main>", f"<main>{planted}<button id=send></button></form>", 1)
    )
    browser.open(tmp_path / "planted.html")
    assert browser.run("return window.ran") is None
    assert browser.run("return document.baseURI").startswith("file:")
    for place in ("body", "#p"):
        assert browser.run("return getComputedStyle(document.querySelector(arguments[0])).opacity", place) == "1"
    browser.run("document.getElementById('send').click()")
    told = " ".join(entry["message"] for entry in browser.complaints())
    for directive in ("script-src", "style-src", "base-uri", "form-action"):
        assert directive in told
    browser.open(page)
    assert browser.complaints() == []


# --- every page that can be written


def _stopped(problem, clock, time_limit=None):
    with time_by(clock):
        return cobic.solve(problem, time_limit=time_limit)


def page_of(kind):
    """A problem and its answer, of a kind that is rare."""
    data = cobic.datasets.make_expression(n_features=120, seed=3)
    rng = np.random.default_rng(0)
    if kind == "infeasible":
        problem = data.problem(alpha=1000.0)
        return problem, cobic.solve(problem)
    if kind == "identical":
        X = np.vstack([data.X, data.X[:1]])
        problem = cobic.Problem(X, [*data.y, "B" if data.y[0] == "A" else "A"])
        return problem, cobic.solve(problem)
    if kind == "unknown":
        problem = data.problem(alpha=90.0)
        return problem, _stopped(problem, Ticking(1000.0), time_limit=100.0)
    if kind == "interrupted":
        problem = data.problem(alpha=60.0)
        return problem, _stopped(problem, CtrlC(3000))
    if kind == "interrupted before anything":
        problem = data.problem(alpha=60.0)
        return problem, _stopped(problem, CtrlC(4))
    if kind == "one feature per class":
        problem = cobic.Problem([[3.0, 1.0], [2.0, 1.0], [1.0, 4.0]], ["a", "a", "b"])
        return problem, cobic.solve(problem)
    if kind == "one feature":
        problem = cobic.Problem([[3.0], [2.0], [1.0]], ["a", "a", "b"])
        return problem, cobic.solve(problem)
    if kind == "one sample per class":
        problem = cobic.Problem(rng.normal(size=(3, 40)), ["a", "b", "c"])
        return problem, cobic.solve(problem, max_programs=200)
    labels = np.repeat([f"class {number:02d}" for number in range(20)], 3)
    X = rng.normal(size=(60, 200)) + 4.0 * (np.arange(200)[None] % 20 == np.arange(60)[:, None] // 3)
    problem = cobic.Problem(X, labels)
    return problem, cobic.solve(problem, max_programs=200)


KINDS = {
    "infeasible": "infeasible",
    "identical": "infeasible",
    "unknown": "unknown",
    "interrupted": "feasible",
    "interrupted before anything": "unknown",
    "one feature per class": "optimal",
    "one feature": "infeasible",
    "one sample per class": "",
    "20 classes": "",
}


@pytest.fixture(scope="module", params=KINDS)
def rare_page(request, tmp_path_factory):
    problem, result = page_of(request.param)
    assert KINDS[request.param] in ("", result.status)
    file = tmp_path_factory.mktemp("rare") / "report.html"
    file.write_text(render(Story(problem, result, source="rare.csv")))
    return file, request.param.replace(" ", "-"), result


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390], ids=["wide", "narrow"])
def test_every_page_that_can_be_written_opens(browser, rare_page, width, dark):
    file, name, result = rare_page
    browser.open(file, width=width, dark=dark)
    browser.settle()
    assert browser.run("return document.documentElement.scrollWidth") <= width
    picture = browser.keep(f"{name}-{width}-{'dark' if dark else 'light'}.png", width)
    brightness = np.asarray(picture).mean()
    assert brightness < 90 if dark else brightness > 180
    assert browser.complaints() == []
    assert ("NaN" in browser.find("body").text) is False
    assert browser.all("#margins .figure, #plot-margins") == [] or all(result.counts)
