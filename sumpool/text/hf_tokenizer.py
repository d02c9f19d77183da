"""Tokenizer of a Hugging Face model, such as BART (byte-level BPE) or PEGASUS (Unigram).

A folder holds `tokenizer.json`, a file of the `tokenizers` library, and `vocabulary.json`: the size of the model's
vocabulary and the ids of special tokens, under the names of transformers. Only the post-processor adds special tokens:
"</s>" in a document is encoded like any other four characters by byte-level BPE. Unigram, in whose vocabulary the names
of special tokens are tokens like others, has the unknown token in place of each.

Two kinds are supported. Byte-level BPE (Radford et al., 2019) splits text as BART does, without normalisation. Unigram
(Kudo, 2018) is that of SentencePiece models: text is normalised and cut at spaces, and a word begins with "▁".

Sentence by sentence a document has the same tokens as at once: sentences are cut before single spaces only, where the
pre-tokenizer cuts too, and the space belongs to the word after it. With byte-level BPE the tokens differ from those of
the text as it stands where that has line feeds, or several spaces in a row.

Paragraphs are separated by a space, not by a line feed: BART was trained on text without line feeds, so that their
token's embedding is almost untrained (its vocabulary, in order of frequency, has the token among the last two hundred
of 50,265). Line feeds of a summary are kept, for a new model to learn.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from sumpool.errors import DataError
from sumpool.io.bounded import parse_json, read_regular
from sumpool.special_tokens import SpecialTokens
from sumpool.text.cleaning import clean
from sumpool.text.sentencepiece_tokenizer import metaspace_bytes
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import TOKENIZER_JSON, VOCABULARY_JSON, Tokenizer

if TYPE_CHECKING:
    import tokenizers

_MAX_VOCABULARY = 1 << 21
"""Maximum number of tokens; large vocabularies have an eighth of it."""
_UNSUPPORTED = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges")
"""Settings of BPE that are not supported."""
_NORMALIZERS = {"Precompiled", "Replace", "Strip", "StripAccents", "Lowercase", "Nmt", "NFC", "NFD", "NFKC", "NFKD"}
"""Normalizers of Unigram that are supported: after them the text still consists of letters, not of bytes."""
_PRINTABLE = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {chr(256 + index): byte for index, byte in enumerate(_OTHERS)}
"""Byte of each letter of a token: printable bytes are themselves, others are letters from U+0100 on."""


@final
class HuggingFaceTokenizer(Tokenizer):
    """Byte-level BPE or Unigram of the `tokenizers` library."""

    def __init__(self, library: "tokenizers.Tokenizer", vocab_size: int, special_tokens: SpecialTokens) -> None:
        """Wrap a tokenizer of the library; `load` is the usual way to get one.

        Args:
            library: The tokenizer, which is changed: it neither truncates nor pads, and encodes the names of special
                tokens as text.
            vocab_size: Rows of the model's embedding; rows without a token are empty, and special tokens without a row
                are never encoded.
            special_tokens: Ids of special tokens; prefix and suffix are those of the post-processor.

        Raises:
            ValueError: If the tokenizer is neither byte-level BPE nor Unigram, or does not fit the ids.
            DataError: If its normalizer is damaged.
        """
        self._token_bytes, self._special_ids, self._unknown = _read_vocabulary(library, vocab_size)
        library.encode_special_tokens = True
        library.no_truncation()
        library.no_padding()
        with panics_as_errors():
            encoding = library.encode("a")
        is_special = encoding.special_tokens_mask
        prefix = encoding.ids[: is_special.index(0)]
        suffix = encoding.ids[len(is_special) - is_special[::-1].index(0) :]
        self._library = library
        self._special_tokens = special = replace(special_tokens, prefix=tuple(prefix), suffix=tuple(suffix))
        ids = (special.pad, special.eos, special.decoder_start, *special.suppressed, *special.prefix, *special.suffix)
        ordinary = [token for token in ids if not 0 <= token < self.vocab_size or self._token_bytes[token]]
        if ordinary:
            raise ValueError(f"ids {ordinary} that are no special tokens in a vocabulary of {self.vocab_size}")
        if special.suffix[:1] not in ((), (special.eos,)):
            raise ValueError(f"texts that end with {special.suffix}, not with eos {special.eos}")

    @classmethod
    def load(cls, folder: Path) -> "HuggingFaceTokenizer":
        """Read the files that `save` wrote.

        Raises:
            DataError: If the library is not installed, or a file is missing or damaged.
        """
        path = folder / TOKENIZER_JSON
        require_library(path)
        try:
            tree = parse_json(read_regular(folder / VOCABULARY_JSON))
            special = SpecialTokens(
                pad=tree["pad_token_id"],
                eos=tree["eos_token_id"],
                decoder_start=tree["decoder_start_token_id"],
                suppressed=tuple(tree["suppress_tokens"]),
            )
            return cls(read_library(path), tree["vocab_size"], special)
        except Exception as error:  # the library raises nothing more specific
            raise DataError(
                f"{path} must be byte-level BPE or Unigram with {VOCABULARY_JSON} beside it, got {error!r}; "
                "import the model again"
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

    def special_names(self) -> dict[str, str]:
        """Return the special tokens by their roles in transformers, such as `eos_token`."""
        special = self._special_tokens
        ids = {"pad_token": special.pad, "eos_token": special.eos, "unk_token": special.suppressed[-1]}
        if special.prefix:
            ids["bos_token"] = special.prefix[0]
        return {role: str(self._library.id_to_token(token)) for role, token in ids.items()}

    @property
    def special_tokens(self) -> SpecialTokens:
        """Ids of the special tokens."""
        return self._special_tokens

    @property
    def vocab_size(self) -> int:
        """Rows of the model's embedding."""
        return len(self._token_bytes)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many texts, white space and line feeds as they are.

        Raises:
            DataError: If the normalizer is damaged, which may show only here.
        """
        with panics_as_errors():
            encodings = self._library.encode_batch_fast([clean(text) for text in texts], add_special_tokens=False)
        special, unknown = self._special_ids, self._unknown
        if unknown is None:
            return [encoding.ids for encoding in encodings]
        # Unigram encodes the name of a special token in a text as the special token.
        return [[unknown if token in special else token for token in encoding.ids] for encoding in encodings]

    def split_sentences(self, text: str, splitter: SentenceSplitter) -> list[str]:
        """Split a document into sentences with the space before each, as parts of one line."""
        return splitter.split_line(text)

    def _decode(self, ids: list[int]) -> str:
        text = b"".join(self._token_bytes[token] for token in ids).decode("utf-8", errors="replace")
        # Unigram puts a space before a text.
        return text if self._unknown is None else text.removeprefix(" ")

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


def read_library(path: Path) -> "tokenizers.Tokenizer":
    """Read `tokenizer.json`, and check the ids of its tokens before the library does.

    Raises:
        OSError: If it cannot be read.
        Exception: If it is anything else; the library raises nothing more specific.
    """
    import tokenizers

    content = read_regular(path)
    tree = parse_json(content)
    model = tree["model"]
    added = {token["content"]: token["id"] for token in tree.get("added_tokens") or ()}
    kind = model.get("type", "BPE")
    if kind == "Unigram":
        ids = {token: index for index, (token, _) in enumerate(model["vocab"])}
        if len(ids) < len(model["vocab"]):
            raise ValueError("a token that the vocabulary has twice")
        require_token_ids({**ids, **added})
    elif kind == "BPE":  # others are refused once the library has read them
        require_token_ids({**model["vocab"], **added})
    with panics_as_errors():
        return tokenizers.Tokenizer.from_str(content.decode("utf-8-sig"))


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a DataError where the library panics, as it does over a damaged normalizer: a panic is no `Exception`."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise DataError(
            f"{TOKENIZER_JSON} must have an undamaged normalizer, got a failure: {error}; download it again"
        ) from error


def require_token_ids(vocabulary: Mapping[str, Any]) -> None:
    """Raise a ValueError unless every token has an id of its own."""
    tokens: dict[int, str] = {}
    for token, id in vocabulary.items():
        token.encode()  # a lone surrogate is a ValueError
        if type(id) is not int or not 0 <= id < _MAX_VOCABULARY:
            raise ValueError(f"the token {token!r} with the id {id!r:.40}")
        if id in tokens:
            raise ValueError(f"the tokens {tokens[id]!r} and {token!r} with one id, {id}")
        tokens[id] = token


def _read_vocabulary(
    library: "tokenizers.Tokenizer", vocab_size: int
) -> tuple[list[bytes], frozenset[int], int | None]:
    """Read the vocabulary of a tokenizer for a model with `vocab_size` rows.

    Returns:
        UTF-8 bytes of every row of the model, empty for special tokens; ids of special tokens; and the id of the
        unknown token, None for byte-level BPE, which encodes every text without one.

    Raises:
        ValueError: If the tokenizer is of neither kind, or a token has no row or holds white space after a word.
    """
    require_supported(library)
    unknown, has_bytes = None, False
    if is_unigram(library):
        model = _state(library.model)
        unknown, has_bytes = model["unk_id"], bool(model.get("byte_fallback"))
        if unknown is None:
            raise ValueError("Unigram without an unknown token")
    if not 0 <= vocab_size <= _MAX_VOCABULARY:
        raise ValueError(f"a vocabulary of {vocab_size:,} tokens")
    added = library.get_added_tokens_decoder()
    special = frozenset(token for token, entry in added.items() if entry.special)
    contents = [b""] * vocab_size
    for name, token in library.get_vocab().items():
        if token in special:
            continue
        if token >= vocab_size:
            raise ValueError(f"{library.get_vocab_size()} tokens for {vocab_size} rows of the model")
        if token in added:
            content = name.encode()
            if name.split() != [name]:
                raise ValueError(f"added token {name!r} with white space")
        elif unknown is None:
            content = bytes(_BYTES[letter] for letter in name)
        else:
            content = metaspace_bytes(name) if has_bytes else name.replace("▁", " ").encode()
            word = content.lstrip()
            if word.split() not in ([], [word]):
                raise ValueError(f"the token {name!r} with white space after a word")
        contents[token] = content
    return contents, special, unknown


def is_unigram(library: "tokenizers.Tokenizer") -> bool:
    """Return whether a tokenizer is a Unigram model."""
    return type(library.model).__name__ == "Unigram"


def require_supported(library: "tokenizers.Tokenizer") -> None:
    """Raise a ValueError unless a tokenizer is one of the two kinds that the module describes."""
    pre_tokenizers, normalizers = (_steps(_state(part)) for part in (library.pre_tokenizer, library.normalizer))
    kinds = [type(library.model).__name__, *(step["type"] for step in pre_tokenizers)]
    if kinds == ["BPE", "ByteLevel"]:
        unsupported = ["normalizer"] if normalizers else []
        unsupported += [name for name in _UNSUPPORTED if getattr(library.model, name)]
        unsupported += [] if pre_tokenizers[0]["use_regex"] else ["use_regex: false"]
    elif kinds in (["Unigram", "Metaspace"], ["Unigram", "WhitespaceSplit", "Metaspace"]):
        unsupported = sorted({step["type"] for step in normalizers} - _NORMALIZERS)
        # With other settings words would not begin with "▁". After WhitespaceSplit, which drops the spaces, "first"
        # would mark the first word only.
        schemes = ("always",) if len(pre_tokenizers) == 2 else ("always", "first")
        usual = {"replacement": ("▁",), "prepend_scheme": schemes, "split": (True,)}
        metaspace = pre_tokenizers[-1]
        unsupported += [f"{name}: {metaspace[name]}" for name, values in usual.items() if metaspace[name] not in values]
    else:
        raise ValueError(" ".join(kinds))
    if unsupported:
        raise ValueError(" ".join([*kinds, *unsupported]))


def _state(part: Any) -> dict[str, Any]:  # noqa: ANN401 - the library has no type for all parts
    """Return the settings of a part of a tokenizer; none without the part."""
    return {} if part is None else dict(parse_json(part.__getstate__()))


def _steps(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the settings of the steps of a sequence, or of the only step."""
    if state.get("type") != "Sequence":
        return [state] if state else []
    return [step for part in state.get("pretokenizers", state.get("normalizers", ())) for step in _steps(part)]
