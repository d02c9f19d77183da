"""A vocabulary taken over from another model: byte-level BPE (Radford et al., 2019), as BART and LED have it.

The file is one of the `tokenizers` library, with the pieces under our numbers (see `sumpool.text.hf_bpe`) and
the frame of the original as its post-processor. Text is not normalised beyond `clean`, and only the file's own
post-processor makes special pieces: "</s>" in a document is four characters like any others.

A document has the same pieces sentence by sentence as at once: sentences are cut before single spaces only, where the
original cuts too, and the space belongs to the word behind it. They differ from those of the text as it stands where
that has line feeds, or several spaces in a row.

Between paragraphs stands a space and not PARAGRAPH: BART was trained on text without line feeds, so that its vector of
one has hardly learnt anything (its vocabulary, in order of frequency, has "Ċ" among the last two hundred of 50,265).
Line feeds of a summary do become PARAGRAPH, for a new model to learn.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from sumpool.errors import DataError
from sumpool.special_tokens import BOS, EOS, PARAGRAPH
from sumpool.text.cleaning import clean
from sumpool.text.sentences import SentenceSplitter
from sumpool.text.tokenizer import Frame, Tokenizer

if TYPE_CHECKING:
    import tokenizers


LACKING: Final = {BOS: "<|begin|>", PARAGRAPH: "<|paragraph|>"}
"""Names of the pieces that only we have."""


@final
class BytePairs(Tokenizer):
    """A byte-level BPE vocabulary under our numbers."""

    def __init__(self, content: str) -> None:
        """Use the content of a file; `load` is the usual way to get one.

        Raises:
            ValueError: If it is no vocabulary of ours.
        """
        self._library = _open(content)
        tree = json.loads(content)
        added = {piece["content"]: bool(piece["special"]) for piece in tree["added_tokens"]}
        vocabulary = tree["model"]["vocab"]
        names = sorted(vocabulary, key=vocabulary.__getitem__)
        if [vocabulary[name] for name in names] != list(range(len(names))) or names[BOS] != LACKING[BOS]:
            raise ValueError("pieces under other numbers")
        self._surfaces = [_spelt(name, added) for name in names]
        if any(self._surfaces[: EOS + 1]):
            raise ValueError("first pieces that are not special")
        self._frame = read_frame(tree["post_processor"], vocabulary)

    @classmethod
    def load(cls, path: Path) -> "BytePairs":
        """Read a file.

        Raises:
            DataError: If the library is not installed, or the file is missing or holds no vocabulary of ours.
        """
        require_library(path)
        try:
            return cls(path.read_text("utf-8"))
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path} must be a byte-level BPE vocabulary of sumpool's, got {error!r}; import the model again"
            ) from error

    @property
    def frame(self) -> Frame:
        """What the original puts around a text."""
        return self._frame

    @property
    def vocabulary(self) -> int:
        """Number of pieces."""
        return len(self._surfaces)

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Spell many texts, each with white space and line feeds as they are."""
        found = self._library.encode_batch_fast([clean(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def encode_sentences(self, text: str, splitter: SentenceSplitter) -> list[list[int]]:
        """Spell a document sentence by sentence, as one line."""
        return self.encode_all(splitter.split_line(text))

    def _decode(self, ids: list[int]) -> str:
        return b"".join(self._surfaces[piece] for piece in ids).decode("utf-8", errors="replace")

    def surfaces(self) -> list[bytes]:
        """Give what every piece spells, in UTF-8; special pieces spell nothing."""
        return list(self._surfaces)

    def word_starts(self) -> list[bool]:
        """Say of every id whether its piece begins with white space; a special piece is a word of its own."""
        return [not surface or surface[:1].isspace() for surface in self._surfaces]


def require_library(path: Path) -> None:
    """Make sure that a file of this kind can be read.

    Raises:
        DataError: If the `tokenizers` library is not installed.
    """
    if find_spec("tokenizers") is None:
        raise DataError(f"{path} must have tokenizers to read it, which is not installed: pip install 'sumpool[hub]'")


def write_frame(frame: Frame, names: Sequence[str]) -> dict[str, Any] | None:
    """Write a frame as the post-processor of a file, so that others who read it frame texts as well.

    Args:
        frame: The frame.
        names: Name of every piece.
    """
    if frame == Frame():
        return None
    first, last = ([{"SpecialToken": {"id": names[piece], "type_id": 0}} for piece in side] for side in frame)
    text, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [*first, text, *last],
        "pair": [*first, text, *last, *last, second, *last],
        "special_tokens": {
            names[piece]: {"id": names[piece], "ids": [piece], "tokens": [names[piece]]} for piece in chain(*frame)
        },
    }


def read_frame(processor: Mapping[str, Any] | None, numbers: Mapping[str, int]) -> Frame:
    """Read from a post-processor which pieces it puts around a text.

    Raises:
        ValueError: If it does anything else.
    """
    match processor:
        case None | {"type": "ByteLevel"}:
            return Frame()
        case {"type": "RobertaProcessing", "cls": [first, *_], "sep": [last, *_]}:
            return Frame((numbers[first],), (numbers[last],))
        case {"type": "TemplateProcessing", "single": list(parts)}:
            texts = [part["SpecialToken"]["id"] if "SpecialToken" in part else "" for part in parts]
            middle = texts.index("")
            return Frame(*(tuple(numbers[text] for text in side) for side in (texts[:middle], texts[middle + 1 :])))
        case {"type": "Sequence", "processors": list(inner)}:
            frames = [read_frame(each, numbers) for each in inner]
            return next((frame for frame in frames if frame != Frame()), Frame())
    raise ValueError(f"post_processor {processor}")


def _open(content: str) -> "tokenizers.Tokenizer":
    """Let the library read a file, with special pieces spelt like any text.

    Raises:
        ValueError: If the library cannot.
    """
    import tokenizers

    try:
        library = tokenizers.Tokenizer.from_str(content)
    except Exception as error:  # the library raises nothing more special
        raise ValueError(str(error)) from error
    library.encode_special_tokens = True
    return library


def _spelt(piece: str, added: Mapping[str, bool]) -> bytes:
    """Say what a piece spells: special ones nothing, added ones their text, learnt ones the bytes of their letters."""
    if piece in added:
        return b"" if added[piece] else piece.encode()
    return bytes(_BYTES[letter] for letter in piece)


def _alphabet() -> dict[str, int]:
    """Give the byte of each letter that pieces are written in: printable ones are themselves, others from U+0100 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _alphabet()
