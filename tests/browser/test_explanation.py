"""The explanation of a summary in a browser: pointing, hostile documents, accessibility."""

from dataclasses import replace

import pytest

from sumpool.documents.document import Document, TextBlock
from sumpool.inference.evidence import with_evidence
from sumpool.inference.html_pages import render_explanation
from sumpool.inference.loading import LoadedModel, load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.rendering import Rendering
from sumpool.inference.summary import EvidenceSource, SentenceEvidence, Summary, SummarySentence
from sumpool.io.manifest import SHIPPED
from tests.browser.conftest import AXE, Browser
from tests.browser.hostile import DOCUMENTS, hostile_texts
from tests.conftest import story

WIDTHS = (1280, 390)
HEADING, ITEM = TextBlock("Hosts and gateways", "heading", 1, page=1), TextBlock("a host that sends", "list_item", 1)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    """The shipped model."""
    settings = ("mode=abstractive", "beams=1", "mbr=false", "factuality=any")
    return load_for_generation(SHIPPED, [f"summarize.{setting}" for setting in settings])


@pytest.fixture(scope="module")
def page(loaded: LoadedModel) -> str:
    """A page with all that a page can hold: pages, unread text, unsupported facts."""
    texts = story(1, 400).split("\n\n")
    blocks = [HEADING, *(TextBlock(text, page=1 + number // 10) for number, text in enumerate(texts)), ITEM]
    text = "\n\n".join(block.text for block in blocks)
    document = Document("memo.pdf", text, title="Memo", blocks=tuple(blocks))
    (summary,) = Pipeline.of(loaded).summarize([document], evidence="page")
    assert summary.evidence is not None
    first, *others = summary.evidence
    marked = replace(first, unsupported=("42", "MIT"))
    return render_explanation(replace(summary, evidence=(marked, *others), language="en", model="the shipped model"))


def test_pointing_at_a_summary_sentence_marks_its_sources(browser: Browser, page: str) -> None:
    from selenium.webdriver import ActionChains

    browser.open(page)
    actions = ActionChains(browser.driver)
    plain = browser.background(".used.f1")
    assert browser.background("#s1") != plain
    actions.move_to_element(browser.driver.find_element("id", "s1")).perform()
    pointed = browser.background(".used.f1")
    assert pointed != plain
    assert browser.background("#s1") == pointed
    assert browser.background(".used:not(.f1)") == plain
    actions.move_to_element(browser.driver.find_element("id", "document-title")).perform()
    assert browser.background(".used.f1") == plain


def test_pointing_at_a_source_marks_summary_sentences(browser: Browser, page: str) -> None:
    from selenium.webdriver import ActionChains

    browser.open(page)
    source = browser.driver.find_element("css selector", ".used.f2")
    browser.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", source)
    plain = browser.background("#s2")
    ActionChains(browser.driver).move_to_element(source).perform()
    pointed = browser.background("#s2")
    assert pointed != plain
    others = [n for n in range(1, 9) if browser.driver.find_elements("id", f"s{n}")]
    named = source.get_attribute("class").split()
    for number in others:
        assert (browser.background(f"#s{number}") == pointed) == (f"f{number}" in named)


def test_everything_is_reachable_with_the_keyboard(browser: Browser, page: str) -> None:
    from selenium.webdriver import ActionChains, Keys

    browser.open(page)
    links = len(browser.driver.find_elements("css selector", "a"))
    reached = set()
    for _ in range(links + 2):  # links, the summary and the details
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        if browser.run("return document.activeElement.localName") == "summary":
            ActionChains(browser.driver).send_keys(Keys.ENTER).perform()
        reached.add(browser.run("return document.activeElement.outerHTML"))
        outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
    assert len([element for element in reached if element.startswith("<a ")]) >= len(
        set(browser.run("return [...document.querySelectorAll('a')].map(a => a.outerHTML)"))
    )
    browser.open(page)
    ActionChains(browser.driver).send_keys(Keys.TAB, Keys.ENTER).perform()
    assert browser.run("return location.hash") == "#document", "the first link skips the summary"


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_the_width_and_links_lead_to_the_source_and_back(browser: Browser, page: str, width: int) -> None:
    browser.open(page, width=width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    beside = browser.run(
        "return document.querySelector('.document').getBoundingClientRect().left"
        " > document.querySelector('.summary').getBoundingClientRect().right"
    )
    assert beside == (width > 1000)
    link = browser.driver.find_element("css selector", "#s2 a")
    target = link.get_attribute("href").partition("#")[2]
    link.click()
    assert browser.run("return location.hash") == f"#{target}"
    top = browser.run(f"return document.getElementById('{target}').getBoundingClientRect().top")
    assert 0 <= top < 900
    pointed = browser.background(f"#{target}")
    assert browser.background("#s2") == pointed
    browser.driver.find_element("css selector", f"#{target} a[href='#s2']").click()
    assert browser.run("return location.hash") == "#s2"
    assert browser.background(f"#{target}") == pointed


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not downloaded: make browser-test")
def test_axe_finds_no_violation(browser: Browser, page: str, dark: bool, width: int) -> None:
    browser.open(page, dark=dark, width=width, fragment="#s1")
    assert browser.violations() == []
    browser.driver.find_element("css selector", "details > summary").click()
    assert browser.violations() == []


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not downloaded: make browser-test")
def test_axe_finds_no_violation_in_plain_pages(browser: Browser, loaded: LoadedModel) -> None:
    (summary,) = Pipeline.of(loaded).summarize([Document("memo.txt", story(1, 40), title="Memo")], evidence="sources")
    for dark in (False, True):
        browser.open(Rendering("html", "bullets").render(replace(summary, language="en")), dark=dark, width=390)
        assert browser.violations() == []
        assert browser.run("return document.documentElement.scrollWidth") <= 390


def hostile_page(number: int, loaded: LoadedModel) -> tuple[str, str]:
    """Explanation and plain page of a hostile document, with hostile names and a hostile summary."""
    id, title, note, heading, code, body, sentence, fact, name, language = hostile_texts(number, 10)
    blocks = (TextBlock(heading, "heading", 2), TextBlock(code, "code"), TextBlock(body), TextBlock(sentence, "notice"))
    document = Document(id, "\n\n".join(b.text for b in blocks), title=title, blocks=blocks, notes=(note,))
    reading = Pipeline.of(loaded).read(document)
    source = reading.sentences
    chosen = SummarySentence(sentence, (source[-1].start, source[-1].end), len(source) - 1)
    summary = Summary(
        id, sentence, 0.0, 1, 2, title=title, language=language, model=name, sentences=(chosen,), source=source
    )
    explained = with_evidence(summary, reading, lambda: loaded, for_page=number % 10 == 0)
    last = source[-1]
    entry = EvidenceSource(len(source) - 1, fact, last.start, last.end, None, None, 1.0)
    hostile = replace(explained, evidence=(SentenceEvidence(sentence, (fact,), (entry,)),))
    return render_explanation(hostile), Rendering("html", "bullets" if number % 2 else "paragraph").render(hostile)


def test_hostile_documents_run_and_load_nothing(browser: Browser, loaded: LoadedModel) -> None:
    for number in range(DOCUMENTS):
        for markup in hostile_page(number, loaded):
            browser.open(markup)
            state = browser.run(
                "return {ran: window.ran || 0, links: [...document.links].map(a => a.getAttribute('href')),"
                "elements: document.querySelectorAll('script,iframe,object,embed,img,svg,math,link,base,form,template,"
                "video,audio,textarea,button').length,"
                "handlers: [...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
                ".filter(n => n.startsWith('on') || n == 'style' || n == 'src').length,"
                "metas: document.querySelectorAll('meta').length, text: document.body.textContent.length}"
            )
            assert state["ran"] == state["elements"] == state["handlers"] == 0, number
            assert all(link.startswith("#") for link in state["links"]), number
            assert state["metas"] <= 4, number
            assert state["text"] > 0
            assert browser.messages() == [], number
            assert browser.requests() == set(), number
