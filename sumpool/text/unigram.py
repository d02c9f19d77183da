"""SentencePiece unigram models (Kudo, 2018): training from a list of lines."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import sentencepiece

from sumpool.errors import DataError, is_out_of_memory


def train_unigram(lines: Sequence[str], vocab_size: int, workers: int, settings: Mapping[str, Any], rule: str) -> bytes:
    """Train a unigram model; the same lines and number of workers give the same one.

    Args:
        lines: Training text.
        vocab_size: Number of tokens; short texts give fewer.
        workers: Threads.
        settings: Further settings of SentencePiece's trainer.
        rule: What the number of tokens must be, for the error: "data.vocabulary must hold every character".

    Returns:
        The serialised model.

    Raises:
        DataError: If there is no line, or more characters than tokens.
    """
    if not lines:
        raise DataError("the training documents must hold some text, got none; check the source of the data")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="unigram",
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            num_threads=workers,
            minloglevel=2,
            **settings,
        )
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise DataError(f"{rule}, got {vocab_size}; take a larger one ({error})") from error
    return model.getvalue()
