"""The page of `sumpool serve` in a browser: summaries, files, evidence, errors, keyboard, accessibility."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sumpool.documents.read import read_documents
from sumpool.io.manifest import SHIPPED
from tests.browser.conftest import AXE, Browser
from tests.browser.hostile import PAYLOADS
from tests.browser.service_page import PROCESSES, SETTINGS, TEXT, Page, Service, serving

MAX_BYTES = 400_000
HTML = f"<!doctype html><title>Routes</title><h1>Routes</h1><p>{TEXT.replace(chr(10) * 2, '</p><p>')}</p>"
ROWS = "\n".join(json.dumps({"text": f"{TEXT} Version {number}."}) for number in range(12))
STATES = [(dark, width) for dark in (False, True) for width in (1280, 360)]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with serving("--max-bytes", str(MAX_BYTES)) as started:
        yield started


@pytest.fixture
def page(browser: Browser, service: Service) -> Page:
    return Page(browser, service)


def test_a_pasted_text_becomes_the_summary_of_the_command_line(page: Page, service: Service, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text(TEXT)
    command = [sys.executable, "-m", "sumpool", "summarize", str(file), "--model", str(SHIPPED), "--format", "json"]
    line = subprocess.run([*command, *SETTINGS], capture_output=True, check=True, text=True).stdout
    page.paste(TEXT)
    assert page.summarise() == json.loads(line)["summary"] == service.ask(TEXT)["text"]
    assert re.fullmatch(
        r"\d+ of 140 words \u00b7 (sentences of the document|generated, .*)", page.element(".about").text
    )
    assert page.texts(".name") == ["Pasted text"]
    assert f"{service.address}v1/summaries/stream" in {address.rstrip("?") for address in page.browser.requests()}


@pytest.mark.parametrize("way", ["input", "drop"])
@pytest.mark.parametrize(("name", "content"), [("routes.txt", TEXT), ("routes.html", HTML)])
def test_files_are_chosen_or_dropped(
    page: Page, service: Service, tmp_path: Path, way: str, name: str, content: str
) -> None:
    if way == "drop":
        page.drop((name, content))
    else:
        (tmp_path / name).write_text(content)
        page.element("#file").send_keys(str(tmp_path / name))
    assert page.element("#status").text == f"{name} is chosen."
    assert page.summarise() == service.ask_file(content)["text"]
    page.element("#files button").click()
    assert page.texts("#files li") == []
    assert page.fail().startswith("There is nothing to summarise yet")


def test_several_documents_become_a_list(page: Page) -> None:
    page.drop(("routes.html", HTML), ("picture.png", "\x89PNG\r\n\x1a\n\x00\x00"))
    page.drop(("rows.jsonl", "\n".join(ROWS.split("\n")[:2])))
    page.paste("A short text.")
    page.submit()
    page.until_ready()
    assert page.element("#status").text == "4 summaries are ready."
    names = ["Routes", "picture.png", "rows.jsonl:1", "rows.jsonl:2", "Pasted text"]
    assert page.texts(".name") == names
    assert page.texts("#contents li") == [names[0], "picture.png (no summary)", *names[2:]]
    assert page.texts(".failed .name") == ["picture.png"]
    assert page.texts(".about")[0].startswith("routes.html \u00b7 ")
    for _ in page.texts("#files button"):
        page.element("#files button").click()
    page.summarise()
    assert page.texts(".name") == ["Pasted text", *names], "newer ones stand above"
    last = page.browser.driver.find_elements("css selector", "#contents a")[1]
    last.click()
    assert page.run("return document.querySelector(':target .name').textContent") == "Routes"
    page.element("#clear").click()
    assert page.texts("article, #contents li") == []
    assert not page.element("#result").is_displayed()


def test_key_points_and_sections_are_shown(page: Page) -> None:
    page.drop(("routes.html", HTML.replace("<p>The protocol", "<h2>Security</h2><p>The protocol")))
    for name in ("points", "sections"):
        page.element(f"#{name}").click()
    page.summarise()
    assert page.texts("h5")[-1].startswith("Security line ")
    assert len(page.texts(".overview li")) in range(1, 6)
    assert all(text.split(" line ")[0] in TEXT.replace("\n", " ") for text in page.texts(".overview li"))


def test_a_sample_is_summarised(page: Page) -> None:
    page.element("#sample").click()
    page.until_ready()
    assert "LDAP" in page.texts("#summaries .text")[0]


def test_summaries_are_downloaded_and_copied(page: Page, tmp_path: Path) -> None:
    from selenium.webdriver import Keys

    allowed = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)
    page.drop(("routes.html", HTML.replace("table of routes", "table of &lt;routes&gt; &amp; *names*")))
    text = page.summarise()
    for kind, suffix in (("markdown", "md"), ("word", "docx")):
        file = tmp_path / f"Routes.{suffix}"
        page.element(f".{kind}").click()
        page.browser.until(file.exists)
        (document,) = read_documents(str(file))
        assert document.title == "Routes"
        assert text in " ".join(document.text.split())
    page.element(".copy").click()
    page.browser.until(lambda: page.element("#status").text == "The summary is copied.")
    page.element("#text").send_keys(Keys.CONTROL, "v")
    assert page.element("#text").get_property("value") == text


def test_summaries_of_rows_come_one_by_one(page: Page) -> None:
    page.drop(("rows.jsonl", ROWS))
    page.submit()
    page.browser.until(lambda: page.texts("article .text"))
    assert page.element("#status").text.startswith("Summarising rows.jsonl"), (
        "the first of twelve is shown before the last"
    )
    page.browser.until(lambda: page.element("#status").text == "12 summaries are ready.")
    names = page.browser.driver.find_elements("css selector", ".name")
    assert [name.text for name in names] == [f"rows.jsonl:{number}" for number in range(1, 13)]


def test_texts_have_their_direction(page: Page) -> None:
    page.paste("مرحبا بالعالم. هذا نص عربي قصير عن الشبكات والموجهات.")
    page.summarise()
    page.open_evidence()
    directions = page.run(
        "return ['.text', '.sentences p', 'mark', '.about']"
        ".map(selector => getComputedStyle(document.querySelector(selector)).direction)"
    )
    assert directions == ["rtl", "rtl", "rtl", "ltr"]
    assert page.element(".about").text.endswith("sentences of the document")


def test_the_length_is_obeyed(page: Page, service: Service) -> None:
    page.choose("mode", "extractive")
    page.paste(TEXT)
    assert not page.element("#amount").is_displayed()
    summaries = set()
    for value, unit in ((30, "w"), (1, "s"), (40, "%")):
        page.set_length(value, unit)
        summaries.add(page.summarise())
        assert service.ask(TEXT, mode="extractive", length=f"{value}{unit}")["text"] in summaries
    page.choose("length", "short")
    assert page.summarise() == service.ask(TEXT, mode="extractive", length="short")["text"]
    assert len(summaries) == 3


def test_the_mode_is_obeyed(page: Page, service: Service) -> None:
    page.paste(TEXT)
    summaries = set()
    for mode in ("extractive", "abstractive"):
        page.choose("mode", mode)
        summaries.add(page.summarise())
        answer = service.ask(TEXT, mode=mode)
        assert answer["text"] in summaries
        assert page.element(".about").text.endswith("document" if answer["mode"] == "extractive" else "its sources")
    assert len(summaries) > 1


@pytest.mark.parametrize("mode", ["extractive", "abstractive"])
def test_evidence_marks_the_sources_of_each_sentence(page: Page, service: Service, mode: str) -> None:
    text = f"\U0001f600 {TEXT}"  # a character of two UTF-16 units must not move the marks
    page.paste(text)
    page.choose("mode", mode)
    page.summarise()
    page.open_evidence()
    evidence = service.ask(text, mode=mode, evidence=True)["evidence"]
    assert page.texts(".sentences > li > p:first-child") == [entry["sentence"] for entry in evidence["sentences"]]
    sources = {source["start"]: source["text"] for entry in evidence["sentences"] for source in entry["sources"]}
    marked = page.run("return [...document.querySelectorAll('mark')].map(mark => mark.firstChild.data)")
    assert [" ".join(mark.split()) for mark in marked] == [source for _, source in sorted(sources.items())]
    shown = page.run(
        "document.querySelectorAll('mark a').forEach(a => a.hidden = true);"
        "return document.querySelector('.source').innerText"
    )
    assert " ".join(shown.split()) == " ".join(text.split())
    number, entry = max(enumerate(evidence["sentences"], 1), key=lambda pair: len(pair[1]["sources"]))
    assert page.texts(f".sentences > li:nth-child({number}) li") == [
        f"line {source['line']}" + (f" {source['weight']:.0%}" if len(entry["sources"]) > 1 else "")
        for source in entry["sources"]
    ]
    assert mode == "extractive" or len(entry["sources"]) > 1


def test_evidence_names_unsupported_facts(page: Page, service: Service) -> None:
    page.paste(PROCESSES)
    page.choose("mode", "abstractive")
    page.summarise()
    page.open_evidence()
    evidence = service.ask(PROCESSES, mode="abstractive", evidence=True)["evidence"]
    unsupported = [", ".join(entry["unsupported"]) for entry in evidence["sentences"] if entry["unsupported"]]
    assert unsupported
    assert page.texts(".unsupported") == [f"Not in the document: {facts}" for facts in unsupported]


def test_pointing_at_a_sentence_marks_its_sources(page: Page) -> None:
    from selenium.webdriver import ActionChains

    page.paste(TEXT)
    page.choose("mode", "extractive")
    page.summarise()
    page.open_evidence()
    first, second, *_ = page.browser.driver.find_elements("css selector", "mark")
    plain = first.value_of_css_property("background-color")
    ActionChains(page.browser.driver).move_to_element(page.element(".sentences > li")).perform()
    assert first.value_of_css_property("background-color") != plain
    assert second.value_of_css_property("background-color") == plain
    page.element(".sentences > li:nth-child(2) a").click()
    assert page.run("return document.querySelector(':target').textContent") == second.get_property("textContent")
    second.find_element("css selector", "a").click()
    assert page.run("return document.querySelector(':target').matches('.sentences > li:nth-child(2)')")


def test_errors_are_announced_as_sentences(page: Page) -> None:
    assert page.fail() == "There is nothing to summarise yet; choose a file or paste a text."
    page.paste("A text.")
    page.summarise()
    assert page.error() == ""
    page.paste("x" * MAX_BYTES)
    assert page.fail() == "The text is larger than the 0.381 MiB that the service accepts."
    page.element("#text").clear()
    page.drop(("picture.png", "\x89PNG\r\n\x1a\n\x00\x00"))
    assert page.fail().startswith("picture.png must be text or one of .txt, ")
    assert page.error().endswith("got binary data.")
    page.drop(("empty.txt", ""))
    assert page.fail() == "No document has a summary; the reasons are below."
    assert page.texts(".failed .text")[1] == "The document must hold text, got none."
    alerts = page.run("return alerts")
    assert len([alert for alert in alerts if alert]) == 4
    assert page.element("#status").get_attribute("role") == "status"


def test_a_file_that_is_gone_is_an_error(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "gone.txt"
    file.write_text(TEXT)
    page.element("#file").send_keys(str(file))
    file.unlink()
    assert page.fail() == "gone.txt cannot be read; choose it again."


def test_a_request_can_be_cancelled(page: Page) -> None:
    page.paste(TEXT)
    assert not page.element("#cancel").is_displayed()
    with page.service.stopped():
        page.submit()
        assert page.element("#status").text == "Reading the text ..."
        assert page.element("#progress").is_displayed()
        page.browser.until(lambda: page.element("#seconds").text in ("1 s", "2 s"))
        page.element("#cancel").click()
        page.browser.until(lambda: page.element("#status").text == "Cancelled.")
        assert not page.element("#cancel").is_displayed()
        assert page.focused() == "button"
        assert page.error() == ""
        assert page.texts("article") == []
        assert not page.element("#result").is_displayed()
    assert page.summarise(), "the page works on"


def test_a_token_is_asked_for_and_a_lost_service_is_named(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-token-of-24-characters")
    with serving("--token-file", str(tmp_path / "token")) as service:
        page = Page(browser, service)
        assert not page.element("#token").is_displayed()
        page.paste(TEXT)
        assert page.fail() == "The header Authorization must be Bearer and the token of this service."
        page.element("#token").send_keys("a-token-of-24-characters")
        assert page.summarise()
        page.drop(("rows.jsonl", ROWS))
        page.submit()
        page.browser.until(lambda: page.texts("article .text"))
        service.process.kill()
        service.process.wait()
        gone = "The service does not answer; check that sumpool serve is running and try again."
        assert page.browser.until(page.error) == gone
        assert page.element("#result").is_displayed(), "what was complete stays"
        assert page.fail() == gone


def test_everything_works_by_keyboard(page: Page) -> None:
    from selenium.webdriver import Keys

    page.paste(TEXT)
    assert page.focused() == "text"
    assert page.press(Keys.SHIFT, Keys.TAB) == "file"
    order = ["text", "length", "mode", "points", "sections", "button"]
    assert [page.press(Keys.TAB) for _ in order] == order
    for _ in range(3):
        page.press(Keys.SHIFT, Keys.TAB)
    page.press("s")
    page.press(Keys.SHIFT, Keys.TAB)
    page.press("e")
    assert [page.press(Keys.TAB) for _ in range(2)] == ["amount", "unit"]
    page.press("s")
    page.press(Keys.SHIFT, Keys.TAB)
    page.press(Keys.BACKSPACE, Keys.BACKSPACE, Keys.BACKSPACE, "5", Keys.ENTER)
    page.until_ready()
    assert len(page.texts(".sentences > li")) == 0
    reached = [page.press(Keys.TAB) for _ in range(11)]
    assert " ".join(reached) == "unit mode points sections button sample clear button button button summary"
    page.press(Keys.ENTER)
    page.browser.until(lambda: page.texts(".sentences > li"))
    assert len(page.texts(".sentences > li")) == 5
    reached = [page.press(Keys.TAB) for _ in range(11)]
    assert reached == ["a"] * 5 + ["region"] + ["a"] * 5
    assert page.press(Keys.ENTER) == "s1-5"
    assert page.press(Keys.TAB, Keys.ENTER).startswith("d1-")


def test_nothing_is_loaded_from_elsewhere(page: Page, service: Service) -> None:
    page.drop(("routes.html", HTML))
    page.summarise()
    page.open_evidence()
    paths = {address.removeprefix(service.address).partition("?")[0] for address in page.browser.requests()}
    assert paths - {"favicon.ico"} == {"", "page.css", "page.js", "v1/summaries/stream"}
    entries = page.run("return performance.getEntriesByType('resource').map(entry => new URL(entry.name).origin)")
    assert {f"{origin}/" for origin in entries} == {service.address}


@pytest.mark.parametrize("number", range(len(PAYLOADS)))
def test_hostile_texts_are_shown_as_text(page: Page, service: Service, number: int) -> None:
    payload = PAYLOADS[number][: MAX_BYTES // 16 // 4]  # a text may have a sixteenth of the bytes in characters
    text = f"{payload} is a payload. Hosts send {payload} packets.\n\n{payload}"
    count_outside = "return document.querySelectorAll('*').length - document.querySelectorAll('main *').length"
    before = page.run(count_outside)
    page.choose("mode", "extractive")
    page.set_length(100, "%")
    page.paste(text)
    page.summarise()
    page.open_evidence()
    assert page.run(count_outside) == before
    elements = page.run("return [...document.querySelectorAll('#result *')].map(element => element.localName)")
    attributes = page.run(
        "return [...document.querySelectorAll('#result *')].flatMap(element => element.getAttributeNames())"
    )
    allowed = {"h2", "h3", "div", "article", "p", "details", "summary", "ol", "ul", "li", "mark", "a", "button"}
    assert set(elements) <= allowed
    assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcdoc")]
    assert page.run("return window.ran") is None
    assert all(address.startswith(service.address) for address in page.browser.requests())
    assert page.run("return location.href").startswith(service.address)
    for shown in page.texts(".text, .sentences, .source"):
        assert not re.search("[\x00-\x08\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert page.run("return document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("payload", PAYLOADS[::4])
def test_hostile_names_are_shown_as_text(page: Page, payload: str) -> None:
    name = f"{payload[:60]}.jsonl"
    page.drop((name, f'{{"text": {json.dumps(TEXT)}}}\n{{"text": ""}}'))
    page.summarise()
    assert page.run("return document.querySelectorAll('.name *, .failed .text *, #status *, script + *').length") == 0
    assert page.run("return window.ran") is None
    assert page.texts(".name")[0].startswith(payload[:3])


@pytest.mark.parametrize(("dark", "width"), STATES)
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not downloaded: make browser-test")
def test_axe_finds_no_violation(browser: Browser, service: Service, dark: bool, width: int) -> None:
    page = Page(browser, service, dark=dark, width=width)
    assert browser.violations() == []
    page.fail()
    assert browser.violations() == []
    page.drop(("rows.jsonl", "\n".join(ROWS.split("\n")[:2])))
    assert browser.violations() == []
    page.choose("mode", "abstractive")
    page.summarise()
    assert browser.violations() == []
    page.open_evidence()
    browser.driver.find_element("css selector", ".sentences a").click()
    assert browser.violations() == []
    browser.driver.find_elements("css selector", "details > summary")[1].click()
    browser.until(lambda: len(page.texts(".source")[1]) > 0)
    assert browser.violations() == []
    page.element("#files button").click()
    page.drop(("picture.png", "\x89PNG\r\n\x1a\n\x00\x00"))
    page.fail()
    assert browser.violations() == []


@pytest.mark.parametrize("width", [1280, 360, 320])
def test_the_page_fits_the_width(browser: Browser, service: Service, width: int) -> None:
    page = Page(browser, service, width=width)
    fits = "return document.documentElement.scrollWidth <= innerWidth"
    assert page.run(fits)
    page.drop((f"{'longname' * 25}.txt", f"{'unbreakable' * 100} is long."))
    assert page.run(fits)
    page.choose("mode", "extractive")
    page.summarise()
    assert "unbreakableunbreakable" in page.texts(".text")[0]
    page.open_evidence()
    assert page.run(fits)
    page.element("#files button").click()
    page.drop((f"{'anotherlongname' * 12}.png", "\x89PNG\r\n\x1a\n\x00\x00"))
    page.fail()
    assert page.run(fits)
