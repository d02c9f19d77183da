"""What a summary may have beside its text: sources of its sentences and unsupported facts, key points, sections."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

import numpy as np

from sumpool.core.decoding.config import DecodingConfig, LengthTarget
from sumpool.documents.document import document_title
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.extraction import Reading
from sumpool.inference.summary import EvidenceSource, SectionSummary, SentenceEvidence, Summary
from sumpool.ranking.selection import listed_sections, section_numbers
from sumpool.ranking.sentence_selector import Candidates, SentenceSelector
from sumpool.text.fragments import unsupported_facts
from sumpool.text.language import content_words, split_words, word_count

if TYPE_CHECKING:
    from sumpool.inference.loading import LoadedModel

MAX_SOURCES: Final = 3
"""Source sentences of a summary sentence that are reported at most."""
_MIN_WEIGHT: Final = 0.05
"""Weight of a source sentence that is reported at least, but for the heaviest one."""
_LONG: Final = 400
"""Words of a section that has two sentences."""
_MAX_OVERLAP: Final = 0.7
"""Share of the content words of a key point at most that the title has, or one sentence of the summary."""


def with_evidence(
    summary: Summary, reading: Reading, model: Callable[[], "LoadedModel"], *, for_page: bool = False
) -> Summary:
    """Return a summary with its evidence.

    Args:
        summary: Summary of a document.
        reading: The document, with what the model has read of it.
        model: Returns the model that made the summary; extracted sentences need no pass of it.
        for_page: Whether the evidence has all that an HTML page shows: what the model has read, and the text.
    """
    document, read = reading.document, reading.input
    source = list(reading.sentences)
    if not document.blocks:  # a text without structure, of which a sentence has the line that it begins in
        line, position = 1, 0
        for index, sentence in enumerate(source):
            line += document.text.count("\n", position, sentence.start)
            position = sentence.start
            source[index] = replace(sentence, line=line)
    if summary.indices:
        sentences = [sentence.text for sentence in summary.sentences]
        weights = np.zeros((len(sentences), len(source)))  # (summary sentences, sentences of the document)
        weights[np.arange(len(sentences)), list(summary.indices)] = 1
        read = read if for_page else None
    else:
        from sumpool.interpret import source_weights  # as extracted sentences need no torch

        assert read, "the model has read a document of which it wrote a summary"
        assert read.item, "otherwise there would be a reason"
        loaded = model()
        parts = loaded.tokenizer.split_sentences(summary.text, loaded.splitter)
        pairs = zip((" ".join(part.split()) for part in parts), loaded.tokenizer.encode_batch(parts), strict=True)
        encoded = [(sentence, ids) for sentence, ids in pairs if sentence and ids]
        sentences = [sentence for sentence, _ in encoded]
        weights = np.zeros((len(sentences), len(source)))
        attributed = source_weights(loaded.model, read.item, [ids for _, ids in encoded])
        for column, index in enumerate(read.indices):
            weights[:, index] += attributed[:, column]
    vocabulary = set(split_words(f"{document.title}\n{document.text}"))
    return replace(
        summary,
        source=tuple(source),
        evidence=tuple(
            SentenceEvidence(sentence, tuple(unsupported_facts(sentence, vocabulary)), top_sources(source, row))
            for sentence, row in zip(sentences, weights, strict=True)
        ),
        read=frozenset(read.indices) if read and read.item else None,
        document=document.text if for_page else "",
    )


def top_sources(source: Sequence[SourceSentence], weights: np.ndarray) -> tuple[EvidenceSource, ...]:
    """Return the heaviest source sentences, heaviest first."""
    top = np.argsort(-weights, kind="stable")[:MAX_SOURCES].tolist()
    return tuple(
        EvidenceSource.of(index, source[index], weight=float(weights[index]))
        for rank, index in enumerate(top)
        if weights[index] >= _MIN_WEIGHT or (rank == 0 and weights[index] > 0)
    )


def with_overview(summary: Summary, reading: Reading, selector: SentenceSelector, config: DecodingConfig) -> Summary:
    """Return a summary with the key points and the sections that the settings ask for."""
    candidates, language = reading.candidates(), summary.language
    document, sentences = candidates.document, candidates.sentences
    if config.key_points:  # sentences that repeat neither the summary nor the title, of all sections in turn
        grouped = candidates
        if not candidates.groups:
            grouped = replace(candidates, groups=section_numbers(document, sentences, candidates.indices))
        shown = (document_title(document), *(sentence.text for sentence in summary.sentences))
        others = [content_words(text, language) for text in shown]
        words = [content_words(sentences[index].text, language) for index in candidates.indices]
        rows = [
            row
            for row, content in enumerate(words)
            if not any(len(content & other) > _MAX_OVERLAP * len(content) for other in others)
        ]
        summary = replace(summary, key_points=_select(grouped.part(rows), selector, config.key_points))
    if config.sections:  # without those that have no prose
        listed = listed_sections(document, sentences)
        summaries = []
        for section, following in zip_longest(listed, listed[1:]):
            length = sum(word_count(sentence.text) for sentence in sentences[section.heading + 1 : section.end])
            selected = _select(selector.of_section(candidates, section), selector, 1 + (length >= _LONG))
            if selected or (following and following.level > section.level):
                heading = sentences[section.heading]
                place = EvidenceSource.of(section.heading, heading, heading.text.rstrip(" :"))
                summaries.append(SectionSummary(section.level, place, selected))
        summary = replace(summary, sections=tuple(summaries))
    return summary


def _select(candidates: Candidates, selector: SentenceSelector, count: int) -> tuple[EvidenceSource, ...]:
    if not candidates.indices:
        return ()
    selected = selector.select(candidates, target=LengthTarget(count, in_sentences=True))
    return tuple(EvidenceSource.of(index, candidates.sentences[index], text) for index, text in selected)
