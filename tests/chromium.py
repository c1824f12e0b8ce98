"""Chromium with a page in it, for the tests of the report and of the site.

Screenshots are kept in `test-artefacts/`. Without Chromium and its driver these tests skip, unless
COBIC_BROWSER=required.
"""

import io
import os
import shutil
import time
from pathlib import Path

import pytest
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By

ARTEFACTS = Path(__file__).parents[1] / "test-artefacts"


class Chromium:
    """Headless Chromium with a page in it."""

    def __init__(self, folder):
        browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        driver = shutil.which("chromedriver")
        if browser is None or driver is None:
            reason = "there is no Chromium with its driver (Debian: apt-get install chromium chromium-driver)"
            assert os.environ.get("COBIC_BROWSER") != "required", reason
            pytest.skip(reason)
        self.folder = folder
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))

    def open(self, path, *, width=1400, height=900, dark=False):
        self.command("Network.setCacheDisabled", cacheDisabled=True)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        self.prefer("dark" if dark else "light")
        self.driver.get(path.as_uri())

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def prefer(self, scheme):
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        listed = [{"name": name, "value": value} for name, value in features.items()]
        self.command("Emulation.setEmulatedMedia", features=listed)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def complaints(self):
        return [entry for entry in self.driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]

    def settle(self):
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        time.sleep(0.3)

    def keep(self, name, width):
        """A picture of the whole page, made in a window as high as the page: nothing moves while it is taken."""
        height = self.run("return document.documentElement.scrollHeight")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        self.settle()
        ARTEFACTS.mkdir(exist_ok=True)
        picture = self.driver.get_screenshot_as_png()
        (ARTEFACTS / name).write_bytes(picture)
        return Image.open(io.BytesIO(picture)).convert("RGB")
