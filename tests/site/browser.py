"""A real browser without a window, and what tests ask a page."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-dev-shm-usage", "--disable-component-update", "--window-size=1280,900",
)  # fmt: skip

#: Seconds; only a page that never comes takes so long.
_PATIENCE = 120


def start() -> Any:
    """A driver of Chromium; skips where the browser, its driver or selenium is missing."""
    selenium = pytest.importorskip("selenium.webdriver", reason="the pages are tried by selenium: pip install selenium")
    program, driver = shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("the pages are tried in Chromium: apt-get install chromium chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = program
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return selenium.Chrome(options=options, service=selenium.ChromeService(driver))


class Site:
    """A site in a browser."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self.folder = folder

    def open(self, page: str) -> None:
        """Load a page and wait until it is drawn."""
        self.driver.get("about:blank")  # a new address that differs behind the # only would load nothing
        self.driver.get(f"file://{quote(str(self.folder))}/{page}")
        self.until("return document.body && document.body.dataset.ready === 'true'")

    def ask(self, script: str, *arguments: object) -> Any:
        """The value of a script in the page."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str) -> None:
        """Wait until a script gives true."""
        self.wait(lambda: self.ask(script) is True, script)

    def wait(self, done: Callable[[], bool], what: str) -> None:
        """Wait for anything."""
        end = time.monotonic() + _PATIENCE
        while not done():
            assert time.monotonic() < end, what
            time.sleep(0.02)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that a selector finds."""
        found: list[str] = self.ask(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
        )
        return found

    def errors(self) -> list[str]:
        """What the browser has complained of."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def ranking(self) -> list[str]:
        """The algorithms of the ranking, best first."""
        return self.texts("table.ranking .entry a")

    def slide(self, name: str, place: int) -> None:
        """Move a slider as a visitor does."""
        self.ask(
            "const e = document.getElementById(arguments[0]);"
            "e.value = arguments[1]; e.dispatchEvent(new Event('input'))",
            name,
            place,
        )

    def drawn(self) -> list[str]:
        """The names of the lines in the picture."""
        found: list[str] = self.ask(
            "return document.getElementById('picture').data.filter(t => t.line).map(t => t.name)"
        )
        return found
