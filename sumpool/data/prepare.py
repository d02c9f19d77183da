"""Preparation of a source of documents for training, summarisation and evaluation.

Files of a prepared folder:

    tokenizer.model   trained on the training split, or copied from data.tokenizer (the tokenizer)
    phrases.model                     trained on the training split if data.phrases is set
    <split>/texts.jsonl, texts.bin    texts of documents and summaries, see `sumpool.data.shards`
    <split>/*.bin, shard.json         their token ids, see `sumpool.data.shards`
    rejects.jsonl                     rows that could not be used
    report.json                       data report
    manifest.json                     size and SHA-256 of every file, and a fingerprint of the source and the settings

Prepared data depends on the `data` section only, not on a seed, and is shared by runs with different seeds.
"""

import json
import shutil
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, islice
from pathlib import Path
from unicodedata import normalize

import numpy as np

from sumpool.data.config import SPLITS, DataConfig, Example, Reject, Split
from sumpool.data.pretraining_tasks import excerpts, grouped
from sumpool.data.processes import caller, ordered_map
from sumpool.data.report import DocumentStats, document_stats, summarize_split, text_digest
from sumpool.data.shards import Item, Shard, ShardWriter, Texts, TextsWriter
from sumpool.errors import DataError, RecipeError
from sumpool.progress import Check, Progress, Report
from sumpool.text.cleaning import remove_invisible
from sumpool.text.language import detect_language, split_words
from sumpool.text.sentencepiece_tokenizer import PHRASES, Phrases, SentencePieceTokenizer
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import Tokenizer, encode_document, id_dtype, load_tokenizer, tokenizer_files

_READING = "prepare: read"
_REPORT_ROWS = 20
"""Rows between progress reports."""
_SPAN_CHARACTERS = _SPAN_BYTES = 1 << 18
"""Text that a worker process converts or encodes at a time, so that signals are handled within a second."""
_SMALL_SPANS = 3
"""Fewer spans are converted by one process in about the time that worker processes take to start."""
_SMALL_BYTES = 1 << 19
"""Text that one process encodes in about the time that worker processes take to start."""
_LANGUAGE_DOCUMENTS = 200
"""Training documents whose language is detected."""
_TRAINING_THREADS = 2
"""Threads that train the tokenizer; a constant because the model file depends on it, but must not on data.workers."""


def prepare(config: DataConfig, folder: Path, *, skip_bad_rows: bool, report: Report, check: Check) -> None:
    """Fill a new folder with the data of a source of documents, but for its manifest; see `find_or_prepare`."""
    if config.tokenizer:
        size = load_tokenizer(config.tokenizer).vocab_size
        if config.vocabulary not in (None, size):
            raise RecipeError(
                f"data.vocabulary must be null or {size}, the size of {config.tokenizer}, got {config.vocabulary}"
            )
    # 1. Texts of all splits.
    with closing(read_rows(config, check)) as rows:
        documents, rejected, invisible = ingest(rows, folder, skip_bad_rows=skip_bad_rows, report=report, check=check)
    texts = {split: Texts(folder, split) for split in SPLITS}
    workers = config.workers if sum(int(texts[split].sizes().sum()) for split in SPLITS) > _SMALL_BYTES else 0
    # 2. Tokenizer.
    data_report = config.prepare_targets(folder, texts)
    report(Progress("prepare: vocabulary"))
    if config.tokenizer:
        for path in tokenizer_files(config.tokenizer):
            shutil.copyfile(path, folder / path.name)
    else:
        training = partial(config.train_tokenizer, folder, _TRAINING_THREADS)
        for _ in ordered_map(caller, [training], min(workers, 2), check):
            report(Progress("prepare: vocabulary"))
    tokenizer = load_tokenizer(folder)
    # 3. Shards, in the language of most of the first training documents; UNDETECTED if most of them have none.
    languages = Counter(detect_language(example.document) for example in islice(texts["train"], _LANGUAGE_DOCUMENTS))
    language = languages.most_common(1)[0][0]
    stats: dict[Split, list[DocumentStats]] = {split: [] for split in SPLITS}
    total = sum(map(len, texts.values()))
    tasks = chain.from_iterable(spans(texts[split], split) for split in SPLITS)
    with closing(ordered_map(partial(config.encoder, folder, language), tasks, workers, check)) as results:
        for split in SPLITS:
            with ShardWriter(folder, split, tokenizer.vocab_size) as shard:
                while len(stats[split]) < len(texts[split]):
                    for item, of_document in next(results):
                        shard.add(item)
                        stats[split].append(of_document)
                    report(Progress("prepare: tokens", sum(map(len, stats.values())), total))
    if config.phrases:
        report(Progress("prepare: phrases"))
        for _ in ordered_map(caller, [partial(_train_phrases, folder, config.phrases)], min(workers, 1), check):
            report(Progress("prepare: phrases"))
    # 4. Report.
    notes, size = list(config.require_source().notes()), tokenizer.vocab_size
    if config.vocabulary and size < config.vocabulary and isinstance(tokenizer, SentencePieceTokenizer):
        notes.append(
            f"the vocabulary has {size:,} tokens instead of data.vocabulary = {config.vocabulary:,}: the training "
            "documents yield no more"
        )
    if rejected:
        notes.append(f"{rejected:,} rows could not be used; rejects.jsonl lists them with their reasons")
    if invisible:
        notes.append(f"{invisible:,} invisible characters of documents and summaries are removed")
    notes += [f"the {split} split is empty" for split in SPLITS if not documents[split]]
    for note in notes:
        report(Progress("prepare", note=note))
    kept, digests = sum(documents.values()), [document.digest for document in stats["train"]]
    data_report(
        read=kept + rejected,
        kept=kept,
        rejected=rejected,
        vocabulary=tokenizer.vocab_size,
        splits={split: summarize_split(stats[split], () if split == "train" else digests) for split in SPLITS},
        notes=tuple(notes),
        language=language,
        fields=config.require_source().field_names(),
        invisible=invisible,
    ).save(folder)


def read_rows(config: DataConfig, check: Check) -> Generator[Example | Reject]:
    """Read the rows of a source, converted by the pretraining task if one is set.

    Documents are cut into excerpts in parallel, as gap sentences take more time than everything else that is done to a
    document: 10 ms for one of 1,800 words, of which reading takes .3 ms and encoding 7.

    Args:
        config: Source and settings.
        check: Called several times a second; an exception stops the work.

    Raises:
        RecipeError: If no source is set.
        DataError: If a file is missing or damaged.
    """
    rows = config.require_source().rows()
    task = config.gap_sentences or config.shuffled
    if task is None:
        yield from rows
        return

    def characters(row: Example | Reject) -> int:
        check()
        return len(row.document) if isinstance(row, Example) else 0

    spans = grouped(rows, characters, _SPAN_CHARACTERS)
    first = list(islice(spans, _SMALL_SPANS))
    workers = config.workers if len(first) == _SMALL_SPANS else 0
    # `partial(excerpts, task)` is what each process builds.
    with closing(ordered_map(partial(partial, excerpts, task), chain(first, spans), workers, check)) as converted:
        yield from chain.from_iterable(converted)


def ingest(
    rows: Iterator[Example | Reject], folder: Path, *, skip_bad_rows: bool, report: Report, check: Check
) -> tuple[dict[Split, int], int, int]:
    """Write the texts of all splits, and a line for each rejected row; `check` is called for every row.

    Returns:
        Documents of each split, the number of rejected rows, and that of the invisible characters of documents and
        summaries, which splitter and tokenizer remove.

    Raises:
        DataError: If a row cannot be used and `skip_bad_rows` is false, or if no training document is left.
    """
    digests: set[int] = set()
    total = rejected = invisible = 0
    with ExitStack() as files:
        rejects = files.enter_context((folder / "rejects.jsonl").open("w"))
        writers = {split: files.enter_context(TextsWriter(folder, split)) for split in SPLITS}
        for total, row in enumerate(rows, start=1):
            check()
            row = _validated(row, digests)
            if isinstance(row, Example):
                # Letters and their accents are one character each, as documents are read.
                parts = [normalize("NFC", text) for text in (row.document, row.summary, row.second)]
                writers[row.split].add(Example(row.id, parts[0], parts[1], row.split, parts[2]))
                invisible += sum(remove_invisible(text, layout=True)[1] for text in (row.text, row.summary))
            elif skip_bad_rows:
                rejects.write(json.dumps({"where": row.where, "reason": row.reason}) + "\n")
                rejected += 1
            else:
                raise DataError(f"{row.where}: {row.reason}; correct it, or skip such rows with --skip-bad-rows")
            if total % _REPORT_ROWS == 0:
                report(Progress(_READING, total))
        documents = {split: writer.documents for split, writer in writers.items()}
    report(Progress(_READING, total, total))
    if not documents["train"]:
        raise DataError(f"data.source must have a training document, got {total:,} rows and none that can be used")
    return documents, rejected, invisible


def _validated(row: Example | Reject, digests: set[int]) -> Example | Reject:
    """Return the row, or the reason why it cannot be used; `digests` collects the ids."""
    if isinstance(row, Reject):
        return row
    where = row.where or f"document {row.id!r}"
    try:
        digest = text_digest(row.id)
        (row.text + row.summary).encode()
    except UnicodeEncodeError as error:
        return Reject(where, f"text must be valid Unicode, got an unpaired surrogate at {error.start}")
    if digest in digests:
        return Reject(where, f"id must be unique, got {row.id!r} a second time")
    digests.add(digest)
    for name, text in (("document", row.document), ("summary", row.summary)):
        if not text.strip():
            return Reject(where, f"{name} must contain text, got {text[:20]!r}")
    return row


def spans(texts: Texts, split: Split) -> Iterator[tuple[Split, int, int]]:
    """Divide a split into spans of similar amounts of text: first document, and the first one behind."""
    start = size = 0
    for number, length in enumerate(texts.sizes().tolist()):
        if size and size + length > _SPAN_BYTES:
            yield split, start, number
            start, size = number, 0
        size += length
    if size:
        yield split, start, len(texts)


class DocumentEncoder:
    """Encodes spans of the texts in a folder, with the tokenizer of the folder, in a worker process.

    Args:
        folder: Prepared folder with texts and tokenizer.
        language: Language of most documents, whose sentences are encoded.
    """

    def __init__(self, folder: Path, language: str) -> None:
        self.folder = folder
        self.tokenizer = load_tokenizer(folder)
        self.splitter = SentenceSplitter(language)
        self._texts = {split: Texts(folder, split) for split in SPLITS}

    def __call__(self, span: tuple[Split, int, int]) -> list[tuple[Item, DocumentStats]]:
        """Encode the documents of a span, in order, with their statistics."""
        split, start, stop = span
        encoded = []
        for example in self._texts[split].read(start, stop):
            item, words = self.item(example), split_words(example.text)
            stats = document_stats(example, words, len(item.ids), 0 if item.target is None else len(item.target))
            encoded.append((item, stats))
        return encoded

    def item(self, example: Example) -> Item:
        """Encode a document with its summary, to which batches add EOS."""
        tokenizer = self.tokenizer
        target = [*tokenizer.special_tokens.prefix, *tokenizer.encode(example.summary)]
        ids = np.array(target, id_dtype(tokenizer.vocab_size))
        return encode_item(example.id, example.document, tokenizer, self.splitter, ids)


def encode_item(
    name: str, text: str, tokenizer: Tokenizer, splitter: SentenceSplitter, target: np.ndarray | None = None
) -> Item:
    """Encode a document with its target, if it has one."""
    document = encode_document(text, tokenizer, splitter)
    return Item(name, document.ids, document.sentences, target)


def _train_phrases(folder: Path, phrases: int) -> None:
    """Train the phrase model on the shard of the training split."""
    shard = Shard(folder, "train")
    items = (shard[number] for number in range(len(shard)))
    Phrases.train(((item.ids, item.sentences) for item in items), folder / PHRASES, phrases, _TRAINING_THREADS)
