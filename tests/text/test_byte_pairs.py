"""Byte-level BPE against transformers' own tokenizer on the same files."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BartTokenizer

from sumpool.errors import DataError
from sumpool.special_tokens import BOS, EOS, PAD, PARAGRAPH, UNK
from sumpool.text import byte_pairs
from sumpool.text.byte_pairs import BytePairs
from sumpool.text.cleaning import clean
from sumpool.text.hf_bpe import read_pieces
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import Frame, load_tokenizer
from tests.text.bart import learn, numbers, take_over

TEXTS = [
    f"The {noun} of a long document's end, and number {n}: it isn't here.\nWhy? A caf\u00e9!"
    for n, noun in enumerate("ab")
] * 3
SPLITTER = SentenceSplitter.default()
PIECES_OF_TEXT = st.sampled_from(
    [
        " ",
        "  ",
        "\n",
        "\n\n",
        "\u00a0",
        "\u3000",
        "\u1680",
        "\t",
        "end",
        "The",
        "it's",
        "they'll",
        ".",
        "?",
        "...",
        '."',
        ")",
        "</s>",
        "<s>",
        "<mask>",
        "7",
    ]
)
SPOKEN = st.lists(st.one_of(PIECES_OF_TEXT, st.text(max_size=3)), max_size=20).map("".join)


@pytest.fixture(scope="module")
def bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learn(TEXTS, tmp_path_factory.mktemp("bart"), 330)


@pytest.fixture(scope="module")
def original(bart: Path) -> Any:  # noqa: ANN401 - transformers has no types
    return BartTokenizer.from_pretrained(bart)


@pytest.fixture(scope="module")
def ours(bart: Path, tmp_path_factory: pytest.TempPathFactory) -> BytePairs:
    return take_over(bart, tmp_path_factory.mktemp("ours"))


@given(SPOKEN)
@settings(max_examples=150, deadline=None)
def test_a_text_has_the_pieces_of_the_original(bart: Path, original: Any, ours: BytePairs, text: str) -> None:  # noqa: ANN401
    theirs = numbers(read_pieces(bart))
    framed = [*ours.frame.first, *ours.encode(text), *ours.frame.last]
    expected = original(clean(text), split_special_tokens=True).input_ids
    assert [theirs[piece] for piece in framed] == expected
    assert ours.decode(framed) == clean(text) == original.decode(expected[1:-1])


def test_the_frame_is_that_of_the_original(ours: BytePairs) -> None:
    assert ours.frame == Frame((5,), (EOS,))
    assert ours.surfaces()[:7] == [b"", b"", b"", b"", b"\n", b"", b""]  # <s> and <mask> follow the fixed pieces
    assert ours.word_starts()[:7] == [True] * 7


def as_one_line(text: str) -> str:
    return " ".join(clean(text).split())


@given(SPOKEN)
@settings(max_examples=150, deadline=None)
def test_sentences_have_the_pieces_of_the_whole_line(ours: BytePairs, text: str) -> None:
    sentences = ours.encode_sentences(text, SPLITTER)
    assert [piece for ids in sentences for piece in ids] == ours.encode(as_one_line(text))


@pytest.mark.parametrize(
    "text",
    [
        "The end. It's here! Why?\n\nA long end (of it.) And more.",
        'He said "no." Then "why?" and "It is." (So it is.)\nThe end',
        "A. B. C. 7.5 e.g. this... and?! \u00a0 So",
        "The end.'s is one. Why?",
        'A no."(yes Why? foo.")Bar said "x.") Then',
        "end" * 5000 + ". Why?",
        "The end " * 2000 + "Why? It is.",
    ],
)
def test_prose_has_the_pieces_of_the_whole_line(ours: BytePairs, text: str) -> None:
    sentences = ours.encode_sentences(text, SPLITTER)
    assert len(sentences) > 1
    assert [piece for ids in sentences for piece in ids] == ours.encode(as_one_line(text))


def test_special_pieces_in_a_text_are_text(ours: BytePairs) -> None:
    ids = ours.encode("a</s><pad> <mask><s>")
    assert not {PAD, UNK, BOS, EOS, 5, 6} & set(ids)
    assert ours.decode(ids) == "a</s><pad> <mask><s>"


def test_invisible_characters_have_no_pieces(ours: BytePairs) -> None:
    assert ours.encode("The\u202e docu\u200dment\ud800\u2028x") == ours.encode("The document\nx")
    assert PARAGRAPH in ours.encode("x\r\ny")


def test_parts_of_characters_are_replaced(ours: BytePairs) -> None:
    ids = ours.encode("\u6f22")
    assert ours.decode(ids) == "\u6f22"
    assert ours.decode(ids[:-1]) == "\ufffd"


def test_ids_outside_the_vocabulary_are_refused(ours: BytePairs) -> None:
    with pytest.raises(ValueError, match=f"ids must be from 0 to {ours.vocabulary - 1}, got -1"):
        ours.decode([5, -1])


def test_a_space_before_a_text_is_as_in_the_original(bart: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / name).write_bytes((bart / name).read_bytes())
    ours, theirs = take_over(tmp_path, tmp_path / "ours"), numbers(read_pieces(tmp_path))
    text = "The end. Why? The end."
    expected = BartTokenizer.from_pretrained(tmp_path)(text).input_ids[1:-1]
    assert [theirs[piece] for piece in ours.encode(text)] == expected
    assert [theirs[piece] for ids in ours.encode_sentences(text, SPLITTER) for piece in ids] == expected


def test_others_can_read_the_file(ours: BytePairs, bart: Path, tmp_path: Path) -> None:
    take_over(bart, tmp_path)
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert library.encode("The end").ids == [5, *ours.encode("The end"), EOS]
    assert library.get_vocab_size() == ours.vocabulary


def test_many_texts_are_spelt_at_once_and_fast(ours: BytePairs) -> None:
    texts = [f"{text} {number}" for number in range(3000) for text in TEXTS[:2]]
    start = time.process_time()
    found = ours.encode_all(texts)
    assert time.process_time() - start < 4  # 0.3 seconds measured
    assert found[:4] == [ours.encode(text) for text in texts[:4]]
    assert ours.encode_all([]) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda tree: tree["model"]["vocab"].pop("a"),
        lambda tree: tree["model"]["vocab"].update(a=999),
        lambda tree: tree["model"]["merges"].append(["a", "nothing"]),
        lambda tree: tree["added_tokens"].clear(),
        lambda tree: tree.update(post_processor={"type": "BertProcessing", "sep": ["</s>", 3], "cls": ["<s>", 5]}),
        lambda tree: tree.update(model={"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}),
        lambda tree: tree.pop("model"),
    ],
)
def test_a_damaged_file_is_refused(bart: Path, tmp_path: Path, damage: Any) -> None:  # noqa: ANN401
    take_over(bart, tmp_path)
    path = tmp_path / "tokenizer.json"
    tree = json.loads(path.read_text())
    damage(tree)
    path.write_text(json.dumps(tree))
    with pytest.raises(DataError, match=r"tokenizer\.json must be a byte-level BPE vocabulary of sumpool's, got "):
        load_tokenizer(tmp_path)


def test_a_vocabulary_under_other_numbers_is_refused(original: Any, tmp_path: Path) -> None:  # noqa: ANN401
    original.save_pretrained(tmp_path)
    with pytest.raises(DataError, match=r"must be a byte-level BPE vocabulary of sumpool's, got .*under other numbers"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"{}"])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(DataError, match=r"tokenizer\.json must be a byte-level BPE vocabulary of sumpool's, got "):
        load_tokenizer(tmp_path)


def test_the_library_must_be_there(bart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take_over(bart, tmp_path)
    monkeypatch.setattr(byte_pairs, "find_spec", lambda _: None)
    with pytest.raises(DataError, match=r"tokenizer\.json must have tokenizers .* pip install 'sumpool\[hub\]'"):
        load_tokenizer(tmp_path)
