"""Unigram tokenizers of Hugging Face encode and decode as transformers does."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import MBartTokenizer, PegasusTokenizer

from sumpool.errors import DataError
from sumpool.pretrained.tokenizer import read_tokenizer
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story
from tests.text.bart import EOS, PAD, UNK
from tests.text.unigram import learn_unigram

ORIGINALS = {"pegasus": PegasusTokenizer, "mbart": MBartTokenizer}
TEXTS = ["The end of the second document is short. Why?", "A caf\u00e9, at last, and 42 more!", "x"]


@pytest.fixture(scope="module", params=["pegasus", "mbart"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [*TEXTS, *(story(number, 20) for number in range(20))]
    return learn_unigram(texts, tmp_path_factory.mktemp("unigram") / request.param, request.param)


@pytest.fixture(scope="module")
def original(folder: Path) -> Any:  # noqa: ANN401
    return ORIGINALS[folder.name].from_pretrained(folder)


@pytest.fixture(scope="module")
def ours(folder: Path, original: Any, tmp_path_factory: pytest.TempPathFactory) -> HuggingFaceTokenizer:  # noqa: ANN401
    out = tmp_path_factory.mktemp("ours")
    read_tokenizer(folder, len(original), decoder_start=EOS).save(out)
    return HuggingFaceTokenizer.load(out)


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(st.sampled_from(TEXTS), st.text("abcdeghinorst .,\u00e9\u4e2d\n", max_size=40)))
def test_a_text_has_the_tokens_of_the_original(
    original: Any,  # noqa: ANN401
    ours: HuggingFaceTokenizer,
    text: str,
) -> None:
    special = ours.special_tokens
    assert [*special.prefix, *ours.encode(text), *special.suffix] == original(text).input_ids
    known = [token for token in ours.encode(text) if token != UNK]
    assert ours.decode(known).strip() == original.decode(known, clean_up_tokenization_spaces=False).strip()


def test_special_tokens_are_those_of_the_original(ours: HuggingFaceTokenizer, original: Any) -> None:  # noqa: ANN401
    special = ours.special_tokens
    assert (special.pad, special.eos, special.suppressed, special.prefix) == (PAD, EOS, (PAD, UNK), ())
    language = original.convert_tokens_to_ids("en_XX")
    assert special.suffix == ((EOS, language) if isinstance(original, MBartTokenizer) else (EOS,))
    assert not any(ours.token_bytes()[token] for token in (PAD, EOS, UNK))


def test_special_tokens_in_a_text_are_unknown_text(ours: HuggingFaceTokenizer) -> None:
    ids = ours.encode("The end </s> of <pad> the <mask> en_XX")
    assert UNK in ids
    assert all(ours.token_bytes()[token] or token == UNK for token in ids)


def test_sentences_have_the_tokens_of_the_whole_line(ours: HuggingFaceTokenizer) -> None:
    text = " ".join(TEXTS)
    sentences = ours.encode_sentences(text, SentenceSplitter.default())
    assert len(sentences) > 2
    assert [token for sentence in sentences for token in sentence] == ours.encode(text)


@pytest.mark.parametrize(
    ("change", "got"),
    [
        ({"pre_tokenizer": {"type": "Whitespace"}}, "Unigram Whitespace"),
        ({"pre_tokenizer": None}, "Unigram NoneType"),
        (
            {"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": True}},
            "Unigram Metaspace",
        ),
    ],
)
def test_another_split_is_refused(folder: Path, tmp_path: Path, change: dict[str, Any], got: str) -> None:
    tree = json.loads((folder / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps(tree | change))
    with pytest.raises(DataError, match=f"must hold byte-level BPE or Unigram as tokenizer.json, .*{got}"):
        read_tokenizer(tmp_path, 400, EOS)


def test_bytes_and_repeated_tokens_are_refused(folder: Path, tmp_path: Path) -> None:
    tree = json.loads((folder / "tokenizer.json").read_text())
    tree["model"]["byte_fallback"] = True
    (tmp_path / "tokenizer.json").write_text(json.dumps(tree))
    with pytest.raises(DataError, match="Unigram Metaspace byte_fallback"):
        read_tokenizer(tmp_path, 400, EOS)
    tree["model"]["vocab"][-1] = tree["model"]["vocab"][-2]
    (tmp_path / "tokenizer.json").write_text(json.dumps(tree))
    with pytest.raises(DataError, match="in two places"):
        read_tokenizer(tmp_path, 400, EOS)
