"""Tokenizer of a Hugging Face folder.

A folder has `tokenizer.json`, or the `vocab.json` and `merges.txt` of byte-level BPE with added tokens in
`added_tokens.json`. The names of special tokens are in `tokenizer_config.json` or `special_tokens_map.json`, and those
of BART where both leave them out. SentencePiece models are refused: transformers converts them, differently for every
family.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sumpool.errors import CheckpointError, DataError
from sumpool.io.bounded import parse_json, read_regular
from sumpool.pretrained.config import read_json
from sumpool.special_tokens import SpecialTokens
from sumpool.text.hf_tokenizer import (
    HuggingFaceTokenizer,
    is_unigram,
    read_library,
    require_library,
    require_supported,
    require_token_ids,
)
from sumpool.text.tokenizer import TOKENIZER_JSON

if TYPE_CHECKING:
    import tokenizers

_SETTINGS = ("special_tokens_map.json", "tokenizer_config.json")
"""Files that name special tokens; the later outranks the earlier, and both outrank `tokenizer.json`."""
_LANGUAGE = re.compile(r"[a-z]{2,3}_[A-Z]{2}")
_SENTENCEPIECE = ("source.spm", "spiece.model", "sentencepiece.bpe.model")
_BART_NAMES = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}


def read_tokenizer(folder: Path, vocab_size: int, decoder_start: int) -> HuggingFaceTokenizer:
    """Read the tokenizer of a folder.

    Args:
        folder: The folder.
        vocab_size: Rows of the model's embedding.
        decoder_start: Id of the decoder's first input.

    Raises:
        DataError: If the `tokenizers` library is not installed, or the tokenizer is missing, damaged, of another kind
            or that of another model.
    """
    path = folder / TOKENIZER_JSON
    require_library(path)
    require_no_sentencepiece(str(folder), [path.name for path in folder.iterdir()])
    try:
        settings = {name: value for file in _SETTINGS for name, value in _read_if_present(folder / file).items()}
        names = {name: _content(settings.get(name) or usual) for name, usual in _BART_NAMES.items()}
        is_whole = path.exists()
        library = read_library(path) if is_whole else _from_lists(folder, settings, names)
        require_supported(library)
        if "add_prefix_space" in settings and not is_unigram(library):
            library.pre_tokenizer.add_prefix_space = bool(settings["add_prefix_space"])
        if settings.get("src_lang"):
            _set_source_language(library, settings["src_lang"])
        pad, eos, unk = (library.token_to_id(names[name]) for name in ("pad_token", "eos_token", "unk_token"))
        if pad is None or eos is None or unk is None or len({pad, eos, unk}) < 3:
            raise ValueError(f"pad {pad}, eos {eos}, unk {unk}")
        return HuggingFaceTokenizer(library, vocab_size, SpecialTokens(pad, eos, decoder_start, (pad, unk)))
    except Exception as error:  # the library raises nothing more specific
        reason = str(error) if isinstance(error, CheckpointError | DataError) else repr(error)
        raise DataError(
            f"{folder} must hold byte-level BPE as tokenizer.json, or as vocab.json and merges.txt, or Unigram as "
            f"tokenizer.json, got {reason}; take a model with its tokenizer"
        ) from error


def require_no_sentencepiece(model: str, names: Collection[str]) -> None:
    """Refuse a model that has SentencePiece files without the `tokenizer.json` that transformers makes of them.

    Args:
        model: Folder or name of the model.
        names: Names of its files.

    Raises:
        DataError: If it has.
    """
    file = next((name for name in _SENTENCEPIECE if name in names), None)
    if file is None or TOKENIZER_JSON in names:
        return
    if file == "source.spm":
        raise DataError(
            f"{model} must have {TOKENIZER_JSON}, got source.spm and target.spm, two SentencePiece models for one "
            f"vocabulary, which no Unigram can be; take a Marian whose {TOKENIZER_JSON} has one"
        )
    raise DataError(
        f"{model} must have {TOKENIZER_JSON}, got {file}; save the model again where transformers is installed, with "
        "AutoModelForSeq2SeqLM and AutoTokenizer.from_pretrained(...).save_pretrained(...)"
    )


def _from_lists(folder: Path, settings: Mapping[str, Any], names: Mapping[str, str]) -> "tokenizers.Tokenizer":
    """Read `vocab.json`, `merges.txt` and added tokens, with the post-processor of BART."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

    require_token_ids(read_json(folder / "vocab.json"))
    read_regular(folder / "merges.txt")
    vocabulary, merges = models.BPE.read_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    added, described = _read_if_present(folder / "added_tokens.json"), settings.get("added_tokens_decoder", {})
    vocabulary |= added | {token["content"]: int(number) for number, token in described.items()}
    require_token_ids(vocabulary)
    library = Tokenizer(models.BPE(vocabulary, merges))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    sep, cls = ((names[name], vocabulary[names[name]]) for name in ("sep_token", "cls_token"))
    library.post_processor = processors.RobertaProcessing(sep, cls)
    switches = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
    library.add_tokens([AddedToken(**{name: token[name] for name in switches}) for token in described.values()])
    special = [*names.values(), *map(_content, settings.get("additional_special_tokens") or [])]
    library.add_special_tokens([token for token in special if token in vocabulary])
    known = [*special, *(token["content"] for token in described.values())]
    library.add_tokens([token for token in added if token not in known])
    return library


def _set_source_language(library: "tokenizers.Tokenizer", language: str) -> None:
    """Replace the code of a language that the post-processor adds, as transformers does for an mBART."""
    from tokenizers import processors

    template = parse_json(library.post_processor.__getstate__())["single"]
    names = ["$A" if "Sequence" in part else part["SpecialToken"]["id"] for part in template]
    names = [language if _LANGUAGE.fullmatch(name) else name for name in names]
    special = [(name, library.token_to_id(name)) for name in {*names, language} - {"$A"}]
    if None in dict(special).values():
        raise ValueError(f"no token for src_lang {language!r}")
    library.post_processor = processors.TemplateProcessing(single=names, special_tokens=special)


def _content(token: Any) -> str:  # noqa: ANN401 - any JSON
    return token if isinstance(token, str) else str(token["content"])


def _read_if_present(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}
