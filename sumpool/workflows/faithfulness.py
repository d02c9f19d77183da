"""`sumpool evaluate --faithfulness`: whether the model needs the sentences that its evidence names.

An attribution is faithful if the model needs what it names: deleting the sentences with the largest weights must lower
the log-probability of the summary more than deleting random sentences of as many tokens (comprehensiveness of DeYoung
et al., 2020, arXiv:1911.03429, in log-probabilities). Tokens are removed, not masked, so that the model reads a shorter
document of the usual kind. The summaries are the model's own, generated from what it reads at once.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt
import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import Batch, collate, fill_batches
from sumpool.data.inputs import Split
from sumpool.data.shards import Item
from sumpool.data.texts import Texts
from sumpool.documents.document import Document
from sumpool.errors import DataError
from sumpool.evaluation.statistics import SEED, Estimate, Floats, estimate, estimate_ratio
from sumpool.inference.generation import Generator
from sumpool.inference.loading import LoadedModel, load_for_generation
from sumpool.inference.pipeline import Pipeline
from sumpool.interpret.attribution import Method, attribute, content_tokens, sum_by_sentence
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.runs.run_folder import spread
from sumpool.tasks.summarization.evaluate import prepared_folder

DEFAULT_LIMIT = 100
"""Documents of a call that names no number."""
LEAVE_ONE_OUT = "leave one out"
"""Attribution by one forward pass per sentence, a reference that is too slow for use."""
LEAVE_ONE_OUT_DOCUMENTS = 20
"""Documents that are attributed by leaving out each sentence."""
SHARE = 0.1
"""Share of a document's sentences that is deleted."""
RANDOM_DRAWS = 5
"""Random deletions per document, whose mean is compared with."""


@dataclass(frozen=True)
class FaithfulnessRow:
    """Effect of deletions by one method.

    Attributes:
        method: Name of the attribution.
        documents: Number of documents.
        tokens: Mean number of deleted tokens.
        top: Loss of log-probability without the sentences of the largest weights, in nats.
        random: Loss without as many tokens of random sentences, in nats.
        ratio: Ratio of both.
    """

    method: str
    documents: int
    tokens: float
    top: Estimate
    random: Estimate
    ratio: Estimate


@dataclass(frozen=True)
class FaithfulnessReport:
    """Faithfulness of a model's attributions.

    Attributes:
        model: Name of the model.
        split: Split of the documents.
        rows: One row per method.
        skipped: Documents with fewer than two sentences or without a summary.
    """

    model: str
    split: str
    rows: tuple[FaithfulnessRow, ...]
    skipped: int

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return column titles and rows of text."""
        columns = ["attribution", "documents", "tokens", "top", "random", "ratio", "95 %"]
        rows = [
            [
                row.method,
                str(row.documents),
                f"{row.tokens:.0f}",
                f"{row.top.mean:.1f}",
                f"{row.random.mean:.1f}",
                f"{row.ratio.mean:.1f}",
                f"{row.ratio.low:.1f} to {row.ratio.high:.1f}",
            ]
            for row in self.rows
        ]
        return columns, rows

    @property
    def notes(self) -> list[str]:
        """Explanation of the columns."""
        notes = [
            f"{self.model} on {self.split or 'documents'}: loss of the summary's log-probability (nats) without the "
            f"{SHARE:.0%} of the sentences with the largest weights, and without as many tokens of random sentences"
        ]
        if self.skipped:
            notes.append(f"{self.skipped:,} documents without a summary or with fewer than two sentences are left out")
        return notes

    def to_json(self) -> str:
        """Render as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2) + "\n"


def evaluate_faithfulness(
    run: Path | None = None,
    split: Split = "test",
    *,
    overrides: tuple[str, ...] = (),
    limit: int | None = None,
    report: Report = no_op,
    check: Check = no_op,
) -> FaithfulnessReport:
    """Measure the faithfulness of a model's attributions on a split of its data.

    Args:
        run: The run folder; None takes the one that summarises by default.
        split: Part of the data.
        overrides: Settings to change, each like `summarize.beams=1`.
        limit: Documents to take, evenly spread over the split; None takes 100.
        report: Called with progress.
        check: Called between documents.

    Raises:
        CheckpointError: If there is no model, or it is damaged.
        RecipeError: If a setting or the limit is wrong.
        DataError: If the prepared data is missing, or no document has two sentences and a summary.
    """
    # 1. Load the model and open the documents of its data.
    loaded = load_for_generation(run, overrides)
    prepared = prepared_folder(loaded.folder, loaded.recipe, check)
    texts = Texts.open(prepared, split)
    indices = spread(len(texts), limit or DEFAULT_LIMIT)
    documents = [Document(example.id, example.document) for example in map(texts.__getitem__, indices)]
    # 2. Generate summaries, attribute them, and delete sentences.
    return measure_faithfulness(documents, loaded, loaded.recipe.evaluate.resamples, split, report, check)


def measure_faithfulness(
    documents: Sequence[Document], loaded: LoadedModel, resamples: int, split: str, report: Report, check: Check
) -> FaithfulnessReport:
    """Measure every attribution on the generated summaries of documents.

    Args:
        documents: The documents, at least one with two sentences.
        loaded: The model.
        resamples: Resamples of the intervals.
        split: Split of the documents, for the report.
        report: Called with progress.
        check: Called between documents.

    Raises:
        DataError: If no document can be measured.
    """
    batch_tokens = loaded.recipe.summarize.batch_tokens
    effects: dict[str, list[DeletionEffect]] = {}
    measured = 0
    for done, item in enumerate(_generate(documents, loaded), 1):
        if item is not None:
            weights = sentence_weights(loaded.model, item)
            if measured < LEAVE_ONE_OUT_DOCUMENTS:
                weights[LEAVE_ONE_OUT] = leave_one_out(loaded.model, item, batch_tokens)
            for method, effect in deletion_effects(loaded.model, item, weights, batch_tokens, measured).items():
                effects.setdefault(method, []).append(effect)
            measured += 1
        report(Progress("faithfulness", done, len(documents)))
        check()
    if not effects:
        raise DataError(f"documents of {split} must have summaries and two sentences, got none")
    rows = tuple(_row(method, results, resamples) for method, results in effects.items())
    return FaithfulnessReport(loaded.recipe.name, split, rows, len(documents) - measured)


@dataclass(frozen=True)
class DeletionEffect:
    """Effect of deleting sentences of one document.

    Attributes:
        tokens: Deleted tokens.
        top: Loss of log-probability without the sentences of the largest weights, in nats.
        random: Mean loss without as many tokens of random sentences, in nats.
    """

    tokens: int
    top: float
    random: float


def sentence_weights(model: SummarizationModel, item: Item) -> dict[str, Floats]:
    """Attribute a summary to the sentences of its document by every method of one forward pass.

    Args:
        model: Model in evaluation mode.
        item: The document with its summary.

    Returns:
        By method, (sentences,).
    """
    (attribution,) = attribute(model, _collate(model, [item]))
    target = torch.zeros(len(attribution.log_prob), dtype=torch.long)
    source = torch.from_numpy(item.sentences.astype(np.int64))
    content = content_tokens(model, item)
    return {
        method: sum_by_sentence(attribution.weights(method) * content, target, source)[0].numpy()
        for method in get_args(Method)
    }


def leave_one_out(model: SummarizationModel, item: Item, batch_tokens: int) -> Floats:
    """Loss of the summary's log-probability without each sentence, (sentences,): one forward pass per sentence."""
    sentences = range(int(item.sentences[-1]) + 1)
    deletable = content_tokens(model, item).numpy() > 0
    shorter = [_without(item, (item.sentences == sentence) & deletable) for sentence in sentences]
    return log_probability(model, [item], batch_tokens) - log_probability(model, shorter, batch_tokens)


def deletion_effects(
    model: SummarizationModel, item: Item, weights: Mapping[str, Floats], batch_tokens: int, seed: int
) -> dict[str, DeletionEffect]:
    """Delete a tenth of the sentences, at least one, by the weights of each method, and as many tokens at random.

    Args:
        model: Model in evaluation mode.
        item: The document with its summary.
        weights: Weights of the sentences by method, (sentences,) each.
        batch_tokens: Tokens of a batch, padding included.
        seed: Seed of the random deletions.
    """
    deletable = content_tokens(model, item).numpy() > 0
    deletions: list[npt.NDArray[np.bool_]] = []
    for values in weights.values():
        top = np.argsort(-values, kind="stable")[: max(1, round(SHARE * len(values)))]
        deletion = np.isin(item.sentences, top) & deletable
        generator = np.random.default_rng(seed)
        draws = (
            random_deletion(item.sentences, deletable, int(deletion.sum()), generator) for _ in range(RANDOM_DRAWS)
        )
        deletions += [deletion, *draws]
    shorter = [_without(item, deletion) for deletion in deletions]
    losses = log_probability(model, [item], batch_tokens) - log_probability(model, shorter, batch_tokens)
    groups = zip(deletions[:: RANDOM_DRAWS + 1], losses.reshape(-1, RANDOM_DRAWS + 1), strict=True)
    return {
        name: DeletionEffect(int(deletion.sum()), float(top), float(np.mean(random)))
        for name, (deletion, (top, *random)) in zip(weights, groups, strict=True)
    }


def random_deletion(
    sentences: npt.NDArray[np.int32], deletable: npt.NDArray[np.bool_], tokens: int, generator: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Select whole random sentences of a number of tokens; of the last one as many as are missing.

    Args:
        sentences: (length,), sentence number of each token.
        deletable: (length,), False at special tokens.
        tokens: Number of tokens.
        generator: Random generator.

    Returns:
        (length,), True at selected tokens.
    """
    rank = generator.permutation(int(sentences[-1]) + 1)[sentences]  # (length,)
    order = np.argsort(np.where(deletable, rank, len(sentences)), kind="stable")
    deletion = np.zeros(len(sentences), np.bool_)
    deletion[order[:tokens]] = True
    return deletion & deletable


@torch.inference_mode()
def log_probability(model: SummarizationModel, items: Sequence[Item], batch_tokens: int) -> Floats:
    """Compute the log-probability of each document's summary, in nats, (documents,)."""
    lengths = [len(item.ids) for item in items]
    log_probs = np.zeros(len(items))
    for rows in fill_batches(sorted(range(len(items)), key=lengths.__getitem__), lengths, batch_tokens):
        batch = _collate(model, [items[row] for row in rows])
        assert batch.target is not None
        memory = model.encode(batch.ids, batch.mask, batch.sentences)
        log_probs[rows] = model.score(memory, batch.target).log_prob.double().sum(1).cpu().numpy()
    return log_probs


def _collate(model: SummarizationModel, items: Sequence[Item]) -> Batch:
    config = model.config
    batch = collate(items, config.source_length, config.target_length, special_tokens=model.special_tokens)
    return batch.to(model.embedding.weight.device)


def _without(item: Item, deletion: npt.NDArray[np.bool_]) -> Item:
    return replace(item, ids=item.ids[~deletion], sentences=item.sentences[~deletion])


def _generate(documents: Sequence[Document], loaded: LoadedModel) -> Iterator[Item | None]:
    """Return each document as it is read at once, with its generated summary; None without a summary."""
    config = loaded.recipe.summarize.model_copy(update={"mode": "abstractive", "on_overflow": "truncate"})
    loaded = replace(loaded, recipe=loaded.recipe.model_copy(update={"summarize": config}))
    pipeline = Pipeline.of(loaded)
    generator = Generator(loaded.model, loaded.tokenizer, config, loaded.lengths)
    for document in documents:
        read = pipeline.read(document).input
        item = read.item if read else None
        text = generator.generate([item])[0].text if item else ""
        target = np.array(loaded.tokenizer.encode(text), dtype=np.int64)
        yield replace(item, target=target) if item and len(target) and item.sentences[-1] else None


def _row(method: str, effects: Sequence[DeletionEffect], resamples: int) -> FaithfulnessRow:
    tokens, top, random = np.array([(effect.tokens, effect.top, effect.random) for effect in effects]).T
    top_loss, random_loss = estimate(np.stack([top, random], axis=1), resamples, SEED)
    ratio = estimate_ratio(top, random, resamples, SEED)
    return FaithfulnessRow(method, len(effects), float(tokens.mean()), top_loss, random_loss, ratio)
