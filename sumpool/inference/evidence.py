"""Evidence of the summaries of a model: sources of each sentence, and unsupported facts.

The evidence of a summary is rendered by `summary.evidence.entries()` for JSON, `render_evidence_text` of
`sumpool.interpret.evidence` for a terminal, and `write_explanation` of `sumpool.inference.explanation` for a page.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sumpool.data.shards import Item
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.extraction import Reading
from sumpool.inference.summary import Summary
from sumpool.interpret.evidence import Evidence, EvidenceSource, SentenceEvidence
from sumpool.text.fragments import unsupported_facts
from sumpool.text.language import split_words

if TYPE_CHECKING:
    from sumpool.inference.loading import LoadedModel

MAX_SOURCES = 3
"""Source sentences of a summary sentence that are reported at most."""
MIN_WEIGHT = 0.05
"""Weight of a source sentence that is reported at least, but for the heaviest one."""


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
    source = reading.sentences if document.blocks else tuple(_with_lines(reading.sentences, document.text))
    summary = replace(summary, source=source)
    if summary.extraction.sentences:
        sentences = list(summary.extraction.sentences)
        weights = np.zeros((len(sentences), len(source)))
        weights[np.arange(len(sentences)), list(summary.extraction.indices)] = 1
        read = read if for_page else None
    else:
        assert read, "the model has read a document of which it wrote a summary"
        assert read.item, "otherwise there would be a reason"
        sentences, weights = _written_sentences(summary.summary, read.item, read.indices, len(source), model())
    vocabulary = set(split_words(f"{document.title}\n{document.text}"))
    evidence = Evidence(
        tuple(
            SentenceEvidence(sentence, tuple(unsupported_facts(sentence, vocabulary)), top_sources(source, row))
            for sentence, row in zip(sentences, weights, strict=True)
        ),
        read=frozenset(read.indices) if read and read.item else None,
        text=document.text if for_page else "",
    )
    return replace(summary, evidence=evidence)


def _written_sentences(
    text: str, item: Item, indices: Sequence[int], count: int, loaded: "LoadedModel"
) -> tuple[list[str], np.ndarray]:
    """Sentences of a written summary, and their weights (summary sentences, sentences of the document)."""
    from sumpool.interpret.attribution import source_weights  # as extracted sentences need no torch

    parts = loaded.tokenizer.split_sentences(text, loaded.splitter)
    encoded = [
        (" ".join(part.split()), ids) for part, ids in zip(parts, loaded.tokenizer.encode_batch(parts), strict=True)
    ]
    encoded = [(sentence, ids) for sentence, ids in encoded if sentence and ids]
    weights = np.zeros((len(encoded), count))
    attributed = source_weights(loaded.model, item, [ids for _, ids in encoded])
    for column, index in enumerate(indices):
        weights[:, index] += attributed[:, column]
    return [sentence for sentence, _ in encoded], weights


def _with_lines(source: Sequence[SourceSentence], text: str) -> Iterator[SourceSentence]:
    """Yield the sentences of a text without structure with the line that each begins in."""
    line, position = 1, 0
    for sentence in source:
        line += text.count("\n", position, sentence.start)
        position = sentence.start
        yield replace(sentence, line=line)


def top_sources(source: Sequence[SourceSentence], weights: np.ndarray) -> tuple[EvidenceSource, ...]:
    """Return the heaviest source sentences, heaviest first."""
    top = np.argsort(-weights, kind="stable")[:MAX_SOURCES].tolist()
    return tuple(
        EvidenceSource.of(index, source[index], weight=float(weights[index]))
        for rank, index in enumerate(top)
        if weights[index] >= MIN_WEIGHT or (rank == 0 and weights[index] > 0)
    )
