"""`sumpool summarize`: documents in, summaries out, in the same order and as they are done."""

import time
from collections.abc import Iterable, Iterator, Sequence, Sized
from pathlib import Path

from sumpool.documents import Document
from sumpool.inference.chunking import ChunkedDocument, Chunker, gather, stretches
from sumpool.inference.generation import Generated, Generator
from sumpool.inference.loading import SHIPPED, LoadedModel, load_writer
from sumpool.inference.mbr_extraction import MbrExtractor
from sumpool.inference.results import Summary, SummaryFile
from sumpool.interruption import Check, go_on
from sumpool.progress import Progress, Report, silent

_STRETCH = 8
"""Batches that are looked ahead, so that passages of similar length meet."""


def summarize(
    documents: Iterable[Document],
    folder: Path | None = None,
    *,
    overrides: Sequence[str] = (),
    out: Path | None = None,
    resume: bool = False,
    report: Report = silent,
    check: Check = go_on,
) -> Iterator[Summary]:
    """Summarise documents; every one gets a summary or a reason, in the order in which they come.

    Args:
        documents: The documents; names may repeat.
        folder: The run folder; None takes the newest one.
        overrides: Settings to change, each like `summarize.beams=1`.
        out: File that every summary is written to as well, as a line of JSON.
        resume: Go on with `out` where it ends; documents that it holds are passed over and not given again.
        report: Called with progress, and with a note for every document that is not read to its end.
        check: Called between batches.

    Yields:
        Summaries, while later documents wait.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting is wrong, or `out` exists.
        DataError: If `out` is resumed and holds anything else.
        ResourceError: If `out` cannot be written.
    """
    # 1. The model and the file: what is wrong with them shows before the first document is read.
    loaded = load_writer(folder, overrides)
    if loaded.folder == SHIPPED and folder is None:
        report(Progress("summarize", note="with the model that comes with sumpool, as there is no run of your own"))
    file = SummaryFile(out, resume=resume) if out else None
    # 2. Summaries as they are asked for.
    if file is None:
        return write_summaries(documents, loaded, report=report, check=check)
    return _kept(documents, loaded, file, report, check)


def write_summaries(
    documents: Iterable[Document], loaded: LoadedModel, *, report: Report = silent, check: Check = go_on
) -> Iterator[Summary]:
    """Summarise documents with a model that is loaded.

    Args:
        documents: The documents; names may repeat.
        loaded: The model.
        report: Called with progress, and with a note for every document that is not read to its end.
        check: Called between batches.

    Yields:
        Summaries in the order of the documents, while later ones wait.
    """
    total = len(documents) if isinstance(documents, Sized) else None
    reader = Chunker(loaded)
    config = loaded.recipe.summarize
    writer = Generator(loaded.model, loaded.tokenizer, config, loaded.lengths)
    extractor = MbrExtractor(config, loaded.splitter)
    done = 0
    for stretch in stretches(map(reader.read, documents), _STRETCH * config.batch_tokens):
        for reading in stretch:
            if 0 < reading.read < reading.total:
                share = f"{reading.read:,} of {reading.total:,} tokens ({reading.read / reading.total:.0%})"
                report(Progress("summarize", done, total, note=f"{reading.id}: read {share}"))
        for reading, written, seconds in _write(stretch, writer, config.batch_tokens, check):
            summary = _summary(reading, written, seconds, extractor)
            done += 1
            if config.mode == "auto" and summary.mode == "extractive":
                note = f"{summary.id}: in sentences of the document"
                report(Progress("summarize", done, total, note=note))
            report(Progress("summarize", done, total))
            yield summary


def _kept(
    documents: Iterable[Document], loaded: LoadedModel, file: SummaryFile, report: Report, check: Check
) -> Iterator[Summary]:
    with file:
        missing = (document for document in documents if not file.is_done(document.id))
        for summary in write_summaries(missing, loaded, report=report, check=check):
            file.append(summary)
            yield summary


def _write(
    stretch: Sequence[ChunkedDocument], writer: Generator, batch_tokens: int, check: Check
) -> Iterator[tuple[ChunkedDocument, list[Generated], float]]:
    """Write about a stretch of documents, batch by batch; a document is given as soon as all before it are done.

    Yields:
        A document, what was written about its passages, and its share of the seconds.
    """
    passages = [passage for reading in stretch for passage in reading.passages]
    batches = iter(gather([len(passage.ids) for passage in passages], batch_tokens))
    written: dict[int, Generated] = {}
    seconds: dict[int, float] = {}
    first = 0
    for reading in stretch:
        own = range(first, first + len(reading.passages))
        while not written.keys() >= set(own):
            check()
            batch = next(batches)
            start = time.perf_counter()
            written.update(zip(batch, writer.write([passages[index] for index in batch]), strict=True))
            seconds.update(dict.fromkeys(batch, (time.perf_counter() - start) / len(batch)))
        yield reading, [written[index] for index in own], sum(seconds[index] for index in own)
        first = own.stop


def _summary(
    reading: ChunkedDocument, written: Sequence[Generated], seconds: float, extractor: MbrExtractor
) -> Summary:
    """Join what was written about the passages of a document, a line each, or take sentences instead."""
    start = time.perf_counter()
    text = "\n".join(part.text for part in written if part.text)
    extracted = extractor.extract(reading.text, written)
    return Summary(
        id=reading.id,
        summary=extracted or text,
        score=sum(part.score for part in written) / len(written) if text else None,
        tokens_read=reading.read,
        tokens_total=reading.total,
        seconds=reading.seconds + seconds + time.perf_counter() - start,
        reason=reading.reason if text or reading.reason else "the model must write a word, but it wrote none",
        mode="extractive" if extracted else "abstractive",
    )
