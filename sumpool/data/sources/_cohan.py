"""JSON lines format of Cohan et al. (2018, arXiv:1804.05685), shared by the arXiv and PubMed datasets.

One article per line: `article_id`, `abstract_text` (sentences wrapped in "<S> ... </S>"), `section_names` and
`sections` (a list of strings per section; older files only have `article_text`, a single list). The texts are
lower-case and tokenised, with formulas and citations replaced by @xmath0 and @xcite.
"""

import re
from abc import ABC
from collections.abc import Iterator
from pathlib import Path

from sumpool.data.inputs import Split
from sumpool.data.sources._base import Example, SourceConfig
from sumpool.documents.json_lines import Line, Reject, read_lines, text_of
from sumpool.errors import DataError

_FILES: dict[str, Split] = {"train": "train", "val": "validation", "test": "test"}
_SUFFIXES = (".txt", ".jsonl", ".txt.gz", ".txt.zst", ".jsonl.gz", ".jsonl.zst")


class CohanSourceConfig(SourceConfig, ABC):
    """Articles with their abstracts as summaries."""

    path: Path
    """Folder with train.txt, val.txt and test.txt, each optionally compressed (.gz, .zst)."""

    def rows(self) -> Iterator[Example | Reject]:
        """Read the articles of all splits; each section becomes a paragraph.

        Raises:
            DataError: If a file is missing or truncated.
        """
        for path, split in list(self._split_files()):
            for line in read_lines(path):
                yield line if isinstance(line, Reject) else _row(line, split)

    def files(self) -> Iterator[Path]:
        """List the three files.

        Raises:
            DataError: If a file is missing.
        """
        yield from (path for path, _ in self._split_files())

    def _split_files(self) -> Iterator[tuple[Path, Split]]:
        for name, split in _FILES.items():
            path = next((path for suffix in _SUFFIXES if (path := self.path / f"{name}{suffix}").is_file()), None)
            if path is None:
                raise DataError(
                    f"{self.path} must hold {name}.txt (or .gz or .zst), got no such file; "
                    "set data.source.path to the unpacked folder with train.txt, val.txt and test.txt"
                )
            yield path, split


def _row(line: Line, split: Split) -> Example | Reject:
    try:
        name = text_of(line.fields, "article_id")
        sentences = [re.sub("</?S>", " ", sentence).split() for sentence in _strings(line.fields, "abstract_text")]
        sections = line.fields.get("sections")
        if isinstance(sections, list) and sections:
            document = "\n\n".join(" ".join(_strings({"sections": section}, "sections")) for section in sections)
        else:
            document = "\n\n".join(_strings(line.fields, "article_text"))
    except ValueError as error:
        return Reject(line.where, str(error))
    summary = " ".join(map(" ".join, sentences))
    for field, text in (("abstract_text", summary), ("sections", document)):
        if not text.strip():
            return Reject(line.where, f"{field!r} must contain text, got an empty one")
    return Example(name, document, summary, split)


def _strings(fields: dict[str, object], name: str) -> list[str]:
    """Return the non-empty strings of a list field, with white space normalised."""
    strings = fields.get(name)
    if not isinstance(strings, list) or not all(isinstance(string, str) for string in strings):
        raise ValueError(f"{name!r} must be a list of texts, got {type(strings).__name__}")
    return [" ".join(string.split()) for string in strings if string.strip()]
