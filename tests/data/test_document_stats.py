import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sumpool.data.document_stats import (
    MAX_NGRAMS,
    NGRAM_WORDS,
    document_stats,
    documents_in_training,
    find_ngrams,
    hash_ngrams,
    sample_ngrams,
    text_digest,
)
from sumpool.data.inputs import SPLITS, Split
from sumpool.data.sources._base import Example
from sumpool.data.texts import TextsWriter
from sumpool.text.language import split_words


def test_statistics_of_a_document() -> None:
    example = Example("a", "The quick brown fox, quick as ever, jumps.", "A quick brown dog jumps.", "train")
    stats = document_stats(example, split_words(example.document), document_tokens=20, summary_tokens=9)
    assert (stats.document_words, stats.summary_words) == (8, 5)
    assert (stats.document_tokens, stats.summary_tokens) == (20, 9)
    assert stats.coverage == pytest.approx(3 / 5)
    assert stats.density == pytest.approx((4 + 1) / 5)
    assert stats.novel == pytest.approx((2 / 5, 3 / 4, 1, 1))
    assert stats.leak == 0


def test_digests_are_equal_for_equal_texts() -> None:
    assert text_digest("ä" * 3) == text_digest("äää") != text_digest("aaa")


def text(start: int, words: int) -> list[str]:
    return [f"w{number}" for number in range(start, start + words)]


def test_shared_ngrams_of_short_documents_are_exact() -> None:
    sampled = sample_ngrams([text(0, 100), text(1000, 30)])
    assert len(sampled) == (100 - NGRAM_WORDS + 1) + (30 - NGRAM_WORDS + 1)
    shared = find_ngrams(sampled, [*text(500, 7), *text(40, 33), *text(700, 5)])
    assert len(shared) == 33 - NGRAM_WORDS + 1
    assert len(find_ngrams(sampled, text(2000, 300))) == 0


def test_hash_depends_on_all_words_and_their_order() -> None:
    ngrams = {int(hash_ngrams(text(0, NGRAM_WORDS))[0]), int(hash_ngrams(text(0, NGRAM_WORDS)[::-1])[0])}
    for index in range(NGRAM_WORDS):
        words = text(0, NGRAM_WORDS)
        words[index] = "other"
        ngrams.add(int(hash_ngrams(words)[0]))
    assert len(ngrams) == NGRAM_WORDS + 2


def test_short_documents_and_empty_samples_share_nothing() -> None:
    assert len(hash_ngrams(text(0, NGRAM_WORDS - 1))) == 0
    assert len(find_ngrams(sample_ngrams([]), text(0, 50))) == 0
    assert len(find_ngrams(sample_ngrams([text(0, 50)]), [])) == 0


def test_sample_of_a_document_is_bounded() -> None:
    assert MAX_NGRAMS / 2 < len(sample_ngrams([text(0, 10 * MAX_NGRAMS)])) <= MAX_NGRAMS


def test_hashes_are_equal_in_other_processes() -> None:
    program = (
        "from sumpool.data.document_stats import hash_ngrams\n"
        "print(hash_ngrams(['w%d' % n for n in range(14)]).tolist())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    ).stdout
    assert numbers(printed) == hash_ngrams(text(0, 14)).tolist()


def numbers(printed: str) -> list[int]:
    return [int(number) for number in printed.strip("[]\n").split(",")]


def test_hashes_use_all_bits() -> None:
    ngrams = hash_ngrams(text(0, 5000))
    assert len(np.unique(ngrams)) == len(ngrams)
    assert len(np.unique(ngrams >> np.uint64(56))) == 256


def test_documents_with_the_text_of_a_training_document_are_named(tmp_path: Path) -> None:
    texts: dict[Split, list[str]] = {"train": ["a", "b"], "validation": ["c", "b", "a"], "test": ["d"]}
    for split in SPLITS:
        with TextsWriter(tmp_path, split) as writer:
            for number, document in enumerate(texts[split]):
                writer.add(Example(f"{split}{number}", document, "s", split))
    assert documents_in_training(tmp_path, "validation") == ["validation1", "validation2"]
    assert documents_in_training(tmp_path, "test") == []
