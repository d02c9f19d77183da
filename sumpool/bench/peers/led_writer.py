"""Summaries by `generate` of transformers, under the rules that ours obey."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, final

import torch
from torch import Tensor

from sumpool.bench.peers.led_inputs import feature, inputs
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.constraints import NoRepeatWords, TokenSurfaces
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.model.config import ModelConfig
from sumpool.data.batches import Item
from sumpool.special_tokens import BOS, EOS, PAD, UNK


@final
class LedWriter:
    """Writes with one LED and one choice of settings.

    Beams, lengths, early stopping and both rules against repetition are those of the settings, the one for words as a
    processor of scores. With several beams `generate` goes by its own length formula. It knows one longest length for
    all documents, where ours writes no more than it reads, and pieces that a summary must begin with are left out.
    """

    def __init__(self, model: Any, sizes: ModelConfig, config: DecodingConfig, lengths: Lengths) -> None:  # noqa: ANN401
        """Prepare.

        Args:
            model: LED, where it is.
            sizes: Our model, at whose lengths documents are cut.
            config: How to write; its lengths are not read.
            lengths: Shortest and longest summary.
        """
        self._model = model
        self._sizes = sizes
        self._config = config
        self._lengths = lengths

    def write(self, documents: Sequence[Item], pieces: TokenSurfaces) -> list[list[int]]:
        """Summarise a batch of documents.

        Args:
            documents: The documents.
            pieces: The vocabulary as parts of words.

        Returns:
            The pieces of each summary, its end left out.
        """
        from transformers import LogitsProcessorList

        repeat = self._config.no_repeat_words
        rules = [_NoRepeatWords(NoRepeatWords(repeat, pieces))] if repeat else []
        features = [{"input_ids": feature(item, self._sizes)["input_ids"]} for item in documents]
        batch = {name: part.to(self._model.device) for name, part in inputs(features).items()}
        self._model.eval()
        with torch.inference_mode():
            found = self._model.generate(
                **batch, generation_config=self._settings(), logits_processor=LogitsProcessorList(rules)
            )
        return [list(takewhile(lambda piece: piece != EOS, row[1:])) for row in found.tolist()]

    def _settings(self) -> Any:  # noqa: ANN401
        from transformers import GenerationConfig

        return GenerationConfig(
            do_sample=False,
            num_beams=self._config.beams,
            length_penalty=self._config.length_penalty,
            early_stopping=self._config.early_stopping,
            min_new_tokens=self._lengths.minimum,
            max_new_tokens=self._lengths.maximum + 1,  # the end
            no_repeat_ngram_size=self._config.no_repeat_tokens,
            forced_eos_token_id=EOS if self._config.force_end else None,
            suppress_tokens=[PAD, UNK, BOS],
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
        )


@final
class _NoRepeatWords:
    """Our rule against repeated words as a processor of scores."""

    def __init__(self, first: NoRepeatWords) -> None:
        self._known: dict[tuple[int, ...], NoRepeatWords] = {(BOS,): first}

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Forbid what would repeat: input_ids (rows, written), scores (rows, vocab)."""
        known = {}
        for row, written in enumerate(map(tuple, input_ids.tolist())):
            before = self._known.get(written) or self._known[written[:-1]].after(written[-1])
            known[written] = before
            scores[row, list(before.forbidden())] = -torch.inf
        self._known = known
        return scores
