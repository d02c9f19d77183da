"""Preparation of a source of documents for training, summarisation and evaluation.

Files of a prepared folder:

    tokenizer.model   trained on the training split, or copied from data.tokenizer (the tokenizer)
    phrases.model                     trained on the training split if data.phrases is set
    <split>/texts.jsonl, texts.bin    texts of documents and summaries, see `sumpool.data.texts`
    <split>/*.bin, shard.json         their token ids, see `sumpool.data.shards`
    rejects.jsonl                     rows that could not be used
    report.json                       data report
    manifest.json                     size and SHA-256 of every file, and a fingerprint of the source and the settings

Prepared data depends on the `data` section only, not on a seed, and is shared by runs with different seeds.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np

from sumpool.data.config import DataConfig
from sumpool.data.document_stats import MAX_DOCUMENTS, DocumentStats, sample_ngrams, summarize_split
from sumpool.data.encoding import spans
from sumpool.data.ingest import Ingested, ingest, read_rows
from sumpool.data.inputs import SPLITS, Split
from sumpool.data.prepared_folder import fill_prepared
from sumpool.data.processes import caller, ordered_map
from sumpool.data.report import DataReport, SplitReport
from sumpool.data.shards import Shard, ShardWriter
from sumpool.data.texts import Texts
from sumpool.errors import RecipeError
from sumpool.progress import Check, Progress, Report
from sumpool.text.language import detect_language, split_words
from sumpool.text.sentencepiece_tokenizer import PHRASES, Phrases, SentencePieceTokenizer
from sumpool.text.tokenizer import Tokenizer, load_tokenizer, tokenizer_files

_EVALUATION: tuple[Split, ...] = ("validation", "test")
_SMALL_BYTES = 1 << 19
"""Text that one process prepares in about the time that worker processes take to start."""
_LANGUAGE_DOCUMENTS = 200
"""Training documents whose language is detected."""

_TRAINING_THREADS = 2
"""Threads that train the tokenizer; a constant because the model file depends on it, but must not on data.workers."""


def prepare(
    config: DataConfig,
    folder: Path,
    *,
    skip_bad_rows: bool,
    report: Report,
    check: Check,
) -> DataReport:
    """Prepare a source of documents, unless the folder already holds its data for the same settings.

    The folder is replaced once the data is complete; an interruption or error leaves an older folder unchanged. If
    another process prepares the same folder, wait for it.

    Args:
        config: Source and settings.
        folder: Destination.
        skip_bad_rows: Whether to skip rows that cannot be used and list them in `rejects.jsonl`.
        report: Progress callback.
        check: Called several times a second; an exception stops the work.

    Raises:
        DataError: If a row cannot be used, no training document is left, or `data.tokenizer` holds no tokenizer.
        RecipeError: If the folder has other content, which is left untouched, or `data.vocabulary` differs from the
            size of the tokenizer.
        ResourceError: If memory or disk space runs out.
    """

    def fill(new: Path) -> None:
        if config.tokenizer:
            _require_vocabulary_of_tokenizer(config, load_tokenizer(config.tokenizer).vocab_size)
        with closing(read_rows(config, check)) as rows:
            ingested = ingest(rows, new, skip_bad_rows=skip_bad_rows, report=report, check=check)
        _encode_all(config, new, ingested, report, check).save(new)

    fill_prepared(config, folder, fill, report, check)
    return config.report.load(folder)


def _encode_all(config: DataConfig, folder: Path, ingested: Ingested, report: Report, check: Check) -> DataReport:
    """Train the tokenizer on the texts in a folder, and write the shards."""
    texts = {split: Texts.open(folder, split) for split in SPLITS}
    workers = config.workers if sum(int(texts[split].sizes().sum()) for split in SPLITS) > _SMALL_BYTES else 0
    of_task = config.prepare_targets(folder, texts)
    _make_tokenizer(config, folder, min(workers, 2), report, check)
    tokenizer = load_tokenizer(folder)
    vocabulary = tokenizer.vocab_size
    language = _main_language(texts["train"])
    splits = _write_shards(config, folder, texts, vocabulary, language, workers, report, check)
    if config.phrases:
        report(Progress("prepare: phrases"))
        tasks = [partial(_train_phrases, folder, config.phrases)]
        for _ in ordered_map(caller, tasks, min(workers, 1), check):
            report(Progress("prepare: phrases"))
    notes = (*config.require_source().notes(), *_notes(config, tokenizer, ingested))
    for note in notes:
        report(Progress("prepare", note=note))
    read = ingested.kept + ingested.rejected
    fields = config.require_source().field_names()
    return config.report(
        read=read,
        kept=ingested.kept,
        rejected=ingested.rejected,
        vocabulary=vocabulary,
        splits=splits,
        notes=notes,
        language=language,
        fields=fields,
        invisible=ingested.invisible,
        **of_task,
    )


def _main_language(texts: Texts) -> str:
    """Return the language of most of the first training documents; UNDETECTED if most of them have none."""
    counts = Counter(detect_language(example.document) for example in islice(texts, _LANGUAGE_DOCUMENTS))
    return counts.most_common(1)[0][0]


def _write_shards(
    config: DataConfig,
    folder: Path,
    texts: Mapping[Split, Texts],
    vocabulary: int,
    language: str,
    workers: int,
    report: Report,
    check: Check,
) -> dict[Split, SplitReport]:
    """Encode all documents in order and aggregate their statistics."""
    sampled = {split: sample_ngrams(_sample_documents(texts[split])) for split in _EVALUATION}
    in_training = {split: np.zeros(len(ngrams), bool) for split, ngrams in sampled.items()}
    stats: dict[Split, list[DocumentStats]] = {split: [] for split in SPLITS}
    total = sum(map(len, texts.values()))
    tasks = chain.from_iterable(spans(texts[split], split) for split in SPLITS)
    done = 0
    with closing(ordered_map(partial(config.encoder, folder, sampled, language), tasks, workers, check)) as results:
        for split in SPLITS:
            with ShardWriter(folder, split, vocabulary) as shard:
                while len(stats[split]) < len(texts[split]):
                    for encoded in next(results):
                        shard.add(encoded.item)
                        stats[split].append(encoded.stats)
                        for other, indices in encoded.shared_ngrams.items():
                            in_training[other][indices] = True
                        done += 1
                    report(Progress("prepare: tokens", done, total))
    training = [document.digest for document in stats["train"]]
    return {
        "train": summarize_split(stats["train"], (), None),
        **{
            split: summarize_split(stats[split], training, float(flags.sum() / max(len(flags), 1)))
            for split, flags in in_training.items()
        },
    }


def _sample_documents(texts: Texts) -> Iterator[list[str]]:
    step = max(1, -(-len(texts) // MAX_DOCUMENTS))
    for number in range(0, len(texts), step):
        yield split_words(texts[number].text)


def _notes(config: DataConfig, tokenizer: Tokenizer, ingested: Ingested) -> Iterator[str]:
    is_trained = isinstance(tokenizer, SentencePieceTokenizer)
    if config.vocabulary and tokenizer.vocab_size < config.vocabulary and is_trained:
        yield (
            f"the vocabulary has {tokenizer.vocab_size:,} tokens instead of data.vocabulary = {config.vocabulary:,}: "
            "the training documents yield no more"
        )
    if ingested.rejected:
        yield f"{ingested.rejected:,} rows could not be used; rejects.jsonl lists them with their reasons"
    if ingested.invisible:
        yield f"{ingested.invisible:,} invisible characters of documents and summaries are removed"
    for split in _EVALUATION:
        if not ingested.documents[split]:
            yield f"the {split} split is empty"


def _require_vocabulary_of_tokenizer(config: DataConfig, vocabulary: int) -> None:
    if config.vocabulary not in (None, vocabulary):
        raise RecipeError(
            f"data.vocabulary must be null or {vocabulary}, the size of {config.tokenizer}, got {config.vocabulary}"
        )


def _make_tokenizer(config: DataConfig, folder: Path, processes: int, report: Report, check: Check) -> None:
    """Train the tokenizer on the texts in a folder, or copy `data.tokenizer`."""
    report(Progress("prepare: vocabulary"))
    if config.tokenizer:
        for path in tokenizer_files(config.tokenizer):
            shutil.copyfile(path, folder / path.name)
        return
    for _ in ordered_map(caller, [partial(config.train_tokenizer, folder, _TRAINING_THREADS)], processes, check):
        report(Progress("prepare: vocabulary"))


def _train_phrases(folder: Path, phrases: int) -> None:
    """Train the phrase model on the shard of the training split."""
    shard = Shard.open(folder, "train")
    items = (shard[number] for number in range(len(shard)))
    Phrases.train(((item.ids, item.sentences) for item in items), folder / PHRASES, phrases, _TRAINING_THREADS)
