import json
import math

import numpy as np
import pytest

from sumpool.tasks.language_modeling.measures import (
    ScoredWindow,
    SegmentLengths,
    bits,
    describe_lengths,
    score_language_model,
)

ORIGIN, SIZE = ("model", "test", "whole"), (2048, 512)


def scored(nats: float, tokens: int = 512, boundaries: int = 128, **changes: int) -> ScoredWindow:
    values = {"start": 0, "characters": tokens, "bytes": tokens, "words": tokens // 6, **changes}
    return ScoredWindow(tokens=tokens, nats=nats, boundaries=boundaries, lengths={4: boundaries}, **values)


def windows(count: int = 40) -> list[ScoredWindow]:
    nats = np.random.default_rng(1).normal(400, 30, count)
    return [scored(float(value)) for value in nats] + [scored(70.0, tokens=100, boundaries=20)]


def test_bpc_is_bits_over_characters_of_all_windows() -> None:
    report = score_language_model(ORIGIN, SIZE, windows(), 200)
    nats, characters = sum(window.nats for window in windows()), 40 * 512 + 100
    assert report.bpc.mean == pytest.approx(nats / math.log(2) / characters)
    assert report.bpc.low < report.bpc.mean < report.bpc.high
    assert report.shortening_factor is not None
    assert report.shortening_factor.mean == pytest.approx(characters / (40 * 128 + 20))


def test_the_interval_covers_the_true_value_in_95_of_100_texts() -> None:
    covered = 0
    for seed in range(200):
        nats = np.random.default_rng(seed).normal(400, 30, 60)
        bpc = score_language_model(ORIGIN, SIZE, [scored(float(value)) for value in nats], 200).bpc
        covered += bpc.low <= bits(400) / 512 <= bpc.high
    assert 0.9 <= covered / 200 <= 0.99


def test_vocabularies_of_characters_and_pieces_compare() -> None:
    """A model of pieces that gives a text the probability of a model of characters has its scores but per token."""
    characters = score_language_model(ORIGIN, SIZE, [scored(400.0, bytes=600)], 100)
    pieces = score_language_model(
        ORIGIN, SIZE, [scored(400.0, tokens=128, characters=512, bytes=600, words=85, boundaries=32)], 100
    )
    assert pieces.bpc == characters.bpc
    assert pieces.bits_per_byte == characters.bits_per_byte == pytest.approx(bits(400) / 600)
    assert pieces.word_perplexity == characters.word_perplexity == pytest.approx(math.exp(400 / 85))
    assert pieces.byte_perplexity == characters.byte_perplexity == pytest.approx(math.exp(400 / 600))
    assert pieces.bits_per_token == pytest.approx(4 * characters.bits_per_token)
    assert "bits per token" in dict(row[:2] for row in pieces.score_rows())
    assert "bits per token" not in dict(row[:2] for row in characters.score_rows())


def test_perplexities_without_a_number_are_missing() -> None:
    report = score_language_model(ORIGIN, SIZE, [scored(4000.0, words=1)], 100)
    assert report.word_perplexity is None
    assert score_language_model(ORIGIN, SIZE, [scored(40.0, words=0)], 100).word_perplexity is None
    assert "perplexity per word" not in dict(row[:2] for row in report.score_rows())


def test_no_boundary_has_no_shortening_factor() -> None:
    report = score_language_model(ORIGIN, SIZE, [ScoredWindow(0, 9, 4.0, 9, 9, 1, 0, {})], 100)
    assert report.shortening_factor is None
    assert report.segments is None


def test_the_report_is_json_with_the_sample() -> None:
    report = score_language_model(ORIGIN, SIZE, windows(), 100, ["the ", "qui"])
    loaded = json.loads(report.to_json())
    assert loaded["sample"] == ["the ", "qui"]
    assert loaded["segments"]["counts"] == {"4": 40 * 128 + 20}
    assert loaded["bpc"]["mean"] == report.bpc.mean


def test_lengths_are_described_as_numpy_describes_the_list() -> None:
    lengths = np.random.default_rng(2).geometric(0.2, 999)
    counts = dict(zip(*np.unique(lengths, return_counts=True), strict=True))
    described = describe_lengths([{int(k): int(v)} for k, v in counts.items()])
    assert described is not None
    assert described.mean == pytest.approx(lengths.mean())
    assert described.deviation == pytest.approx(lengths.std())
    assert described.median == np.percentile(lengths, 50, method="inverted_cdf")
    assert described.p90 == np.percentile(lengths, 90, method="inverted_cdf")
    assert (described.longest, described.segments) == (lengths.max(), 999)
    assert describe_lengths([{}]) is None


def test_long_segments_share_a_row() -> None:
    described = describe_lengths([{1: 1, 3: 2, 20: 1}])
    assert described is not None
    rows = described.rows()
    assert rows[0] == ["1", "1", "25.0"]
    assert rows[1] == ["2", "0", "0.0"]
    assert rows[-1] == ["17-20", "1", "25.0"]


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(ValueError, match="windows must predict at least one character, got none"):
        score_language_model(ORIGIN, SIZE, [], 100)


def test_rows_of_lengths_end_with_the_longest_segment() -> None:
    rows = SegmentLengths(5, 2.2, 1.0, 2, 3, 3, {1: 1, 2: 2, 3: 2}).rows()
    assert rows == [["1", "1", "20.0"], ["2", "2", "40.0"], ["3", "2", "40.0"]]
