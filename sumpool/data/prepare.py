"""From a source of documents to a prepared folder that training, summarising and evaluation read.

    tokenizer.model, sentences.json   learnt from the training split; with data.tokenizer, the former is that one's file
    phrases.model                     the same, where data.phrases asks for it
    <split>/texts.jsonl, texts.bin    documents and summaries, for people and for evaluation
    <split>/*.bin, shard.json         the same as ids, see `sumpool.data.shards`
    rejects.jsonl                     rows that could not be used
    report.json                       the data report
    manifest.json                     size and SHA-256 of every file, and what they were made from

What is prepared depends on the `data` section alone and not on a seed: runs that differ in their seed share it.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from sumpool.data import contamination
from sumpool.data.config import DataConfig
from sumpool.data.document_stats import DocumentStats
from sumpool.data.encoding import PHRASES, SENTENCES, DocumentEncoder, spans
from sumpool.data.fingerprint import fingerprint, is_intact, is_prepared_folder, write_manifest
from sumpool.data.ingest import Ingested, ingest
from sumpool.data.processes import caller, ordered_map
from sumpool.data.report import DataReport, SplitReport, summarize_split
from sumpool.data.shards import Shard, ShardWriter
from sumpool.data.sources._base import SPLITS, Split
from sumpool.data.texts import Texts
from sumpool.errors import DataError, RecipeError
from sumpool.interruption import Check, go_on
from sumpool.io.atomic import disk_errors, replace_folder
from sumpool.io.lock import locked
from sumpool.progress import Progress, Report
from sumpool.text.fragments import words
from sumpool.text.phrases import Phrases
from sumpool.text.sentence_pieces import SentencePieces
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import SENTENCE_PIECES, load_tokenizer, tokenizer_file

_EVALUATION: tuple[Split, ...] = ("validation", "test")
_SMALL_BYTES = 1 << 19
"""Text that this process prepares about as soon as others would have started."""
_LEARNING_THREADS = 2
"""Threads that learn the vocabulary. A constant, because the model file depends on it, and workers change no result."""


def prepare(config: DataConfig, folder: Path, *, skip_bad_rows: bool, report: Report, check: Check) -> DataReport:
    """Prepare a source of documents, unless that is done: the same source and settings are prepared once.

    The folder appears when it is complete; whatever stops the work leaves an older one as it was. Another process that
    prepares the same folder is waited for.

    Args:
        config: The source and the settings.
        folder: Where the prepared data goes.
        skip_bad_rows: Leave out rows that cannot be used and list them in `rejects.jsonl`, instead of stopping.
        report: Told of progress.
        check: Called several times a second; what it raises stops the work.

    Raises:
        DataError: If a row cannot be used, there is nothing to train on, the folder holds something else, or the
            tokenizer that is taken over is none.
        RecipeError: If that has another number of pieces than the settings say.
        ResourceError: If memory or disk run out.
    """
    advice = "prepare again, or name a folder on another disk as data.prepared"
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = locked(folder.with_name(f".{folder.name}.lock"), on_busy=lambda _: check())
    with disk_errors(folder, advice=advice, only_full=True), lock:
        made_from = fingerprint(config)
        if is_intact(folder, made_from, check):
            return DataReport.load(folder)
        _refuse_other_content(folder)
        if config.tokenizer:
            _refuse_another_size(config, load_tokenizer(config.tokenizer).vocabulary)
        with replace_folder(folder) as new:
            reading = ingest(config.rows(), new, skip_bad_rows=skip_bad_rows, report=report, check=check)
            data_report = _encode_all(config, new, reading, report, check)
            data_report.save(new)
            write_manifest(new, made_from, check)
    return data_report


def is_prepared(config: DataConfig, folder: Path) -> bool:
    """Return whether a folder holds the data of these settings, intact."""
    return is_intact(folder, fingerprint(config), go_on)


def _encode_all(config: DataConfig, folder: Path, reading: Ingested, report: Report, check: Check) -> DataReport:
    """Learn vocabulary and sentences from the texts in a folder, and write the shards beside them."""
    texts = {split: Texts.open(folder, split) for split in SPLITS}
    workers = config.workers if sum(int(texts[split].sizes().sum()) for split in SPLITS) > _SMALL_BYTES else 0
    _learn(folder, config, min(workers, 2), report, check)
    vocabulary = load_tokenizer(folder).vocabulary
    splits = _write_shards(folder, texts, vocabulary, workers, report, check)
    if config.phrases:
        report(Progress("prepare: phrases"))
        tasks = [partial(_learn_phrases, folder, config.phrases)]
        for _ in ordered_map(caller, tasks, min(workers, 1), check):
            report(Progress("prepare: phrases"))
    notes = (*config.require_source().notes(), *_notes(config, vocabulary, reading))
    for note in notes:
        report(Progress("prepare", note=note))
    return DataReport(reading.kept + reading.rejected, reading.kept, reading.rejected, vocabulary, splits, notes)


def _learn(folder: Path, config: DataConfig, processes: int, report: Report, check: Check) -> None:
    """Learn the vocabulary, or take it over, and the ends of sentences from the training split, side by side."""
    report(Progress("prepare: vocabulary"))
    tasks = [partial(_learn_sentences, folder)]
    if config.tokenizer:
        tokenizer = tokenizer_file(config.tokenizer)
        shutil.copyfile(tokenizer, folder / tokenizer.name)
    else:
        assert config.vocabulary, "without a tokenizer, settings say how many pieces are learnt"
        tasks.insert(0, partial(_learn_vocabulary, folder, config.vocabulary))
    for _ in ordered_map(caller, tasks, processes, check):
        report(Progress("prepare: vocabulary"))


def _learn_vocabulary(folder: Path, vocabulary: int) -> None:
    SentencePieces.train(_training_texts(folder), folder / SENTENCE_PIECES, vocabulary, _LEARNING_THREADS)


def _learn_sentences(folder: Path) -> None:
    SentenceSplitter.train(_training_texts(folder), folder / SENTENCES)


def _learn_phrases(folder: Path, phrases: int) -> None:
    shard = Shard.open(folder, "train")
    items = (shard[number] for number in range(len(shard)))
    Phrases.train(((item.ids, item.sentences) for item in items), folder / PHRASES, phrases, _LEARNING_THREADS)


def _training_texts(folder: Path) -> Iterator[str]:
    for example in Texts.open(folder, "train"):
        yield example.document
        yield example.summary


def _write_shards(
    folder: Path, texts: Mapping[Split, Texts], vocabulary: int, workers: int, report: Report, check: Check
) -> dict[Split, SplitReport]:
    """Encode every document, in order, and sum up each split."""
    sought = {split: contamination.sample_ngrams(_sampled_documents(texts[split])) for split in _EVALUATION}
    found = {split: np.zeros(len(runs), bool) for split, runs in sought.items()}
    figures: dict[Split, list[DocumentStats]] = {split: [] for split in SPLITS}
    total = sum(map(len, texts.values()))
    tasks = chain.from_iterable(spans(texts[split], split) for split in SPLITS)
    done = 0
    with closing(ordered_map(partial(DocumentEncoder, folder, sought), tasks, workers, check)) as results:
        for split in SPLITS:
            with ShardWriter(folder, split, vocabulary) as shard:
                while len(figures[split]) < len(texts[split]):
                    for encoded in next(results):
                        shard.add(encoded.item)
                        figures[split].append(encoded.stats)
                        for other, places in encoded.shared_ngrams.items():
                            found[other][places] = True
                        done += 1
                    report(Progress("prepare: tokens", done, total))
    training = [document.digest for document in figures["train"]]
    return {
        "train": summarize_split(figures["train"], (), None),
        **{split: summarize_split(figures[split], training, _share(found[split])) for split in _EVALUATION},
    }


def _sampled_documents(texts: Texts) -> Iterator[list[str]]:
    step = max(1, -(-len(texts) // contamination.MAX_DOCUMENTS))
    for number in range(0, len(texts), step):
        yield words(texts[number].document)


def _share(found: np.ndarray) -> float:
    return float(found.mean()) if len(found) else 0.0


def _notes(config: DataConfig, vocabulary: int, reading: Ingested) -> Iterator[str]:
    if config.vocabulary and vocabulary < config.vocabulary:
        yield (
            f"the vocabulary has {vocabulary:,} pieces instead of data.vocabulary = {config.vocabulary:,}: "
            "the training documents hold no more"
        )
    if reading.rejected:
        yield f"{reading.rejected:,} rows could not be used; rejects.jsonl names each with the reason"
    for split in _EVALUATION:
        if not reading.documents[split]:
            yield f"the {split} split is empty"


def _refuse_another_size(config: DataConfig, vocabulary: int) -> None:
    if config.vocabulary not in (None, vocabulary):
        raise RecipeError(
            f"data.vocabulary must be left out or {vocabulary}, the pieces of {config.tokenizer}, "
            f"got {config.vocabulary}"
        )


def _refuse_other_content(folder: Path) -> None:
    if folder.exists() and not is_prepared_folder(folder) and any(folder.iterdir()):
        raise DataError(
            f"{folder} must be new, empty or prepared data, got something else; name another folder as data.prepared"
        )
