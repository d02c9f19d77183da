"""The report of an evaluation in a browser."""

import pytest

from tests.browser.conftest import AXE, Browser
from tests.browser.hostile import PAYLOADS
from tests.evaluation.test_report import page


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not downloaded: make browser-test")
def test_axe_finds_no_violation(browser: Browser, dark: bool, width: int) -> None:
    browser.open(page("rfc7"), dark=dark, width=width)
    assert browser.violations() == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_fits_the_width(browser: Browser, width: int) -> None:
    browser.open(page("rfc7"), width=width)
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_hostile_reports_run_and_load_nothing(browser: Browser) -> None:
    for number, payload in enumerate(PAYLOADS):
        browser.open(page(payload[:4000], system=payload[:100]))
        assert browser.run("return window.ran || document.querySelectorAll('script,iframe,img,link,base').length") == 0
        assert browser.messages() == [], number
        assert browser.requests() == set(), number
