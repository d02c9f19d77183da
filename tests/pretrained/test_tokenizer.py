"""Tokenizers of Hugging Face folders, in each of their forms."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from transformers import BartTokenizer

from sumpool.errors import DataError
from sumpool.pretrained.tokenizer import read_tokenizer
from sumpool.text import hf_tokenizer
from tests.conftest import restored
from tests.text.bart import BOS, EOS, PAD, SIZE, UNK, learn, take_over
from tests.text.unigram import CLASSES, learn_unigram, train_pieces

TEXTS = ["The end of a document is short. Why?\nAnother number is not.", "A caf\u00e9, at last."] * 3
TEXT = "The caf\u00e9 is not <mask> the end </s>"


@pytest.fixture
def bart(tmp_path: Path) -> Path:
    """A folder with vocab.json and merges.txt."""
    return learn(TEXTS, tmp_path / "bart", 330)


@pytest.fixture
def whole(bart: Path) -> Path:
    """A folder with tokenizer.json and tokenizer_config.json."""
    folder = bart.with_name("whole")
    BartTokenizer.from_pretrained(bart).save_pretrained(folder)
    return folder


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    tree = json.loads(path.read_text()) if path.is_file() else {}
    change(tree)
    path.write_text(json.dumps(tree))


def test_both_forms_of_a_folder_are_the_same(bart: Path, whole: Path, tmp_path: Path) -> None:
    assert not (whole / "vocab.json").exists()
    text = f"{TEXT} It's\n\n one."
    lists, file = (read_tokenizer(folder, SIZE, EOS) for folder in (bart, whole))
    assert lists.encode(text) == file.encode(text)
    assert lists.token_bytes() == file.token_bytes()
    assert lists.special_tokens == file.special_tokens
    special = lists.special_tokens
    assert (special.pad, special.eos, special.decoder_start, special.suppressed) == (PAD, EOS, EOS, (PAD, UNK))
    assert (special.prefix, special.suffix) == ((BOS,), (EOS,))
    take_over(whole, tmp_path / "ours")
    saved, original = (json.loads((folder / "tokenizer.json").read_text()) for folder in (tmp_path / "ours", whole))
    assert saved == original


def test_truncation_and_padding_of_a_file_are_off(whole: Path) -> None:
    expected = read_tokenizer(whole, SIZE, EOS).encode(TEXT)
    file = Tokenizer.from_file(str(whole / "tokenizer.json"))
    file.enable_truncation(4)
    file.enable_padding(length=50, pad_id=PAD, pad_token="<pad>")
    file.save(str(whole / "tokenizer.json"))
    assert read_tokenizer(whole, SIZE, EOS).encode(TEXT) == expected


def test_added_tokens_are_found_in_a_text_unless_they_are_special(bart: Path, tmp_path: Path) -> None:
    edit(bart / "added_tokens.json", lambda tree: tree.update({"<doc>": 330, "<sum>": 332}))
    edit(bart / "special_tokens_map.json", lambda tree: tree.update(additional_special_tokens=["<sum>"]))
    tokenizer = take_over(bart, tmp_path / "ours")
    ids = tokenizer.encode("a<doc>b<sum>")
    assert 330 in ids
    assert 332 not in ids
    assert tokenizer.decode(ids) == "a<doc>b<sum>"
    assert tokenizer.decode([332]) == ""


@pytest.mark.parametrize("special", [True, False])
def test_tokens_may_be_added_in_the_configuration(bart: Path, special: bool) -> None:
    switches = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    token = {"content": "<doc>", "special": special, **switches}
    edit(bart / "tokenizer_config.json", lambda tree: tree.update(added_tokens_decoder={"330": token}))
    assert read_tokenizer(bart, SIZE, EOS).token_bytes()[330] == (b"" if special else b"<doc>")


def test_special_tokens_may_have_other_names(whole: Path) -> None:
    text = (whole / "tokenizer.json").read_text().replace("</s>", "[end]")
    (whole / "tokenizer.json").write_text(text)
    edit(whole / "tokenizer_config.json", lambda tree: tree.update(eos_token={"content": "[end]"}, sep_token="[end]"))
    assert read_tokenizer(whole, SIZE, EOS).special_tokens.eos == EOS


def test_prefix_and_suffix_are_those_of_the_post_processor(whole: Path) -> None:
    for processor, prefix, suffix in (
        (None, (), ()),
        ({"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}, (), ()),
        (
            {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [BOS], "tokens": ["<s>"]}},
            },
            (BOS,),
            (),
        ),
        ({"type": "BertProcessing", "cls": ["<s>", BOS], "sep": ["</s>", EOS]}, (BOS,), (EOS,)),
    ):
        edit(whole / "tokenizer.json", partial(dict.update, post_processor=processor))
        special = read_tokenizer(whole, SIZE, EOS).special_tokens
        assert (special.prefix, special.suffix) == (prefix, suffix)


def test_another_vocabulary_is_refused(whole: Path) -> None:
    for change, got in (
        (lambda tree: tree["model"].update(type="WordLevel", unk_token="<unk>"), "WordLevel"),
        (lambda tree: tree["model"].update(byte_fallback=True), "BPE ByteLevel byte_fallback"),
        (lambda tree: tree.update(normalizer={"type": "NFC"}), "BPE ByteLevel normalizer"),
        (lambda tree: tree.update(pre_tokenizer={"type": "Whitespace"}), "BPE Whitespace"),
        (lambda tree: tree["pre_tokenizer"].update(use_regex=False), "BPE ByteLevel use_regex: false"),
        (lambda tree: tree["post_processor"].update(sep=["<mask>", 4]), r"texts that end with \(4,\)"),
        (lambda tree: tree["added_tokens"].pop(1), "in a vocabulary of 400"),
        (
            lambda tree: tree["added_tokens"].append(
                {**tree["added_tokens"][4], "id": 399, "special": False, "content": "a b"}
            ),
            "added token 'a b' with white space",
        ),
        (lambda tree: tree["model"].update(merges=["a b c"]), "merges"),
        (lambda tree: tree.pop("model"), "model"),
    ):
        with restored(whole):
            edit(whole / "tokenizer.json", change)
            with pytest.raises(DataError, match=f"whole must hold byte-level BPE as tokenizer.json, .*{got}"):
                read_tokenizer(whole, SIZE, EOS)


def test_special_tokens_must_differ(whole: Path) -> None:
    edit(whole / "tokenizer_config.json", lambda tree: tree.update(pad_token="</s>"))
    with pytest.raises(DataError, match=r"whole must hold byte-level BPE .*pad 2, eos 2, unk 3"):
        read_tokenizer(whole, SIZE, EOS)


def test_damaged_missing_and_too_large_files_are_refused(bart: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\d+ tokens for 270 rows of the model"):
        read_tokenizer(bart, 270, EOS)
    message = r"must hold byte-level BPE as tokenizer\.json, or as vocab\.json and merges"
    with pytest.raises(DataError, match=message):
        read_tokenizer(tmp_path, SIZE, EOS)
    for content in ("", "[]"):
        (bart / "vocab.json").write_text(content)
        with pytest.raises(DataError, match=f"bart {message}"):
            read_tokenizer(bart, SIZE, EOS)


def test_rows_without_a_token_are_empty_and_tokens_without_a_row_are_never_encoded(bart: Path) -> None:
    tokenizer = read_tokenizer(bart, SIZE + 7, EOS)
    assert tokenizer.vocab_size == SIZE + 7
    assert tokenizer.token_bytes()[-7:] == [b""] * 7
    assert tokenizer.decode([SIZE + 6]) == ""
    edit(bart / "added_tokens.json", lambda tree: tree.update({"<cover>": SIZE}))
    edit(bart / "tokenizer_config.json", lambda tree: tree.update(mask_token="<cover>"))
    tokenizer = read_tokenizer(bart, SIZE, EOS)
    assert tokenizer.vocab_size == SIZE
    assert tokenizer.decode(tokenizer.encode("The <cover> end")) == "The <cover> end"


def test_old_files_do_not_name_their_model(whole: Path) -> None:
    new = read_tokenizer(whole, SIZE, EOS)
    edit(whole / "tokenizer.json", lambda tree: tree["model"].pop("type"))
    edit(whole / "tokenizer.json", lambda tree: tree["pre_tokenizer"].pop("use_regex"))
    old = read_tokenizer(whole, SIZE, EOS)
    assert (old.encode(TEXT), old.token_bytes()) == (new.encode(TEXT), new.token_bytes())


def test_the_library_must_be_there(bart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf_tokenizer, "find_spec", lambda _: None)
    with pytest.raises(DataError, match=r"must have tokenizers to read it, .* pip install 'sumpool\[hub\]'"):
        read_tokenizer(bart, SIZE, EOS)


@pytest.mark.parametrize("kind", ["mbart", "mbart50"])
def test_the_source_language_is_that_of_the_configuration(tmp_path: Path, kind: str) -> None:
    learn_unigram(TEXTS, tmp_path, kind)
    edit(tmp_path / "tokenizer_config.json", lambda tree: tree.update(src_lang="fr_XX"))
    original = CLASSES[kind].from_pretrained(tmp_path)
    special = read_tokenizer(tmp_path, len(original), original.eos_token_id).special_tokens
    assert [*special.prefix, *special.suffix] == original("").input_ids
    assert original.convert_tokens_to_ids("fr_XX") in original("").input_ids
    edit(tmp_path / "tokenizer_config.json", lambda tree: tree.update(src_lang="xx_XX"))
    with pytest.raises(DataError, match=r"got .*no token for src_lang 'xx_XX'"):
        read_tokenizer(tmp_path, len(original), original.eos_token_id)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("spiece.model", r"got spiece\.model; save the model again where transformers is installed, with Auto"),
        ("sentencepiece.bpe.model", r"got sentencepiece\.bpe\.model; save the model again where transformers is"),
        ("source.spm", r"got source\.spm and target\.spm, two SentencePiece models for one .* take a Marian"),
    ],
)
def test_sentencepiece_models_are_refused_with_advice(tmp_path: Path, name: str, sentence: str) -> None:
    train_pieces(TEXTS, tmp_path, name)
    with pytest.raises(DataError, match=f"must have tokenizer\\.json, {sentence}"):
        read_tokenizer(tmp_path, SIZE, EOS)


def test_sentencepiece_models_are_ignored_beside_a_file(tmp_path: Path) -> None:
    learn_unigram(TEXTS, tmp_path, "pegasus")
    size = len(CLASSES["pegasus"].from_pretrained(tmp_path))
    (tmp_path / "spiece.model").write_bytes(b"anything")
    assert read_tokenizer(tmp_path, size, 0).special_tokens.pad == 0
