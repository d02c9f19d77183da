"""Training of the tokenizer and the phrase model on the training split."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from sumpool.data.config import DataConfig
from sumpool.data.processes import caller, ordered_map
from sumpool.data.shards import Shard
from sumpool.data.texts import Texts
from sumpool.progress import Check, Progress, Report
from sumpool.text.load import tokenizer_files
from sumpool.text.phrases import PHRASES, Phrases
from sumpool.text.sentencepiece_tokenizer import SENTENCEPIECE_MODEL, SentencePieceTokenizer
from sumpool.text.units import UnitTokenizer

_TRAINING_THREADS = 2
"""Threads that train the tokenizer; a constant because the model file depends on it, but must not on data.workers."""


def train_text_models(config: DataConfig, folder: Path, processes: int, report: Report, check: Check) -> None:
    """Train the tokenizer, or copy `data.tokenizer`.

    Args:
        config: Settings of the tokenizer.
        folder: Prepared folder with the texts; receives the files.
        processes: Worker processes.
        report: Progress callback.
        check: Called several times a second; an exception stops the work.

    Raises:
        DataError: If there is no text, or the vocabulary is too small.
    """
    report(Progress("prepare: vocabulary"))
    if config.units:
        train = partial(_train_units, folder, config)
    elif config.tokenizer:
        for path in tokenizer_files(config.tokenizer):
            shutil.copyfile(path, folder / path.name)
        return
    else:
        assert config.vocabulary, "vocabulary is set if tokenizer is not"
        train = partial(_train_vocabulary, folder, config.vocabulary)
    for _ in ordered_map(caller, [train], processes, check):
        report(Progress("prepare: vocabulary"))


def _train_vocabulary(folder: Path, vocabulary: int) -> None:
    SentencePieceTokenizer.train(_training_texts(folder), folder / SENTENCEPIECE_MODEL, vocabulary, _TRAINING_THREADS)


def _train_units(folder: Path, config: DataConfig) -> None:
    assert config.units
    assert config.vocabulary, "vocabulary is set if tokenizer is not"
    UnitTokenizer.train(_training_documents(folder), folder, config.units, config.vocabulary)


def train_phrases(folder: Path, phrases: int) -> None:
    """Train the phrase model on the shard of the training split."""
    shard = Shard.open(folder, "train")
    items = (shard[number] for number in range(len(shard)))
    Phrases.train(((item.ids, item.sentences) for item in items), folder / PHRASES, phrases, _TRAINING_THREADS)


def _training_texts(folder: Path) -> Iterator[str]:
    for example in Texts.open(folder, "train"):
        yield example.text
        yield example.summary


def _training_documents(folder: Path) -> Iterator[str]:
    return (example.text for example in Texts.open(folder, "train"))
