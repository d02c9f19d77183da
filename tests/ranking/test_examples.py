import numpy as np
import pytest

from sumpool.documents.document import Document
from sumpool.ranking.fit import labelled_example, sentence_labels, with_abstract
from sumpool.text.sentences import SentenceSplitter

TEXT = "# Hosts\n\n" + " ".join(f"Host {number} sends packets to the gateway number {number}." for number in range(30))


def test_all_sentences_of_prose_have_labels() -> None:
    reference = "Host 7 sends packets to the gateway number 7."
    example = labelled_example(Document("a", TEXT), reference, SentenceSplitter(), str.split, "net")
    assert len(example.features) == len(example.labels) == 30
    assert example.labels.argmax() == 7
    assert (example.labels[7], example.kind) == (1.5, "net")


def test_a_sample_keeps_the_best_and_is_repeatable() -> None:
    example = labelled_example(Document("a", TEXT), "Host 7 sends.", SentenceSplitter(), str.split)
    sample = example.sample(10, (1, 2))
    assert len(sample.labels) == len(sample.features) == 10
    assert sample.labels.max() == example.labels.max()
    np.testing.assert_array_equal(sample.features.values, example.sample(10, (1, 2)).features.values)
    assert example.sample(30, (1,)) is example


def test_the_summary_begins_a_document_under_a_heading() -> None:
    reference = "Every host sends packets to its gateway. No gateway sends packets to a host."
    example = labelled_example(with_abstract(Document("a", TEXT), reference), reference, SentenceSplitter(), str.split)
    assert example.features.headings[:3] == (("abstract",), ("abstract",), ("hosts",))
    assert sorted(example.labels.argsort()[-2:]) == [0, 1]


def test_labels_are_precisions_in_words_and_pairs() -> None:
    reference = "hosts send packets and hosts send frames"
    sentences = ["hosts send frames", "hosts hosts hosts", "send hosts", "gateways", ""]
    assert sentence_labels(sentences, reference, str.split).tolist() == pytest.approx([0.5 + 1, 0.5 * 2 / 3, 0.5, 0, 0])
