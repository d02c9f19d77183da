"""Wiki-40B (Guo et al., 2020): articles with structural marks, as text of TensorFlow Datasets, JSON lines or Parquet.

An article begins with the line `_START_ARTICLE_` and its title, then `_START_SECTION_` and `_START_PARAGRAPH_`;
`_NEWLINE_` stands for a line end. The marks become line ends. Texts that are Python literals of bytes are decoded.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final, Literal, final

from sumpool.documents.document import Reject
from sumpool.tasks.language_modeling.sources._base import (
    TextChunk,
    TextSourceConfig,
    json_texts,
    parquet_texts,
    read_chunks,
)

_ARTICLE: Final = "_START_ARTICLE_"
_MARKS = re.compile(r"\s*_(?:START_ARTICLE|START_SECTION|START_PARAGRAPH|NEWLINE)_\s*")
_LONGEST_MARK: Final = 64
"""Characters at the end of a chunk that may be part of a mark and the white space around it."""
_LITERAL = re.compile(r"""b(['"])(?:[^\\]|\\.)*\1""", re.DOTALL)


@final
class Wiki40bTextSourceConfig(TextSourceConfig):
    """Files of Wiki-40B, by their suffix: `.jsonl`, `.parquet`, or text with marks."""

    kind: Literal["wiki40b"] = "wiki40b"
    text: str = "text"
    """Field or column of the text in JSON lines and Parquet."""

    suffixes: ClassVar[tuple[str, ...]] = (".txt", ".jsonl", ".ndjson", ".parquet")

    def documents(self, path: Path, *, strict: bool) -> Iterator[TextChunk | Reject]:
        """Read the articles of a file.

        Raises:
            DataError: If the file is missing or damaged, not UTF-8, or has no column of texts.
            RecipeError: If pyarrow is not installed.
        """
        kinds = [suffix for suffix in path.suffixes[-2:] if suffix in (".jsonl", ".ndjson", ".parquet")]
        if not kinds:
            yield from self._articles(path, strict)
            return
        read = parquet_texts if kinds[-1] == ".parquet" else json_texts
        for row in read(path, self.text):
            yield row if isinstance(row, Reject) else TextChunk(row.document, without_marks(evaluate(row.text)))

    def _articles(self, path: Path, strict: bool) -> Iterator[TextChunk]:
        """Divide a text at its marks; an article of any length is read in chunks."""
        number, rest = 0, ""
        for text in read_chunks(path, strict=strict):
            begun, *articles = (rest + text).split(_ARTICLE)
            for article in articles:
                yield TextChunk(f"{path}:article {number}", without_marks(begun))
                number, begun = number + 1, article
            # The rest may be cut within a mark; a line of the article goes on with the next chunk.
            cut = max(begun.rfind("\n", 0, max(len(begun) - _LONGEST_MARK, 0)), 0)
            yield TextChunk(f"{path}:article {number}", without_marks(begun[:cut]))
            rest = begun[cut:]
        yield TextChunk(f"{path}:article {number}", without_marks(rest))


def without_marks(text: str) -> str:
    """Replace the structural marks by line ends."""
    return _MARKS.sub("\n", text)


def evaluate(text: str) -> str:
    """Return the text that a Python literal of bytes stands for; other texts are returned unchanged."""
    if not _LITERAL.fullmatch(text):
        return text
    try:
        content: bytes = ast.literal_eval(text)
        return content.decode()
    except (ValueError, SyntaxError):  # not a literal, or not UTF-8
        return text
