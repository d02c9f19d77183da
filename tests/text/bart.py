"""Tiny vocabularies of byte-level BPE, in folders as Hugging Face keeps BART's."""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import ByteLevelBPETokenizer

from sumpool.pretrained.renumbering import renumber
from sumpool.text.byte_pairs import BytePairs
from sumpool.text.hf_bpe import ForeignPieces, read_pieces

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def learn(texts: Iterable[str], folder: Path, vocabulary: int = 400) -> Path:
    """Write vocab.json and merges.txt."""
    learner = ByteLevelBPETokenizer()
    learner.train_from_iterator(texts, vocabulary, special_tokens=SPECIAL, show_progress=False)
    folder.mkdir(parents=True, exist_ok=True)
    learner.save_model(str(folder))
    return folder


def numbers(pieces: ForeignPieces, rows: int = 0) -> list[int | None]:
    """Our numbers for a model with some rows more than its tokenizer has pieces."""
    return renumber(pieces.vocabulary + rows, pieces.pad, pieces.unknown, pieces.end, pieces.paragraph)


def take_over(folder: Path, out: Path) -> BytePairs:
    """Write the vocabulary of a folder as ours."""
    pieces = read_pieces(folder)
    out.mkdir(parents=True, exist_ok=True)
    return pieces.write(out / "tokenizer.json", numbers(pieces))
