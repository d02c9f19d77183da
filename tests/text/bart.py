"""Tiny byte-level BPE vocabularies in folders like those of BART on Hugging Face."""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import ByteLevelBPETokenizer

from sumpool.pretrained.tokenizer import read_tokenizer
from sumpool.text.hf_tokenizer import HuggingFaceTokenizer

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
BOS, PAD, EOS, UNK, MASK = range(5)
SIZE = 400


def learn(texts: Iterable[str], folder: Path, vocab_size: int = SIZE) -> Path:
    """Write vocab.json and merges.txt."""
    learner = ByteLevelBPETokenizer()
    learner.train_from_iterator(texts, vocab_size, special_tokens=SPECIAL, show_progress=False)
    folder.mkdir(parents=True, exist_ok=True)
    learner.save_model(str(folder))
    return folder


def take_over(folder: Path, out: Path, vocab_size: int = SIZE) -> HuggingFaceTokenizer:
    """Convert the tokenizer of a folder for a model with so many rows."""
    out.mkdir(parents=True, exist_ok=True)
    read_tokenizer(folder, vocab_size, decoder_start=EOS).save(out)
    return HuggingFaceTokenizer.load(out)
