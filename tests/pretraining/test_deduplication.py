import json
import textwrap
from pathlib import Path

from deduplication import NGRAM_WORDS, HeldOut, Paragraphs, hash_ngrams, held_out_texts

SHARED = "one two three four five six seven eight nine ten eleven twelve thirteen"


def unique(name: str, count: int = 60) -> str:
    return " ".join(f"{name}{index}" for index in range(count))


def test_repeated_paragraphs_are_removed_whatever_their_punctuation() -> None:
    paragraphs = Paragraphs()
    assert paragraphs.remove(["A first text.", "Another one."]) == ["A first text.", "Another one."]
    assert paragraphs.remove(["a FIRST text", "A third."]) == ["A third."]


def test_paragraphs_with_a_held_out_13_gram_are_removed() -> None:
    held_out = HeldOut([f"start of it {SHARED} end of it"])
    assert len(held_out) == 7
    others = [unique("a", 100), unique("b", 100)]
    assert held_out.remove([others[0], SHARED, others[1]]) == others
    shorter = SHARED.removesuffix(" thirteen")
    assert held_out.remove([others[0], shorter, others[1]]) == [others[0], shorter, others[1]]


def test_hash_depends_on_all_words_and_their_order() -> None:
    words = SHARED.split()
    ngrams = {int(hash_ngrams(words)[0]), int(hash_ngrams(words[::-1])[0])}
    for index in range(NGRAM_WORDS):
        ngrams.add(int(hash_ngrams([*words[:index], "other", *words[index + 1 :]])[0]))
    assert len(ngrams) == NGRAM_WORDS + 2


def test_a_13_gram_across_paragraphs_removes_both() -> None:
    held_out = HeldOut([SHARED])
    halves = SHARED.split(" seven ")
    paragraphs = [unique("a", 200), f"{halves[0]} seven", halves[1], unique("b", 200)]
    assert held_out.remove(paragraphs) == [paragraphs[0], paragraphs[3]]


def test_a_text_of_mostly_held_out_paragraphs_is_dropped() -> None:
    assert HeldOut([SHARED]).remove([SHARED, unique("a", 20)]) == []


def test_nothing_is_held_out() -> None:
    assert HeldOut([]).remove(["a b c", SHARED]) == ["a b c", SHARED]


def test_documents_and_summaries_of_json_lines_are_held_out(tmp_path: Path) -> None:
    file = tmp_path / "test.jsonl"
    file.write_text(json.dumps({"document": "a\u2028b", "summary": "c"}, ensure_ascii=False) + "\n")
    assert list(held_out_texts([file], None)) == ["a\u2028b", "c"]


def test_only_held_out_splits_of_rfcs_are_held_out(tmp_path: Path) -> None:
    for number in (11, 13, 17):
        prose = "The host sends a message to the server and waits until it has the answer of the other host. " * 4
        body = "\n\n".join(textwrap.indent(textwrap.fill(prose, 68), "   ") for _ in range(5))
        (tmp_path / f"rfc{number}.txt").write_text(f"RFC {number}\n\n1. Introduction\n\n{body}\n")
        relations: dict[str, list[str]] = {name: [] for name in ("obsoletes", "obsoleted_by", "updates", "updated_by")}
        metadata = {"abstract": f"This is the abstract of {number}. {unique('s', 20)}", **relations}
        (tmp_path / f"rfc{number}.json").write_text(json.dumps(metadata))
    texts = list(held_out_texts([], tmp_path))
    assert len(texts) == 4
    assert [text.split()[5] for text in texts[1::2]] == ["13.", "17."]
