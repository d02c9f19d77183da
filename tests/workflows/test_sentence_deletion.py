"""Deletion of sentences, against hand-made attributions."""

from typing import Any

import numpy as np
import pytest
import torch

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import collate
from sumpool.data.shards import Item
from sumpool.special_tokens import SpecialTokens
from sumpool.workflows.faithfulness import (
    RANDOM_DRAWS,
    deletion_effects,
    leave_one_out,
    log_probability,
    random_deletion,
    sentence_weights,
)

VOCAB = 60


def make_model(special_tokens: SpecialTokens | None = None) -> SummarizationModel:
    torch.manual_seed(1)
    settings: dict[str, Any] = {"dim": 16, "heads": 2, "feed_forward": 32, "source_length": 200, "target_length": 20}
    settings["encoder"] = [
        {"attention": {"kind": "blockwise", "block": 16}, "pool": {"kind": "halving", "keep": 20}},
    ]
    config = ModelConfig.model_validate(settings)
    model = SummarizationModel(config, VOCAB, special_tokens=special_tokens or SpecialTokens())
    with torch.no_grad():
        model.embedding.weight *= 2
    return model.double().eval()


def make_item(sentences: int = 20, words: int = 6) -> Item:
    """A document of equally long sentences whose summary is its fourth sentence."""
    ids = np.random.default_rng(1).integers(5, VOCAB, sentences * words).astype(np.uint16)
    return Item("1", ids, np.repeat(np.arange(sentences, dtype=np.int32), words), ids[3 * words : 4 * words].copy())


def naive_log_prob(model: SummarizationModel, item: Item) -> float:
    """Log-probability of a summary, token by token."""
    batch = collate([item], 200, 20)
    assert batch.target is not None
    with torch.no_grad():
        state = model.start(model.encode(batch.ids, batch.mask, batch.sentences), 1)
        last, total = torch.tensor([model.special_tokens.decoder_start]), 0.0
        for token in batch.target[0]:
            log_probs, state = model.step(last, state)
            total, last = total + float(log_probs[0, token]), token[None]
    return total


def test_log_probability_equals_decoding_in_any_batch() -> None:
    model, items = make_model(), [make_item(), make_item(3), make_item(8)]
    expected = [naive_log_prob(model, item) for item in items]
    for batch_tokens in (1, 150, 10_000):
        np.testing.assert_allclose(log_probability(model, items, batch_tokens), expected, rtol=0, atol=1e-10)


def test_leave_one_out_deletes_each_sentence() -> None:
    model, item = make_model(), make_item(5)
    losses = leave_one_out(model, item, 100)
    for sentence in range(5):
        keep = item.sentences != sentence
        shorter = Item("1", item.ids[keep], item.sentences[keep], item.target)
        expected = naive_log_prob(model, item) - naive_log_prob(model, shorter)
        assert losses[sentence] == pytest.approx(expected, abs=1e-10)


def test_effects_compare_the_heaviest_sentences_with_random_ones() -> None:
    model, item = make_model(), make_item()
    weights = {"copied": np.arange(20) == 3, "other": np.arange(20, dtype=np.float64)}
    effects = deletion_effects(model, item, {name: row.astype(float) for name, row in weights.items()}, 1000, seed=4)
    for name, deleted in {"copied": (3, 0), "other": (19, 18)}.items():
        keep = ~np.isin(item.sentences, deleted)
        shorter = Item("1", item.ids[keep], item.sentences[keep], item.target)
        expected = naive_log_prob(model, item) - naive_log_prob(model, shorter)
        assert effects[name].top == pytest.approx(expected, abs=1e-10)
        assert effects[name].tokens == 12
    assert effects["copied"].random == effects["other"].random, "equal tokens and seeds draw equal sentences"


def test_the_effect_of_random_deletions_is_their_mean() -> None:
    model, item = make_model(), make_item()
    generator = np.random.default_rng(4)
    losses = []
    for _ in range(RANDOM_DRAWS):
        keep = ~random_deletion(item.sentences, np.ones(120, bool), 12, generator)
        losses.append(
            naive_log_prob(model, item)
            - naive_log_prob(model, Item("1", item.ids[keep], item.sentences[keep], item.target))
        )
    effects = deletion_effects(model, item, {"other": np.arange(20, dtype=np.float64)}, 1000, seed=4)
    assert effects["other"].random == pytest.approx(np.mean(losses), abs=1e-10)


def test_random_deletions_have_the_number_of_tokens() -> None:
    for tokens in (0, 1, 7, 12, 28, 30):
        sentences = np.repeat(np.arange(5, dtype=np.int32), [6, 1, 9, 4, 10])
        deletable = np.arange(30) > 1
        deletion = random_deletion(sentences, deletable, tokens, np.random.default_rng(1))
        assert deletion.sum() == min(tokens, 28)
        assert not deletion[:2].any()
        partly = [s for s in range(5) if 0 < deletion[sentences == s].sum() < deletable[sentences == s].sum()]
        assert len(partly) <= 1


def test_special_tokens_are_never_deleted() -> None:
    special_tokens = SpecialTokens(prefix=(2,), suffix=(3,))
    model, item = make_model(special_tokens), make_item(2)
    ids, sentences = (np.pad(values, 1, mode="edge") for values in (item.ids, item.sentences))
    ids[0], ids[-1] = 2, 3
    item = Item("1", ids, sentences, item.target)
    losses = leave_one_out(model, item, 1000)
    for sentence in range(2):
        keep = (sentences != sentence) | (np.arange(14) % 13 == 0)
        shorter = Item("1", ids[keep], sentences[keep], item.target)
        expected = np.diff(log_probability(model, [shorter, item], 1000))[0]
        assert losses[sentence] == pytest.approx(expected, abs=1e-10)


def test_weights_of_all_methods_are_those_of_one_document() -> None:
    model, item = make_model(), make_item()
    weights = sentence_weights(model, item)
    assert list(weights) == ["attention", "pointer", "both"]
    assert weights["attention"].sum() == pytest.approx(7)  # 6 words and EOS
    assert weights["both"].sum() == pytest.approx(7)
    assert weights["pointer"].argmax() == 3
