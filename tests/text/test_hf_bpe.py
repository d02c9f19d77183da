"""Vocabularies of Hugging Face folders, in each of the forms that they come in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import BartTokenizer

from sumpool.errors import DataError
from sumpool.special_tokens import BOS, EOS, PAD, PARAGRAPH, UNK
from sumpool.text import byte_pairs
from sumpool.text.hf_bpe import read_pieces
from sumpool.text.tokenizer import Frame
from tests.text.bart import learn, numbers, take_over

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


def test_the_special_pieces_are_found(bart: Path) -> None:
    pieces = read_pieces(bart)
    vocabulary = json.loads((bart / "vocab.json").read_text())
    assert (pieces.vocabulary, pieces.pad, pieces.unknown, pieces.end) == (len(vocabulary), 1, 3, 2)
    assert pieces.paragraph == vocabulary["\u010a"]
    assert pieces.frame == Frame((0,), (2,))
    assert not pieces.add_prefix_space


def test_both_forms_of_a_folder_are_the_same(bart: Path, whole: Path, tmp_path: Path) -> None:
    assert not (whole / "vocab.json").exists()
    take_over(bart, tmp_path / "one")
    take_over(whole, tmp_path / "two")
    assert (tmp_path / "one/tokenizer.json").read_bytes() == (tmp_path / "two/tokenizer.json").read_bytes()


def test_merges_may_be_lines_or_pairs(whole: Path, tmp_path: Path) -> None:
    take_over(whole, tmp_path / "one")
    edit(
        whole / "tokenizer.json", lambda tree: tree["model"].update(merges=list(map(" ".join, tree["model"]["merges"])))
    )
    take_over(whole, tmp_path / "two")
    assert (tmp_path / "one/tokenizer.json").read_bytes() == (tmp_path / "two/tokenizer.json").read_bytes()


def test_pieces_stand_under_our_numbers(bart: Path, tmp_path: Path) -> None:
    pieces = read_pieces(bart)
    ours = pieces.write(tmp_path / "tokenizer.json", numbers(pieces, rows=7))
    vocabulary = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]
    assert [vocabulary[name] for name in ("<pad>", "<unk>", "<|begin|>", "</s>", "\u010a")] == [
        PAD,
        UNK,
        BOS,
        EOS,
        PARAGRAPH,
    ]
    assert ours.vocabulary == pieces.vocabulary + 1 + 7
    assert ours.surfaces()[-7:] == [b""] * 7


def test_a_vocabulary_may_lack_the_line_feed(whole: Path, tmp_path: Path) -> None:
    edit(
        whole / "tokenizer.json",
        lambda tree: tree["model"]["vocab"].update({"\u0100x": tree["model"]["vocab"].pop("\u010a")}),
    )
    assert read_pieces(whole).paragraph is None
    ours = take_over(whole, tmp_path / "ours")
    assert ours.vocabulary == read_pieces(whole).vocabulary + 2
    assert ours.surfaces()[PARAGRAPH] == b""
    assert ours.decode(ours.encode("The end")) == "The end"


def test_added_pieces_are_found_in_a_text_unless_they_are_special(bart: Path, tmp_path: Path) -> None:
    edit(bart / "added_tokens.json", lambda tree: tree.update({"<doc>": 330, "<sum>": 332}))
    edit(bart / "special_tokens_map.json", lambda tree: tree.update(additional_special_tokens=["<sum>"]))
    assert read_pieces(bart).vocabulary == 333
    ours = take_over(bart, tmp_path / "ours")
    theirs = numbers(read_pieces(bart))
    ids = [theirs[piece] for piece in ours.encode("a<doc>b<sum>")]
    assert 330 in ids
    assert 332 not in ids
    assert ours.decode(ours.encode("a<doc>b<sum>")) == "a<doc>b<sum>"
    assert ours.decode([theirs.index(332)]) == ""


def test_pieces_may_be_added_in_the_configuration(bart: Path, tmp_path: Path) -> None:
    switches = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    piece = {"content": "<doc>", "special": True, **switches}
    edit(bart / "tokenizer_config.json", lambda tree: tree.update(added_tokens_decoder={"330": piece}))
    assert read_pieces(bart).vocabulary == 331
    assert take_over(bart, tmp_path / "ours").surfaces()[-1] == b""


def test_special_pieces_may_have_other_names(whole: Path) -> None:
    text = (whole / "tokenizer.json").read_text().replace("</s>", "[end]")
    (whole / "tokenizer.json").write_text(text)
    edit(whole / "tokenizer_config.json", lambda tree: tree.update(eos_token={"content": "[end]"}, sep_token="[end]"))
    assert read_pieces(whole).end == 2


@pytest.mark.parametrize(
    ("processor", "frame"),
    [
        (None, Frame()),
        ({"type": "ByteLevel"}, Frame()),
        (
            {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]},
            Frame((0,), ()),
        ),
        (
            {
                "type": "Sequence",
                "processors": [
                    {"type": "ByteLevel"},
                    {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2]},
                ],
            },
            Frame((0,), (2,)),
        ),
    ],
)
def test_the_frame_is_what_the_original_adds(whole: Path, tmp_path: Path, processor: object, frame: Frame) -> None:
    edit(whole / "tokenizer.json", lambda tree: tree.update(post_processor=processor))
    assert read_pieces(whole).frame == frame
    assert take_over(whole, tmp_path / "ours").frame == Frame(frame.first and (5,), frame.last and (EOS,))


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda tree: tree["model"].update(type="Unigram"), "Unigram ByteLevel"),
        (lambda tree: tree["model"].update(byte_fallback=True), "BPE ByteLevel byte_fallback"),
        (lambda tree: tree.update(normalizer={"type": "NFC"}), "BPE ByteLevel normalizer"),
        (lambda tree: tree["pre_tokenizer"].update(type="Metaspace"), "BPE Metaspace"),
        (lambda tree: tree["pre_tokenizer"].update(use_regex=False), "BPE ByteLevel"),
        (lambda tree: tree.update(post_processor={"type": "BertProcessing"}), "post_processor"),
        (lambda tree: tree["post_processor"].update(sep=["<mask>", 4]), r"texts end with \(4,\)"),
        (lambda tree: tree["added_tokens"][1].update(id=2), "pad 2, unknown 3, end 2"),
        (
            lambda tree: tree["added_tokens"][4].update(special=False, content="a b"),
            "added piece 'a b' with white space",
        ),
        (lambda tree: tree["model"].update(merges=["a b c"]), "too many values"),
        (lambda tree: tree.pop("model"), "model"),
    ],
)
def test_another_vocabulary_is_refused(whole: Path, change: Callable[[dict[str, Any]], object], got: str) -> None:
    edit(whole / "tokenizer.json", change)
    with pytest.raises(DataError, match=f"whole must hold byte-level BPE as tokenizer.json, .*{got}"):
        read_pieces(whole)


@pytest.mark.parametrize("content", ["", "[]", "{", "null"])
def test_a_damaged_file_is_refused(bart: Path, content: str) -> None:
    (bart / "vocab.json").write_text(content)
    with pytest.raises(
        DataError, match=r"bart must hold byte-level BPE as tokenizer\.json, or as vocab\.json and merges"
    ):
        read_pieces(bart)


def test_a_folder_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must hold byte-level BPE as tokenizer\.json, or as vocab\.json and merges"):
        read_pieces(tmp_path)


def test_more_pieces_than_rows_are_refused(bart: Path, tmp_path: Path) -> None:
    pieces = read_pieces(bart)
    with pytest.raises(
        DataError, match=rf"more pieces than the model has rows, {pieces.vocabulary - 1}, got {pieces.vocabulary}; take"
    ):
        pieces.write(tmp_path / "tokenizer.json", numbers(pieces, rows=-1))


def test_special_pieces_without_a_row_are_left_out(bart: Path, tmp_path: Path) -> None:
    edit(bart / "added_tokens.json", lambda tree: tree.update({"<cover>": 340}))
    edit(bart / "tokenizer_config.json", lambda tree: tree.update(mask_token="<cover>"))
    pieces = read_pieces(bart)
    ours = pieces.write(tmp_path / "tokenizer.json", numbers(pieces, rows=-1))
    assert "<cover>" not in (tmp_path / "tokenizer.json").read_text()
    assert ours.decode(ours.encode("The <cover> end")) == "The <cover> end"


def test_old_files_do_not_name_their_model(whole: Path, tmp_path: Path) -> None:
    take_over(whole, tmp_path / "one")
    edit(whole / "tokenizer.json", lambda tree: tree["model"].pop("type"))
    edit(whole / "tokenizer.json", lambda tree: tree["pre_tokenizer"].pop("use_regex"))
    take_over(whole, tmp_path / "two")
    assert (tmp_path / "one/tokenizer.json").read_bytes() == (tmp_path / "two/tokenizer.json").read_bytes()


def test_writing_needs_the_library(bart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_pairs, "find_spec", lambda _: None)
    with pytest.raises(DataError, match=r"must have tokenizers to read it, .* pip install 'sumpool\[hub\]'"):
        take_over(bart, tmp_path / "ours")
