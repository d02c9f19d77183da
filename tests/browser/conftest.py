"""A headless Chromium, and the pages that are opened in it."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
AXE = Path(sys.prefix) / "axe-core" / "package" / "axe.min.js"
"""The checker of accessibility, which `make browser-test` downloads."""
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)


class Browser:
    """A browser that records what pages do."""

    def __init__(self, driver: Any, folder: Path) -> None:  # noqa: ANN401
        self.driver = driver
        self._folder = folder

    def open(self, markup: str, *, dark: bool = False, width: int = 1280, fragment: str = "") -> None:
        """Open a page from a file."""
        path = self._folder / "page.html"
        path.write_text(markup, "utf-8")
        self.visit(f"{path.as_uri()}{fragment}", dark=dark, width=width)

    def visit(self, address: str, *, dark: bool = False, width: int = 1280) -> None:
        """Open the page at an address."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get("about:blank")  # a URL that differs by its fragment alone would not be loaded again
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(address)

    def requests(self) -> set[str]:
        """Addresses that the page asked for, itself left out."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [
            entry["params"]["request"]["url"] for entry in messages if entry["method"] == "Network.requestWillBeSent"
        ]
        return {address.partition("#")[0] for address in sent} - {(self._folder / "page.html").as_uri()}

    def until(self, condition: Callable[[], Any], seconds: float = 60) -> Any:  # noqa: ANN401
        """Wait until a condition holds, and return its value."""
        wait = import_module("selenium.webdriver.support.wait").WebDriverWait(self.driver, seconds, 0.02)
        return wait.until(lambda _: condition())

    def messages(self) -> list[str]:
        """Messages and errors of the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def run(self, script: str, *arguments: object) -> Any:  # noqa: ANN401
        """Run a script in the page, with more rights than scripts of the page have."""
        return self.driver.execute_script(script, *arguments)

    def background(self, selector: str) -> str:
        """Computed colour behind an element."""
        return cast("str", self.driver.find_element("css selector", selector).value_of_css_property("background-color"))

    def violations(self) -> list[str]:
        """Violations of accessibility that axe-core finds."""
        self.run(AXE.read_text("utf-8"))
        script = (
            "const done = arguments[arguments.length - 1]; axe.run().then(done, error => done({error: `${error}`}));"
        )
        result = self.driver.execute_async_script(script)
        assert "error" not in result, result
        return [
            f"{violation['id']}: {node['target']} {node['failureSummary']}"
            for violation in result["violations"]
            for node in violation["nodes"]
        ]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser with an empty profile, for all tests of pages."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="browser tests need selenium: make browser-test")
    service = pytest.importorskip("selenium.webdriver.chrome.service")
    if not (CHROMIUM and DRIVER):
        pytest.skip("browser tests need chromium and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=service.Service(DRIVER))
    yield Browser(driver, tmp_path_factory.mktemp("pages"))
    driver.quit()
