"""The JSON lines of Cohan et al. ("A Discourse-Aware Attention Model ...", arXiv:1804.05685), arXiv and PubMed alike.

One article a line: `article_id`, `abstract_text` (sentences wrapped in "<S> ... </S>"), `section_names` and `sections`
(a list of strings for each section; older files have only `article_text`, one list). The texts are lower-case and
tokenised already, with formulas and citations as @xmath0 and @xcite.
"""

from collections.abc import Iterator
from pathlib import Path

from sumpool.data.sources._base import Example, Reject, Split
from sumpool.documents.json_lines import BadLine, Line, read_lines, text_of
from sumpool.errors import DataError

_FILES: dict[str, Split] = {"train": "train", "val": "validation", "test": "test"}
_SUFFIXES = (".txt", ".jsonl", ".txt.gz", ".txt.zst", ".jsonl.gz", ".jsonl.zst")


def cohan_files(folder: Path) -> list[tuple[Path, Split]]:
    """Find the files of the splits in a folder.

    Raises:
        DataError: If one is missing.
    """
    found: list[tuple[Path, Split]] = []
    for name, split in _FILES.items():
        path = next((path for suffix in _SUFFIXES if (path := folder / f"{name}{suffix}").is_file()), None)
        if path is None:
            raise DataError(
                f"{folder} must hold {name}.txt (or .gz or .zst), got no such file; "
                "set data.source.path to the unpacked folder with train.txt, val.txt and test.txt"
            )
        found.append((path, split))
    return found


def cohan_rows(folder: Path) -> Iterator[Example | Reject]:
    """Read the articles of all splits; every section becomes a paragraph."""
    for path, split in cohan_files(folder):
        for line in read_lines(path):
            yield Reject(line.where, line.reason) if isinstance(line, BadLine) else _row(line, split)


def _row(line: Line, split: Split) -> Example | Reject:
    try:
        name = text_of(line.fields, "article_id")
        summary = " ".join(map(_without_marks, _strings(line.fields, "abstract_text")))
        sections = line.fields.get("sections")
        if isinstance(sections, list) and sections:
            document = "\n\n".join(" ".join(_strings({"sections": section}, "sections")) for section in sections)
        else:
            document = "\n\n".join(_strings(line.fields, "article_text"))
    except ValueError as error:
        return Reject(line.where, str(error))
    if not summary.strip():
        return Reject(line.where, "'abstract_text' must hold some text, got an empty one")
    if not document.strip():
        return Reject(line.where, "'sections' must hold some text, got an empty one")
    return Example(name, document, summary, split)


def _strings(fields: dict[str, object], name: str) -> list[str]:
    strings = fields.get(name)
    if not isinstance(strings, list) or not all(isinstance(string, str) for string in strings):
        raise ValueError(f"{name!r} must be a list of texts, got {type(strings).__name__}")
    return [" ".join(string.split()) for string in strings if string.strip()]


def _without_marks(sentence: str) -> str:
    return " ".join(sentence.replace("<S>", " ").replace("</S>", " ").split())
