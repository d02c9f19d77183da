"""Training data of the last stages of the shipped model: RFCs together with other texts, as JSON lines.

    python recipes/pretraining/mixtures.py mixtures --rfc prepared/rfc --corpus pretraining-corpus --outside outside

writes documentation-{train,validation}.jsonl, texts of the pretraining corpus and of RFCs, for gap sentences, and
kinds-{train,validation}.jsonl, RFCs and, twice, documents of other kinds with their summaries. Those are three quarters
of the packages of the development halves of `recipes/outside`; held-out.jsonl has the documents of the others.
"""

import argparse
import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
_FIELDS = ("id", "document", "summary")
_COPIES = 2
"""Copies of a document of another kind, of which there are an eighth as many as RFCs."""
_HELD_OUT = 4
"""One of so many packages is held out."""
_VALIDATION_RFCS = 8
"""Of the validation RFCs every eighth validates the gap sentences."""


def main(argv: Sequence[str] | None = None) -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of the files")
    parser.add_argument("--rfc", type=Path, required=True, help="prepared RFCs")
    parser.add_argument("--corpus", type=Path, required=True, help="folder that corpus.py wrote")
    parser.add_argument("--outside", type=Path, required=True, help="folder of the scripts of recipes/outside")
    arguments = parser.parse_args(argv)
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    rfcs = {split: _read(arguments.rfc / split / "texts.jsonl") for split in ("train", "validation")}
    corpus = {split: [*map(_with_title, _read(arguments.corpus / f"{split}.jsonl"))] for split in rfcs}
    texts = [*corpus["train"], *rfcs["train"]]
    random.Random(1).shuffle(texts)
    _write(out / "documentation-train.jsonl", texts)
    _write(out / "documentation-validation.jsonl", [*corpus["validation"], *rfcs["validation"][::_VALIDATION_RFCS]])
    kinds = [row for file in sorted(arguments.outside.glob("*/development.jsonl")) for row in _of_kind(file)]
    others = [row for row in kinds if not row["held_out"]]
    copies = [{**row, "id": f"{row['id']}#{copy}"} for copy in range(_COPIES) for row in others]
    _write(out / "kinds-train.jsonl", [*rfcs["train"], *copies])
    _write(out / "kinds-validation.jsonl", rfcs["validation"])
    _write(out / "held-out.jsonl", [row for row in kinds if row["held_out"]], (*_FIELDS, "kind"))


def _with_title(row: Row) -> Row:
    """Return a text of the corpus with its title as its summary, which gap sentences replace."""
    return {**row, "summary": row["title"] or "-"}


def _of_kind(file: Path) -> list[dict[str, Any]]:
    """Read documents of a kind, of whose packages, or articles if there is one package, a quarter is held out."""
    kind, rows = file.parent.name, _read(file)
    is_one_package = len({row["package"] for row in rows}) == 1
    return [
        {
            **row,
            "id": f"{kind}/{row['id']}",
            "kind": kind,
            "held_out": _hash(row["id"] if is_one_package else row["package"]) % _HELD_OUT == 0,
        }
        for row in rows
    ]


def _hash(name: str) -> int:
    # Not `hash_split`, which would hold out other documents than those that the shipped model has not seen.
    return int(hashlib.sha256(name.encode()).hexdigest(), 16)


def _read(file: Path) -> list[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _write(file: Path, rows: Iterable[Row], fields: Sequence[str] = _FIELDS) -> None:
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps({name: row[name] for name in fields}) + "\n" for row in rows)


if __name__ == "__main__":
    main()
