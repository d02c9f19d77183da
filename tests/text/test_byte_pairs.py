"""Byte-level BPE against transformers' own tokenizer on the same files."""

from pathlib import Path

import pytest
from tokenizers import ByteLevelBPETokenizer
from transformers import BartTokenizer

from sumpool.pretrained.renumbering import renumber
from sumpool.text.byte_pairs import BytePairs
from sumpool.text.foreign_pieces import ForeignPieces, read_pieces

TEXTS = [
    f"The {noun} of a long document's end, and number {n}: it is not.\nWhy? A caf\u00e9!"
    for n, noun in enumerate("abcd")
]
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def numbers(pieces: ForeignPieces, rows: int = 0) -> list[int | None]:
    """Our numbers for a model with some rows more than its tokenizer has pieces."""
    return renumber(pieces.vocabulary + rows, pieces.pad, pieces.unknown, pieces.end, pieces.paragraph)


@pytest.fixture(scope="module")
def bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a vocabulary as BART has it: vocab.json and merges.txt."""
    folder = tmp_path_factory.mktemp("bart")
    learner = ByteLevelBPETokenizer()
    learner.train_from_iterator(TEXTS * 3, vocab_size=320, special_tokens=SPECIAL, show_progress=False)
    learner.save_model(str(folder))
    return folder


@pytest.fixture(scope="module")
def original(bart: Path) -> BartTokenizer:
    return BartTokenizer.from_pretrained(bart)


@pytest.fixture(scope="module")
def ours(bart: Path, tmp_path_factory: pytest.TempPathFactory) -> BytePairs:
    pieces = read_pieces(bart)
    return pieces.write(tmp_path_factory.mktemp("ours") / "tokenizer.json", numbers(pieces))


def test_the_same_text_has_the_same_pieces(bart: Path, original: BartTokenizer, ours: BytePairs) -> None:
    theirs = numbers(read_pieces(bart))
    for text in [*TEXTS, "", " two  spaces\n\n\u6f22 ", "it's they're"]:
        framed = [*ours.frame.first, *ours.encode(text), *ours.frame.last]
        assert [theirs[piece] for piece in framed] == original(text).input_ids
