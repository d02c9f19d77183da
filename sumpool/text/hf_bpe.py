"""The byte-level BPE vocabulary of a Hugging Face folder, read once and written under our numbers.

A folder has `tokenizer.json`, or `vocab.json` and `merges.txt` with added pieces in `added_tokens.json`. Which piece
pads, ends a text and so on is said by name in `tokenizer_config.json` or `special_tokens_map.json`, and is as in BART
where both are silent.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sumpool.errors import DataError
from sumpool.text.byte_pairs import LACKING, BytePairs, read_frame, require_library, write_frame
from sumpool.text.tokenizer import BYTE_PAIRS, Frame

_LINE_FEED = "Ċ"
"""How byte-level BPE writes a line feed."""
_USUAL = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
"""What BART calls its special pieces."""
_TELLING = ("special_tokens_map.json", "tokenizer_config.json")
"""Files that say what they are called; the later outranks the earlier."""
_OFF = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges")
"""Settings of BPE that byte-level BPE leaves off."""
_SWITCHES = ("single_word", "lstrip", "rstrip", "normalized")
"""How a piece is looked for in a text."""


@dataclass(frozen=True)
class ForeignPieces:
    """A vocabulary under the numbers of its model.

    Attributes:
        folder: Where it was read.
        numbers: Number of every piece.
        merges: Pairs that BPE joins, the first ones first.
        added: Pieces beside the learnt ones, as `tokenizers` describes them.
        add_prefix_space: Whether a text begins as if a space stood before it.
        pad: Number of padding.
        unknown: Number of what it cannot spell.
        end: Number of the end of a text.
        paragraph: Number of a line feed; None where it has none.
        frame: Numbers of the pieces around a text.
    """

    folder: Path
    numbers: Mapping[str, int]
    merges: Sequence[tuple[str, str]]
    added: Sequence[Mapping[str, Any]]
    add_prefix_space: bool
    pad: int
    unknown: int
    end: int
    paragraph: int | None
    frame: Frame

    @property
    def vocabulary(self) -> int:
        """Number of pieces, numbers without one included; the model may have more rows."""
        return max(self.numbers.values()) + 1

    def write(self, path: Path, renumbered: Sequence[int | None]) -> BytePairs:
        """Write the vocabulary under our numbers.

        Args:
            path: The file.
            renumbered: By our number the number here, as `sumpool.pretrained.renumbering` gives it; None where there is
                no piece. Rows of the model without a piece here are allowed; special pieces without a row, such as
                <mask> in models that were trained on for summaries, are left out.

        Raises:
            DataError: If another piece here has no row in the model, or the `tokenizers` library is not installed.
        """
        require_library(path)
        ours = {number: our for our, number in enumerate(renumbered) if number is not None}
        special = {piece["content"] for piece in self.added if piece["special"]}
        if any(number not in ours for name, number in self.numbers.items() if name not in special):
            raise DataError(
                f"{self.folder} must have no more pieces than the model has rows, {len(ours):,}, got "
                f"{self.vocabulary:,}; take the tokenizer that belongs to the model"
            )
        texts = {number: text for text, number in self.numbers.items()}
        names = [
            LACKING.get(our, f"<|unused {our}|>") if number not in texts else texts[number]
            for our, number in enumerate(renumbered)
        ]
        added = [_added(piece["content"], ours[piece["id"]], piece) for piece in self.added if piece["id"] in ours]
        added += [_added(name, our) for our, name in enumerate(names) if name not in self.numbers]
        frame = Frame(*(tuple(ours[number] for number in part) for part in self.frame))
        path.write_text(json.dumps(_content(names, self, added, frame), ensure_ascii=False), "utf-8")
        return BytePairs.load(path)


def read_pieces(folder: Path) -> ForeignPieces:
    """Read the vocabulary of a Hugging Face folder.

    Raises:
        DataError: If there is none, it is damaged, or it is no byte-level BPE that frames a text as BART does.
    """
    try:
        told = {name: value for file in _TELLING for name, value in _json_if_there(folder / file).items()}
        tree = _json(folder / BYTE_PAIRS) if (folder / BYTE_PAIRS).is_file() else _tree(folder, told)
        return _read(folder, tree, told)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            f"{folder} must hold byte-level BPE as tokenizer.json, or as vocab.json and merges.txt, got {error!r}; "
            "take a BART or LED model with its tokenizer"
        ) from error


def _read(folder: Path, tree: Mapping[str, Any], told: Mapping[str, Any]) -> ForeignPieces:
    """Read what stands in a `tokenizer.json`; its neighbours outrank it, as in transformers."""
    model, splitting, added = tree["model"], tree["pre_tokenizer"], tree["added_tokens"]
    odd = [name for name in _OFF if model.get(name)] + ["normalizer"] * bool(tree.get("normalizer"))
    if (model.get("type", "BPE"), splitting["type"], splitting.get("use_regex", True), *odd) != (
        "BPE",
        "ByteLevel",
        True,
    ):
        raise ValueError(" ".join([model.get("type", "BPE"), splitting["type"], *odd]))
    numbers: dict[str, int] = {**model["vocab"], **{piece["content"]: piece["id"] for piece in added}}
    spaced = [
        piece["content"] for piece in added if not piece["special"] and piece["content"].split() != [piece["content"]]
    ]
    if spaced:
        raise ValueError(f"added piece {spaced[0]!r} with white space")
    pad, unknown, end = (numbers[_names(told)[name]] for name in ("pad_token", "unk_token", "eos_token"))
    frame = read_frame(tree.get("post_processor"), numbers)
    if len({pad, unknown, end}) < 3 or frame.last not in ((), (end,)):
        raise ValueError(f"pad {pad}, unknown {unknown}, end {end}, texts end with {frame.last}")
    return ForeignPieces(
        folder=folder,
        numbers=numbers,
        merges=[_pair(merge) for merge in model["merges"]],
        added=added,
        add_prefix_space=bool(told.get("add_prefix_space", splitting["add_prefix_space"])),
        pad=pad,
        unknown=unknown,
        end=end,
        paragraph=numbers.get(_LINE_FEED),
        frame=frame,
    )


def _tree(folder: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """Say in the words of `tokenizer.json` what the lists of a folder hold; its frame is that of BART."""
    lines = (folder / "merges.txt").read_text("utf-8").split("\n")
    named = [*_names(told).values(), *map(_text, told.get("additional_special_tokens") or [])]
    numbers = {**_json(folder / "vocab.json"), **_json_if_there(folder / "added_tokens.json")}
    added = {name: _added(name, number) for name, number in numbers.items() if name in named}
    for name, number in _json_if_there(folder / "added_tokens.json").items():
        added.setdefault(name, _added(name, number, {"special": False}))
    for number, piece in told.get("added_tokens_decoder", {}).items():
        added[piece["content"]] = {**piece, "id": int(number)}
    first, last = (_names(told)[name] for name in ("cls_token", "sep_token"))
    return {
        "added_tokens": list(added.values()),
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "post_processor": {"type": "RobertaProcessing", "cls": [first, numbers[first]], "sep": [last, numbers[last]]},
        "model": {
            "type": "BPE",
            "vocab": numbers,
            "merges": [line for line in lines if line and not line.startswith("#version")],
        },
    }


def _names(told: Mapping[str, Any]) -> dict[str, str]:
    """Find out what the special pieces are called."""
    return {name: _text(told.get(name) or usual) for name, usual in _USUAL.items()}


def _text(piece: Any) -> str:  # noqa: ANN401 - any JSON
    return piece if isinstance(piece, str) else str(piece["content"])


def _content(
    names: Sequence[str], pieces: ForeignPieces, added: Sequence[Mapping[str, Any]], frame: Frame
) -> dict[str, Any]:
    """Write a `tokenizer.json`."""
    level = {"type": "ByteLevel", "add_prefix_space": pieces.add_prefix_space, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(added, key=lambda piece: piece["id"]),
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": write_frame(frame, names),
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {name: our for our, name in enumerate(names)},
            "merges": pieces.merges,
        },
    }


def _added(name: str, number: int, like: Mapping[str, bool] = MappingProxyType({})) -> dict[str, Any]:
    """Describe a piece beside the learnt ones; it is special unless the one that it is like is not."""
    switches = {switch: bool(like.get(switch, False)) for switch in _SWITCHES}
    return {"id": number, "content": name, **switches, "special": bool(like.get("special", True))}


def _pair(merge: Any) -> tuple[str, str]:  # noqa: ANN401 - any JSON
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right


def _json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text("utf-8"))
    if not isinstance(found, dict):
        raise TypeError(f"{path.name} that is no object")
    return found


def _json_if_there(path: Path) -> dict[str, Any]:
    return _json(path) if path.is_file() else {}
