"""Folder of the summaries of a corpus: a file per part, and a journal of the parts that are done."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, final

from sumpool.corpora.parts import PartResult
from sumpool.errors import RecipeError
from sumpool.io.atomic import disk_errors
from sumpool.io.bounded import parse_json
from sumpool.io.json_lines import Identity, ResumableFile, read_records
from sumpool.io.lock import locked_for_writing
from sumpool.io.manifest import Manifest
from sumpool.io.replaceable import other_content

FILE: Final = "parts.jsonl"
_ADVICE = "name another folder"


@final
class PartJournal(ResumableFile):
    """Journal of the parts that are done, in their folder; `with` closes it.

    Attributes:
        results: Result of each part that is done, by number.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str], *, resume: bool, retry: bool) -> None:
        """Open the folder, which is made if it is missing.

        Args:
            folder: The folder.
            settings: What the summaries depend on, by name.
            resume: Go on with a folder that has parts.
            retry: Leave out the parts that have documents without a summary.

        Raises:
            RecipeError: If the folder holds other files, parts without `resume`, or another process writes it.
            DataError: If the folder is of another corpus, model or other settings.
            ResourceError: If it cannot be written.
        """
        path = folder / FILE
        identity = Identity(folder / f"{FILE}.identity", settings, _ADVICE)
        with ExitStack() as locks:
            locks.enter_context(locked_for_writing(folder, _ADVICE))
            reason = other_content(folder, "corpus")
            if reason:
                raise RecipeError(f"{folder} must be new, empty or the summaries of a corpus, got {reason}; {_ADVICE}")
            if not resume and path.is_file() and path.stat().st_size:
                raise RecipeError(f"{folder} must not exist yet; add --resume to go on with it, or {_ADVICE}")
            with disk_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
                Manifest({}, kind="corpus").write(folder)
            super().__init__(path, resume=resume, identity=identity, advice="go on with --resume")
            records = read_records(path, _parse, "a part in JSON", _ADVICE)
            results = {result.part: result for result in records}
            self.results = {number: result for number, result in results.items() if not (retry and result.failed)}
            self._locks = locks.pop_all()

    def save(self, result: PartResult) -> None:
        """Append a result, whose file is complete.

        Raises:
            ResourceError: If the disk is full or fails.
        """
        self.append(result.as_json())
        self.results[result.part] = result

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._locks:
            super().__exit__(kind, error, trace)


def _parse(line: bytes) -> PartResult:
    return PartResult(**parse_json(line))
