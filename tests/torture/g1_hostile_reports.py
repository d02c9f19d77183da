"""Hostile texts as documents, summaries, ids and names in reports of every format, read back by parsers."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import source_sentences
from sumpool.evaluation.tables import to_csv, to_latex
from sumpool.inference.explanation import render_explanation
from sumpool.inference.summary import Summary
from sumpool.interpret.evidence import Evidence, EvidenceSource, PoolingWeights, SentenceEvidence, heat_words
from sumpool.text.escaping import escape_markdown, escape_markdown_line, markdown_table
from sumpool.text.sentences import SentenceSplitter
from tests.browser.hostile import PAYLOADS
from tests.evaluation import test_html_report
from tests.evaluation.test_tables import report
from tests.inference import test_explanation
from tests.torture.figures import Measured

ID: Final = "G1"
FIGURE: Final = (
    "hostile documents, summaries, ids and names in reports as HTML, Markdown, LaTeX and CSV: no element, attribute or "
    "address of theirs, one row each, and no formula"
)
NIGHT: Final = 200
QUICK: Final = 12
_STARTS = ("", "=", "+", "-", "@", "\t=", "# ", "| ")
_LENGTH = 1000
_TAGS = {"img", "script", "svg", "iframe", "link", "base", "object", "embed", "form", "textarea", "template", "math"}
_NUMBER = re.compile(r"[+-]?[\d.,]+(?:e[+-]?\d+)?")


def measure(count: int, folder: Path) -> Measured:
    """Write reports with each of `count` payloads."""
    del folder
    texts = [f"{start}{payload[:_LENGTH]}" for start in _STARTS for payload in PAYLOADS]
    step = max(1, len(texts) // count) | 1  # odd: every beginning and every payload has its turn
    faults = []
    for number in range(count):
        text = texts[number * step % len(texts)]
        faults += [f"{name}: {text[:40]!r}" for name, is_inert in _checks(text).items() if not is_inert]
    return Measured("; ".join([f"{count - len(faults):,} of {count:,} inert", *faults[:5]]), not faults, count)


def _checks(text: str) -> dict[str, bool]:
    """Return for each format whether a text is inert."""
    return {
        "report": _is_inert_report(text),
        "explanation": _is_inert_explanation(text),
        "Markdown": _is_inert_markdown(text),
        "LaTeX": len(to_latex(report(text)).splitlines()) == len(to_latex(report("plain")).splitlines()),
        "CSV": _is_inert_csv(text),
    }


def _is_inert_report(text: str) -> bool:
    page = test_html_report.Page(test_html_report.page(text, system=text[:100]))
    return page.tags <= test_html_report.ALLOWED and page.attributes <= test_html_report.ATTRIBUTES


def _is_inert_explanation(text: str) -> bool:
    source = source_sentences(Document(text, text), SentenceSplitter())
    entry = EvidenceSource(0, text, 0, 9, None, None, 1.0)
    words = tuple(tuple(1.0 for _ in heat_words(sentence.text)) for sentence in source)
    entries = (SentenceEvidence(text, (text,), (entry,)),) if source else ()
    evidence = Evidence(entries, frozenset(range(min(1, len(source)))), (PoolingWeights(text, words),))
    summary = Summary(text, text, 0, 1, 1, 0.0, language=text, model=text, mode=text, title=text)
    page = test_explanation.Page(render_explanation(replace(summary, source=source, evidence=evidence, notes=(text,))))
    links = [address for name in ("href", "src", "action", "data", "srcdoc") for address in page.having(name)]
    handlers = [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    return not (handlers or _TAGS & {tag for tag, _ in page.elements} or [link for link in links if link[:1] != "#"])


def _is_inert_markdown(text: str) -> bool:
    renderer = MarkdownIt("gfm-like", {"linkify": False})
    paragraphs = renderer.render(escape_markdown(text))
    cells = renderer.render("\n".join(markdown_table([["a", "b"], [escape_markdown_line(text), "1"]])))
    elements = set(re.findall(r"<([a-z]+)", paragraphs))
    return elements <= {"p", "pre", "code"} and re.findall(r"<(t[hd])>", cells) == ["th", "th", "td", "td"]


def _is_inert_csv(text: str) -> bool:
    rows = list(csv.reader(io.StringIO(to_csv(report(text)))))
    formulas = [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r") and not _NUMBER.fullmatch(cell)]
    return len(rows) == len(list(csv.reader(io.StringIO(to_csv(report("plain")))))) and not [*filter(None, formulas)]
