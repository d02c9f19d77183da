"""Tokenizer of a Hugging Face model, such as BART (byte-level BPE) or PEGASUS (Unigram).

A folder holds `tokenizer.json`, a file of the `tokenizers` library, and `vocabulary.json`: the size of the model's
vocabulary and the ids of special tokens, under the names of transformers. Only the post-processor adds special tokens:
"</s>" in a document is encoded like any other four characters by byte-level BPE. Unigram, in whose vocabulary the names
of special tokens are tokens like others, has the unknown token in place of each.

Sentence by sentence a document has the same tokens as at once: sentences are cut before single spaces only, where the
pre-tokenizer cuts too, and the space belongs to the word after it. With byte-level BPE the tokens differ from those of
the text as it stands where that has line feeds, or several spaces in a row.

Paragraphs are separated by a space, not by a line feed: BART was trained on text without line feeds, so that their
token's embedding is almost untrained (its vocabulary, in order of frequency, has the token among the last two hundred
of 50,265). Line feeds of a summary are kept, for a new model to learn.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, final

from sumpool.errors import DataError
from sumpool.io.bounded import parse_json, read_regular
from sumpool.special_tokens import SpecialTokens
from sumpool.text.cleaning import clean
from sumpool.text.hf_vocabulary import panics_as_errors, read_library, read_vocabulary, require_library
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import TOKENIZER_JSON as TOKENIZER_JSON
from sumpool.text.tokenizer import VOCABULARY_JSON as VOCABULARY_JSON
from sumpool.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tokenizers


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
        """
        self._vocabulary = read_vocabulary(library, vocab_size)
        library.encode_special_tokens = True
        library.no_truncation()
        library.no_padding()
        with panics_as_errors():
            encoding = library.encode("a")
        is_special = encoding.special_tokens_mask
        prefix = encoding.ids[: is_special.index(0)]
        suffix = encoding.ids[len(is_special) - is_special[::-1].index(0) :]
        self._library = library
        self._special_tokens = replace(special_tokens, prefix=tuple(prefix), suffix=tuple(suffix))
        self._check_special_tokens()

    def _check_special_tokens(self) -> None:
        special = self._special_tokens
        ids = (special.pad, special.eos, special.decoder_start, *special.suppressed, *special.prefix, *special.suffix)
        ordinary = [token for token in ids if not 0 <= token < self.vocab_size or self._vocabulary.token_bytes[token]]
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
        """Return names of special tokens under those that transformers has for them."""
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
        return len(self._vocabulary.token_bytes)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many texts, white space and line feeds as they are.

        Raises:
            DataError: If a damaged normalizer, which `load` cannot recognise, fails on them.
        """
        with panics_as_errors():
            encodings = self._library.encode_batch_fast([clean(text) for text in texts], add_special_tokens=False)
        return [self._without_special(encoding.ids) for encoding in encodings]

    def _without_special(self, ids: list[int]) -> list[int]:
        """Replace the special tokens that Unigram has found in a text by the unknown token."""
        special, unknown = self._vocabulary.special, self._vocabulary.unknown
        if unknown is None or special.isdisjoint(ids):
            return ids
        return [unknown if token in special else token for token in ids]

    def split_sentences(self, text: str, splitter: SentenceSplitter) -> list[str]:
        """Split a document into sentences with the space before each, as parts of one line."""
        return splitter.split_line(text)

    def _decode(self, ids: list[int]) -> str:
        text = b"".join(self._vocabulary.token_bytes[token] for token in ids).decode("utf-8", errors="replace")
        # Unigram has put a space before the text.
        return text if self._vocabulary.unknown is None else text.removeprefix(" ")

    def token_bytes(self) -> list[bytes]:
        """UTF-8 bytes of every token; special tokens are empty."""
        return list(self._vocabulary.token_bytes)

    def word_starts(self) -> list[bool]:
        """Return for every token whether it begins with white space; a special token is a word of its own."""
        return [not token or token[:1].isspace() for token in self._vocabulary.token_bytes]
