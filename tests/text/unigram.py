"""Tiny Unigram vocabularies in folders like those of PEGASUS, mBART and Marian on Hugging Face."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sentencepiece
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import MBart50Tokenizer, MBartTokenizer, PegasusTokenizer, PreTrainedTokenizerFast

CLASSES: dict[str, Any] = {
    "pegasus": PegasusTokenizer,
    "mbart": MBartTokenizer,
    "mbart50": MBart50Tokenizer,
    "marian": PreTrainedTokenizerFast,
}
"""Classes of tokenizers of transformers by kind."""
SOURCE_LANGUAGE, TARGET_LANGUAGE = "de_DE", "ro_RO"


def train_pieces(texts: Iterable[str], folder: Path, name: str, vocab_size: int = 200) -> Path:
    """Write a SentencePiece model with the special tokens that the converters of transformers expect."""
    first: dict[str, Any] = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1} if name == "spiece.model" else {}
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter("\n".join(texts).split("\n")),
        model_writer=model,
        model_type="unigram",
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        minloglevel=2,
        **first,
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(model.getvalue())
    return folder


def learn_unigram(texts: Iterable[str], folder: Path, kind: str) -> Path:
    """Write tokenizer.json and tokenizer_config.json as transformers does."""
    if kind == "marian":
        return _learn_marian(texts, folder)
    name = "spiece.model" if kind == "pegasus" else "sentencepiece.bpe.model"
    languages = {} if kind == "pegasus" else {"src_lang": SOURCE_LANGUAGE, "tgt_lang": TARGET_LANGUAGE}
    pieces = train_pieces(texts, folder / "pieces", name)
    CLASSES[kind].from_pretrained(pieces, **languages).save_pretrained(folder)
    (pieces / name).unlink()
    pieces.rmdir()
    return folder


def _learn_marian(texts: Iterable[str], folder: Path) -> Path:
    """Write a vocabulary in which EOS is the first token, and padding the last."""
    pieces = train_pieces(texts, folder, "source.spm")
    processor = sentencepiece.SentencePieceProcessor(str(pieces / "source.spm"))
    (pieces / "source.spm").unlink()
    learned = [
        (processor.id_to_piece(number), processor.get_score(number)) for number in range(3, processor.vocab_size())
    ]
    library = Tokenizer(models.Unigram([("</s>", 0.0), ("<unk>", 0.0), *learned, ("<pad>", 0.0)], unk_id=1))
    library.normalizer = normalizers.NFKC()
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    library.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 0)])
    library.add_special_tokens([AddedToken(name, normalized=False) for name in ("</s>", "<unk>", "<pad>")])
    special = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    PreTrainedTokenizerFast(tokenizer_object=library, **special).save_pretrained(folder)
    return folder
