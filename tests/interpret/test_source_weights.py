"""Weights of source sentences, against loops over tokens and sentences."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import collate
from sumpool.data.shards import Item
from sumpool.interpret.attribution import attribute, source_weights
from sumpool.special_tokens import SpecialTokens


def make_model(special_tokens: SpecialTokens | None = None) -> SummarizationModel:
    torch.manual_seed(1)
    settings: dict[str, Any] = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 200, "target_length": 20}
    settings["encoder"] = [
        {"attention": {"kind": "blockwise", "block": 16}, "pool": {"kind": "halving", "keep": 20}},
    ]
    config = ModelConfig.model_validate(settings)
    model = SummarizationModel(config, 60, special_tokens=special_tokens or SpecialTokens())
    with torch.no_grad():
        model.embedding.weight *= 2
    return model.double().eval()


def make_item(sentences: int = 20, words: int = 6) -> Item:
    """A document of equally long sentences whose summary is its fourth sentence."""
    ids = np.random.default_rng(1).integers(5, 60, sentences * words).astype(np.uint16)
    return Item("1", ids, np.repeat(np.arange(sentences, dtype=np.int32), words), ids[3 * words : 4 * words].copy())


def naive(model: SummarizationModel, chunk: Item, target: list[list[int]], skipped: tuple[int, ...] = ()) -> np.ndarray:
    """Weights (summary sentences, sentences of a chunk) that sum to 1."""
    prefix = model.special_tokens.prefix
    ids = np.array([*prefix, *(token for sentence in target for token in sentence)])
    batch = collate([replace(chunk, target=ids)], 200, 20, special_tokens=model.special_tokens)
    (attribution,) = attribute(model, batch)
    weights = np.zeros((len(target), int(chunk.sentences[-1]) + 1))
    position = len(prefix)
    for row, sentence in enumerate(target):
        for _ in sentence:
            for token, source in enumerate(chunk.sentences):
                if token not in skipped:
                    weights[row, source] += float(attribution.weights()[position, token])
            position += 1
    return np.asarray(weights / weights.sum(1, keepdims=True))


def test_weights_equal_loops() -> None:
    model, chunk, target = make_model(), make_item(8), [[7, 8, 9], [11, 12]]
    weights = source_weights(model, chunk, target)
    np.testing.assert_allclose(weights, naive(model, chunk, target), rtol=0, atol=1e-12)


def test_long_summaries_are_attributed_in_groups() -> None:
    model, chunk = make_model(), make_item(8)
    target = [list(range(5, 14)), list(range(15, 24)), list(range(25, 34)), list(range(5, 45)), [7]]
    weights = source_weights(model, chunk, target)
    groups = [target[:2], target[2:3], target[3:4], target[4:]]
    expected = [naive(model, chunk, [part[:20] for part in group]) for group in groups]
    np.testing.assert_allclose(weights, np.concatenate(expected), rtol=0, atol=1e-10)


def test_special_tokens_have_no_weight() -> None:
    model = make_model(SpecialTokens(prefix=(2,), suffix=(3,)))
    item = make_item(4)
    ids, sentences = (np.pad(values, 1, mode="edge") for values in (item.ids, item.sentences))
    ids[0], ids[-1] = 2, 3
    chunk, target = replace(item, ids=ids, sentences=sentences), [[7, 8], [9]]
    weights = source_weights(model, chunk, target)
    np.testing.assert_allclose(weights, naive(model, chunk, target, (0, len(ids) - 1)), rtol=0, atol=1e-10)
