"""Evidence of the summaries of a model: sources of each sentence, unsupported facts, and weights for display.

`generate_with_evidence` and `summarize_with_evidence` stand in for the functions without evidence. The evidence of a
summary is rendered by `summary.evidence.entries()` for JSON, `render_evidence_text` of `sumpool.interpret.evidence` for
a terminal, and `write_explanation` of `sumpool.inference.explanation` for an HTML page.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import tee
from pathlib import Path

import numpy as np

from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.evaluation.abstractiveness import unsupported_facts
from sumpool.inference.chunking import ChunkedDocument, Chunker
from sumpool.inference.loading import LoadedModel, load_for_generation
from sumpool.inference.summaries import generate_summaries
from sumpool.inference.summary import Summary
from sumpool.interpret.attribution import pooling_weights
from sumpool.interpret.evidence import Evidence, EvidenceSource, PoolingWeights, SentenceEvidence
from sumpool.interpret.heat import word_weights
from sumpool.interpret.source_weights import source_weights
from sumpool.progress import Check, Report, go_on, silent
from sumpool.text.fragments import words

MAX_SOURCES = 3
"""Source sentences of a summary sentence that are reported at most."""
MIN_WEIGHT = 0.05
"""Weight of a source sentence that is reported at least, but for the heaviest one."""


def generate_with_evidence(
    documents: Iterable[Document],
    folder: Path,
    overrides: Sequence[str],
    *,
    for_page: bool = False,
    report: Report,
    check: Check,
) -> Iterator[Summary]:
    """Load a model and summarise documents with it, as `sumpool.workflows.summarize.generate_here` does.

    Args:
        documents: The documents; ids may repeat.
        folder: The run folder.
        overrides: Settings to change, each like `summarize.beams=1`.
        for_page: Whether the evidence has all that an HTML page shows.
        report: Called with progress and with notes on documents.
        check: Called between batches.

    Returns:
        Summaries with `evidence`, in the order of the documents.
    """
    loaded = load_for_generation(folder, overrides)
    return summarize_with_evidence(documents, loaded, for_page=for_page, report=report, check=check)


def summarize_with_evidence(
    documents: Iterable[Document],
    loaded: LoadedModel,
    *,
    for_page: bool = False,
    report: Report = silent,
    check: Check = go_on,
) -> Iterator[Summary]:
    """Summarise documents as `generate_summaries` does, with the evidence of each summary.

    Args:
        documents: The documents; ids may repeat.
        loaded: The model.
        for_page: Whether the evidence has all that an HTML page shows: the weights after each pooling, and the text.
        report: Called with progress, and with a note for every document that is not read to its end.
        check: Called between batches.

    Yields:
        Summaries with `evidence`, in the order of the documents.
    """
    read, same = tee(documents)
    summaries = generate_summaries(read, loaded, report=report, check=check)
    for summary, document in zip(summaries, same, strict=True):
        yield add_evidence(summary, document, loaded, for_page=for_page)


def add_evidence(summary: Summary, document: Document, loaded: LoadedModel, *, for_page: bool = False) -> Summary:
    """Return a summary with its evidence; one without text is returned unchanged.

    Args:
        summary: Summary of the document.
        document: The document.
        loaded: The model that made the summary. Extracted sentences need no pass of it.
        for_page: Whether the evidence has all that an HTML page shows: the weights after each pooling, and the text.
    """
    if not summary.summary:
        return summary
    is_written = not summary.extraction.sentences
    chunked = Chunker(loaded).chunk(document) if is_written or (for_page and summary.tokens_read) else None
    source = chunked.sentences if chunked and is_written else summary.source
    summary = replace(summary, source=source if document.blocks else tuple(_with_lines(source, document.text)))
    if chunked and is_written:
        sentences, weights = _written_sentences(summary.summary, chunked, loaded)
    else:
        sentences = list(summary.extraction.sentences)
        weights = np.zeros((len(sentences), len(summary.source)))
        weights[np.arange(len(sentences)), list(summary.extraction.indices)] = 1
    vocabulary = set(words(f"{document.title}\n{document.text}"))
    evidence = Evidence(
        tuple(
            SentenceEvidence(
                sentence, tuple(unsupported_facts(sentence, vocabulary)), _top_sources(summary.source, row)
            )
            for sentence, row in zip(sentences, weights, strict=True)
        ),
        read=frozenset(chunked.indices) if chunked and chunked.chunk else None,
        poolings=tuple(_poolings(chunked, loaded)) if chunked and for_page else (),
        text=document.text if for_page else "",
    )
    return replace(summary, evidence=evidence, title=document.title, notes=document.notes)


def _written_sentences(text: str, chunked: ChunkedDocument, loaded: LoadedModel) -> tuple[list[str], np.ndarray]:
    """Sentences of a written summary, and their weights (summary sentences, sentences of the document)."""
    parts = loaded.tokenizer.split_sentences(text, loaded.splitter)
    encoded = [
        (" ".join(part.split()), ids) for part, ids in zip(parts, loaded.tokenizer.encode_batch(parts), strict=True)
    ]
    encoded = [(sentence, ids) for sentence, ids in encoded if sentence and ids]
    weights = np.zeros((len(encoded), len(chunked.sentences)))
    assert chunked.chunk, "the model has read a document of which it wrote a summary"
    attributed = source_weights(loaded.model, chunked.chunk, [ids for _, ids in encoded])
    for column, index in enumerate(chunked.indices):
        weights[:, index] += attributed[:, column]
    return [sentence for sentence, _ in encoded], weights


def _with_lines(source: Sequence[SourceSentence], text: str) -> Iterator[SourceSentence]:
    """Yield the sentences of a text without structure with the line that each begins in."""
    line, position = 1, 0
    for sentence in source:
        line += text.count("\n", position, sentence.start)
        position = sentence.start
        yield replace(sentence, line=line)


def _top_sources(source: Sequence[SourceSentence], weights: np.ndarray) -> tuple[EvidenceSource, ...]:
    """Return the heaviest source sentences, heaviest first."""
    top = np.argsort(-weights, kind="stable")[:MAX_SOURCES].tolist()
    return tuple(
        EvidenceSource(
            index,
            source[index].text,
            source[index].start,
            source[index].end,
            source[index].page,
            source[index].line,
            float(weights[index]),
        )
        for rank, index in enumerate(top)
        if weights[index] >= MIN_WEIGHT or (rank == 0 and weights[index] > 0)
    )


def _poolings(chunked: ChunkedDocument, loaded: LoadedModel) -> Iterator[PoolingWeights]:
    """Weights of the words of a document after each pooling, first to last."""
    chunk, token_bytes = chunked.chunk, loaded.tokenizer.token_bytes()
    if not chunk:
        return
    layers = [layer.pool for layer in loaded.recipe.model.encoder]
    names = [f"pooling {layer.kind} after layer {number}" for number, layer in enumerate(layers, 1) if layer]
    for name, pooled in zip(names, pooling_weights(loaded.model, chunk), strict=False):
        tokens: list[list[bytes]] = [[] for _ in chunked.sentences]
        weights: list[list[float]] = [[] for _ in chunked.sentences]
        for token, number, weight in zip(chunk.ids, chunk.sentences, pooled.tolist(), strict=True):
            tokens[chunked.indices[number]].append(token_bytes[token])
            weights[chunked.indices[number]].append(weight)
        rows = zip(chunked.sentences, tokens, weights, strict=True)
        yield PoolingWeights(name, tuple(word_weights(sentence.text, part, values) for sentence, part, values in rows))
