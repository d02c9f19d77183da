"""Folder with a file per summary, an output of `summarize`.

`summaries.jsonl` has all summaries as rows with the SHA-256 of their files; a manifest tells the folder from others.
A file is written under a temporary name, listed in a row, and renamed; so every file has a row.
"""

import hashlib
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, final

from sumpool.documents.document import Document
from sumpool.errors import RecipeError
from sumpool.inference.summary import Summary
from sumpool.inference.summary_file import FILE_DIGEST, SummaryFile
from sumpool.io.atomic import disk_errors, rename_synced, sync, temporary_path
from sumpool.io.file_names import FileNames
from sumpool.io.manifest import NAME as MANIFEST
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.io.replaceable import other_content

ROWS = "summaries.jsonl"
"""File of the folder that holds all summaries as JSON lines."""

_ADVICE = "name another folder"

Render = Callable[[Summary], str]
"""Renders a summary as the content of a file."""


@final
class SummaryFolder:
    """A folder with a file per summary, and all of them as rows of `summaries.jsonl`; `with` closes it."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str], names: FileNames, render: Render, *, retry: bool = True
    ) -> None:
        """Open the folder; documents that are done are passed over.

        Args:
            folder: The folder, which is made if missing; an existing one must be empty or a folder of summaries.
            settings: What the summaries depend on besides their documents, by name.
            names: Names of the files.
            render: Renders a summary.
            retry: Whether documents that failed before are summarised again.

        Raises:
            RecipeError: If the folder holds other files, or its own are not as they were written.
            DataError: If the folder is of another model or other settings.
            ResourceError: If it cannot be written.
        """
        self._folder, self._names, self._render = folder, names, render
        _require_summaries(folder)
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / MANIFEST).exists():
                Manifest({}, kind="summaries").write(folder)
        self._rows = SummaryFile(folder / ROWS, settings, resume=(folder / ROWS).is_file(), retry=retry)
        self._paths: deque[Path] = deque()
        try:
            self._complete_files()
        except BaseException:
            self._rows.__exit__(None, None, None)
            raise

    @property
    def failed(self) -> Sequence[str]:
        """Ids of the documents that were passed over although they have no summary."""
        return self._rows.failed

    def take(self, document: Document) -> bool:
        """Return whether the folder lacks the summary of a document.

        Raises:
            DataError: If the folder has a summary of another document with the same id.
            RecipeError: If another file has the name of that of the summary.
        """
        path = self._names.assign(document.id)
        if not self._rows.take(document):
            return False
        if os.path.lexists(self._folder / path):
            raise RecipeError(f"{self._folder / path} must not exist yet, got a file that is not of sumpool; {_ADVICE}")
        self._paths.append(path)
        return True

    def save(self, summary: Summary) -> None:
        """Write the file of a summary, unless there is none, and append its row.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        name = self._paths.popleft()
        if not summary.summary:
            self._rows.save(summary, {"file": ""})
            return
        path, content = self._folder / name, self._render(summary).encode("utf-8", errors="backslashreplace")
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary_path(path).write_bytes(content)
            sync(temporary_path(path))
        self._rows.save(summary, {"file": str(name), FILE_DIGEST: hashlib.sha256(content).hexdigest()})
        with disk_errors(path):
            rename_synced(temporary_path(path), path)

    def _complete_files(self) -> None:
        """Compare the files with their rows, and rename the one that a killed process did not.

        Raises:
            RecipeError: If a file is missing or changed.
        """
        for name, digest in self._rows.files.items():
            path = self._folder / name
            temporary = temporary_path(path)
            if not path.exists() and temporary.is_file() and FileDigest.of(temporary).sha256 == digest:
                rename_synced(temporary, path)
            if not path.is_file() or FileDigest.of(path).sha256 != digest:
                raise RecipeError(f"{path} must be the summary as it was written, got another or none; {_ADVICE}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.__exit__(kind, error, trace)


def _require_summaries(folder: Path) -> None:
    """Check that a folder is new, empty or has the manifest of a folder of summaries.

    Raises:
        RecipeError: If it is not; nothing is changed.
    """
    reason = other_content(folder, "summaries")
    if reason and folder.is_dir():
        reason = f"other files ({reason})"
    if reason:
        raise RecipeError(f"{folder} must be an empty folder or one of summaries, got {reason}; {_ADVICE}")
