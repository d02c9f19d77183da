import pytest

from sumpool.ranking.labels import sentence_labels


def test_labels_are_precisions_in_words_and_pairs() -> None:
    reference = "hosts send packets and hosts send frames"
    sentences = ["hosts send frames", "hosts hosts hosts", "send hosts", "gateways", ""]
    assert sentence_labels(sentences, reference, str.split).tolist() == pytest.approx([0.5 + 1, 0.5 * 2 / 3, 0.5, 0, 0])
