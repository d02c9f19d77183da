"""Byte-level BPE (Radford et al., 2019) of a Hugging Face model, such as BART or LED.

A folder holds `tokenizer.json`, a file of the `tokenizers` library, and `vocabulary.json`: the size of the model's
vocabulary and the ids of special tokens, under the names of transformers. Text is not normalised beyond `clean`, and
only the post-processor adds special tokens: "</s>" in a document is encoded like any other four characters.

Sentence by sentence a document has the same tokens as at once: sentences are cut before single spaces only, where the
pre-tokenizer cuts too, and the space belongs to the word after it. The tokens differ from those of the text as it
stands where that has line feeds, or several spaces in a row.

Paragraphs are separated by a space, not by a line feed: BART was trained on text without line feeds, so that their
token's embedding is almost untrained (its vocabulary, in order of frequency, has the token among the last two hundred
of 50,265). Line feeds of a summary are kept, for a new model to learn.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from sumpool.errors import DataError
from sumpool.io.bounded import parse_json, read_regular
from sumpool.special_tokens import SpecialTokens
from sumpool.text.cleaning import clean
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import TOKENIZER_JSON as TOKENIZER_JSON
from sumpool.text.tokenizer import VOCABULARY_JSON as VOCABULARY_JSON
from sumpool.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tokenizers

_MAX_VOCABULARY = 1 << 21
"""Tokens of a vocabulary at most; large ones have an eighth of it."""
_UNSUPPORTED = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges")
"""Settings of BPE that byte-level BPE leaves off."""


@final
class ByteLevelBpeTokenizer(Tokenizer):
    """Byte-level BPE of the `tokenizers` library."""

    def __init__(self, library: "tokenizers.Tokenizer", vocab_size: int, special_tokens: SpecialTokens) -> None:
        """Wrap a tokenizer of the library; `load` is the usual way to get one.

        Args:
            library: The tokenizer, which is changed: it neither truncates nor pads, and encodes the names of special
                tokens as text.
            vocab_size: Rows of the model's embedding; rows without a token are empty, and special tokens without a row
                are never encoded.
            special_tokens: Ids of special tokens; prefix and suffix are those of the post-processor.

        Raises:
            ValueError: If the tokenizer is not byte-level BPE, or does not fit the ids.
        """
        require_byte_level_bpe(library)
        library.encode_special_tokens = True
        library.no_truncation()
        library.no_padding()
        encoding = library.encode("a")
        is_special = encoding.special_tokens_mask
        prefix = encoding.ids[: is_special.index(0)]
        suffix = encoding.ids[len(is_special) - is_special[::-1].index(0) :]
        self._library = library
        self._special_tokens = replace(special_tokens, prefix=tuple(prefix), suffix=tuple(suffix))
        self._token_bytes = _token_bytes(library, vocab_size)
        self._check_special_tokens()

    def _check_special_tokens(self) -> None:
        special = self._special_tokens
        ids = (special.pad, special.eos, special.decoder_start, *special.suppressed, *special.prefix, *special.suffix)
        ordinary = [token for token in ids if not 0 <= token < self.vocab_size or self._token_bytes[token]]
        if ordinary:
            raise ValueError(f"ids {ordinary} that are no special tokens in a vocabulary of {self.vocab_size}")
        if special.suffix not in ((), (special.eos,)):
            raise ValueError(f"texts that end with {special.suffix}, not with eos {special.eos}")

    @classmethod
    def load(cls, folder: Path) -> "ByteLevelBpeTokenizer":
        """Read the files that `save` wrote.

        Raises:
            DataError: If the library is not installed, or a file is missing or damaged.
        """
        path = folder / TOKENIZER_JSON
        require_library(path)
        import tokenizers

        try:
            tree = parse_json(read_regular(folder / VOCABULARY_JSON))
            special = SpecialTokens(
                pad=tree["pad_token_id"],
                eos=tree["eos_token_id"],
                decoder_start=tree["decoder_start_token_id"],
                suppressed=tuple(tree["suppress_tokens"]),
            )
            library = tokenizers.Tokenizer.from_str(read_tokenizer_json(path))
            return cls(library, tree["vocab_size"], special)
        except Exception as error:  # the library raises nothing more specific
            raise DataError(
                f"{path} must be byte-level BPE with {VOCABULARY_JSON} beside it, got {error!r}; import the model again"
            ) from error

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json` and `vocabulary.json`."""
        special = self._special_tokens
        tree = {
            "vocab_size": self.vocab_size,
            "pad_token_id": special.pad,
            "eos_token_id": special.eos,
            "decoder_start_token_id": special.decoder_start,
            "suppress_tokens": special.suppressed,
        }
        (folder / TOKENIZER_JSON).write_text(self._library.to_str(), "utf-8")
        (folder / VOCABULARY_JSON).write_text(json.dumps(tree, indent=1) + "\n", "utf-8")

    @property
    def special_tokens(self) -> SpecialTokens:
        """Ids of the special tokens."""
        return self._special_tokens

    @property
    def vocab_size(self) -> int:
        """Rows of the model's embedding."""
        return len(self._token_bytes)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many texts, white space and line feeds as they are."""
        encodings = self._library.encode_batch_fast([clean(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def split_sentences(self, text: str, splitter: SentenceSplitter) -> list[str]:
        """Split a document into sentences with the space before each, as parts of one line."""
        return splitter.split_line(text)

    def _decode(self, ids: list[int]) -> str:
        return b"".join(self._token_bytes[token] for token in ids).decode("utf-8", errors="replace")

    def token_bytes(self) -> list[bytes]:
        """UTF-8 bytes of every token; special tokens are empty."""
        return list(self._token_bytes)

    def word_starts(self) -> list[bool]:
        """Return for every token whether it begins with white space; a special token is a word of its own."""
        return [not token or token[:1].isspace() for token in self._token_bytes]


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
    if tree["model"].get("type", "BPE") == "BPE":  # others are refused once the library has read them
        added = {token["content"]: token["id"] for token in tree.get("added_tokens") or ()}
        require_numbers({**tree["model"]["vocab"], **added})
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


def require_byte_level_bpe(library: "tokenizers.Tokenizer") -> None:
    """Raise a ValueError unless a tokenizer splits text as BART's does."""
    model, pre_tokenizer = library.model, library.pre_tokenizer
    kinds = [type(model).__name__, type(pre_tokenizer).__name__]
    unsupported = [] if library.normalizer is None else ["normalizer"]
    if kinds == ["BPE", "ByteLevel"]:
        unsupported += [name for name in _UNSUPPORTED if getattr(model, name)]
        unsupported += [] if pre_tokenizer.use_regex else ["use_regex: false"]
    if kinds != ["BPE", "ByteLevel"] or unsupported:
        raise ValueError(" ".join([*kinds, *unsupported]))


def _token_bytes(library: "tokenizers.Tokenizer", vocab_size: int) -> list[bytes]:
    """UTF-8 bytes of every token; raise a ValueError if a token has no row or holds white space after a word."""
    if not 0 <= vocab_size <= _MAX_VOCABULARY:
        raise ValueError(f"a vocabulary of {vocab_size:,} tokens")
    added = library.get_added_tokens_decoder()
    contents = [b""] * vocab_size
    for name, token in library.get_vocab().items():
        if token in added and added[token].special:
            continue
        if token >= vocab_size:
            raise ValueError(f"{library.get_vocab_size()} tokens for {vocab_size} rows of the model")
        contents[token] = name.encode() if token in added else bytes(_BYTES[letter] for letter in name)
        if token in added and name.split() != [name]:
            raise ValueError(f"added token {name!r} with white space")
    return contents


def _alphabet() -> dict[str, int]:
    """Byte of each letter of a token: printable bytes are themselves, others are letters from U+0100 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _alphabet()
