"""Classification of documents by the model of a run."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from sumpool.data.batches import fill_batches
from sumpool.data.encoding import encode_item
from sumpool.data.report import DataReport
from sumpool.data.shards import Item
from sumpool.documents.document import Document
from sumpool.errors import CheckpointError, DataError
from sumpool.inference.loading import LoadedRun, load_run_of_task
from sumpool.progress import Check
from sumpool.tasks.classification.batches import collate_labelled
from sumpool.tasks.classification.labels import Labels, join_pair, split_pair
from sumpool.tasks.classification.model import ClassificationModel
from sumpool.tasks.classification.recipe import ClassificationRecipe
from sumpool.text.sentences import SentenceSplitter
from sumpool.training.hardware import autocast, choose_precision

_READ_AHEAD = 256
"""Documents that are encoded before they are classified in batches of similar length."""


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
    labels: Labels


@dataclass(frozen=True)
class LabelledText:
    """A document to classify, or a pair.

    Attributes:
        document: The document; its id is that of a pair.
        second: Second document of a pair; empty without one.
    """

    document: Document
    second: str = ""


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


def load_classifier(folder: Path | None = None, overrides: Sequence[str] = ()) -> LoadedClassifier:
    """Load the run folder of a classifier.

    Args:
        folder: The run folder; None takes the newest run with a classifier.
        overrides: Settings to change, each like `train.device=cpu`.

    Raises:
        CheckpointError: If the folder has no classifier, or a file is damaged or belongs to another model.
        RecipeError: If an override is wrong.
    """
    run = load_run_of_task(folder, overrides, "classification", ClassificationRecipe)
    try:
        splitter, labels = SentenceSplitter(DataReport.load(run.folder).language), Labels.load(run.folder)
    except DataError as error:  # of a file that prepared data has too
        raise CheckpointError(str(error)) from error
    return LoadedClassifier(**vars(run), splitter=splitter, labels=labels)


def classify_texts(texts: Iterable[LabelledText], loaded: LoadedClassifier, check: Check) -> Iterator[Prediction]:
    """Classify documents in their order, in batches of similar length; `check` is called between batches.

    Raises:
        ResourceError: If memory runs out.
    """
    texts = iter(texts)
    while ahead := list(islice(texts, _READ_AHEAD)):
        items = [_encode(text, loaded) for text in ahead]
        readable = [item for item in items if isinstance(item, Item)]
        log_probs = iter(classify_items(readable, loaded, check))
        for text, item in zip(ahead, items, strict=True):
            yield _prediction(text.document, item, next(log_probs) if isinstance(item, Item) else (), loaded)


@torch.no_grad()
def classify_items(items: Sequence[Item], loaded: LoadedClassifier, check: Check) -> np.ndarray:
    """Return the log-probabilities (items, classes) of encoded documents; `check` is called between batches."""
    config, special_tokens = loaded.recipe, loaded.tokenizer.special_tokens
    lengths = np.array([_tokens_read(item, loaded) for item in items], np.int64)
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


def is_truncated(item: Item, loaded: LoadedClassifier) -> bool:
    """Return whether the model reads only the beginning of a document."""
    return _tokens_read(item, loaded) < _tokens(item, loaded)


def _encode(text: LabelledText, loaded: LoadedClassifier) -> Item | str:
    """Encode a document or a pair; return why it cannot be."""
    document = text.document
    if document.error:
        return document.error
    pad = loaded.tokenizer.special_tokens.pad
    try:
        parts = [
            encode_item(document.id, part, loaded.tokenizer, loaded.splitter)
            for part in (document.text, text.second)[: loaded.model.towers]
        ]
    except DataError as error:  # pixels that are none
        return f"{document.id}: {error}"
    if not all(len(part.ids) for part in parts):
        return f"{document.id} must contain text{' in both documents' if len(parts) > 1 else ''}, got none"
    return join_pair(parts[0], parts[1], pad) if len(parts) > 1 else parts[0]


def _prediction(
    document: Document, item: Item | str, log_probs: Sequence[float], loaded: LoadedClassifier
) -> Prediction:
    names = loaded.labels.names
    if isinstance(item, str):
        return Prediction(document.id, "", (), names, 0, 0, item, document.notes)
    label = names[int(np.argmax(log_probs))]
    read, total = _tokens_read(item, loaded), _tokens(item, loaded)
    return Prediction(document.id, label, tuple(log_probs), names, read, total, "", document.notes)


def _tokens(item: Item, loaded: LoadedClassifier) -> int:
    return sum(len(part.ids) for part in split_pair(item, loaded.tokenizer.special_tokens.pad))


def _tokens_read(item: Item, loaded: LoadedClassifier) -> int:
    parts, most = split_pair(item, loaded.tokenizer.special_tokens.pad), loaded.recipe.model.source_length
    return sum(min(len(part.ids), most) for part in parts)
