"""Settings that the sources and the `data` sections of all tasks share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from sumpool.errors import DataError
from sumpool.settings import Settings

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


class InputConfig(Settings, ABC):
    """Settings of a source of any task."""

    kind: str

    def revision(self) -> int:
        """Return the number of the cleaning; raising it makes prepared data stale although its files are unchanged."""
        return 0

    def files(self) -> Iterator[Path]:
        """List the files that are read, so that changes to them are detected.

        By default all paths among the settings; a folder stands for all files in it.

        Raises:
            DataError: If a pattern matches no file.
        """
        for name in type(self).model_fields:
            value = getattr(self, name)
            for pattern in value if isinstance(value, tuple) else (value,):
                for path in matching_paths(pattern, name) if isinstance(pattern, Path) else ():
                    yield from sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else (path,)


class SplitFilesConfig(InputConfig, ABC):
    """Settings of a source with one file for all splits, or one for each."""

    path: Path | None = None
    """File, or files by the wildcards * and ?, with everything, which is divided. Either `path` or `train` must be set.
    """
    train: Path | None = None
    """File or files to train on."""
    validation: Path | None = None
    """File or files of validation."""
    test: Path | None = None
    """File or files of the test."""

    @model_validator(mode="after")
    def _require_one_way_to_split(self) -> Self:
        if (self.path is None) == (self.train is None):
            raise ValueError("must have either path, or train with validation and test")
        if self.path and (self.validation or self.test):
            raise ValueError("must have either path, or train with validation and test, got path and one of those")
        return self

    def paths(self) -> Iterator[tuple[Path, Split | None]]:
        """List the files, those of a pattern in alphabetical order, with their splits; None where they are divided.

        Raises:
            DataError: If a pattern matches no file.
        """
        patterns: tuple[tuple[Path | None, Split | None], ...] = (
            (self.path, None),
            (self.train, "train"),
            (self.validation, "validation"),
            (self.test, "test"),
        )
        for pattern, split in patterns:
            if pattern is not None:
                yield from ((path, split) for path in matching_paths(pattern, split or "path"))


def matching_paths(pattern: Path, setting: str) -> list[Path]:
    """Return the paths that match a pattern in alphabetical order; a path without wildcards is returned as it is.

    Raises:
        DataError: If there are none; the message names the setting of `data.source`.
    """
    if pattern.exists() or not {*str(pattern)} & {*"*?"}:
        return [pattern]
    root = Path(pattern.anchor)
    paths = sorted(root.glob(str(pattern.relative_to(root))))
    if not paths:
        raise DataError(f"{pattern} must name a file, got none; check data.source.{setting}")
    return paths


class PreparedDataConfig(Settings, ABC):
    """Settings of a `data` section of any task."""

    prepared: Path | None = None
    """Folder of the prepared data; by default the folder in `prepared/` that was made from the same source with the
    same settings, else `prepared/` and the name of the recipe. Other data there is kept, and new data goes beside it.
    """
    tokenizer: Path | None = None
    """Run folder or imported model whose tokenizer is used; by default one is made from the training split."""
    verify: bool = False
    """Whether to hash all prepared data before it is read; otherwise a file is hashed once on a machine, and again when
    its size, times or inode change."""

    @model_validator(mode="after")
    def _require_folder(self) -> Self:
        if self.prepared is not None and not self.prepared.name.strip("."):
            raise ValueError(f"prepared must be a folder of its own, such as prepared/news, got {self.prepared}")
        return self

    @abstractmethod
    def require_source(self) -> InputConfig:
        """Return the source."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Return the settings that the prepared data depends on; the tokenizer is described by its content."""
