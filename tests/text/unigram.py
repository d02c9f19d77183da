"""Tiny Unigram vocabularies in folders like those of PEGASUS and mBART on Hugging Face."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import MBartTokenizer, PegasusTokenizer

from tests.text.bart import SPECIAL


def learn_unigram(texts: Iterable[str], folder: Path, family: str, size: int = 300) -> Path:
    """Write tokenizer.json and tokenizer_config.json of "pegasus" or "mbart"."""
    learner = Tokenizer(models.Unigram())
    learner.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    learner.train_from_iterator(texts, trainer)
    vocab: Any = [tuple(entry) for entry in json.loads(learner.model.__getstate__())["vocab"]]
    if family == "mbart":
        MBartTokenizer(vocab=vocab, src_lang="en_XX").save_pretrained(folder)
    else:
        PegasusTokenizer(vocab=vocab, mask_token="<mask>", mask_token_sent=None, offset=2).save_pretrained(folder)
    return folder
