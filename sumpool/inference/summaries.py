"""Summaries of a stream of documents: chunk, generate, extract."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import cast

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.length_limits import LengthTarget
from sumpool.data.items import Item
from sumpool.documents.document import Document
from sumpool.documents.source_sentences import SourceSentence
from sumpool.inference.chunking import MAX_GROUP_DOCUMENTS, ChunkedDocument, Chunker, batch_chunks, group_documents
from sumpool.inference.extraction import SentenceExtractor
from sumpool.inference.generation import Generated, Generator, NeedsSearch, OnDrafts
from sumpool.inference.length import length_fault
from sumpool.inference.loading import LoadedModel
from sumpool.inference.mbr_extraction import MbrExtractor
from sumpool.inference.summary import NO_EXTRACTION, Extraction, Summary
from sumpool.progress import Check, Progress, Report, go_on, silent
from sumpool.text.language import UNSPACED
from sumpool.text.sentences import SentenceSplitter

GenerateBatch = Callable[[Sequence[Item], Sequence[LengthTarget | None]], list[Generated]]
"""Generation of a batch of chunks with lengths of their summaries, see `Generator.generate`."""
Choose = Callable[[Generated, Sequence[SourceSentence], LengthTarget | None, str], Generated]
"""Choice among the best hypothesis and the samples of a document."""
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
        on_draft: Called while a summary is generated that the model reads in one chunk, unless the mode is extractive.
            The summary may differ from its drafts: other hypotheses may follow, or be chosen.

    Yields:
        Summaries in the order of the documents, while later ones wait.
    """
    total = len(documents) if isinstance(documents, Sized) else None
    config = loaded.recipe.summarize
    if config.fast:
        # Imported by name, as the model is not used.
        fast = import_module("sumpool.inference.fast_summaries")
        yield from fast.generate_fast(
            documents,
            fast.fast_model(config, loaded.folder, loaded.splitter, loaded.language),
            report=report,
            check=check,
        )
        return
    sentences = SentenceExtractor.load(loaded.folder, loaded.language, config.scorer)
    chunker, extractor = Chunker(loaded, sentences), MbrExtractor(config, sentences)
    generator = Generator(loaded.model, loaded.tokenizer, config, loaded.lengths)
    choose = _chooser(config, loaded.splitter)
    lock = model_lock or nullcontext()
    done = 0
    max_tokens, max_documents = _LOOKAHEAD_BATCHES * config.batch_tokens, lookahead or MAX_GROUP_DOCUMENTS
    for group in group_documents(map(chunker.chunk, documents), max_tokens, max_documents):
        for chunked in group:
            if 0 < chunked.tokens_read < chunked.tokens_total:
                report(Progress("summarize", done, total, note=f"{chunked.document.id}: {chunked.reading}"))
            if chunked.unlearnt and chunked.chunks:
                report(Progress("summarize", done, total, note=f"{chunked.document.id}: {chunked.unlearnt}"))
        on_drafts = _chunk_drafts(group, on_draft) if on_draft and config.mode != "extractive" else None
        needs_search = None if on_drafts else _needs_search(group, extractor)
        generate = partial(generator.generate, needs_search=needs_search, on_drafts=on_drafts)
        for chunked, generated, seconds in _generate(group, generator, generate, config.batch_tokens, check, lock):
            if config.repair:
                generated = [_repaired(part, chunked, loaded.splitter) for part in generated]
            summary = _summary(chunked, generated, seconds, extractor, loaded.splitter, choose)
            done += 1
            if summary.extraction_note:
                report(Progress("summarize", done, total, note=summary.extraction_note))
            report(Progress("summarize", done, total))
            yield summary


def _generate(
    group: Sequence[ChunkedDocument],
    generator: Generator,
    generate: GenerateBatch,
    batch_tokens: int,
    check: Check,
    lock: AbstractContextManager[object],
) -> Iterator[tuple[ChunkedDocument, list[Generated], float]]:
    """Generate batch by batch; a document is yielded as soon as all before it are done.

    Yields:
        A document, what was generated for its chunks, and its share of the seconds.
    """
    chunks = [chunk for document in group for chunk in document.chunks]
    targets = [document.target if len(document.chunks) == 1 else None for document in group for _ in document.chunks]
    batches = iter(batch_chunks([len(chunk.ids) for chunk in chunks], batch_tokens))
    generated: dict[int, Generated] = {}
    seconds: dict[int, float] = {}
    first = 0
    for document in group:
        indices = range(first, first + len(document.chunks))
        while not generated.keys() >= set(indices):
            check()
            batch = next(batches)
            with lock:
                start = time.perf_counter()
                texts = generate([chunks[index] for index in batch], [targets[index] for index in batch])
                generated.update(zip(batch, texts, strict=True))
                seconds.update(dict.fromkeys(batch, (time.perf_counter() - start) / len(batch)))
        parts, elapsed = [generated.pop(index) for index in indices], sum(seconds.pop(index) for index in indices)
        first = indices.stop
        if len(parts) > 1:
            check()
            with lock:
                start = time.perf_counter()
                # Imported by name, as only documents longer than the model reads need it.
                combine = import_module("sumpool.inference.windows").combine_windows
                document, parts = combine(document, parts, generator)
                elapsed += time.perf_counter() - start
        yield document, parts, elapsed


def _needs_search(group: Sequence[ChunkedDocument], extractor: MbrExtractor) -> NeedsSearch:
    """Return whether the beam search of a chunk can change the summary; that of one of several chunks always can."""
    documents = {id(chunked.chunks[0]): chunked.document for chunked in group if len(chunked.chunks) == 1}

    def needs_search(chunk: Item, samples: Sequence[str]) -> bool:
        return id(chunk) not in documents or extractor.needs_search(documents[id(chunk)], samples)

    return needs_search


def _chunk_drafts(group: Sequence[ChunkedDocument], on_draft: OnDraft) -> OnDrafts:
    """Return the callback of the drafts of chunks; documents of several chunks have none."""
    documents = {id(chunked.chunks[0]): chunked.document for chunked in group if len(chunked.chunks) == 1}

    def on_drafts(chunks: Sequence[Item], texts: list[str]) -> None:
        for chunk, text in zip(chunks, texts, strict=True):
            if id(chunk) in documents:
                on_draft(documents[id(chunk)], text)

    return on_drafts


def _summary(
    chunked: ChunkedDocument,
    generated: Sequence[Generated],
    seconds: float,
    extractor: MbrExtractor,
    splitter: SentenceSplitter,
    choose: Choose | None = None,
) -> Summary:
    """Take the written summary of a document, or the extracted sentences instead."""
    start = time.perf_counter()
    text = generated[0].text if generated else ""
    # mode auto prefers whole sentences of documents with a structure, whatever is generated
    is_kept = not (extractor.may_extract and chunked.document.blocks)
    if choose and generated and generated[0].is_searched and is_kept and chunked.language not in UNSPACED:
        chosen = choose(generated[0], chunked.sentences, chunked.target, chunked.language)
        generated, text = [replace(chosen, text=text)], chosen.text
    extraction = _extract(chunked, generated, text, extractor, splitter)
    separator = "" if chunked.language in UNSPACED else " "
    reason = "" if text or extraction.sentences else "the model must generate a word, but it generated none"
    return Summary(
        id=chunked.document.id,
        summary=separator.join(extraction.sentences) or text,
        score=generated[0].score if text else None,
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
    # Imported by name, as summaries without a model do not need it.
    repair = cast(Callable[..., list[str]], import_module("sumpool.text.form").repair_text)
    document = " ".join(chunked.document.text.split())
    return replace(generated, text=" ".join(repair(splitter.split(generated.text), chunked.language, document)))


def _extract(
    chunked: ChunkedDocument,
    generated: Sequence[Generated],
    text: str,
    extractor: MbrExtractor,
    splitter: SentenceSplitter,
) -> Extraction:
    """Select sentences in place of generated text; without the model if it has not learnt the text or says nothing."""
    document, sentences, target = chunked.document, chunked.sentences, chunked.target
    if chunked.extraction:
        return chunked.extraction
    is_chosen = bool(generated) and generated[0].agreement is not None
    if generated and generated[0].is_searched and not text and not is_chosen and extractor.may_extract:
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


def _chooser(config: DecodingConfig, splitter: SentenceSplitter) -> Choose | None:
    """Return the choice among generated summaries that the settings ask for."""
    if config.mode == "extractive" or not (config.mbr or config.factuality != "any"):
        return None
    # Imported by name, as only these settings need it.
    chooser = import_module("sumpool.inference.summary_choice").SummaryChooser(config, splitter)
    return cast(Choose, chooser.choose)
