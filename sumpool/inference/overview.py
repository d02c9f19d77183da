"""Beside the summary of a document: summaries of its sections, and its key points."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from sumpool.core.decoding.config import DecodingConfig, LengthTarget
from sumpool.documents.document import document_title
from sumpool.inference.extraction import Reading
from sumpool.inference.summary import SectionSummary, Summary
from sumpool.interpret.evidence import EvidenceSource, place_name
from sumpool.io.html import escape_html
from sumpool.ranking.sentence_selector import Candidates, SentenceSelector
from sumpool.ranking.table_of_contents import listed_sections, section_numbers
from sumpool.text.language import content_prefixes, split_words, word_count

_LONG: Final = 400
"""Words of a section that has two sentences."""
_MAX_OVERLAP: Final = 0.7
"""Share of the content words of a key point at most that the title has, or one sentence of the summary."""


def with_overview(summary: Summary, reading: Reading, selector: SentenceSelector, config: DecodingConfig) -> Summary:
    """Return a summary with the key points and the sections that the settings ask for."""
    candidates = reading.candidates()
    if config.key_points:
        summary = replace(summary, key_points=_key_points(candidates, selector, config.key_points, summary))
    if config.sections:
        summary = replace(summary, sections=tuple(_sections(candidates, selector)))
    return summary


def _key_points(
    candidates: Candidates, selector: SentenceSelector, count: int, summary: Summary
) -> tuple[EvidenceSource, ...]:
    """Select sentences that repeat neither the summary nor the title, of all sections in turn."""
    if not candidates.groups:
        groups = section_numbers(candidates.document, candidates.sentences, candidates.indices)
        candidates = replace(candidates, groups=groups)
    others = [_content(text, summary.language) for text in (document_title(candidates.document), *summary.sentences)]
    words = [_content(candidates.sentences[index].text, summary.language) for index in candidates.indices]
    rows = [
        row
        for row, content in enumerate(words)
        if not any(len(content & other) > _MAX_OVERLAP * len(content) for other in others)
    ]
    return _select(candidates.part(rows), selector, count)


def _content(text: str, language: str) -> set[str]:
    return set(content_prefixes(split_words(text, language), language))


def _sections(candidates: Candidates, selector: SentenceSelector) -> Iterator[SectionSummary]:
    """Yield the sections with their summaries, without those that have no prose."""
    sentences = candidates.sentences
    sections = listed_sections(candidates.document, sentences)
    for section, following in zip_longest(sections, sections[1:]):
        words = sum(word_count(sentence.text) for sentence in sentences[section.heading + 1 : section.end])
        selected = _select(selector.of_section(candidates, section), selector, 1 + (words >= _LONG))
        if selected or (following and following.level > section.level):
            heading = sentences[section.heading]
            place = EvidenceSource.of(section.heading, heading, heading.text.rstrip(" :"))
            yield SectionSummary(section.level, place, selected)


def _select(candidates: Candidates, selector: SentenceSelector, count: int) -> tuple[EvidenceSource, ...]:
    if not candidates.indices:
        return ()
    selected = selector.select(candidates, target=LengthTarget(count, True, 0))
    return tuple(EvidenceSource.of(index, candidates.sentences[index], text) for index, text in selected)


def html_points(points: Sequence[EvidenceSource], target: str = "") -> str:
    """Render sentences as a list in HTML, each with its place; links lead to `target` and the index of each."""
    return (
        "<ul>\n" + "".join(f"<li>{_html_text(point)} {_html_place(point, target)}</li>\n" for point in points) + "</ul>"
    )


def html_sections(sections: Sequence[SectionSummary], target: str = "") -> str:
    """Render sections as a list in HTML; the level of each is a class."""
    items = "".join(
        f'<dt class="level{section.level}">{_html_text(section.heading)} {_html_place(section.heading, target)}</dt>\n'
        + "".join(f'<dd class="level{section.level}">{_html_text(sentence)}</dd>\n' for sentence in section.sentences)
        for section in sections
    )
    return f"<dl>\n{items}</dl>"


def _html_text(source: EvidenceSource) -> str:
    return f'<span dir="auto">{escape_html(source.text)}</span>'


def _html_place(source: EvidenceSource, target: str) -> str:
    place = escape_html(place_name(source) or f"sentence {source.index + 1}")
    return f'<a href="#{target}{source.index}">{place}</a>' if target else f"({place})"
