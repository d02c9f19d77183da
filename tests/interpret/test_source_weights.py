"""Weights of source sentences, against loops over chunks, tokens and sentences."""

from dataclasses import replace

import numpy as np

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import collate
from sumpool.data.items import Item
from sumpool.interpret.attribution import attribute
from sumpool.interpret.source_weights import combine_chunks, source_weights
from sumpool.special_tokens import SpecialTokens
from tests.interpret.test_faithfulness import make_item, make_model


def naive(
    model: SummarizationModel, chunk: Item, target: list[list[int]], skipped: tuple[int, ...] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (summary sentences, sentences of a chunk) that sum to 1, and the log-probability of each sentence."""
    prefix = model.special_tokens.prefix
    ids = np.array([*prefix, *(token for sentence in target for token in sentence)])
    batch = collate([replace(chunk, target=ids)], 200, 20, special_tokens=model.special_tokens)
    (attribution,) = attribute(model, batch)
    weights = np.zeros((len(target), int(chunk.sentences[-1]) + 1))
    log_probs = np.zeros(len(target))
    position = len(prefix)
    for row, sentence in enumerate(target):
        for _ in sentence:
            for token, source in enumerate(chunk.sentences):
                if token not in skipped:
                    weights[row, source] += float(attribution.weights()[position, token])
            log_probs[row] += float(attribution.log_prob[position])
            position += 1
    return weights / weights.sum(1, keepdims=True), log_probs


def test_one_chunk_equals_loops() -> None:
    model, chunk, target = make_model(), make_item(8), [[7, 8, 9], [11, 12]]
    indices = [range(2, 10)]
    weights = source_weights(model, [chunk], indices, target, 1000)
    assert weights.shape == (2, 10)
    assert not weights[:, :2].any()
    np.testing.assert_allclose(weights[:, 2:], naive(model, chunk, target)[0], rtol=0, atol=1e-12)


def test_chunks_are_weighted_by_the_posterior() -> None:
    model, target = make_model(), [[7, 8, 9], [11, 12]]
    chunks = [make_item(8), make_item(4), make_item(3, 9)]
    indices = [[0, 1, 2, 2, 3, 4, 5, 6], [7, 8, 9, 10], [10, 11, 12]]
    expected = np.zeros((2, 13))
    results = [naive(model, chunk, target) for chunk in chunks]
    for row in range(2):
        likelihoods = np.exp([log_probs[row] for _, log_probs in results])
        for (rows, _), numbers, likelihood in zip(results, indices, likelihoods, strict=True):
            for column, index in enumerate(numbers):
                expected[row, index] += rows[row, column] * likelihood / likelihoods.sum()
    for batch_tokens in (1, 1000):
        weights = source_weights(model, chunks, indices, target, batch_tokens)
        np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(weights.sum(1), 1, rtol=0, atol=1e-12)


def test_long_summaries_are_attributed_in_groups() -> None:
    model, chunk = make_model(), make_item(8)
    target = [list(range(5, 14)), list(range(15, 24)), list(range(25, 34)), list(range(5, 45)), [7]]
    weights = source_weights(model, [chunk], [range(8)], target, 1000)
    groups = [target[:2], target[2:3], target[3:4], target[4:]]
    expected = [naive(model, chunk, [part[:20] for part in group])[0] for group in groups]
    np.testing.assert_allclose(weights, np.concatenate(expected), rtol=0, atol=1e-10)


def test_special_tokens_have_no_weight() -> None:
    model = make_model(SpecialTokens(prefix=(2,), suffix=(3,)))
    item = make_item(4)
    ids, sentences = (np.pad(values, 1, mode="edge") for values in (item.ids, item.sentences))
    ids[0], ids[-1] = 2, 3
    chunk, target = replace(item, ids=ids, sentences=sentences), [[7, 8], [9]]
    weights = source_weights(model, [chunk], [range(4)], target, 1000)
    np.testing.assert_allclose(weights, naive(model, chunk, target, (0, len(ids) - 1))[0], rtol=0, atol=1e-10)


def test_without_chunks_there_are_no_weights() -> None:
    assert source_weights(make_model(), [], [], [[7]], 1000).shape == (1, 0)


def test_a_chunk_without_weight_is_no_source() -> None:
    weights = np.array([[[0.0, 0.0]], [[1.0, 3.0]]])
    combined = combine_chunks(weights, np.array([[-1.0], [-50.0]]))
    np.testing.assert_allclose(combined, [[0.25, 0.75]])
    assert not combine_chunks(np.zeros((2, 1, 3)), np.zeros((2, 1))).any()


def test_improbable_sentences_do_not_underflow() -> None:
    for offset in (0.0, -2000.0):
        combined = combine_chunks(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.array([[0.0], [np.log(3)]]) + offset)
        np.testing.assert_allclose(combined, [[0.25, 0.75]])
