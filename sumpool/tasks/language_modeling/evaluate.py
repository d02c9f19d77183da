"""`sumpool evaluate` for language models: a split of their text in, bits per character and segments out."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import TypeAdapter

from sumpool.data.config import Split
from sumpool.errors import DataError, RecipeError
from sumpool.evaluation.report import Evaluation, TitledTable
from sumpool.evaluation.scores import SCORES, finish_results, locked_results, open_scores
from sumpool.evaluation.task import IN_THE_RUN, Results
from sumpool.inference.loading import LoadedRun, load_run_of_task
from sumpool.io.json_lines import read_records
from sumpool.io.manifest import MODEL, Manifest
from sumpool.progress import Check, Progress, Report, no_op
from sumpool.runs.run_folder import evaluation_folder, prepared_data_of
from sumpool.tasks.language_modeling.config import LanguageModelRecipe, TextEvaluationConfig
from sumpool.tasks.language_modeling.measures import (
    DIFFERENCE_COLUMNS,
    LanguageModelDifference,
    LanguageModelReport,
    ScoredWindow,
    compare_language_models,
    score_language_model,
)
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.tasks.language_modeling.stream import TextStream

Ids = npt.NDArray[np.integer[Any]]

RELEASED_STREAMS, RELEASED_STEPS = 16, 500
"""Parallel streams and most windows of each in the released code: twice its training batch, and its cap."""
_LINE = TypeAdapter(ScoredWindow)
_REPORTED = 16
"""Windows between two reports of progress."""


@dataclass(frozen=True)
class LoadedLanguageModel(LoadedRun):
    """A trained language model."""

    recipe: LanguageModelRecipe
    model: LanguageModel


def load_language_model(folder: Path | None = None, overrides: Sequence[str] = ()) -> LoadedLanguageModel:
    """Load the run folder of a language model, by default the newest; errors are those of `load_run_of_task`."""
    return LoadedLanguageModel(**vars(load_run_of_task(folder, overrides, "language_modeling")))


def split_of(loaded: LoadedLanguageModel, split: Split, check: Check = no_op) -> Ids:
    """Open the ids (tokens,) of a split of a run's data, after verifying its files.

    Raises:
        DataError: If the prepared data is missing or damaged, or has ids that the vocabulary lacks.
    """
    prepared = prepared_data_of(loaded.folder, loaded.recipe, check)
    stream = TextStream(prepared, split, loaded.tokenizer.vocab_size)
    return stream.read(0, len(stream))[0]


@torch.inference_mode()
def segments_of(loaded: LoadedLanguageModel, ids: Ids) -> tuple[str, ...]:
    """Return the segments of a text as the model decides them; the last one may be unfinished."""
    if not len(ids):
        return ()
    row = torch.from_numpy(np.asarray(ids).astype(np.int64))[None].to(loaded.device)
    ends = loaded.model.boundaries_of(row, torch.ones_like(row, dtype=torch.bool))[0].tolist()
    tokens, segments, segment = loaded.tokenizer.token_bytes(), [], ""
    for token, is_end in zip(ids.tolist(), ends, strict=True):
        segment += tokens[token].decode()
        if is_end:
            segments.append(segment)
            segment = ""
    return tuple(filter(None, (*segments, segment)))


@dataclass(frozen=True)
class LanguageModelEvaluation(Evaluation):
    """Evaluations of language models on the same split.

    Attributes:
        reports: Report of each model, by name.
        differences: Paired comparison of every pair; empty for one model.
    """

    reports: Mapping[str, LanguageModelReport]
    differences: tuple[LanguageModelDifference, ...] = ()

    def to_json(self) -> str:
        """Serialize the report of one model, or all reports with their differences."""
        reports = {name: asdict(report) for name, report in self.reports.items()}
        differences = [asdict(difference) for difference in self.differences]
        several = {"models": reports, "differences": differences}
        content = several if len(reports) > 1 else next(iter(reports.values()))
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"

    def tables(self) -> list[TitledTable]:
        """Lay out the scores and the lengths of the segments of each model, and the differences of several."""
        tables = [table for name, report in self.reports.items() for table in report.tables(name)]
        if self.differences:
            rows = [difference.row() for difference in self.differences]
            tables.append((DIFFERENCE_COLUMNS, rows, "differences on the same windows, bits per character", 1))
        return tables

    def samples(self) -> Sequence[Sequence[str]]:
        """Segments at the beginning of the text, by each model."""
        return [report.sample for report in self.reports.values() if report.sample]


def evaluate_language_models(
    runs: Sequence[Path],
    split: Split = "test",
    *,
    overrides: Sequence[str] = (),
    limit: int | None = None,
    results: Results = IN_THE_RUN,
    report: Report = no_op,
    check: Check = no_op,
) -> LanguageModelEvaluation:
    """Evaluate language models on a split of their text, and compare them pair by pair, window by window.

    Args:
        runs: Run folders; none takes the newest run of a language model.
        split: Part of the text.
        overrides: Settings to change, each like `evaluate.protocol=released`.
        limit: Windows to score, the first ones; None takes all.
        results: Folder of the results of one run, by default `evaluation/<split>` in each run folder; and whether the
            windows of an unfinished evaluation are kept.
        report: Called with progress.
        check: Called between batches.

    Raises:
        CheckpointError: If there is no language model, or one is damaged.
        RecipeError: If a setting is wrong, or a folder of results holds anything else.
        DataError: If the prepared data is missing or damaged, or the models have other texts.
        ResourceError: If memory or disk runs out.
    """
    if results.folder and len(runs) > 1:
        raise RecipeError(f"--out must come with one run, got {len(runs)}")
    reports: dict[str, LanguageModelReport] = {}
    scores: dict[str, list[ScoredWindow]] = {}
    resamples = 0
    # 1. Score every run, which writes its folder of results.
    for run in runs or (None,):
        loaded = load_language_model(run, overrides)
        name = loaded.recipe.name if loaded.recipe.name not in reports else str(loaded.folder)
        reports[name], scores[name] = _evaluate(loaded, split, limit, results, report, check)
        resamples = loaded.recipe.evaluate.resamples
    # 2. Compare every pair.
    return LanguageModelEvaluation(reports, compare_language_models(scores, resamples))


def _evaluate(
    loaded: LoadedLanguageModel, split: Split, limit: int | None, results: Results, report: Report, check: Check
) -> tuple[LanguageModelReport, list[ScoredWindow]]:
    """Score the windows of a split that have no scores yet, and write report and manifest."""
    config = loaded.recipe.evaluate
    text = split_of(loaded, split, check)
    windows = windows_of(config, len(text))[:limit]
    if not windows:
        raise DataError(f"{split} of {loaded.folder} must hold two tokens or more, got {len(text)}")
    folder = results.folder or evaluation_folder(loaded.folder, split)
    model = Manifest.read(loaded.folder).files[MODEL].sha256 + loaded.recipe.model_dump_json(include={"model"})
    identity = {
        "model": sha256(model.encode()).hexdigest(),
        "text": f"{split}, {sha256(text.tobytes()).hexdigest()}",
        "windows": f"{len(windows):,} of {config.window:,} tokens moved by {config.step:,}, {config.protocol}",
    }
    with locked_results(folder):
        with open_scores(folder, identity, resume=results.resume) as file:
            scored = read_windows(file.path.parent)
            rest, batch = windows[len(scored) :], config.batch_tokens
            for window in score_text(loaded.model, text, rest, batch_tokens=batch, device=loaded.device, check=check):
                file.append(_LINE.dump_json(window).decode())
                scored.append(window)
                if len(scored) % _REPORTED == 0 or len(scored) == len(windows):
                    report(Progress("evaluate", len(scored), len(windows)))
        sample = segments_of(loaded, text[: config.sample])
        result = score_language_model(loaded.recipe.name, split, config, scored, sample)
        finish_results(folder, LanguageModelEvaluation({result.model: result}).to_json(), len(scored))
    return result, scored


@dataclass(frozen=True)
class TextWindow:
    """Part of a text that is read at once.

    Attributes:
        start: First token that is read.
        scored: First token that is predicted.
        end: Token after the last one that is predicted; that one is not read.
    """

    start: int
    scored: int
    end: int

    @property
    def tokens(self) -> int:
        """Number of predicted tokens."""
        return self.end - self.scored

    @property
    def length(self) -> int:
        """Number of tokens that are read."""
        return self.end - 1 - self.start


def windows_of(config: TextEvaluationConfig, tokens: int) -> list[TextWindow]:
    """Return the windows of a text by the protocol of the settings."""
    make = released_windows if config.protocol == "released" else overlapping_windows
    return make(tokens, config.window, config.step)


def released_windows(tokens: int, length: int, step: int) -> list[TextWindow]:
    """Return the windows of the released code: equal parallel streams, without remainder, capped in their number.

    Args:
        tokens: Tokens of the text.
        length: Most tokens that a window reads.
        step: Tokens that a window predicts.
    """
    size = tokens // RELEASED_STREAMS
    return [
        window
        for stream in range(RELEASED_STREAMS)
        for window in overlapping_windows(size, length, step, stream * size)[:RELEASED_STEPS]
    ]


def overlapping_windows(tokens: int, length: int, step: int, offset: int = 0) -> list[TextWindow]:
    """Return windows that predict every token of a text but the first, each once and with the most context.

    Args:
        tokens: Tokens of the text.
        length: Most tokens that a window reads.
        step: Tokens that a window predicts; the last one may predict fewer.
        offset: Index of the first token.
    """
    windows = []
    for scored in range(1, tokens, step):
        end = min(scored + step, tokens)
        windows.append(TextWindow(offset + max(0, end - 1 - length), offset + scored, offset + end))
    return windows


def read_windows(folder: Path) -> list[ScoredWindow]:
    """Read the scores of the windows in a folder of results.

    Raises:
        DataError: If a line is damaged.
    """
    return list(read_records(folder / SCORES, _LINE.validate_json, "a line of scores", "evaluate again"))


@torch.inference_mode()
def score_text(
    model: LanguageModel,
    text: Ids,
    windows: Sequence[TextWindow],
    *,
    batch_tokens: int,
    device: torch.device,
    check: Check = no_op,
) -> Iterator[ScoredWindow]:
    """Score the windows of a text, in their order.

    Args:
        model: The model, on the device, in evaluation mode.
        text: (tokens,).
        windows: The windows; neighbours of equal length are scored together.
        batch_tokens: Most tokens of a batch; a longer window is a batch of its own.
        device: Device of the model.
        check: Called between batches.

    Yields:
        Scores of each window.
    """
    for (length, tokens), same in groupby(windows, lambda window: (window.length, window.tokens)):
        part = list(same)
        size = max(1, batch_tokens // length)
        for first in range(0, len(part), size):
            check()
            batch = part[first : first + size]
            spans = np.stack([text[window.start : window.end] for window in batch]).astype(np.int64)
            ids = torch.from_numpy(spans).to(device)
            read, target = ids[:, :-1], ids[:, 1:]
            mask = torch.ones_like(read, dtype=torch.bool)
            scores, _, _ = model(read, mask, torch.zeros_like(read), target)
            nats = -scores.log_prob[:, -tokens:].double().sum(1)
            boundaries = model.boundaries_of(read, mask).cpu().numpy()
            for window, value, of_row in zip(batch, nats.tolist(), boundaries, strict=True):
                ends = np.flatnonzero(of_row)
                # Of a segment that begins before the window, the part in the window counts, as the model reads it.
                lengths = np.diff(ends, prepend=-1)[ends >= length - tokens]
                yield ScoredWindow(
                    start=window.start,
                    tokens=tokens,
                    nats=value,
                    boundaries=len(lengths),
                    lengths=dict(Counter(lengths.tolist())),
                )
