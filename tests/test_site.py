"""The site, as `make docs` builds it: no link is broken, nothing is fetched, whatever is asked is two clicks away.

The links and pages are read as they are; what it looks like, and the search, are tried in Chromium.
"""

import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from sphinx.util.inventory import InventoryFile

import cobic
from chromium import Chromium
from cobic.cli.main import build_parser

ROOT = Path(__file__).parents[1]
WIDTHS = {"desk": 1400, "phone": 390}
pytestmark = pytest.mark.site


class Page(HTMLParser):
    """What a page leads to, what it loads, and where in it one can arrive."""

    LOADS = ("src", "srcset", "poster", "data", "background")

    def __init__(self, file):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name in self.LOADS and tag != "meta":
                self.loads.append(value)
            elif name == "href":
                (self.links if tag == "a" else self.loads).append(value)
            elif name == "style":
                self.loads += re.findall(r"url\(([^)]*)\)", value or "")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site, built anew; what the gallery has run before is not run again."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", ROOT / "docs", folder]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="session")
def pages(site):
    return {file: Page(file) for file in sorted(site.rglob("*.html")) if "_static" not in file.parts}


def arrival(file, address):
    """The file within the site to which an address on a page leads, and the place in it; None if it leads out of it."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    return target / "index.html" if target.is_dir() else target, unquote(parts.fragment)


def broken(pages):
    """Links to files or places that are not there."""
    for file, page in pages.items():
        for address in {*page.links, *page.loads}:
            if (there := arrival(file, address)) is None:
                continue
            target, place = there
            if not target.is_file() or (place and target in pages and place not in pages[target].anchors):
                yield f"{file.name}: {address}"


def test_no_link_is_broken(pages):
    assert len(pages) > 25
    assert list(broken(pages)) == []


def test_a_broken_link_is_seen(tmp_path):
    (tmp_path / "there.html").write_text('<p id="here"><a href="#here"><a href="there.html#gone"><img src="no.png">')
    (tmp_path / "_static").mkdir()
    assert sorted(broken({file: Page(file) for file in tmp_path.glob("*.html")})) == [
        "there.html: no.png",
        "there.html: there.html#gone",
    ]


def fetched(loads):
    return [address for address in loads if address and re.match(r"\s*['\"]?(https?:)?//", address)]


def test_nothing_is_fetched(site, pages):
    assert {file.name: found for file, page in pages.items() if (found := fetched(page.loads))} == {}
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert fetched(re.findall(r"(?:url\(|@import\s+)([^);]*)", text)) == []
    assert fetched(["https://a/b.js", "//a/b.js", "b.js", "'http://a'"]) == ["https://a/b.js", "//a/b.js", "'http://a'"]


def reached(pages, start, clicks):
    """What can be reached in so many clicks."""
    found = {start}
    for _ in range(clicks):
        ends = (arrival(file, address) for file in found if file in pages for address in pages[file].links)
        found |= {end[0] for end in ends if end is not None}
    return found


def test_formulas_are_set_and_output_is_not(site):
    set_in = {file.stem for file in site.rglob("*.html") if 'class="formula"' in file.read_text(encoding="utf-8")}
    assert set_in == {"bilevel", "certificate", "certified", "how", "rivals"}
    text = (site / "certified.html").read_text(encoding="utf-8")
    assert "Σ<sub><i>F</i><sub><i>r</i></sub></sub> <i>e</i><sub><i>i</i></sub>" in text


# What readers come with, and where it is answered.
ANSWERS = {
    "the 10 best genes": "ten-best-genes",
    "which margin": "which-margin",
    "which samples may be mislabelled": "mislabelled-samples",
    "markers per cell type, in scanpy": "markers-in-scanpy",
    "my file is larger than memory": "larger-than-memory",
    "many runs on a cluster": "many-runs-on-a-cluster",
    "check somebody's certificate": "check-a-certificate",
    "use the answer from R": "use-it-from-r",
    "hand the model to CPLEX or SCIP": "cplex-or-scip",
}


@pytest.mark.parametrize("question", ANSWERS)
def test_the_answer_is_two_clicks_away(site, pages, question):
    answer = site / "tasks" / f"{ANSWERS[question]}.html"
    title = re.search(r"<h1>(.*?)<", answer.read_text(encoding="utf-8"))[1]
    assert unescape(title).rstrip("?").lower() == question.lower()
    assert answer in reached(pages, site / "index.html", 2)


def test_every_task_is_two_clicks_away(site, pages):
    tasks = {file for file in pages if file.parent.name == "tasks"}
    assert tasks <= reached(pages, site / "index.html", 2)
    assert not tasks <= reached(pages, site / "index.html", 0)


def test_every_public_name_has_a_place_and_every_command_its_options(site):
    known = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    names = {name for kind, objects in known.items() if kind.startswith("py:") for name in objects}
    inside = {f"cobic.{room}.{name}" for room in ("datasets", "plot") for name in getattr(cobic, room).__all__}
    assert names >= {f"cobic.{name}" for name in cobic.__all__} | inside
    parsers = next(each.choices for each in build_parser()._actions if isinstance(each.choices, dict))
    options = {
        f"{command}.{spelling}"
        for command, parser in parsers.items()
        for action in parser._actions
        for spelling in action.option_strings
        if action.dest != "help"
    }
    assert {name.removeprefix("cobic-") for name in known["std:cmdoption"]} >= options


def test_every_page_is_in_the_search(site, pages):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    made = {"genindex.html", "py-modindex.html", "search.html"}
    for file in pages:
        name = file.relative_to(site).with_suffix("").as_posix()
        assert file.name in made or f'"{name}"' in index


# --- in Chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium = Chromium(tmp_path_factory.mktemp("downloads"))
    yield chromium
    chromium.driver.quit()


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_the_search_finds_panels(browser, site, width):
    browser.open(site / "index.html", width=width)
    next(each for each in browser.all(".search-button, .search-button__button") if each.is_displayed()).click()
    box = next(each for each in browser.all("input[type=search]") if each.is_displayed())
    box.send_keys("panel" + Keys.ENTER)
    WebDriverWait(browser.driver, 30, 0.05).until(lambda _: browser.all("#search-results li a"))
    browser.settle()
    results = browser.all("#search-results li a")
    assert any("Panels" in each.text for each in results)
    assert not any("program option" in each.text for each in browser.all("#search-results li")[:40])
    browser.keep(f"site-search-{width}.png", width)
    title = results[0].text
    results[0].click()
    WebDriverWait(browser.driver, 30, 0.05).until(lambda _: "search.html" not in browser.driver.current_url)
    assert browser.driver.current_url.startswith(site.as_uri())
    assert title.split(".")[-1].split(" > ")[-1] in browser.find("article").text
    assert "panel" in browser.find("article").text.lower()
    assert browser.run("return performance.getEntriesByType('resource').every(each => each.name.startsWith('file:'))")
    # From a server, results come with the lines around the word; from disk a browser keeps pages from each other.
    assert all("fetch" in each["message"] or "ERR_FAILED" in each["message"] for each in browser.complaints())


@pytest.mark.browser
@pytest.mark.parametrize("task", ["Which margin?", "Check somebody's certificate", "My file is larger than memory"])
def test_the_search_lists_the_task_first(browser, site, task):
    word = re.findall(r"\w+", task)[-1]
    browser.driver.get(f"{(site / 'search.html').as_uri()}?q={word}")
    WebDriverWait(browser.driver, 30, 0.05).until(lambda _: browser.all("#search-results li a"))
    assert browser.find("#search-results li a").text == task
    browser.open(site / "index.html")  # away from the search, which complains of pages on disk, as above
    browser.complaints()


@pytest.mark.browser
def test_no_page_scrolls_sideways_on_a_phone(browser, site, pages):
    width, wide = WIDTHS["phone"], []
    for file in (file for file in pages if file.parent.name != "generated"):  # these are alike: one is looked at below
        browser.open(file, width=width)
        if browser.run("return document.documentElement.scrollWidth") > width:
            wide.append(file.relative_to(site).as_posix())
    assert wide == []
    assert browser.complaints() == []


LOOKED_AT = ("index", "tasks/ten-best-genes", "certified", "reference/generated/cobic.panel", "accuracy")


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("page", LOOKED_AT)
def test_what_it_looks_like(browser, site, page, width, dark):
    browser.open(site / f"{page}.html", width=width, dark=dark)
    browser.settle()
    assert browser.run("return document.documentElement.scrollWidth") <= width
    picture = browser.keep(f"site-{page.replace('/', '-')}-{width}-{'dark' if dark else 'light'}.png", width)
    brightness = np.asarray(picture).mean()
    assert brightness < 90 if dark else brightness > 200
