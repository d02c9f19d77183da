# ruff: noqa: RUF001  (letters of other scripts)
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sumpool.errors import DataError
from sumpool.text.sentences import MAX_SENTENCE_CHARACTERS, SentenceSplitter, join

DEFAULT = SentenceSplitter.default()


def test_abbreviations_initials_and_numbers_end_no_sentence() -> None:
    text = "Dr. Smith (cf. Fig. 3) met J. R. R. Tolkien in the U.S. in 1999. See RFC 2119, e.g. section 3.1. Fine!"
    assert DEFAULT.split(text) == [
        "Dr. Smith (cf. Fig. 3) met J. R. R. Tolkien in the U.S. in 1999.",
        "See RFC 2119, e.g. section 3.1.",
        "Fine!\n",
    ]


def test_closing_marks_stay_with_their_sentence() -> None:
    assert DEFAULT.split('He said "Hello there." Then he ran (fast!). (Really.) So.') == [
        'He said "Hello there."',
        "Then he ran (fast!).",
        "(Really.)",
        "So.\n",
    ]


def test_a_line_feed_ends_the_last_sentence_of_a_paragraph_only() -> None:
    assert DEFAULT.split("One\nis one. Two.\n\n \n\nThree") == ["One is one.", "Two.\n", "Three\n"]


def test_join_is_the_inverse_of_split() -> None:
    assert join(["One.", "Two.\n", "Three.", "Four.\n"]) == "One. Two.\nThree. Four."
    assert join(["One.", "Two.\n", "Three.", "Four.\n"], paragraph="\n\n") == "One. Two.\n\nThree. Four."
    assert join([]) == ""


def test_empty_texts_have_no_sentences() -> None:
    for text in ["", " ", "\n\n", "\u200b"]:
        assert DEFAULT.split(text) == []


@given(st.text(alphabet="aB1.?!\"')( \n-,", max_size=200))
def test_no_character_is_lost(text: str) -> None:
    assert "".join("".join(DEFAULT.split(text)).split()) == "".join(text.split())


@given(st.lists(st.sampled_from(["Aa bb. ", "c", "D? ", "e.g. ", "x" * 30 + " "]), min_size=30, max_size=60))
def test_no_character_is_lost_between_windows(parts: list[str]) -> None:
    text = "".join(parts) * 30
    assert "".join("".join(DEFAULT.split(text)).split()) == "".join(text.split())


def test_a_long_paragraph_is_split_as_a_short_one() -> None:
    sentences = [f"Sentence number {number} stands here." for number in range(1000)]
    assert [sentence.strip() for sentence in DEFAULT.split(" ".join(sentences))] == sentences


def test_endless_sentences_are_split_between_words() -> None:
    cut = DEFAULT.split("word " * 5000)
    assert len(cut) == 3
    assert all(len(sentence) <= MAX_SENTENCE_CHARACTERS + 1 for sentence in cut)
    assert {word for sentence in cut for word in sentence.split()} == {"word"}


def test_hostile_text_is_split() -> None:
    """Patterns that go back and forth would take minutes for it."""
    for unit in ("a", ".", "1.2. ", "a.)", "?!", "word\n", "x\n\n", "e\u0301", "word word. ", '."'):
        text = (unit * 40_000)[:40_000]
        assert "".join("".join(DEFAULT.split(text)).split()) == "".join(text.split()), unit


@given(st.lists(st.sampled_from(["So", "e.g.", "no.", " ", "\n", "\n\n", '"', ")", "7", "!", "x" * 4000])).map("".join))
def test_lines_are_split_at_spaces_only(text: str) -> None:
    parts = DEFAULT.split_line(text)
    assert "".join(parts) == " ".join(text.split())
    assert [part.startswith(" ") for part in parts] == [False, *[True] * (len(parts) - 1)][: len(parts)]


def test_sentences_without_a_space_between_are_joined() -> None:
    text = 'He left. "Why?"(So it is.\n\nThe end. So'
    assert len(DEFAULT.split(text)) == 5
    assert DEFAULT.split_line(text) == ["He left.", ' "Why?"(So it is.', " The end.", " So"]


def test_training_learns_abbreviations_and_keeps_the_shipped_ones(tmp_path: Path) -> None:
    text = " ".join(f"The zorblz. {name} came. It was good and it was a zorblz. again." for name in ("one", "two") * 40)
    splitter = SentenceSplitter.train([text], tmp_path / "sentences.json")
    assert splitter.split("The zorblz. one came, e.g. here. Good.") == ["The zorblz. one came, e.g. here.", "Good.\n"]
    loaded = SentenceSplitter.load(tmp_path / "sentences.json")
    assert loaded.split(text) == splitter.split(text)


@pytest.mark.slow
def test_training_does_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from sumpool.text.sentences import SentenceSplitter; "
        "text = ' '.join(f'Mr. Abc. no. {n} vs. Dr. xyz. A. Smith came. It went.' for n in range(200)); "
        "SentenceSplitter.train([text], Path(sys.argv[1]))"
    )
    for seed, name in (("1", "one"), ("2", "two")):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", program, str(tmp_path / name)], check=True, env=environment)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_file_without_parameters_is_refused(tmp_path: Path) -> None:
    for content in [
        "no JSON",
        "[]",
        "{}",
        json.dumps({"abbreviations": "a", "collocations": [], "sentence_starters": [], "orthographic_context": {}}),
        json.dumps({"abbreviations": [], "collocations": ["one"], "sentence_starters": [], "orthographic_context": {}}),
    ]:
        path = tmp_path / "sentences.json"
        path.write_text(content)
        with pytest.raises(DataError, match=r"sentences\.json must be a file of sentence parameters"):
            SentenceSplitter.load(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="missing must be a file of sentence parameters"):
        SentenceSplitter.load(tmp_path / "missing")


def test_languages_have_their_abbreviations_and_full_stops() -> None:
    for code, sentences in [
        ("de", ["Am 3. Oktober kam z. B. der Rechner bzw. die Maschine.", "Dann ging er."]),
        ("ru", ["Это т. е. узел и т. д. в руководстве.", "Он работает."]),
        ("zh", ["这是一个手册。", "它描述“主机。”", "然后（网关）！", "下一句 apt 1.2 版本。", "Hello world."]),
        ("ja", ["これは本です。", "それは「良い。」", "ペンです。"]),
        ("ja", ["これは本 (良い!) です。", "ペンです。"]),
        ("en", ["Dr. Smith sends packets.", "Hosts wait."]),
        ("", ["Dr. Smith sends packets.", "Hosts wait."]),
    ]:
        text = ("" if code in ("zh", "ja") else " ").join(sentences)
        assert [sentence.strip() for sentence in SentenceSplitter.for_language(code).split(text)] == sentences


def test_a_long_text_without_spaces_is_split_at_its_full_stops() -> None:
    text = "这是一个手册。" * 3000
    assert "".join(part.strip() for part in SentenceSplitter.for_language("zh").split(text)) == text
