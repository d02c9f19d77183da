"""Texts of the RFC series: its files, `rfcN.txt` or `rfcN.txt.gz` with `rfcN.json`, and their cleaning.

Files are in a folder or an archive, which is streamed and never extracted to disk, so that names in it cannot lead
outside a folder.

`clean_body` removes page breaks, the title block, legal sections, the table of contents, the abstract (the reference
summary), headings, drawings, tables and hex dumps, and joins every paragraph into one line.
"""

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from sumpool.documents.document import DEFAULT_LIMITS
from sumpool.documents.files import READ_ERRORS, open_unpacked, read_limited
from sumpool.documents.formats.rfc import classify_blocks
from sumpool.documents.text_lines import unwrap
from sumpool.errors import DataError
from sumpool.io.bounded import open_regular
from sumpool.text.sentences import SentenceSplitter

_NAME = re.compile(r"(?:.*/)?rfc(\d+)\.(json|txt(?:\.gz)?)")
_STAMP = re.compile(
    r"\[\s*(?:(?:PROPOSED |DRAFT |INTERNET )?STANDARDS?(?:[- ]+TRACK)?|INFORMATIONAL|EXPERIMENTAL|HISTORIC(?:AL)?)\s*\]"
)
_BOILERPLATE = re.compile(
    r"This (?:memo|document|RFC|paper) provides information (?:for|to) the (?:ARPA-?|DARPA )?\s?Internet community\b.*"
    r"|(?:This (?:memo|document|RFC)|It) does not (?:specify|define) an(?:y)? (?:Internet )?standards?\b.*"
    r"|(?:This (?:memo|document|RFC)|It) (?:defines|is|documents|specifies|describes) an? "
    r"(?:Experimental Protocol|Historic Document|Internet Best Current Practices?)\b.*"
    r"|(?:This (?:memo|document) is|.*) not an Internet Standards Track specification\b.*"
    r"|Discussion and suggestions for improvement are (?:requested|welcome)\.?"
    r"|Distribution of this (?:memo|document) is unlimited\.?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class File:
    """File of the RFC series: its number, its path (or archive and member name), and its uncompressed content."""

    number: int
    where: str
    content: bytes


def series_files(path: Path, kind: Literal["json", "txt"]) -> Iterator[File]:
    """Read all metadata or all texts one at a time: a folder by number, an archive in member order.

    Raises:
        DataError: If the path is neither a folder nor an archive of RFCs, or a file in it is damaged or too large.
    """
    last = 0
    try:
        for number, where, file in _in_folder(path, kind) if path.is_dir() else _in_archive(path, kind):
            try:
                stream = open_unpacked(file, Path(where)) if where.endswith(".gz") else file
                content = read_limited(stream, DEFAULT_LIMITS)
            except ValueError as error:
                raise DataError(f"{where} {error}") from error
            yield File(number, where, content)
            last = number
    except (*READ_ERRORS, tarfile.TarError) as error:
        raise DataError(
            f"{path} must be a folder or a .tar.xz archive with rfcN.txt and rfcN.json files, got: {error} "
            f"{f'after RFC {last}' if last else ''}; docs/data.md says how to get the series"
        ) from error


def _in_folder(path: Path, kind: str) -> Iterator[tuple[int, str, IO[bytes]]]:
    for number, name in sorted((number, name) for name in path.iterdir() if (number := _number(name.name, kind))):
        with open_regular(name) as file:
            yield number, str(name), file


def _in_archive(path: Path, kind: str) -> Iterator[tuple[int, str, IO[bytes]]]:
    with (
        open_unpacked(open_regular(path), path) as unpacked,
        tarfile.open(fileobj=unpacked, mode="r|") as archive,
    ):
        for member in archive:
            number = _number(member.name, kind)
            file = archive.extractfile(member) if number and member.isfile() else None
            if number and file:
                yield number, f"{path}: {member.name}", file


def _number(name: str, kind: str) -> int | None:
    """Return the RFC number in a file name of the given kind; None for other names."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match and match[2].startswith(kind) else None


def clean_body(text: str) -> str:
    """Return the prose of an RFC as paragraphs of one line each, separated by empty lines."""
    return "\n\n".join(unwrap(block.lines) for block in classify_blocks(text) if block.part == "prose")


def clean_abstract(text: str) -> str:
    """Return an abstract of the RFC index as one paragraph, without the boilerplate that the index adds.

    The result is empty if only boilerplate is given.
    """
    sentences = map(str.strip, SentenceSplitter().split(unwrap([_STAMP.sub(" ", text)])))
    return " ".join(sentence for sentence in sentences if not _BOILERPLATE.fullmatch(sentence))
