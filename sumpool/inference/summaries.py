"""Summaries of a stream of documents: chunk, generate, extract."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.data.items import Item
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.chunking import MAX_GROUP_DOCUMENTS, ChunkedDocument, Chunker, batch_chunks, group_documents
from sumpool.inference.extraction import SentenceExtractor
from sumpool.inference.fast_summaries import fast_model, generate_fast
from sumpool.inference.generation import Generated, Generator, NeedsSearch, OnDrafts
from sumpool.inference.length import length_fault
from sumpool.inference.loading import LoadedModel
from sumpool.inference.mbr_extraction import MbrExtractor
from sumpool.inference.summary import NO_EXTRACTION, Extraction, Summary
from sumpool.inference.summary_choice import SummaryChooser
from sumpool.progress import Check, Progress, Report, go_on, silent
from sumpool.text.form import repair_text
from sumpool.text.language import UNSPACED
from sumpool.text.sentences import SentenceSplitter

GenerateBatch = Callable[[Sequence[Item], Sequence[LengthTarget | None]], list[Generated]]
"""Generation of a batch of chunks with lengths of their summaries, see `Generator.generate`."""
OnDraft = Callable[[Document, str], None]
"""Called with a document and what the beam search has generated of its summary so far."""
_LOOKAHEAD_BATCHES = 8
"""Batches of tokens that are read ahead, so that chunks of similar length meet."""


def generate_summaries(
    documents: Iterable[Document],
    loaded: LoadedModel,
    *,
    lookahead: int | None = None,
    report: Report = silent,
    check: Check = go_on,
    model_lock: AbstractContextManager[object] | None = None,
    on_draft: OnDraft | None = None,
) -> Iterator[Summary]:
    """Summarise documents.

    Args:
        documents: The documents; ids may repeat.
        loaded: The model.
        lookahead: Documents that are read at most before the next of them is summarised; None takes some hundred.
        report: Called with progress, and with a note for every document that is not read to its end.
        check: Called between batches.
        model_lock: Held while the model computes, for models that several threads use.
        on_draft: Called while a summary is generated, unless the mode is extractive. The summary may differ from
            its drafts: other hypotheses may follow, or be chosen.

    Yields:
        Summaries in the order of the documents, while later ones wait.
    """
    total = len(documents) if isinstance(documents, Sized) else None
    config = loaded.recipe.summarize
    if config.fast:
        fast = fast_model(config, loaded.folder, loaded.language)
        yield from generate_fast(documents, fast, report=report, check=check)
        return
    sentences = SentenceExtractor.load(loaded.folder, loaded.language, config.scorer)
    chunker, extractor = Chunker(loaded, sentences), MbrExtractor(config, sentences)
    generator = Generator(loaded.model, loaded.tokenizer, config, loaded.lengths)
    chooser = _chooser(config, loaded.splitter)
    lock = model_lock or nullcontext()
    done = 0
    max_tokens, max_documents = _LOOKAHEAD_BATCHES * config.batch_tokens, lookahead or MAX_GROUP_DOCUMENTS
    for group in group_documents(map(chunker.chunk, documents), max_tokens, max_documents):
        for chunked in group:
            if 0 < chunked.tokens_read < chunked.tokens_total:
                report(Progress("summarize", done, total, note=f"{chunked.document.id}: {chunked.reading}"))
            if chunked.unlearnt and chunked.chunk:
                report(Progress("summarize", done, total, note=f"{chunked.document.id}: {chunked.unlearnt}"))
        on_drafts = _drafts(group, on_draft) if on_draft and config.mode != "extractive" else None
        needs_search = None if on_drafts else _needs_search(group, extractor)
        generate = partial(generator.generate, needs_search=needs_search, on_drafts=on_drafts)
        for chunked, generated, seconds in _generate(group, generate, config.batch_tokens, check, lock):
            if config.repair and generated:
                generated = _repaired(generated, chunked, loaded.splitter)
            summary = _summary(chunked, generated, seconds, extractor, loaded.splitter, chooser)
            done += 1
            if summary.extraction_note:
                report(Progress("summarize", done, total, note=summary.extraction_note))
            report(Progress("summarize", done, total))
            yield summary


def _generate(
    group: Sequence[ChunkedDocument],
    generate: GenerateBatch,
    batch_tokens: int,
    check: Check,
    lock: AbstractContextManager[object],
) -> Iterator[tuple[ChunkedDocument, Generated | None, float]]:
    """Generate batch by batch; a document is yielded as soon as all before it are done.

    Yields:
        A document, what was generated for its chunk, and its share of the seconds.
    """
    chunks = [document.chunk for document in group if document.chunk]
    targets = [document.target for document in group if document.chunk]
    batches = iter(batch_chunks([len(chunk.ids) for chunk in chunks], batch_tokens))
    generated: dict[int, tuple[Generated, float]] = {}
    place = 0
    for document in group:
        if not document.chunk:
            yield document, None, 0.0
            continue
        while place not in generated:
            check()
            batch = next(batches)
            with lock:
                start = time.perf_counter()
                texts = generate([chunks[index] for index in batch], [targets[index] for index in batch])
                seconds = (time.perf_counter() - start) / len(batch)
            generated.update((index, (text, seconds)) for index, text in zip(batch, texts, strict=True))
        yield document, *generated.pop(place)
        place += 1


def _needs_search(group: Sequence[ChunkedDocument], extractor: MbrExtractor) -> NeedsSearch:
    """Return whether the beam search of a chunk can change the summary."""
    documents = {id(chunked.chunk): chunked.document for chunked in group}
    return lambda chunk, samples: extractor.needs_search(documents[id(chunk)], samples)


def _drafts(group: Sequence[ChunkedDocument], on_draft: OnDraft) -> OnDrafts:
    """Return the callback of the drafts of chunks."""
    documents = {id(chunked.chunk): chunked.document for chunked in group}

    def on_drafts(chunks: Sequence[Item], texts: list[str]) -> None:
        for chunk, text in zip(chunks, texts, strict=True):
            on_draft(documents[id(chunk)], text)

    return on_drafts


def _summary(
    chunked: ChunkedDocument,
    generated: Generated | None,
    seconds: float,
    extractor: MbrExtractor,
    splitter: SentenceSplitter,
    chooser: SummaryChooser | None,
) -> Summary:
    """Take the written summary of a document, or the extracted sentences instead."""
    start = time.perf_counter()
    text = generated.text if generated else ""
    # mode auto prefers whole sentences of documents with a structure, whatever is generated
    is_kept = not (extractor.may_extract and chunked.document.blocks)
    if chooser and generated and generated.is_searched and is_kept and chunked.language not in UNSPACED:
        chosen = chooser.choose(generated, chunked.sentences, chunked.target, chunked.language)
        generated, text = replace(chosen, text=text), chosen.text
    extraction = _extract(chunked, generated, text, extractor, splitter)
    separator = "" if chunked.language in UNSPACED else " "
    reason = "" if text or extraction.sentences else "the model must generate a word, but it generated none"
    return Summary(
        id=chunked.document.id,
        summary=separator.join(extraction.sentences) or text,
        score=generated.score if generated and text else None,
        tokens_read=chunked.tokens_read,
        tokens_total=chunked.tokens_total,
        seconds=chunked.seconds + seconds + time.perf_counter() - start,
        reason=chunked.reason or reason,
        mode="extractive" if extraction.sentences else "abstractive",
        language=chunked.language,
        sentences=extraction.sentences or tuple(" ".join(sentence.split()) for sentence in splitter.split(text)),
        extraction=extraction,
        source=chunked.sentences,
    )


def _repaired(generated: Generated, chunked: ChunkedDocument, splitter: SentenceSplitter) -> Generated:
    """Return the same with a well-formed text."""
    if not generated.text or chunked.language in UNSPACED:
        return generated
    document = " ".join(chunked.document.text.split())
    return replace(generated, text=" ".join(repair_text(splitter.split(generated.text), chunked.language, document)))


def _extract(
    chunked: ChunkedDocument,
    generated: Generated | None,
    text: str,
    extractor: MbrExtractor,
    splitter: SentenceSplitter,
) -> Extraction:
    """Select sentences in place of generated text; without the model if it has not learnt the text or says nothing."""
    document, sentences, target = chunked.document, chunked.sentences, chunked.target
    if chunked.extraction or not generated:
        return chunked.extraction or NO_EXTRACTION
    is_chosen = generated.agreement is not None
    if generated.is_searched and not text and not is_chosen and extractor.may_extract:
        return extractor.extract_instead(document, sentences, chunked.language, "the model generated no word", target)
    cause = length_fault(target, document.text, text, splitter) if target and text else ""
    if is_chosen and not text:
        cause = "no generated sentence is founded in the document"
    extraction = extractor.extract(document, sentences, generated, chunked.language, target, cause)
    return extraction if extraction.sentences or not is_chosen else _copied(text, sentences, splitter)


def _copied(text: str, sentences: Sequence[SourceSentence], splitter: SentenceSplitter) -> Extraction:
    """Return the sentences of a generated text if all of them are sentences of the document."""
    places = {sentence.text: index for index, sentence in reversed(list(enumerate(sentences)))}
    indices = {places.get(" ".join(part.split()), -1) for part in splitter.split(text)}
    if -1 in indices or not indices:
        return NO_EXTRACTION
    ordered = sorted(indices)
    return Extraction(tuple(sentences[index].text for index in ordered), tuple(ordered))


def _chooser(config: DecodingConfig, splitter: SentenceSplitter) -> SummaryChooser | None:
    """Return the choice among generated summaries that the settings ask for."""
    if config.mode == "extractive" or not (config.mbr or config.factuality != "any"):
        return None
    return SummaryChooser(config, splitter)
