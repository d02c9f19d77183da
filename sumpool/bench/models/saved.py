"""Benchmarks of a model that `--out` wrote, read back."""

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from sumpool.bench.measures.timing import Timing
from sumpool.bench.models.tables import model_result
from sumpool.bench.results.report import BenchReport, Machine
from sumpool.bench.results.table import Row
from sumpool.errors import DataError, RecipeError
from sumpool.io.bounded import read_regular
from sumpool.settings import first_problem

LARGEST = 2**26
"""Bytes of a file; real ones have a thousandth of it."""
Second = Annotated[float, Field(gt=0, lt=math.inf)]


class _Open(BaseModel, extra="allow"):
    """Object of a file, with whatever other values it has."""


class _Row(_Open):
    length: int
    seconds: Annotated[tuple[Second, ...], Field(min_length=1)] | None = None
    note: str = ""

    def row(self) -> Row:
        """The row as it was before it was written."""
        values = self.model_dump(exclude={"seconds", "note"})
        return Row(values, Timing(self.seconds) if self.seconds else None, self.note)


class _ModelRow(_Row):
    workload: str
    model: str
    batch: int


class _SpeedRow(_Row):
    rate: str
    amount: int


class _Bench(_Open):
    generate: int
    beams: int


class _Saved(_Open):
    """Beginning of every file that `--out` writes."""

    schema_: Annotated[int, Field(alias="schema")]
    suite: str
    machine: Machine
    versions: dict[str, str]


class _SavedSettings(_Open):
    bench: _Bench
    model: dict[str, Any]
    vocabulary: int


class _SavedReport(BaseModel):
    """File as `BenchReport.to_json` lays it out."""

    schema_: Annotated[Literal[3], Field(alias="schema")]
    recipe: str
    suite: Literal["model"]
    machine: Machine
    versions: dict[str, str]
    device: str
    precision: str
    settings: _SavedSettings
    models: tuple[_ModelRow, ...]
    machine_speed: tuple[_SpeedRow, ...]


def require_benchmark(path: Path) -> None:
    """Check that a file is new, a benchmark, or no regular file, such as /dev/stdout.

    Raises:
        RecipeError: If it is a folder or holds anything else.
    """
    if path.is_dir():
        raise RecipeError(f"{path} must be a file to write, got a folder: name a file in it with --out")
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            _Saved.model_validate_json(file.read(LARGEST))
    except (OSError, ValidationError) as error:
        raise RecipeError(
            f"{path} must be new or a benchmark that --out wrote, got another file: name another with --out"
        ) from error


def load_saved(path: Path) -> BenchReport:
    """Read a benchmark of a model.

    Raises:
        DataError: If the file is missing, damaged, of another suite or of another version.
    """
    try:
        content = read_regular(path, LARGEST)
    except OSError as error:
        raise DataError(f"{path} must be a benchmark that --out wrote, got: {error.strerror}") from error
    try:
        saved = _SavedReport.model_validate_json(content)
    except ValidationError as error:
        problem = first_problem(error)
        raise DataError(f"{path} must be a benchmark of a model that --out wrote, but {problem}") from error
    bench = saved.settings.bench
    result = model_result(
        [row.row() for row in saved.models], [row.row() for row in saved.machine_speed], bench.generate, bench.beams
    )
    about = (saved.recipe, saved.suite, saved.machine, saved.versions, saved.device, saved.precision)
    return BenchReport(*about, saved.settings.model_dump(), result)
