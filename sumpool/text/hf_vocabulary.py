"""Vocabularies of the `tokenizers` library: which of them are supported, and the bytes of their tokens."""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sumpool.errors import DataError
from sumpool.io.bounded import parse_json, read_regular

if TYPE_CHECKING:
    import tokenizers

_MAX_VOCABULARY = 1 << 21
"""Tokens of a vocabulary at most; large ones have an eighth of it."""
_HEAD = 80
"""Bytes of a stored Unigram before its vocabulary."""
_SPACE = "\u2581"
"""Character in place of a space in the tokens of Unigram."""
_UNSUPPORTED = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges")
"""Settings of BPE that byte-level BPE leaves off."""


def require_library(path: Path) -> None:
    """Raise a DataError if the `tokenizers` library is not installed."""
    if find_spec("tokenizers") is None:
        raise DataError(f"{path} must have tokenizers to read it, which is not installed: pip install 'sumpool[hub]'")


def read_tokenizer_json(path: Path) -> str:
    """Read `tokenizer.json`, and check the numbers of its tokens before the library does.

    Raises:
        OSError: If it cannot be read.
        ValueError, LookupError, TypeError or AttributeError: If it is anything else.
    """
    content = read_regular(path)
    tree = parse_json(content)
    kind, vocabulary = tree["model"].get("type", "BPE"), tree["model"]["vocab"]
    if kind == "Unigram":
        tokens = [token for token, _ in vocabulary]
        vocabulary = {token: number for number, token in enumerate(tokens)}
        if len(vocabulary) < len(tokens):
            raise ValueError("a token in two places")
    if kind in ("BPE", "Unigram"):  # others are refused once the library has read them
        added = {token["content"]: token["id"] for token in tree.get("added_tokens") or ()}
        require_numbers({**vocabulary, **added})
    return content.decode("utf-8-sig")


def require_numbers(vocabulary: Mapping[str, Any]) -> None:
    """Raise a ValueError unless every token has a number of its own."""
    tokens: dict[int, str] = {}
    for token, number in vocabulary.items():
        token.encode()  # a lone surrogate is a ValueError
        if type(number) is not int or not 0 <= number < _MAX_VOCABULARY:
            raise ValueError(f"the token {token!r} with the number {number!r:.40}")
        if number in tokens:
            raise ValueError(f"the tokens {tokens[number]!r} and {token!r} with one number, {number}")
        tokens[number] = token


def require_supported(library: "tokenizers.Tokenizer") -> None:
    """Raise a ValueError unless a tokenizer splits text as BART's does, or as those of PEGASUS and mBART do."""
    model, pre_tokenizer = library.model, library.pre_tokenizer
    kinds = [type(model).__name__, type(pre_tokenizer).__name__]
    unsupported: list[str] = []
    if kinds == ["BPE", "ByteLevel"]:
        unsupported += [] if library.normalizer is None else ["normalizer"]
        unsupported += [name for name in _UNSUPPORTED if getattr(model, name)]
        unsupported += [] if pre_tokenizer.use_regex else ["use_regex: false"]
    elif kinds[0] == "Unigram":
        words = pre_tokenizer[1] if _splits_at_spaces_first(pre_tokenizer) else pre_tokenizer
        kinds[1] = type(words).__name__
        if kinds[1] == "Metaspace":
            unsupported += [] if words.split and words.replacement == _SPACE else ["split: false"]
        unsupported += ["byte_fallback"] if model.__getstate__().endswith(b'"byte_fallback":true}') else []
    if kinds not in (["BPE", "ByteLevel"], ["Unigram", "Metaspace"]) or unsupported:
        raise ValueError(" ".join([*kinds, *unsupported]))


def _splits_at_spaces_first(pre_tokenizer: Any) -> bool:  # noqa: ANN401 - of the library
    """Return whether a pre-tokenizer is a sequence that begins with a split at white space."""
    return (
        type(pre_tokenizer).__name__ == "Sequence"
        and len(list(pre_tokenizer)) == 2
        and type(pre_tokenizer[0]).__name__ == "WhitespaceSplit"
    )


def unknown_token(library: "tokenizers.Tokenizer") -> int | None:
    """Return the id of unknown text of Unigram, None for byte-level BPE, which has none."""
    if type(library.model).__name__ != "Unigram":
        return None
    number = re.search(rb'"unk_id":(\d+)', library.model.__getstate__()[:_HEAD])
    if number is None:
        raise ValueError("Unigram without an unknown token")
    return int(number[1])


def token_bytes_of(library: "tokenizers.Tokenizer", vocab_size: int) -> list[bytes]:
    """UTF-8 bytes of every token; raise a ValueError if a token has no row or holds white space after a word."""
    if not 0 <= vocab_size <= _MAX_VOCABULARY:
        raise ValueError(f"a vocabulary of {vocab_size:,} tokens")
    added = library.get_added_tokens_decoder()
    is_unigram = type(library.model).__name__ == "Unigram"
    contents = [b""] * vocab_size
    for name, token in library.get_vocab().items():
        if token in added and added[token].special:
            continue
        if token >= vocab_size:
            raise ValueError(f"{library.get_vocab_size()} tokens for {vocab_size} rows of the model")
        if token in added:
            contents[token] = name.encode()
        else:
            contents[token] = name.replace(_SPACE, " ").encode() if is_unigram else _byte_level(name)
        if token in added and name.split() != [name]:
            raise ValueError(f"added token {name!r} with white space")
    return contents


def _byte_level(name: str) -> bytes:
    """Return the bytes that the letters of a token stand for."""
    return bytes(_BYTES[letter] for letter in name)


def _alphabet() -> dict[str, int]:
    """Byte of each letter of a token: printable bytes are themselves, others are letters from U+0100 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _alphabet()
