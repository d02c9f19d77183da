"""Hugging Face datasets saved by `save_to_disk`; requires pyarrow (extra `parquet`), not the library `datasets`.

`path` is the folder of a dataset, or that of a `DatasetDict`, whose parts named train, validation and test are the
splits. A dictionary with a single part is split by a hash of the id, like a dataset. A field is a column.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, final

from sumpool.data.inputs import SPLITS, Split
from sumpool.data.sources._arrow import read_batches, require_pyarrow
from sumpool.data.sources._base import Fields
from sumpool.data.sources._files import FieldsSourceConfig, quote_names
from sumpool.documents.json_lines import Line, Reject
from sumpool.errors import DataError, first_line
from sumpool.io.bounded import read_json

DICTIONARY, STATE = "dataset_dict.json", "state.json"
"""Files that identify the folder of a `DatasetDict` and that of a dataset."""
_ADVICE = "get the file again"
_END = b"\xff\xff\xff\xff\0\0\0\0"
"""Last bytes of a complete Arrow stream."""


@final
class DatasetsSourceConfig(FieldsSourceConfig):
    """Folders of Hugging Face datasets, for all splits or per split."""

    kind: Literal["datasets"] = "datasets"

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the folders of the datasets with their splits.

        Raises:
            DataError: If a folder holds no dataset, or a dictionary has parts that are no splits.
        """
        for folder, split in super().paths():
            if not (folder / DICTIONARY).is_file():
                yield folder, split
                continue
            parts = _strings(folder / DICTIONARY, "splits")
            other = [part for part in parts if part not in SPLITS]
            if len(parts) == 1:
                yield folder / parts[0], split
            elif split or other or not parts:
                raise DataError(
                    f"{folder} must have parts named {', '.join(SPLITS)}, got {quote_names(parts) or 'none'}; "
                    "set data.source.train, validation and test to their folders"
                )
            else:
                yield from ((folder / name, name) for name in SPLITS if name in parts)

    def fields_of(self, path: Path) -> Fields:
        """Return the column names of a dataset, guessing those that are not set.

        Raises:
            DataError: If the folder holds no dataset, a file is damaged, or a column is missing.
            RecipeError: If pyarrow is not installed.
        """
        require_pyarrow(self.kind)
        for file in _arrow_files(path):
            with ExitStack() as stack:
                return self.guess_columns(_open(file, stack).schema.names, path)
        return self.guess((), path)

    def lines(self, path: Path, fields: Fields) -> Iterator[Line | Reject]:
        """Read the columns of the given fields row by row; the location of a row is its number in the dataset.

        Raises:
            DataError: If a file is damaged.
        """
        errors = require_pyarrow(self.kind)
        names = [name for name in (fields.document, fields.summary, fields.id) if name]
        number = 0
        for file in _arrow_files(path):
            with ExitStack() as stack:
                try:
                    for row in read_batches(_open(file, stack), names, str(path), number + 1):
                        number += 1
                        yield row
                except (OSError, errors) as error:
                    raise DataError(
                        f"{file} must be complete, got: {first_line(error)} after row {number}; get the file again"
                    ) from error


def is_dataset(folder: Path) -> bool:
    """Return whether a folder was written by `save_to_disk`."""
    return any((folder / name).is_file() for name in (DICTIONARY, STATE))


def _arrow_files(folder: Path) -> list[Path]:
    state = folder / STATE
    if not state.is_file():
        raise DataError(f"{folder} must be a dataset saved by save_to_disk, got no {STATE} in it; check data.source")
    content = read_json(state, DataError, _ADVICE)
    names = [str(entry.get("filename", "..")) for entry in content.get("_data_files") or () if isinstance(entry, dict)]
    if content.get("_indices_data_files") or not all(map(_is_file_name, names)):
        raise DataError(f"{state} must list files of its folder, without indices; save the dataset again")
    return [folder / name for name in names]


def _open(path: Path, stack: ExitStack) -> Any:  # noqa: ANN401 - pyarrow is untyped
    """Open a file of record batches, mapped into memory, and close it at the end of the stack."""
    errors = require_pyarrow("datasets")
    from pyarrow import ipc, memory_map

    try:
        file = stack.enter_context(memory_map(str(path)))
        if file.size() < len(_END) or file.read_at(len(_END), file.size() - len(_END)) != _END:
            raise DataError(f"{path} must be a complete Arrow stream, got one without an end; get the file again")
        return stack.enter_context(ipc.open_stream(file))
    except (OSError, errors) as error:
        raise DataError(f"{path} must be an Arrow stream, got: {first_line(error)}; get the file again") from error


def _strings(path: Path, name: str) -> list[str]:
    """Return a list of names of files in the folder."""
    entries = read_json(path, DataError, _ADVICE).get(name)
    if not isinstance(entries, list) or not all(isinstance(entry, str) and _is_file_name(entry) for entry in entries):
        raise DataError(f"{path} must have a list of names as {name!r}, got {entries!r}; get the file again")
    return entries


def _is_file_name(name: str) -> bool:
    return Path(name).name == name != ".."
