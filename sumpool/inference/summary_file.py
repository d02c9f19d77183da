"""Outputs of `summarize`: JSON lines, and a folder with a file per summary, both resumable.

Every row carries the SHA-256 of its document, and a file beside the rows records model and settings, so that summaries
of other texts or models never end up in one output.

A folder has all summaries as rows of `summaries.jsonl` with the SHA-256 of their files, and a manifest that tells it
from others. A file is written under a temporary name, listed in a row, and renamed; so every file has a row.
"""

import hashlib
import json
import os
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import final

from sumpool.documents.document import Document
from sumpool.errors import DataError, RecipeError
from sumpool.inference.summary import Summary
from sumpool.io.atomic import disk_errors, rename_synced, replace_file, sync, temporary_path
from sumpool.io.bounded import parse_json
from sumpool.io.file_names import FileNames
from sumpool.io.json_lines import Identity, ResumableFile, read_records
from sumpool.io.lock import locked_for_writing
from sumpool.io.manifest import FileDigest
from sumpool.io.replaceable import begin_folder, other_content

FILE_DIGEST = "file_sha256"
"""Field of a row with the SHA-256 of the file of the summary."""
_DIGEST = "document_sha256"
_ADVICE = "name another file"
ROWS = "summaries.jsonl"
"""File of the folder that holds all summaries as JSON lines."""
_OTHER_FOLDER = "name another folder"
Render = Callable[[Summary], str]
"""Renders a summary as the content of a file."""


class SummaryFile(ResumableFile):
    """A file of summaries as JSON lines; `with` closes it.

    Attributes:
        files: Name and SHA-256 of the file of each summary that was read, if it has one.
    """

    def __init__(self, path: Path, settings: Mapping[str, str], *, resume: bool = False) -> None:
        """Open the file.

        Args:
            path: The file, which must not exist unless `resume`.
            settings: What the summaries depend on besides their documents, by name.
            resume: Append to the summaries of the file; a torn last line is dropped, and rows without a summary are,
                so that their documents are summarised again.

        Raises:
            RecipeError: If the file exists and `resume` is not set, or another process writes it.
            DataError: If a line of the file is not a summary, or the file is of another model or other settings.
            ResourceError: If the file cannot be written.
        """
        is_plain = path.is_file() or not path.exists()  # /dev/stdout and the like cannot lose anything
        identity = Identity(path.with_name(f"{path.name}.identity"), settings, _ADVICE) if is_plain else None
        self.files: dict[str, str] = {}
        self._done: dict[str, Counter[str]] = defaultdict(Counter)
        self._digests: deque[str] = deque()
        with ExitStack() as locks:
            locks.enter_context(locked_for_writing(path, _ADVICE))
            if path.is_file():
                if not resume:
                    raise RecipeError(f"{path} must not exist yet; add --resume to go on with it, or name another file")
                if identity:
                    identity.require_same()
                self._read(path)
            super().__init__(path, resume=resume, identity=identity, advice="go on with --resume")
            self._locks = locks.pop_all()

    def __exit__(self, *error: object) -> None:
        with self._locks:
            super().__exit__(*error)

    def take(self, document: Document) -> bool:
        """Return whether the file lacks the summary of a document; of equal documents each row counts once.

        Raises:
            DataError: If the file has a summary of another document with the same id.
        """
        digest = document_digest(document)
        rows = self._done.get(document.id)
        if rows and rows[digest]:
            rows[digest] -= 1
            return False
        if rows and rows.total():
            raise DataError(
                f"{self.path} must hold summaries of the same documents to go on, but {document.id} has changed since; "
                f"{_ADVICE}"
            )
        self._digests.append(digest)
        return True

    def save(self, summary: Summary) -> None:
        """Append the summary of the earliest document taken that has none.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        self._append(summary)

    def _append(self, summary: Summary, **file: str) -> None:
        """Append a row with fields about the file that the summary is written to besides."""
        row = parse_json(summary.as_json()) | {_DIGEST: self._digests.popleft(), **file}
        self.append(json.dumps(row, ensure_ascii=False, allow_nan=False))

    def _read(self, path: Path) -> None:
        def parse(line: bytes) -> dict[str, str]:
            row = parse_json(line)
            return {**row, **{name: str(row[name]) for name in ("id", _DIGEST, "reason")}}

        rows = list(read_records(path, parse, "a summary in JSON", _ADVICE))
        complete = [row for row in rows if not row["reason"]]
        if len(complete) < len(rows):
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in complete)
            with disk_errors(path):
                replace_file(path, lines.encode("utf-8", errors="backslashreplace"))
        for row in complete:
            self._done[row["id"]][row[_DIGEST]] += 1
            if row.get("file"):
                self.files[row["file"]] = str(row.get(FILE_DIGEST))


def document_digest(document: Document) -> str:
    """Return the SHA-256 of the text of a document, or of the error that prevented reading it."""
    return hashlib.sha256((document.text or document.error).encode(errors="surrogatepass")).hexdigest()


@final
class SummaryFolder(SummaryFile):
    """A folder with a file per summary, and all of them as rows of `summaries.jsonl`; `with` closes it."""

    def __init__(self, folder: Path, settings: Mapping[str, str], names: FileNames, render: Render) -> None:
        """Open the folder; documents that have a summary are passed over.

        Args:
            folder: The folder, which is made if missing; an existing one must be empty or a folder of summaries.
            settings: What the summaries depend on besides their documents, by name.
            names: Names of the files.
            render: Renders a summary.

        Raises:
            RecipeError: If the folder holds other files, or its own are not as they were written.
            DataError: If the folder is of another model or other settings.
            ResourceError: If it cannot be written.
        """
        self._folder, self._names, self._render = folder, names, render
        self._paths: deque[Path] = deque()
        reason = other_content(folder, "summaries")
        if reason:
            reason = f"other files ({reason})" if folder.is_dir() else reason
            raise RecipeError(f"{folder} must be an empty folder or one of summaries, got {reason}; {_OTHER_FOLDER}")
        with disk_errors(folder):
            begin_folder(folder, "summaries")
        super().__init__(folder / ROWS, settings, resume=(folder / ROWS).is_file())
        try:
            self._complete_files()
        except BaseException:
            self.__exit__()
            raise

    def take(self, document: Document) -> bool:
        """Return whether the folder lacks the summary of a document.

        Raises:
            DataError: If the folder has a summary of another document with the same id.
            RecipeError: If another file has the name of that of the summary.
        """
        path = self._names.assign(document.id)
        if not super().take(document):
            return False
        if os.path.lexists(self._folder / path):
            raise RecipeError(
                f"{self._folder / path} must not exist yet, got a file that is not of sumpool; {_OTHER_FOLDER}"
            )
        self._paths.append(path)
        return True

    def save(self, summary: Summary) -> None:
        """Write the file of a summary, unless there is none, and append its row.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        name = self._paths.popleft()
        if not summary.text:
            self._append(summary, file="")
            return
        path, content = self._folder / name, self._render(summary).encode("utf-8", errors="backslashreplace")
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary_path(path).write_bytes(content)
            sync(temporary_path(path))
        self._append(summary, file=str(name), **{FILE_DIGEST: hashlib.sha256(content).hexdigest()})
        with disk_errors(path):
            rename_synced(temporary_path(path), path)

    def _complete_files(self) -> None:
        """Compare the files with their rows, and rename the one that a killed process did not."""
        for name, digest in self.files.items():
            path = self._folder / name
            temporary = temporary_path(path)
            if not path.exists() and temporary.is_file() and FileDigest.of(temporary).sha256 == digest:
                rename_synced(temporary, path)
            if not path.is_file() or FileDigest.of(path).sha256 != digest:
                raise RecipeError(f"{path} must be the summary as it was written, got another or none; {_OTHER_FOLDER}")
