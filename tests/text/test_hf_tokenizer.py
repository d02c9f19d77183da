"""Byte-level BPE and Unigram against the tokenizers of transformers on the same files."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import BartTokenizer

from sumpool.errors import DataError
from sumpool.pretrained.tokenizer import read_tokenizer
from sumpool.special_tokens import SpecialTokens
from sumpool.text.cleaning import clean
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import load_tokenizer
from tests.conftest import story
from tests.text.bart import BOS, EOS, MASK, PAD, UNK, learn, take_over
from tests.text.unigram import CLASSES, learn_unigram

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


def of_sentences(tokenizer: HuggingFaceTokenizer, text: str) -> list[int]:
    """Tokens of the sentences of a text."""
    return [token for ids in tokenizer.encode_batch(tokenizer.split_sentences(text, SPLITTER)) for token in ids]


def of_line(tokenizer: HuggingFaceTokenizer, text: str) -> list[int]:
    """Tokens of a text in one line."""
    return tokenizer.encode(" ".join(clean(text).split()))


@given(TEXT)
def test_sentences_have_the_tokens_of_the_whole_line(ours: HuggingFaceTokenizer, text: str) -> None:
    assert of_sentences(ours, text) == of_line(ours, text)


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
        assert len(ours.split_sentences(text, SPLITTER)) > 1
        assert of_sentences(ours, text) == of_line(ours, text)


def test_special_tokens_in_a_text_are_text_and_incomplete_characters_are_replaced(ours: HuggingFaceTokenizer) -> None:
    ids = ours.encode("a</s><pad> <mask><s>\u6f22")
    assert not {PAD, UNK, BOS, EOS, MASK} & set(ids)
    assert ours.decode(ids) == "a</s><pad> <mask><s>\u6f22"
    assert ours.decode(ids[:-1]) == "a</s><pad> <mask><s>\ufffd"


def test_add_prefix_space_is_applied(bart: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / name).write_bytes((bart / name).read_bytes())
    ours = take_over(tmp_path, tmp_path / "ours")
    text = "The end. Why? The end."
    expected = BartTokenizer.from_pretrained(tmp_path)(text).input_ids[1:-1]
    assert ours.encode(text) == expected
    assert of_sentences(ours, text) == expected


def test_a_batch_has_the_tokens_of_its_texts(ours: HuggingFaceTokenizer) -> None:
    texts = [f"{text} {number}" for number in range(30) for text in TEXTS[:2]]
    assert ours.encode_batch(texts) == [ours.encode(text) for text in texts]
    assert ours.encode_batch([]) == []


def change_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    tree = json.loads(path.read_text())
    change(tree)
    path.write_text(json.dumps(tree))


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


class Both(NamedTuple):
    """A tokenizer of transformers, and ours made from its files for a model with three more rows than tokens."""

    folder: Path
    original: Any
    ours: HuggingFaceTokenizer


@pytest.fixture(
    scope="module", params=[pytest.param(kind, marks=[pytest.mark.slow] * (kind != "pegasus")) for kind in CLASSES]
)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp(request.param)
    learn_unigram([*TEXTS, *(story(number, 9) for number in range(9))], folder, request.param)
    original = CLASSES[request.param].from_pretrained(folder)
    (folder / "ours").mkdir()
    read_tokenizer(folder, len(original) + 3, decoder_start=original.pad_token_id).save(folder / "ours")
    ours = load_tokenizer(folder / "ours")
    assert isinstance(ours, HuggingFaceTokenizer)
    return Both(folder, original, ours)


def without_special(ids: list[int], original: Any) -> list[int]:  # noqa: ANN401
    """The ids of a text, in which transformers has found special tokens, with the unknown token for each."""
    return [original.unk_token_id if token in original.all_special_ids else token for token in ids]


@given(TEXT)
def test_a_text_has_the_tokens_of_each_original(both: Both, text: str) -> None:
    special = both.ours.special_tokens
    ids = both.original(clean(text), split_special_tokens=True).input_ids
    end = len(ids) - len(special.suffix)
    assert (tuple(ids[: len(special.prefix)]), tuple(ids[end:])) == (special.prefix, special.suffix)
    assert both.ours.encode(text) == without_special(ids[len(special.prefix) : end], both.original)
    assert both.ours.decode(ids) == both.original.decode(ids, skip_special_tokens=True)


@given(TEXT)
def test_sentences_of_each_kind_have_the_tokens_of_the_whole_line(both: Both, text: str) -> None:
    assert of_sentences(both.ours, text) == of_line(both.ours, text)


def test_special_tokens_are_those_of_each_original(both: Both) -> None:
    special, original = both.ours.special_tokens, both.original
    assert (special.pad, special.eos) == (original.pad_token_id, original.eos_token_id)
    assert special.suppressed == (original.pad_token_id, original.unk_token_id)
    assert special.suffix[:1] == (original.eos_token_id,) or special.suffix[-1:] == (original.eos_token_id,)
    assert [*special.prefix, *special.suffix] == original("").input_ids
    surfaces, starts = both.ours.token_bytes(), both.ours.word_starts()
    assert all(surfaces[token] == b"" and starts[token] for token in original.all_special_ids)
    assert surfaces[-3:] == [b""] * 3
    word = original.convert_tokens_to_ids("▁the")
    assert (surfaces[word], starts[word]) == (b" the", True)


def test_names_of_special_tokens_in_a_text_are_unknown(both: Both) -> None:
    special = both.ours.special_tokens
    ids = both.ours.encode("The end</s> of </s> de_DE <pad>")
    around = {special.pad, special.eos, *special.prefix, *special.suffix}
    assert not around & set(ids)
    assert both.original.unk_token_id in ids
    assert both.ours.encode("The end") == ids[: len(both.ours.encode("The end"))]


Change = Callable[[dict[str, Any]], object]
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}


def test_another_unigram_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_unigram(TEXTS, tmp_path, "pegasus")
    original = CLASSES["pegasus"].from_pretrained(tmp_path)
    whole = (tmp_path / "tokenizer.json").read_bytes()
    splitting = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]}
    prepending = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Prepend", "prepend": "x"}]}
    changes: list[tuple[Change, str]] = [
        (lambda tree: tree["pre_tokenizer"].update(prepend_scheme="never"), "Unigram Metaspace prepend_scheme: never"),
        (lambda tree: tree["pre_tokenizer"].update(split=False), "Unigram Metaspace split: False"),
        (lambda tree: tree["pre_tokenizer"].update(replacement="_"), "Unigram Metaspace replacement: _"),
        (lambda tree: tree.update(pre_tokenizer=splitting), "Unigram WhitespaceSplit Metaspace prepend_scheme: first"),
        (lambda tree: tree.update(pre_tokenizer=None), r"'Unigram'"),
        (lambda tree: tree.update(pre_tokenizer={"type": "Whitespace"}), "Unigram Whitespace"),
        (lambda tree: tree.update(normalizer=prepending), "Unigram Metaspace Prepend"),
        (lambda tree: tree["model"].update(unk_id=None), "Unigram without an unknown token"),
        (lambda tree: tree["model"].update(unk_id=10**6), "UnkIdNotInVocabulary"),
        (lambda tree: tree["model"]["vocab"].append(["▁a b", -3.0]), "the token '▁a b' with white space after a word"),
        (lambda tree: tree["model"]["vocab"].append(["x▁", -3.0]), "the token 'x▁' with white space after a word"),
        (lambda tree: tree["model"]["vocab"].append(["<pad>", -3.0]), "a token that the vocabulary has twice"),
        (lambda tree: tree["model"]["vocab"].append(["\ud800", -3.0]), "surrogates not allowed"),
        (lambda tree: tree["model"]["vocab"].append([3, -3.0]), "AttributeError"),
        (lambda tree: tree["model"]["vocab"].append("a"), "ValueError"),
        (lambda tree: tree["model"].update(vocab={"a": 0}), "ValueError"),
        (lambda tree: tree["model"]["vocab"].extend([f"▁t{n}", -3.0] for n in range(9)), "tokens for .* rows"),
        (lambda tree: tree["added_tokens"][0].update(id=1), "with one id, 1"),
    ]
    for change, reason in changes:
        (tmp_path / "tokenizer.json").write_bytes(whole)
        change_json(tmp_path / "tokenizer.json", change)
        with pytest.raises(
            DataError, match=f"must hold byte-level BPE .*, or Unigram as tokenizer.json, got .*{reason}"
        ):
            read_tokenizer(tmp_path, len(original) + 3, original.pad_token_id)
    (tmp_path / "tokenizer.json").write_bytes(whole)
    monkeypatch.setattr("sumpool.text.hf_tokenizer._MAX_VOCABULARY", 100)
    with pytest.raises(DataError, match="with the id 100"):
        read_tokenizer(tmp_path, 300, 0)


def test_bytes_are_joined_to_characters(tmp_path: Path) -> None:
    learn_unigram(TEXTS, tmp_path, "marian")

    def add_bytes(tree: dict[str, Any]) -> None:
        tree["model"]["vocab"] += [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]
        tree["model"]["byte_fallback"] = True

    change_json(tmp_path / "tokenizer.json", add_bytes)
    tokenizer = read_tokenizer(tmp_path, 600, 0)
    ids = tokenizer.encode("The 漢 end")
    assert tokenizer.decode(ids) == "The 漢 end"
    first = tokenizer.token_bytes().index(b"\xe6")
    assert first in ids
    assert tokenizer.decode(ids[: ids.index(first) + 1]) == "The \ufffd"


def test_damaged_normalizers_are_refused_or_errors_of_the_texts_that_they_fail_on(tmp_path: Path) -> None:
    learn_unigram(TEXTS, tmp_path, "pegasus")
    tree = json.loads((tmp_path / "tokenizer.json").read_text())
    rules = base64.b64decode(tree["normalizer"]["normalizers"][0]["precompiled_charsmap"])

    def cut(size: int) -> str:
        """Normalization rules whose trie ends after so many bytes."""
        return base64.b64encode(size.to_bytes(4, "little") + rules[4 : 4 + size] + b"x\0").decode()

    def read(rules: str) -> HuggingFaceTokenizer:
        tree["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": rules}
        (tmp_path / "tokenizer.json").write_text(json.dumps(tree))
        return read_tokenizer(tmp_path, 300, 0)

    damage = r"tokenizer\.json must have an undamaged normalizer, got a failure: "
    for damaged in ("", "AAAA", "/////w==", "not base64", cut(64)):
        with pytest.raises(DataError, match=f"got {damage}"):
            read(damaged)
    tokenizer = read(cut(1024))
    assert tokenizer.encode("a b")
    with pytest.raises(DataError, match=f"^{damage}"):
        tokenizer.encode("caf\u00e9")
