"""Read summaries of several systems blind: shuffled sheets for readers, and the table of their verdicts.

    python docs/scripts/marks/blind_reading.py sheets OUT --documents LIST.jsonl --marks MARKS.jsonl \
        --system sumpool=NEW.jsonl --system before=OLD.jsonl [--seed 1] [--count 40]
    python docs/scripts/marks/blind_reading.py table OUT VERDICTS.txt OTHER-READER.txt

LIST.jsonl has a row per document with `id`, `path` and `kind`; the file of a system is what `sumpool summarize --json`
writes for these paths. Two systems are always there: `lead`, the first sentences as they are read, and `reader`,
the sentences that a reader marked as best (first.jsonl), which is what a choice of sentences can reach. The
documents are drawn by the SHA-256 of seed and id, the letters of the systems by that of seed, id and system, so that
the same command writes the same sheets.

OUT/sheets holds a text file per document: its path, a line for what the reader expects, and the summaries. A reader
opens the document, writes the expectation *before* looking at the summaries, and then a line for each of them (GUIDE
below). OUT/key.json says which letter is which system; readers do not open it. `table` prints counts with 95 %
intervals of Wilson, and Cohen's kappa of two readers.
"""

import argparse
import hashlib
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from marked_documents import marks_of

from sumpool.documents.document import Document
from sumpool.documents.read import read_documents
from sumpool.documents.source_sentences import SourceSentence
from sumpool.errors import SumpoolError
from sumpool.ranking.marks import MARKED_KINDS, split_document
from sumpool.text.language import UNSPACED, word_count

QUESTIONS = ("true", "principal", "readable", "satisfied")
"""Yes or no: all that it says is true for the document; it says the principal thing; it can be read without the
document; a reader who has no time for the document is satisfied."""
FAULTS = ("matter", "reference", "discourse", "background", "waste")
"""Matter of the page in place of a sentence (caption, heading, label, notice); reference without its noun; connective,
step or answer without what it belongs to; background in place of the point; a sentence that is not worth its words."""
GUIDE = f"""\
# Open the document and write what a summary of it must say after "expects:", before you read on.
# Then answer for each summary, y or n, and name its faults if it has any ({", ".join(FAULTS)}):
# A: true=y principal=n readable=y satisfied=n faults=background,waste
"""
WORDS = 56
"""Words of `lead` and `reader` at most; one sentence may have more."""
_ANSWER = re.compile(r"([A-Z]):((?:\s+\w+=[\w,]*)+)\s*")
_Z = 1.96


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    sheets = actions.add_parser("sheets")
    sheets.add_argument("out", type=Path)
    sheets.add_argument("--documents", type=Path, required=True)
    sheets.add_argument("--marks", type=Path, required=True)
    sheets.add_argument("--system", action="append", default=[], metavar="NAME=FILE")
    sheets.add_argument("--seed", type=int, default=1)
    sheets.add_argument("--count", type=int, default=40)
    table = actions.add_parser("table")
    table.add_argument("out", type=Path)
    table.add_argument("verdicts", type=Path, nargs="+")
    options = parser.parse_args()
    if options.action == "table":
        sys.stdout.write(verdict_table(json.loads((options.out / "key.json").read_text()), options.verdicts))
        return
    systems = dict(system.split("=", 1) for system in options.system)
    summaries = {name: {row["id"]: row["summary"] for row in _rows(Path(path))} for name, path in systems.items()}
    write_sheets(options.out, _rows(options.documents), _rows(options.marks), summaries, options.seed, options.count)


def write_sheets(
    out: Path,
    documents: Iterable[Mapping[str, Any]],
    marks: Iterable[Mapping[str, Any]],
    summaries: Mapping[str, Mapping[str, str]],
    seed: int,
    count: int,
) -> None:
    """Write the sheets of drawn documents, and the key to their letters."""
    marked = {row["document"]: row for row in reversed(list(marks))}  # the first reader's
    usable = [row for row in documents if row["id"] in marked]
    drawn = sorted(usable, key=lambda row: _digest(seed, row["id"]))[:count]
    (out / "sheets").mkdir(parents=True, exist_ok=True)
    key: dict[str, dict[str, str]] = {}
    for number, row in enumerate(drawn, 1):
        document, sentences, language = _read(row["path"])
        texts = {
            "lead": lead(sentences, language),
            "reader": readers_extract(marked[row["id"]], sentences, language),
            **{name: by_id.get(row["path"], "") for name, by_id in summaries.items()},
        }
        order = sorted(texts, key=lambda name: _digest(seed, row["id"], name))
        name = f"{number:02d}"
        key[name] = dict(zip(ascii_uppercase, order, strict=False))
        shown = "".join(f"\n{letter}. {texts[system]}\n" for letter, system in key[name].items())
        head = f"@{name}\n# {row['path']} ({document.title})\n{GUIDE}expects:\n"
        blanks = "".join(f"{letter}:\n" for letter in key[name])
        (out / "sheets" / f"{name}.txt").write_text(f"{head}{blanks}\n----\n{shown}", encoding="utf-8")
    (out / "key.json").write_text(json.dumps(key, indent=1) + "\n")


def lead(sentences: Sequence[SourceSentence], language: str) -> str:
    """Return the first sentences of a document, whatever they are."""
    first = [index for index, sentence in enumerate(sentences) if sentence.kind in MARKED_KINDS]
    return _join(sentences, _up_to(first, sentences), language)


def readers_extract(row: Mapping[str, Any], sentences: Sequence[SourceSentence], language: str) -> str:
    """Return the sentences that a reader marked as best, in the order of the document."""
    return _join(sentences, sorted(_up_to(marks_of(row, sentences).best, sentences)), language)


def verdict_table(key: Mapping[str, Mapping[str, str]], files: Sequence[Path]) -> str:
    """Return the table of verdicts of one or more readers, with their agreement."""
    readers = [parse_verdicts(path.read_text(encoding="utf-8"), key) for path in files]
    systems = sorted({system for letters in key.values() for system in letters.values()})
    columns = (*QUESTIONS[:3], "all three", "satisfied", *FAULTS)
    lines = ["| system | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for system in systems:
        cells: dict[str, list[str]] = {column: [] for column in columns}
        for reader in readers:
            found = [verdict for (_, name), verdict in reader.items() if name == system]
            counts = Counter(column for verdict in found for column in verdict)
            for column in columns:
                low, high = wilson(counts[column], len(found))
                interval = f" [{low:.0%}, {high:.0%}]" if column in ("all three", "satisfied") else ""
                cells[column].append(f"{counts[column]}{interval}")
        lines.append(f"| {system} | " + " | ".join(", ".join(cells[column]) for column in columns) + " |")
    sizes = ", ".join(str(len({document for document, _ in reader})) for reader in readers)
    lines += ["", f"Documents read: {sizes}."]
    if len(readers) > 1:
        both = readers[0].keys() & readers[1].keys()
        agreed = {
            question: kappa([(question in readers[0][each], question in readers[1][each]) for each in sorted(both)])
            for question in ("all three", *QUESTIONS)
        }
        lines.append("Cohen's kappa: " + ", ".join(f"{name} {value:.2f}" for name, value in agreed.items()) + ".")
    return "\n".join(lines) + "\n"


def parse_verdicts(text: str, key: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str], set[str]]:
    """Return what a reader says of each document and system: questions that are answered by yes, and faults.

    Raises:
        ValueError: If a document or a letter is unknown, or a question has no answer.
    """
    verdicts: dict[tuple[str, str], set[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("@"):
            name = line[1:].split()[0]
        match = _ANSWER.fullmatch(line)
        if not match:
            continue
        answers = dict(answer.split("=", 1) for answer in match[2].split())
        if match[1] not in key.get(name, {}) or not answers.keys() >= set(QUESTIONS):
            raise ValueError(f"@{name} must have an answer to {', '.join(QUESTIONS)} for its letters, got {line!r}")
        said = {question for question in QUESTIONS if answers[question].startswith("y")}
        said |= {"all three"} if said.issuperset(QUESTIONS[:3]) else set()
        verdicts[name, key[name][match[1]]] = said | (set(answers.get("faults", "").split(",")) & set(FAULTS))
    return verdicts


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson of a share."""
    if not total:
        return 0.0, 1.0
    share, square = count / total, _Z**2 / total
    centre, half = share + square / 2, _Z * math.sqrt((share * (1 - share) + square / 4) / total)
    return (centre - half) / (1 + square), (centre + half) / (1 + square)


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Return Cohen's kappa of two readers; nan if both always say the same."""
    total = max(len(pairs), 1)
    observed = sum(one == other for one, other in pairs) / total
    yes = [sum(pair[reader] for pair in pairs) / total for reader in (0, 1)]
    expected = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    return (observed - expected) / (1 - expected) if expected < 1 else math.nan


def _up_to(indices: Iterable[int], sentences: Sequence[SourceSentence]) -> list[int]:
    chosen: list[int] = []
    size = 0
    for index in indices:
        size += word_count(sentences[index].text)
        if chosen and size > WORDS:
            break
        chosen.append(index)
    return chosen


def _join(sentences: Sequence[SourceSentence], indices: Iterable[int], language: str) -> str:
    return ("" if language in UNSPACED else " ").join(sentences[index].text for index in indices)


def _read(path: str) -> tuple[Document, tuple[SourceSentence, ...], str]:
    document = next(iter(read_documents(path)))
    if document.error:
        raise SumpoolError(f"{path} {document.error}")
    return document, *split_document(document)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _digest(*parts: object) -> str:
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()


if __name__ == "__main__":
    main()
