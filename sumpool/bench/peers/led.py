"""LED of transformers on a run's documents: the same tokens, cut at the same lengths, under its names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, final

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sumpool.bench.peers.transformers_peer import token_ids
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.constraints import NoRepeatWords, TokenSurfaces
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.model.config import ModelConfig
from sumpool.data.batches import collate
from sumpool.data.items import Item
from sumpool.special_tokens import DEFAULT_SPECIAL_TOKENS, SpecialTokens
from sumpool.training.data_order import ItemSource

IGNORED = -100
"""Label of padding."""


@final
@dataclass
class LedDataset:
    """Documents as a data set of torch: unpadded `input_ids` (length,) and `labels` (target,)."""

    items: ItemSource
    config: ModelConfig
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, number: int) -> Mapping[str, Tensor]:
        if not 0 <= number < len(self):
            raise IndexError(f"a document's number must lie within 0 and {len(self) - 1}, got {number}")
        return led_example(self.items[number], self.config, self.special_tokens)


def led_example(
    item: Item, config: ModelConfig, special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS
) -> dict[str, Tensor]:
    """Cut a document, and a summary if there is one, at the lengths of our model."""
    batch = collate([item], config.source_length, config.target_length, special_tokens=special_tokens)
    return {"input_ids": batch.ids[0]} | ({} if batch.target is None else {"labels": batch.target[0]})


def led_batch(examples: Sequence[Mapping[str, Tensor]], pad: int = DEFAULT_SPECIAL_TOKENS.pad) -> dict[str, Tensor]:
    """Pad documents into a batch; all have labels, or none has.

    Returns:
        `input_ids`, `attention_mask` and `global_attention_mask` (batch, length), the first token of every document
        being global; and `labels` (batch, target).
    """
    documents = [example["input_ids"] for example in examples]
    ids = pad_sequence(documents, batch_first=True, padding_value=pad)
    mask = pad_sequence([torch.ones_like(document) for document in documents], batch_first=True)
    first = torch.zeros_like(ids)
    first[:, 0] = 1
    batch = {"input_ids": ids, "attention_mask": mask, "global_attention_mask": first}
    if "labels" in examples[0]:
        labels = [example["labels"] for example in examples]
        batch["labels"] = pad_sequence(labels, batch_first=True, padding_value=IGNORED)
    return batch


@final
@dataclass
class LedGenerator:
    """Generates summaries with one LED by `generate` of transformers, under the rules of our search.

    Beams, lengths, early stopping and both rules against repetition are those of the settings, the one for words as a
    processor of scores. With several beams `generate` uses its own length formula. It has one maximum length for all
    documents, where ours writes no more than it reads, and tokens that a summary must begin with are left out.
    """

    model: Any
    sizes: ModelConfig
    config: DecodingConfig
    lengths: Lengths
    special_tokens: SpecialTokens = DEFAULT_SPECIAL_TOKENS

    def generate(self, documents: Sequence[Item], surfaces: TokenSurfaces) -> list[list[int]]:
        """Summarise a batch of documents; returns the tokens of each summary without EOS."""
        from transformers import LogitsProcessorList

        repeat, tokens = self.config.no_repeat_words, self.special_tokens
        rules = [_NoRepeatWordsProcessor(NoRepeatWords(repeat, surfaces), tokens.decoder_start)] if repeat else []
        examples = [{"input_ids": led_example(item, self.sizes, tokens)["input_ids"]} for item in documents]
        batch = {name: part.to(self.model.device) for name, part in led_batch(examples, tokens.pad).items()}
        self.model.eval()
        with torch.inference_mode():
            summaries = self.model.generate(
                **batch, generation_config=self._settings(), logits_processor=LogitsProcessorList(rules)
            )
        return [list(takewhile(lambda token: token != tokens.eos, row[1:])) for row in summaries.tolist()]

    def _settings(self) -> Any:  # noqa: ANN401
        from transformers import GenerationConfig

        tokens = self.special_tokens
        return GenerationConfig(
            do_sample=False,
            num_beams=self.config.beams,
            length_penalty=self.config.length_penalty,
            early_stopping=self.config.early_stopping,
            min_new_tokens=self.lengths.minimum,
            max_new_tokens=self.lengths.maximum + 1,  # EOS
            no_repeat_ngram_size=self.config.no_repeat_tokens,
            suppress_tokens=list(tokens.suppressed),
            **token_ids(tokens, force_end=self.config.force_end),
        )


@final
class _NoRepeatWordsProcessor:
    """Our rule against repeated words as a processor of scores."""

    def __init__(self, first: NoRepeatWords, start: int) -> None:
        self._known: dict[tuple[int, ...], NoRepeatWords] = {(start,): first}

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Forbid what would repeat: input_ids (rows, generated), scores (rows, vocab)."""
        known = {}
        for row, tokens in enumerate(map(tuple, input_ids.tolist())):
            rule = self._known.get(tokens) or self._known[tokens[:-1]].after(tokens[-1])
            known[tokens] = rule
            scores[row, list(rule.forbidden())] = -torch.inf
        self._known = known
        return scores
