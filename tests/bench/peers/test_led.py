from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from sumpool.bench.peers.led import LedDataset, LedGenerator, led_batch, led_example
from sumpool.bench.peers.transformers_peer import led
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.constraints import TokenSurfaces
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.data.items import Item
from sumpool.special_tokens import BOS, EOS, PAD, UNK

pytest.importorskip("transformers")
CONFIG = ModelConfig(
    dim=16,
    heads=2,
    feed_forward=24,
    source_length=6,
    target_length=4,
    encoder=(EncoderLayerConfig(attention=BlockwiseAttentionConfig(block=4)),),
    decoder=DecoderConfig(layers=1),
)


class Few(list[Item]):
    """Documents as a shard has them."""

    @property
    def lengths(self) -> np.ndarray:
        return np.array([len(item.ids) for item in self])


def item(length: int, target: int | None) -> Item:
    ids = np.arange(10, 10 + length)
    return Item(str(length), ids, np.zeros(length, np.int32), None if target is None else np.arange(50, 50 + target))


def test_documents_are_cut_as_ours_are() -> None:
    features = LedDataset(Few([item(9, 7), item(3, 2)]), CONFIG)
    assert len(features) == 2
    long, short = features[0], features[1]
    assert long["input_ids"].tolist() == [10, 11, 12, 13, 14, 15]
    assert long["labels"].tolist() == [50, 51, 52, 53]  # cut, so that it has no end
    assert short["labels"].tolist() == [50, 51, EOS]


def test_a_batch_is_padded_and_its_first_tokens_see_everything() -> None:
    batch = led_batch([led_example(item(2, 1), CONFIG), led_example(item(4, 2), CONFIG)])
    assert batch["input_ids"].tolist() == [[10, 11, 0, 0], [10, 11, 12, 13]]
    assert batch["attention_mask"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert batch["global_attention_mask"].tolist() == [[1, 0, 0, 0], [1, 0, 0, 0]]
    assert batch["labels"].tolist() == [[50, EOS, -100], [50, 51, EOS]]


def test_documents_may_come_without_summaries() -> None:
    assert "labels" not in led_batch([led_example(item(2, None), CONFIG)])


def test_there_is_no_document_beyond_the_last() -> None:
    with pytest.raises(IndexError, match="must lie within 0 and 0, got 1"):
        LedDataset(Few([item(2, 1)]), CONFIG)[1]


VOCABULARY = 24
LONG = CONFIG.model_copy(update={"target_length": 17, "source_length": 12})
PIECES = TokenSurfaces([b"", b"", b"", b"", *(f" w{number // 2}".encode() for number in range(4, VOCABULARY))])
"""Every word can be spelt by two pieces."""


def generator(config: DecodingConfig, lengths: Lengths, sizes: ModelConfig = LONG) -> LedGenerator:
    torch.manual_seed(3)
    model: Any = led(sizes, VOCABULARY).eval()
    with torch.no_grad():
        model.led.shared.weight *= 20  # sure of what it says
    return LedGenerator(model, sizes, config, lengths)


DOCUMENTS = [item(12, None), item(5, None), item(8, 3)]


@pytest.mark.parametrize("beams", [1, 3])
def test_lengths_are_kept(beams: int) -> None:
    config = DecodingConfig(beams=beams, no_repeat_words=0)
    for shortest, longest in ((3, 7), (16, 16)):
        for summary in generator(config, Lengths(shortest, longest)).generate(DOCUMENTS, PIECES):
            assert shortest <= len(summary) <= longest
            assert not {PAD, UNK, BOS, EOS} & set(summary)


@pytest.mark.parametrize("beams", [1, 3])
def test_no_run_of_words_is_written_twice(beams: int) -> None:
    def words(summary: list[int]) -> list[tuple[int, int]]:
        return list(pairwise(piece // 2 for piece in summary))

    def repeat(config: DecodingConfig) -> bool:
        found = [words(summary) for summary in generator(config, Lengths(16, 16)).generate(DOCUMENTS, PIECES)]
        return any(len(set(runs)) < len(runs) for runs in found)

    assert repeat(DecodingConfig(beams=beams, no_repeat_words=0))
    assert not repeat(DecodingConfig(beams=beams, no_repeat_words=2))


def test_no_run_of_tokens_is_written_twice() -> None:
    config = DecodingConfig(beams=1, no_repeat_words=0, no_repeat_tokens=2)
    for summary in generator(config, Lengths(16, 16)).generate(DOCUMENTS, PIECES):
        assert len(set(pairwise(summary))) == len(summary) - 1


def test_batch_mates_decide_nothing() -> None:
    writing = generator(DecodingConfig(beams=1), Lengths(4, 16))
    together = writing.generate(DOCUMENTS, PIECES)
    assert together == [summary for document in DOCUMENTS for summary in writing.generate([document], PIECES)]


def test_each_piece_is_the_likeliest_that_is_allowed() -> None:
    writing = generator(DecodingConfig(beams=1, no_repeat_words=0), Lengths(16, 16))
    (summary,) = writing.generate(DOCUMENTS[:1], PIECES)
    ids = torch.tensor(DOCUMENTS[0].ids)[None]
    first = torch.zeros_like(ids)
    first[0, 0] = 1
    with torch.no_grad():
        logits = writing.model(
            input_ids=ids, global_attention_mask=first, decoder_input_ids=torch.tensor([[BOS, *summary[:-1]]])
        ).logits[0]
    logits[:, [PAD, UNK, BOS, EOS]] = -torch.inf
    assert logits.argmax(-1).tolist() == summary
