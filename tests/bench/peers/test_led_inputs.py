import numpy as np
import pytest

from sumpool.bench.peers.led_inputs import Features, feature, inputs
from sumpool.core.attention.blockwise import BlockwiseAttentionConfig
from sumpool.core.model.config import DecoderConfig, EncoderLayerConfig, ModelConfig
from sumpool.data.batches import Item
from sumpool.special_tokens import EOS

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
    features = Features(Few([item(9, 7), item(3, 2)]), CONFIG)
    assert len(features) == 2
    long, short = features[0], features[1]
    assert long["input_ids"].tolist() == [10, 11, 12, 13, 14, 15]
    assert long["labels"].tolist() == [50, 51, 52, 53]  # cut, so that it has no end
    assert short["labels"].tolist() == [50, 51, EOS]


def test_a_batch_is_padded_and_its_first_tokens_see_everything() -> None:
    batch = inputs([feature(item(2, 1), CONFIG), feature(item(4, 2), CONFIG)])
    assert batch["input_ids"].tolist() == [[10, 11, 0, 0], [10, 11, 12, 13]]
    assert batch["attention_mask"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert batch["global_attention_mask"].tolist() == [[1, 0, 0, 0], [1, 0, 0, 0]]
    assert batch["labels"].tolist() == [[50, EOS, -100], [50, 51, EOS]]


def test_documents_may_come_without_summaries() -> None:
    assert "labels" not in inputs([feature(item(2, None), CONFIG)])


def test_there_is_no_document_beyond_the_last() -> None:
    with pytest.raises(IndexError, match="must lie within 0 and 0, got 1"):
        Features(Few([item(2, 1)]), CONFIG)[1]
