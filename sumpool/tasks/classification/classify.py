"""`sumpool classify`: documents in, labels out; and the evaluation of a classifier on a split of its data."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from sumpool.data.batches import fill_batches
from sumpool.data.config import Split
from sumpool.data.prepare import encode_item
from sumpool.data.report import DataReport
from sumpool.data.shards import Item, Shard
from sumpool.documents.document import Document, ReadOptions
from sumpool.documents.read import read_documents
from sumpool.documents.rows import ID_FIELDS, Line, guess_field, read_lines
from sumpool.errors import CheckpointError, DataError
from sumpool.evaluation.scores import finish_results, locked_results, open_scores
from sumpool.evaluation.task import IN_THE_RUN, Results
from sumpool.inference.loading import LoadedRun, load_run_of_task
from sumpool.io.manifest import MODEL, Manifest
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.runs.run_folder import evaluation_folder, prepared_data_of, spread
from sumpool.tasks.classification.labels import LabelledSourceConfig, join_pair, load_labels, split_pair, units_of
from sumpool.tasks.classification.measures import ClassificationReport, score_labels
from sumpool.tasks.classification.model import ClassificationModel, collate_labelled
from sumpool.tasks.classification.task import ClassificationRecipe
from sumpool.text.sentences import SentenceSplitter
from sumpool.training.hardware import autocast, choose_precision

_READ_AHEAD = 256
"""Documents that are encoded before they are classified in batches of similar length."""

_ROWS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson")
_SCORED_AT_ONCE = 512
"""Documents between two reports of progress."""


@dataclass(frozen=True)
class Prediction:
    """Label of a document.

    Attributes:
        id: Id of the document.
        label: The most probable label; empty if there is a reason.
        log_probs: (classes,) log-probability of each label; empty if there is a reason.
        labels: Label of each class.
        tokens_read: Tokens that the model read.
        tokens_total: Tokens of the document, or of both documents of a pair.
        reason: Why there is no label; empty otherwise.
        notes: What reading the document removed or guessed.
    """

    id: str
    label: str
    log_probs: tuple[float, ...]
    labels: tuple[str, ...]
    tokens_read: int
    tokens_total: int
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def probabilities(self) -> dict[str, float]:
        """Probability of each label, the most probable first."""
        pairs = sorted(zip(self.labels, np.exp(self.log_probs).tolist(), strict=False), key=lambda pair: -pair[1])
        return dict(pairs)

    def as_json(self) -> str:
        """Render the prediction as one line of JSON, without the line feed."""
        probabilities = {name: round(value, 6) for name, value in self.probabilities.items()}
        entries = {
            "id": self.id,
            "label": self.label,
            "probability": probabilities.get(self.label),
            "probabilities": probabilities,
            "tokens_read": self.tokens_read,
            "tokens_total": self.tokens_total,
            "reason": self.reason,
            "notes": self.notes,
        }
        return json.dumps(entries, ensure_ascii=False, allow_nan=False)


def classify(
    names: Sequence[str],
    folder: Path | None = None,
    *,
    options: ReadOptions,
    overrides: Sequence[str] = (),
    report: Report = no_op,
    check: Check = no_op,
) -> Iterator[Prediction]:
    """Classify documents; each gets a label or a reason, in the order of the documents.

    Args:
        names: Files, folders, http(s) addresses or "-" for standard input.
        folder: The run folder; None takes the newest run with a classifier.
        options: Options of reading.
        overrides: Settings to change, each like `train.device=cpu`.
        report: Called with progress, and with notes on the model.
        check: Called between batches.

    Raises:
        CheckpointError: If there is no classifier, or it is damaged.
        RecipeError: If a setting is wrong, or the file exists.
        DataError: If a file is missing.
        ResourceError: If memory runs out.
    """
    # 1. Load the model, so that its errors appear before the first document is read.
    loaded = load_classifier(folder, overrides)
    report(Progress("classify", note=f"model: {loaded.folder}{'' if folder else ' (the newest classifier)'}"))
    texts = _read_texts(names, loaded, options, report)
    # 2. Classify documents as they are asked for.
    return classify_texts(texts, loaded, report, check)


@dataclass(frozen=True)
class LoadedClassifier(LoadedRun):
    """A trained classifier with everything that it needs.

    Attributes:
        splitter: The run's sentence splitter.
        labels: Label of each class.
    """

    recipe: ClassificationRecipe
    model: ClassificationModel
    splitter: SentenceSplitter
    labels: tuple[str, ...]


def load_classifier(folder: Path | None = None, overrides: Sequence[str] = ()) -> LoadedClassifier:
    """Load the run folder of a classifier, by default the newest; errors are those of `load_run_of_task`."""
    run = load_run_of_task(folder, overrides, "classification")
    try:
        splitter, labels = SentenceSplitter(DataReport.load(run.folder).language), load_labels(run.folder)
    except DataError as error:  # of a file that prepared data has too
        raise CheckpointError(str(error)) from error
    return LoadedClassifier(**vars(run), splitter=splitter, labels=labels)


def _read_texts(
    names: Sequence[str], loaded: LoadedClassifier, options: ReadOptions, report: Report
) -> Iterator[tuple[Document, str]]:
    """Read documents of any format, and rows of JSON lines by the field names of the run's data."""
    source = loaded.recipe.data.source
    assert isinstance(source, LabelledSourceConfig), "a classifier has labelled data"
    for name in names:
        if name.endswith(_ROWS) and not Path(name).is_dir():
            yield from _read_rows(Path(name), source, options)
        elif source.second:
            raise DataError(f"{name} must be JSON lines with two documents per row, got a file of another kind")
        else:
            for document in read_documents(name, options, notice=lambda note: report(Progress("classify", note=note))):
                yield document, ""


def _read_rows(path: Path, source: LabelledSourceConfig, options: ReadOptions) -> Iterator[tuple[Document, str]]:
    for line in read_lines(path, options.limits):
        if not isinstance(line, Line):
            yield Document(line.where, "", f"{line.where} {line.reason}"), ""
            continue
        value = line.fields.get(source.id or guess_field(line.fields, ID_FIELDS) or "")
        name = str(value) if isinstance(value, str | int) and str(value).strip() else line.where
        trained = options.trained_field if options.trained_field in line.fields else None
        try:
            text = units_of(line.fields, options.field or trained or source.text or "text")
            second = units_of(line.fields, source.second) if source.second else ""
        except ValueError as error:
            yield Document(name, "", f"{line.where} {error}"), ""
        else:
            yield Document(name, text), second


def classify_texts(
    texts: Iterable[tuple[Document, str]], loaded: LoadedClassifier, report: Report, check: Check
) -> Iterator[Prediction]:
    """Classify documents, or pairs with a second text, in their order, in batches of similar length.

    Raises:
        ResourceError: If memory runs out.
    """
    texts, names, done = iter(texts), loaded.labels, 0
    while ahead := list(islice(texts, _READ_AHEAD)):
        items = [_encode(document, second, loaded) for document, second in ahead]
        rows = iter(classify_items([item for item in items if isinstance(item, Item)], loaded, check))
        for (document, _), item in zip(ahead, items, strict=True):
            if isinstance(item, str):
                prediction = Prediction(document.id, "", (), names, 0, 0, item, document.notes)
            else:
                log_probs = next(rows)
                sizes = _tokens(item, loaded)
                label = names[int(np.argmax(log_probs))]
                prediction = Prediction(document.id, label, tuple(log_probs), names, *sizes, "", document.notes)
            done += 1
            report(Progress("classify", done))
            yield prediction


def _encode(document: Document, second: str, loaded: LoadedClassifier) -> Item | str:
    """Encode a document or a pair; return why it cannot be."""
    if document.error:
        return document.error
    pad = loaded.tokenizer.special_tokens.pad
    try:
        parts = [
            encode_item(document.id, part, loaded.tokenizer, loaded.splitter)
            for part in (document.text, second)[: loaded.model.towers]
        ]
    except DataError as error:  # pixels that are none
        return f"{document.id}: {error}"
    if not all(len(part.ids) for part in parts):
        return f"{document.id} must contain text{' in both documents' if len(parts) > 1 else ''}, got none"
    return join_pair(parts[0], parts[1], pad) if len(parts) > 1 else parts[0]


@torch.no_grad()
def classify_items(items: Sequence[Item], loaded: LoadedClassifier, check: Check) -> np.ndarray:
    """Return the log-probabilities (items, classes) of encoded documents; `check` is called between batches."""
    config, special_tokens = loaded.recipe, loaded.tokenizer.special_tokens
    lengths = np.array([_tokens(item, loaded)[0] for item in items], np.int64)
    log_probs = np.zeros((len(items), len(loaded.labels)))
    precision = choose_precision(config.train.precision, loaded.device)
    order = np.argsort(lengths, kind="stable").tolist()
    for indices in fill_batches(order, lengths, config.train.batch_tokens):
        check()
        batch = collate_labelled([items[i] for i in indices], config.model.source_length, 1, None, special_tokens)
        batch = batch.to(loaded.device)
        with autocast(loaded.device, precision):
            logits = loaded.model.logits(batch.ids, batch.mask, batch.sentences)
        log_probs[indices] = logits.double().log_softmax(1).cpu().numpy()
    return log_probs


def _tokens(item: Item, loaded: LoadedClassifier) -> tuple[int, int]:
    """Return how many tokens of an item are read, and how many it has."""
    lengths = [len(part.ids) for part in split_pair(item, loaded.tokenizer.special_tokens.pad)]
    return sum(min(length, loaded.recipe.model.source_length) for length in lengths), sum(lengths)


def evaluate_classifier(
    runs: Sequence[Path] = (),
    split: Split = "test",
    *,
    overrides: Sequence[str] = (),
    limit: int | None = None,
    results: Results = IN_THE_RUN,
    report: Report = no_op,
    check: Check = no_op,
) -> ClassificationReport:
    """Classify a split of a run's data with its model, and score the labels.

    Args:
        runs: The run folder; none takes the newest run with a classifier.
        split: Part of the data.
        overrides: Settings to change, each like `train.device=cpu`.
        limit: Documents to take, evenly spread over the split; None takes all.
        results: Folder of `documents.jsonl` and `report.json`; by default `evaluation/<split>` in the run folder.
        report: Called with progress.
        check: Called between batches.

    Raises:
        CheckpointError: If there is no classifier, or it is damaged.
        RecipeError: If a setting or the limit is wrong, or the folder of the results holds anything else.
        DataError: If the prepared data is missing or damaged.
        ResourceError: If memory or disk runs out.
    """
    # 1. Load the model and open the documents of its data.
    loaded = load_classifier(runs[0] if runs else None, overrides)
    prepared = prepared_data_of(loaded.folder, loaded.recipe, check)
    shard = Shard(prepared, split, max(loaded.tokenizer.vocab_size, len(loaded.labels)))
    indices = spread(len(shard), limit)
    if not indices:
        raise DataError(f"{prepared / split} must hold documents to evaluate, got none; take another split")
    # 2. Classify them, and save each prediction.
    destination = results.folder or evaluation_folder(loaded.folder, split)
    identity = {"model": Manifest.read(loaded.folder).files[MODEL].sha256, "documents": f"{len(indices)} of {split}"}
    labels, log_probs, truncated = [], [], 0
    with locked_results(destination):
        with open_scores(destination, identity, resume=False) as file:
            for start in range(0, len(indices), _SCORED_AT_ONCE):
                items = [shard[index] for index in indices[start : start + _SCORED_AT_ONCE]]
                for item, row in zip(items, classify_items(items, loaded, check), strict=True):
                    assert item.target is not None, "a prepared document has a label"
                    labels.append(int(item.target[0]))
                    log_probs.append(row)
                    read, total = _tokens(item, loaded)
                    truncated += read < total
                    label, predicted = (loaded.labels[number] for number in (labels[-1], int(row.argmax())))
                    entry = {"id": item.id, "label": label, "predicted": predicted}
                    nats = -round(float(row[labels[-1]]), 6)
                    file.append(json.dumps({**entry, "nats": nats}, ensure_ascii=False))
                report(Progress("evaluate", len(labels), len(indices)))
        # 3. Score the labels.
        scores = score_labels(
            (loaded.recipe.name, split),
            loaded.labels,
            np.array(labels),
            np.array(log_probs),
            loaded.recipe.evaluate.resamples,
            truncated,
        )
        finish_results(destination, scores.to_json(), len(labels))
    return scores
