"""Make the pictures of the documentation anew: the report on Golub's data in Chromium, and the plots of `cobic.plot`.

Needs the public data sets, selenium, matplotlib, Chromium and its driver: ``python docs/pictures.py``.
"""

import io
import shutil
import tempfile
import time
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image
from selenium import webdriver

import cobic

FOLDER = Path(__file__).parent / "img"
COLOURS = 96  # enough for flat pages and keeps the files small


def main() -> None:
    """Solve, write the page, take its picture in several windows."""
    data = cobic.datasets.load_golub()
    problem = data.problem(alpha=50.0)
    result = cobic.solve(problem)
    path = cobic.path(data.X, data.y, alphas=[0, 10, 20, 30, 40, 50, 60, 70], feature_names=data.feature_names)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        cobic.write_report(page, problem, result, path=path, new=data.test)
        photograph(page)
        panel = cobic.panel(
            data.X, data.y, {"ALL": 5, "AML": 5}, transform="log2", floor=20, feature_names=data.feature_names
        )
        cobic.write_report(page, panel, new=data.test)
        for name, dark in (("panel.png", False), ("panel-dark.png", True)):
            keep(head_and_values(page, dark=dark), name)
    draw(problem, result, path)
    for file in sorted(FOLDER.glob("*.png")):
        print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def photograph(page: Path) -> None:
    """Wide and light, wide and dark further down, narrow and dark."""
    wide = whole_page(page, 1200, dark=False)
    keep(wide.crop((0, 0, 1200, section(page, "margins", 1200))), "report.png")
    dark = whole_page(page, 1200, dark=True)
    keep(dark.crop((0, section(page, "margins", 1200), 1200, section(page, "new", 1200))), "report-dark.png")
    narrow = whole_page(page, 420, dark=True)
    both = Image.new("RGB", (860, 1000), "white")
    both.paste(whole_page(page, 420, dark=False).crop((0, 0, 420, 1000)), (0, 0))
    top = section(page, "margins", 420)
    both.paste(narrow.crop((0, top, 420, top + 1000)), (440, 0))
    keep(both, "report-narrow.png")


def head_and_values(page: Path, *, dark: bool) -> Image.Image:
    """The head of a panel's page and the values of its features, without the table between them."""
    whole = whole_page(page, 1200, dark=dark)
    head, begin, end = (section(page, each, 1200) for each in ("features", "values", "margins"))
    end -= 100  # what can be pointed at and downloaded, and the space below
    both = Image.new("RGB", (1200, head + end - begin))
    both.paste(whole.crop((0, 0, 1200, head)), (0, 0))
    both.paste(whole.crop((0, begin, 1200, end)), (0, head))
    return both


def whole_page(page: Path, width: int, *, dark: bool) -> Image.Image:
    """A picture of the page from top to bottom."""
    driver = opened(page, width, dark=dark)
    picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    driver.quit()
    return picture


def section(page: Path, name: str, width: int) -> int:
    """How far from the top a section begins."""
    driver = opened(page, width, dark=False)
    top = driver.execute_script("return document.getElementById(arguments[0]).getBoundingClientRect().top", name)
    driver.quit()
    return int(top) + 30


def opened(page: Path, width: int, *, dark: bool) -> webdriver.Chrome:
    """The page in a window that is as high as the page."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    height = 900
    for _ in range(2):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(page.as_uri())
        while not driver.execute_script("return document.documentElement.dataset.ready"):
            time.sleep(0.05)
        height = driver.execute_script("return document.documentElement.scrollHeight")
    time.sleep(0.5)
    return driver


def keep(picture: Image.Image, name: str) -> None:
    """Write a picture with few colours."""
    few = picture.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(FOLDER / name, optimize=True)


def draw(problem: cobic.Problem, result: cobic.Result, path: cobic.Path) -> None:
    """The four plots of a notebook."""
    figure = Figure(figsize=(11, 6.4), layout="constrained", dpi=90)
    axes = figure.subplots(2, 2).ravel()
    cobic.plot.heatmap(problem, result, axes[0])
    cobic.plot.margins(problem, result, axes[1])
    cobic.plot.progress(result, axes[2])
    cobic.plot.path(path, axes[3])
    image = io.BytesIO()
    figure.savefig(image, format="png")
    keep(Image.open(image).convert("RGB"), "plots.png")


if __name__ == "__main__":
    main()
