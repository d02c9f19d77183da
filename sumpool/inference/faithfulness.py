"""Faithfulness of a model's evidence over documents: generate, attribute, delete, and report.

The summaries are the model's own, generated from what it reads at once.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import final

import numpy as np

from sumpool.data.shards import Item
from sumpool.documents.document import Document
from sumpool.evaluation.statistics import SEED, Estimate, estimate, estimate_ratio
from sumpool.inference.generation import Generator
from sumpool.inference.loading import LoadedModel
from sumpool.inference.pipeline import Pipeline
from sumpool.interpret.faithfulness import (
    SHARE,
    DeletionEffect,
    deletion_effects,
    leave_one_out,
    sentence_weights,
)
from sumpool.progress import Check, Progress, Report

LEAVE_ONE_OUT = "leave one out"
"""Attribution by one forward pass per sentence, a reference that is too slow for use."""
LEAVE_ONE_OUT_DOCUMENTS = 20
"""Documents that are attributed by leaving out each sentence."""


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


@final
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
        ValueError: If no document can be measured.
    """
    effects: dict[str, list[DeletionEffect]] = {}
    done = measured = 0
    for item in _generate(documents, loaded):
        done += 1
        if item is not None:
            for method, effect in _measure(item, loaded, measured < LEAVE_ONE_OUT_DOCUMENTS, measured).items():
                effects.setdefault(method, []).append(effect)
            measured += 1
        report(Progress("faithfulness", done, len(documents)))
        check()
    if not effects:
        raise ValueError("documents must have summaries and two sentences, got none")
    rows = tuple(_row(method, results, resamples) for method, results in effects.items())
    return FaithfulnessReport(loaded.recipe.name, split, rows, done - measured)


def _generate(documents: Iterable[Document], loaded: LoadedModel) -> Iterator[Item | None]:
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
        if item and len(target) and item.sentences[-1]:
            yield replace(item, target=target)
        else:
            yield None


def _measure(item: Item, loaded: LoadedModel, with_leave_one_out: bool, seed: int) -> dict[str, DeletionEffect]:
    batch_tokens = loaded.recipe.summarize.batch_tokens
    weights = sentence_weights(loaded.model, item)
    if with_leave_one_out:
        weights[LEAVE_ONE_OUT] = leave_one_out(loaded.model, item, batch_tokens)
    return deletion_effects(loaded.model, item, weights, batch_tokens, seed)


def _row(method: str, effects: Sequence[DeletionEffect], resamples: int) -> FaithfulnessRow:
    top, random = (np.array(column) for column in zip(*((row.top, row.random) for row in effects), strict=True))
    top_loss, random_loss = estimate(np.stack([top, random], axis=1), resamples, SEED)
    return FaithfulnessRow(
        method,
        documents=len(effects),
        tokens=sum(effect.tokens for effect in effects) / len(effects),
        top=top_loss,
        random=random_loss,
        ratio=estimate_ratio(top, random, resamples, SEED),
    )
