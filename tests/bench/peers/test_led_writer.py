from itertools import pairwise
from typing import Any

import pytest
import torch

from sumpool.bench.peers.led_writer import LedWriter
from sumpool.bench.peers.transformers_models import led
from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.constraints import TokenSurfaces
from sumpool.core.decoding.ranking import Lengths
from sumpool.core.model.config import ModelConfig
from sumpool.special_tokens import BOS, EOS, PAD, UNK
from tests.bench.peers.test_led_inputs import CONFIG, item

pytest.importorskip("transformers")
VOCABULARY = 24
LONG = CONFIG.model_copy(update={"target_length": 17, "source_length": 12})
PIECES = TokenSurfaces([b"", b"", b"", b"", *(f" w{number // 2}".encode() for number in range(4, VOCABULARY))])
"""Every word can be spelt by two pieces."""


def writer(config: DecodingConfig, lengths: Lengths, sizes: ModelConfig = LONG) -> LedWriter:
    torch.manual_seed(3)
    model: Any = led(sizes, VOCABULARY).eval()
    with torch.no_grad():
        model.led.shared.weight *= 20  # sure of what it says
    return LedWriter(model, sizes, config, lengths)


DOCUMENTS = [item(12, None), item(5, None), item(8, 3)]


@pytest.mark.parametrize("beams", [1, 3])
def test_lengths_are_kept(beams: int) -> None:
    config = DecodingConfig(beams=beams, no_repeat_words=0)
    for shortest, longest in ((3, 7), (16, 16)):
        for summary in writer(config, Lengths(shortest, longest)).write(DOCUMENTS, PIECES):
            assert shortest <= len(summary) <= longest
            assert not {PAD, UNK, BOS, EOS} & set(summary)


@pytest.mark.parametrize("beams", [1, 3])
def test_no_run_of_words_is_written_twice(beams: int) -> None:
    def words(summary: list[int]) -> list[tuple[int, int]]:
        return list(pairwise(piece // 2 for piece in summary))

    def repeat(config: DecodingConfig) -> bool:
        found = [words(summary) for summary in writer(config, Lengths(16, 16)).write(DOCUMENTS, PIECES)]
        return any(len(set(runs)) < len(runs) for runs in found)

    assert repeat(DecodingConfig(beams=beams, no_repeat_words=0))
    assert not repeat(DecodingConfig(beams=beams, no_repeat_words=2))


def test_no_run_of_tokens_is_written_twice() -> None:
    config = DecodingConfig(beams=1, no_repeat_words=0, no_repeat_tokens=2)
    for summary in writer(config, Lengths(16, 16)).write(DOCUMENTS, PIECES):
        assert len(set(pairwise(summary))) == len(summary) - 1


def test_batch_mates_decide_nothing() -> None:
    writing = writer(DecodingConfig(beams=1), Lengths(4, 16))
    together = writing.write(DOCUMENTS, PIECES)
    assert together == [summary for document in DOCUMENTS for summary in writing.write([document], PIECES)]


def test_each_piece_is_the_likeliest_that_is_allowed() -> None:
    writing = writer(DecodingConfig(beams=1, no_repeat_words=0), Lengths(16, 16))
    (summary,) = writing.write(DOCUMENTS[:1], PIECES)
    ids = torch.tensor(DOCUMENTS[0].ids)[None]
    first = torch.zeros_like(ids)
    first[0, 0] = 1
    with torch.no_grad():
        logits = writing._model(
            input_ids=ids, global_attention_mask=first, decoder_input_ids=torch.tensor([[BOS, *summary[:-1]]])
        ).logits[0]
    logits[:, [PAD, UNK, BOS, EOS]] = -torch.inf
    assert logits.argmax(-1).tolist() == summary
