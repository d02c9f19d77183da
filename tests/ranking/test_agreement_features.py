import numpy as np
import pytest

from sumpool.ranking.agreement_features import agreement_features
from sumpool.ranking.features import AGREEMENT_FEATURES


def test_agreement_is_measured_with_each_sample() -> None:
    samples = ["hosts send", "hosts drop packets"]
    rows = agreement_features(["hosts send packets", "nothing else"], samples, "hosts send packets")
    assert rows.shape == (2, len(AGREEMENT_FEATURES))
    values = dict(zip(AGREEMENT_FEATURES, rows[0].tolist(), strict=True))
    assert values["unigram_precision"] == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert values["bigram_precision"] == pytest.approx((1 / 2 + 0) / 2)
    assert values["unigram_f1"] == pytest.approx((2 * 2 / 5 + 2 * 2 / 6) / 2)
    assert values["bigram_f1"] == pytest.approx((2 * 1 / 3 + 0) / 2)
    assert values["max_bigram_f1"] == pytest.approx(2 / 3)
    assert values["deviation"] == pytest.approx(0.25)
    assert (values["summary_unigram_precision"], values["summary_bigram_precision"]) == (1, 1)
    assert (values["agreement_rank"], rows[1, AGREEMENT_FEATURES.index("agreement_rank")]) == (1, 0)
    assert values["best_agreement"] == pytest.approx(values["unigram_f1"] + values["bigram_f1"])
    assert values["sample_agreement"] == 0
    assert values["sample_words"] == pytest.approx(np.log1p(2.5))
    assert not rows[1, :8].any()


def test_no_candidates_have_no_rows() -> None:
    assert agreement_features([], ["x"], "x").shape == (0, len(AGREEMENT_FEATURES))


def test_sentences_are_compared_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = ["hosts send packets", "hosts drop", "a", "packets drop hosts", "send"]
    samples = ["hosts send", "hosts drop packets"]
    whole = agreement_features(sentences, samples, "hosts send packets")
    monkeypatch.setattr("sumpool.ranking.agreement_features._BLOCK_SENTENCES", 2)
    np.testing.assert_allclose(agreement_features(sentences, samples, "hosts send packets"), whole, rtol=1e-6)
