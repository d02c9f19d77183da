"""`sumpool init`: write a commented recipe for a set of documents, which adapts the shipped model to them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from sumpool.data.config import SPLITS, Example, SourceConfig, Split
from sumpool.data.report import leak_warning
from sumpool.data.sources import (
    CsvSourceConfig,
    DatasetsSourceConfig,
    FieldsSourceConfig,
    FolderSourceConfig,
    JsonlSourceConfig,
    ParquetSourceConfig,
    is_dataset,
)
from sumpool.documents.files import uncompressed_suffix
from sumpool.errors import DataError, RecipeError
from sumpool.io.atomic import disk_errors, replace_file
from sumpool.io.manifest import RECIPE, SHIPPED
from sumpool.progress import Check, Progress, Report, no_op, told_when_stopped
from sumpool.recipe.files import write
from sumpool.recipe.load import load_recipe
from sumpool.settings import Settings
from sumpool.text.cleaning import escape_line
from sumpool.text.fragments import overlap
from sumpool.text.language import split_words

SHARES = (0.05, 0.1, 0.2, 0.3)
"""Shares of validation and test that are tried in turn, until both splits are large enough."""
ENOUGH = 10
"""Documents of a validation or test split that is large enough."""
TOKENS_PER_WORD = 1.5
"""SentencePiece tokens per word; 1.40 (summaries) to 1.57 (documents) on the bundled RFCs, 6,000 tokens."""
LONGEST_SOURCE, LONGEST_TARGET = 4096, 512
"""Tokens that the recipe reads and generates at most."""
BATCH_DOCUMENTS = 8
"""Documents of a batch that have the full source length."""
PASSES = 3
"""Passes over the training split; as in the recipes of the RFC series."""
FEWEST_STEPS, MOST_STEPS = 200, 20_000
ADAPTED_DOCUMENTS = 4
"""Documents of a batch of full length that the shipped model is adapted with; small, as few pairs give few updates."""
ADAPTED_PASSES = 2
"""Passes that adapt the shipped model; its validation loss was best after one pass over 74 pairs."""
FEWEST_ADAPTED, MOST_ADAPTED = 40, 2000
"""Updates that adapt the shipped model."""
VALIDATIONS, PATIENCE = 8, 3
"""Validations of an adaptation, and those without a better loss that end it."""
LEAK_DOCUMENTS = 300
"""First documents whose summaries are searched for in the text."""
_KINDS = {".csv": CsvSourceConfig, ".tsv": CsvSourceConfig, ".tab": CsvSourceConfig, ".parquet": ParquetSourceConfig}
"""Sources by the suffix of a file; other files are JSON lines."""
_EVERY = 1000
"""Rows between two reports of progress."""


@dataclass(frozen=True)
class _Measured:
    """Documents of each split, words of each document and summary, and the share of the summaries' 8-grams in them."""

    splits: dict[Split, int]
    document_words: Sequence[int]
    summary_words: Sequence[int]
    leak: float


def init(
    data: Path,
    out: Path | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    from_scratch: bool = False,
    report: Report = no_op,
    check: Check = no_op,
) -> Path:
    """Write a commented recipe that adapts the shipped model to a set of documents, or trains one from scratch.

    Field names are guessed. Batch size and steps follow from the measured lengths and the number of pairs; from scratch
    the lengths that the model reads and writes, too.

    Args:
        data: JSON lines, CSV, TSV or Parquet file, folder of a Hugging Face dataset, or folder of `x.txt` with
            `x.summary.txt`.
        out: The recipe; by default `NAME.yaml` in the current folder.
        fields: Names of the fields `document` and `summary` that are not guessed.
        from_scratch: Whether the model has random weights and a vocabulary of its own.
        report: Receives progress.
        check: Called for every row.

    Raises:
        DataError: If a row cannot be used, no field looks like a document or a summary, or a split has no document.
        RecipeError: If the recipe exists, fields are named for a folder of texts, or pyarrow is not installed and
            needed.
        ResourceError: If the disk is full or fails.
        Interrupted: If a signal has come; no recipe is written.
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", data.resolve().name.split(".")[0]).strip("-_")[:48] or "documents"
    out = out or Path(f"{name}.yaml")
    if out.exists():
        raise RecipeError(f"{out} must not exist yet, got a file; name another one with --out")
    with told_when_stopped("no recipe was written"):
        for share in SHARES:
            shares = {"validation_share": share, "test_share": share}
            source: SourceConfig
            if data.is_dir() and not is_dataset(data):
                if fields:
                    option = next(iter(fields))
                    raise RecipeError(f"--{option} must come with a file of rows, got {data}, a folder of texts")
                source = FolderSourceConfig(path=data, **shares)
            else:
                suffix = uncompressed_suffix(data)
                kind = DatasetsSourceConfig if data.is_dir() else _KINDS.get(suffix, JsonlSourceConfig)
                rows: FieldsSourceConfig = kind(path=data, **shares, **(fields or {}))
                guessed = rows.fields_of(next(iter(rows.paths()))[0])
                names = {name: getattr(guessed, name) for name in ("document", "summary", "id")}
                source = rows.model_copy(update=names)
            measured = _measure(source, report, check)
            if min(measured.splits.values()) >= ENOUGH or _has_splits(source):
                break
    empty = [split for split in SPLITS if not measured.splits[split]]
    if empty:
        raise DataError(
            f"{data} must hold documents for every split, got {len(measured.document_words)} and none for {empty[0]}"
        )
    recipe = (_recipe_from_scratch if from_scratch else _adapting_recipe)(measured)
    with disk_errors(out):
        replace_file(out, (_head(out, name, data, source, measured) + recipe).encode())
    beginning = (
        "new: weights and vocabulary"
        if from_scratch
        else "from shipped: weights, vocabulary, settings of summaries; on your pairs: weights go on, the ranker is new"
    )
    for note in (beginning, *leak_warning(measured.leak)):
        report(Progress("init", note=note))
    return out


def _has_splits(source: SourceConfig) -> bool:
    """Return whether the documents are split already, so that shares have no effect."""
    return isinstance(source, DatasetsSourceConfig) and any(split for _, split in source.paths())


def _measure(source: SourceConfig, report: Report, check: Check) -> _Measured:
    splits: dict[Split, int] = dict.fromkeys(SPLITS, 0)
    documents, summaries, leaks = [], [], []
    for number, row in enumerate(source.rows(), start=1):
        check()
        if not isinstance(row, Example):
            raise DataError(f"{row.where}: {row.reason}; correct or remove this row")
        splits[row.split] += 1
        documents.append(len(row.document.split()))
        summaries.append(len(row.summary.split()))
        if number <= LEAK_DOCUMENTS:
            leaks.append(overlap(split_words(row.document), split_words(row.summary)).leak)
        if number % _EVERY == 0:
            report(Progress("init: rows", number))
    return _Measured(splits, documents, summaries, float(np.mean(leaks or [0])))


def _head(out: Path, name: str, path: Path, source: SourceConfig, measured: _Measured) -> str:
    """Comment, name and source of a recipe."""
    comments = {
        "document": "guessed; field of the document",
        "summary": "guessed; field of the summary",
        "id": "guessed; field of the id",
        "validation_share": f"{measured.splits['validation']:,} documents, chosen by a hash of the id",
        "test_share": f"{measured.splits['test']:,} documents",
    }
    lines = ["  source:"]
    for setting, value in source.model_dump(exclude_none=True).items():
        if setting == "quotes" or (setting in ("validation_share", "test_share") and _has_splits(source)):
            continue
        line = "    " + write({setting: str(value) if isinstance(value, Path) else value}).strip()
        lines.append(f"{line:<27} # {comments[setting]}" if setting in comments else line)
    settings = "\n".join(lines)
    return f"""\
# {name}: {len(measured.document_words):,} documents of {escape_line(str(path))}; written by `sumpool init`.
# Words of a document: {_words(measured.document_words)}. Words of a summary: {_words(measured.summary_words)}.
# --set changes any setting for one run: sumpool train {escape_line(str(out))} --set train.steps=100
name: {name}
data:
{settings}
"""


def _adapting_recipe(measured: _Measured) -> str:
    """Rest of a recipe that begins with the shipped model: its vocabulary, sizes and settings of summaries."""
    shipped = load_recipe(SHIPPED / RECIPE)
    length, train = shipped.model.source_length, measured.splits["train"]
    tokens = np.minimum(np.asarray(measured.document_words) * TOKENS_PER_WORD, length).mean()
    documents = max(ADAPTED_DOCUMENTS, round(ADAPTED_DOCUMENTS * length / max(tokens, 1)))
    updates = ceil(train / min(documents, 4 * ADAPTED_DOCUMENTS))
    steps = min(max(ADAPTED_PASSES * updates, FEWEST_ADAPTED), MOST_ADAPTED)
    every = max(5, steps // VALIDATIONS)
    return f"""\
  tokenizer: shipped        # vocabulary of the shipped model
{_section("model", shipped.model)}\
train:
  init_from: shipped        # weights of the shipped model, all of them; remove this line and `tokenizer` for new ones
  steps: {steps:<19}# at most, for {train:,} training documents
  batch_tokens: {ADAPTED_DOCUMENTS * length:<12}# source tokens of a batch, padding included
  learning_rate: 3.0e-4     # a quarter of that of random weights
  schedule: {{kind: cosine, warmup: {max(1, steps // 10)}}}
  validate_every: {every:<10}# steps
  patience: {PATIENCE:<16}# validations without a better loss that end the training
  rouge_documents: 0        # `sumpool evaluate` measures ROUGE; here it would take as long as the training
  checkpoint_every: {every:<8}# steps
{_section("summarize", shipped.summarize)}"""


def _section(name: str, settings: Settings) -> str:
    """YAML of the settings of the shipped model that differ from their defaults."""
    defaults = {key: field.get_default(call_default_factory=True) for key, field in type(settings).model_fields.items()}
    dumped: dict[str, Any] = settings.model_dump(mode="json")
    changed = {key: dumped[key] for key, default in defaults.items() if getattr(settings, key) != default}
    return write({name: changed})


def _recipe_from_scratch(measured: _Measured) -> str:
    """Rest of a recipe with random weights and a vocabulary that is learnt."""
    splits, documents, summaries = measured.splits, measured.document_words, measured.summary_words
    length = min(LONGEST_SOURCE, 128 * max(1, ceil(np.percentile(documents, 90) * TOKENS_PER_WORD / 128)))
    target = min(LONGEST_TARGET, 16 * max(1, ceil((np.percentile(summaries, 95) * TOKENS_PER_WORD + 1) / 16)))
    longer = np.mean(np.asarray(documents) * TOKENS_PER_WORD > length)
    train, keep = splits["train"], max(128, length // 4)
    steps = round(min(max(PASSES * train / BATCH_DOCUMENTS, FEWEST_STEPS), MOST_STEPS))
    return f"""\
  vocabulary: 8000          # SentencePiece tokens, learned from the {train:,} training documents
model:
  dim: 256                  # width of all layers; 512 learns more and takes three times as long
  heads: 4
  feed_forward: 1024
  source_length: {length:<11}# tokens read; about {longer:.0%} of the documents are longer and cut
  target_length: {target:<11}# tokens of a summary, its end included
  encoder:                  # in the comments: vectors after each layer
    - {{attention: {{kind: blockwise, block: 128}}, pool: {{kind: halving, keep: {keep}}}}}  # {keep}
    - {{attention: {{kind: blockwise, block: 128}}}}                                     # {keep}
    - {{attention: {{kind: blockwise, block: 128}}}}                                     # {keep}
  decoder: {{layers: 2}}
  output: {{kind: pointer}}   # copies words of the document; {{kind: tied}} does not
train:
  steps: {steps:<19}# at least {steps * BATCH_DOCUMENTS / train:,.0f} passes over the training documents
  batch_tokens: {BATCH_DOCUMENTS * length:<12}# source tokens of a batch, padding included; halve it if memory runs out
  learning_rate: 1.2e-3
  schedule: {{kind: cosine, warmup: {max(1, steps // 16)}}}
  validate_every: {max(1, steps // 4):<10}# steps
  checkpoint_every: {max(1, steps // 4):<8}# steps
"""


def _words(lengths: Sequence[int]) -> str:
    """Mean and 90th percentile of lengths, in words."""
    return f"mean {np.mean(lengths):,.0f}, 90 % have at most {np.percentile(lengths, 90):,.0f}"
