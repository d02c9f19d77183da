"""Byte-level BPE and Unigram against the tokenizers of transformers on the same files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from transformers import BartTokenizer

from sumpool.errors import DataError
from sumpool.special_tokens import SpecialTokens
from sumpool.text import hf_tokenizer
from sumpool.text.cleaning import clean
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.text.load import load_tokenizer
from sumpool.text.sentences import SentenceSplitter
from tests.text.bart import BOS, EOS, MASK, PAD, SIZE, UNK, learn, take_over

TEXTS = [
    f"The {noun} of a long document's end, and number {n}: it isn't here.\nWhy? A caf\u00e9!"
    for n, noun in enumerate("ab")
] * 3
SPLITTER = SentenceSplitter()
MARKS = [" ", "  ", "\n", "\n\n", "\u00a0", "\u3000", "\u1680", "\t", ".", "?", "...", '."', ")", "7"]
FRAGMENTS = st.sampled_from([*MARKS, "end", "The", "it's", "they'll", "</s>", "<s>", "<mask>"])
TEXT = st.lists(st.one_of(FRAGMENTS, st.text(max_size=3)), max_size=20).map("".join)


@pytest.fixture(scope="module")
def bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learn(TEXTS, tmp_path_factory.mktemp("bart"), 330)


@pytest.fixture(scope="module")
def original(bart: Path) -> Any:  # noqa: ANN401 - transformers has no types
    return BartTokenizer.from_pretrained(bart)


@pytest.fixture(scope="module")
def ours(bart: Path, tmp_path_factory: pytest.TempPathFactory) -> HuggingFaceTokenizer:
    return take_over(bart, tmp_path_factory.mktemp("ours"))


@given(TEXT)
def test_a_text_has_the_tokens_of_the_original(original: Any, ours: HuggingFaceTokenizer, text: str) -> None:  # noqa: ANN401
    ids = [BOS, *ours.encode(text), EOS]
    assert ids == original(clean(text), split_special_tokens=True).input_ids
    assert ours.decode(ids) == clean(text) == original.decode(ids[1:-1])


def test_special_tokens_are_those_of_the_original(ours: HuggingFaceTokenizer) -> None:
    assert ours.special_tokens == SpecialTokens(PAD, EOS, EOS, (PAD, UNK), (BOS,), (EOS,))
    assert ours.token_bytes()[:6] == [b"", b"", b"", b"", b"", b"!"]
    assert ours.word_starts()[:6] == [True, True, True, True, True, False]


def as_one_line(text: str) -> str:
    return " ".join(clean(text).split())


@given(TEXT)
def test_sentences_have_the_tokens_of_the_whole_line(ours: HuggingFaceTokenizer, text: str) -> None:
    sentences = ours.encode_sentences(text, SPLITTER)
    assert [token for ids in sentences for token in ids] == ours.encode(as_one_line(text))


def test_prose_has_the_tokens_of_the_whole_line(ours: HuggingFaceTokenizer) -> None:
    for text in [
        "The end. It's here! Why?\n\nA long end (of it.) And more.",
        'He said "no." Then "why?" and "It is." (So it is.)\nThe end',
        "A. B. C. 7.5 e.g. this... and?! \u00a0 So",
        "The end.'s is one. Why?",
        'A no."(yes Why? foo.")Bar said "x.") Then',
        "end" * 5000 + ". Why?",
        "The end " * 2000 + "Why? It is.",
    ]:
        sentences = ours.encode_sentences(text, SPLITTER)
        assert len(sentences) > 1
        assert [token for ids in sentences for token in ids] == ours.encode(as_one_line(text))


def test_special_tokens_in_a_text_are_text(ours: HuggingFaceTokenizer) -> None:
    ids = ours.encode("a</s><pad> <mask><s>")
    assert not {PAD, UNK, BOS, EOS, MASK} & set(ids)
    assert ours.decode(ids) == "a</s><pad> <mask><s>"


def test_invisible_characters_have_no_tokens(ours: HuggingFaceTokenizer) -> None:
    assert ours.encode("The\u202e docu\u200dment\ud800\u2028x") == ours.encode("The document\nx")
    assert b"\n" in [ours.token_bytes()[token] for token in ours.encode("x\r\ny")]


def test_incomplete_characters_are_replaced(ours: HuggingFaceTokenizer) -> None:
    ids = ours.encode("\u6f22")
    assert ours.decode(ids) == "\u6f22"
    assert ours.decode(ids[:-1]) == "\ufffd"


def test_ids_outside_the_vocabulary_are_refused(ours: HuggingFaceTokenizer) -> None:
    with pytest.raises(ValueError, match=f"ids must be from 0 to {ours.vocab_size - 1}, got -1"):
        ours.decode([5, -1])


def test_add_prefix_space_is_applied(bart: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / name).write_bytes((bart / name).read_bytes())
    ours = take_over(tmp_path, tmp_path / "ours")
    text = "The end. Why? The end."
    expected = BartTokenizer.from_pretrained(tmp_path)(text).input_ids[1:-1]
    assert ours.encode(text) == expected
    assert [token for ids in ours.encode_sentences(text, SPLITTER) for token in ids] == expected


def test_the_library_reads_the_file(ours: HuggingFaceTokenizer, bart: Path, tmp_path: Path) -> None:
    take_over(bart, tmp_path)
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert library.encode("The end").ids == [BOS, *ours.encode("The end"), EOS]
    assert library.get_vocab_size() <= ours.vocab_size == SIZE


def test_a_batch_has_the_tokens_of_its_texts(ours: HuggingFaceTokenizer) -> None:
    texts = [f"{text} {number}" for number in range(30) for text in TEXTS[:2]]
    assert ours.encode_batch(texts) == [ours.encode(text) for text in texts]
    assert ours.encode_batch([]) == []


def change_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    tree = json.loads(path.read_text())
    change(tree)
    path.write_text(json.dumps(tree))


def test_a_damaged_tokenizer_is_refused(bart: Path, tmp_path: Path) -> None:
    damages: list[tuple[Callable[[dict[str, Any]], object], str]] = [
        (lambda tree: tree["model"]["vocab"].pop("a"), "Token `a` out of vocabulary"),
        (lambda tree: tree["model"]["vocab"].update(a=999), "tokens for 400 rows of the model"),
        (lambda tree: tree["model"]["merges"].append(["a", "nothing"]), "out of vocabulary"),
        (lambda tree: tree["added_tokens"].clear(), "in a vocabulary of 400"),
        (
            lambda tree: tree["post_processor"].update(sep=["<mask>", MASK]),
            r"texts that end with \(4,\), not with eos 2",
        ),
        (lambda tree: tree["post_processor"].update(cls=["a", 69]), "in a vocabulary of 400"),
        (lambda tree: tree.update(model={"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}), "WordLevel"),
        (lambda tree: tree.pop("model"), "model"),
    ]
    for damage, reason in damages:
        take_over(bart, tmp_path)
        change_json(tmp_path / "tokenizer.json", damage)
        with pytest.raises(
            DataError, match=rf"tokenizer\.json must be byte-level BPE or Unigram with vocabulary\.json .*{reason}"
        ):
            load_tokenizer(tmp_path)


def test_damaged_special_tokens_are_refused(bart: Path, tmp_path: Path) -> None:
    damages: list[Callable[[dict[str, Any]], object]] = [
        lambda tree: tree.pop("eos_token_id"),
        lambda tree: tree.update(eos_token_id="</s>"),
        lambda tree: tree.update(pad_token_id=70),
        lambda tree: tree.update(decoder_start_token_id=400),
        lambda tree: tree.update(suppress_tokens=[-1]),
        lambda tree: tree.update(vocab_size=100),
    ]
    for damage in damages:
        take_over(bart, tmp_path)
        change_json(tmp_path / "vocabulary.json", damage)
        with pytest.raises(DataError, match=r"must be byte-level BPE or Unigram with vocabulary\.json beside it, got "):
            load_tokenizer(tmp_path)


def test_another_file_is_refused(bart: Path, tmp_path: Path) -> None:
    for name in ["tokenizer.json", "vocabulary.json"]:
        for content in [b"", b"{", b"[]", b"\xff", b"{}"]:
            take_over(bart, tmp_path)
            (tmp_path / name).write_bytes(content)
            with pytest.raises(
                DataError,
                match=r"tokenizer\.json must be byte-level BPE or Unigram with vocabulary\.json beside it, got ",
            ):
                load_tokenizer(tmp_path)


def test_the_library_must_be_there(bart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take_over(bart, tmp_path)
    monkeypatch.setattr(hf_tokenizer, "find_spec", lambda _: None)
    with pytest.raises(DataError, match=r"tokenizer\.json must have tokenizers .* pip install 'sumpool\[hub\]'"):
        load_tokenizer(tmp_path)
