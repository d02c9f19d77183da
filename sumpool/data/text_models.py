"""Training of the tokenizer and the phrase model on the training split."""

import shutil
from functools import partial
from pathlib import Path

from sumpool.data.config import DataConfig
from sumpool.data.processes import caller, ordered_map
from sumpool.data.shards import Shard
from sumpool.progress import Check, Progress, Report
from sumpool.text.load import tokenizer_files
from sumpool.text.phrases import PHRASES, Phrases

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
    if config.tokenizer:
        for path in tokenizer_files(config.tokenizer):
            shutil.copyfile(path, folder / path.name)
        return
    for _ in ordered_map(caller, [partial(config.train_tokenizer, folder, _TRAINING_THREADS)], processes, check):
        report(Progress("prepare: vocabulary"))


def train_phrases(folder: Path, phrases: int) -> None:
    """Train the phrase model on the shard of the training split."""
    shard = Shard.open(folder, "train")
    items = (shard[number] for number in range(len(shard)))
    Phrases.train(((item.ids, item.sentences) for item in items), folder / PHRASES, phrases, _TRAINING_THREADS)
