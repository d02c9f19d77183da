"""Benchmarks of a model that `--out` wrote, read back."""

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from sumpool.bench.measures.rates import RateRow
from sumpool.bench.measures.timing import Timing
from sumpool.bench.models.found import FoundModels
from sumpool.bench.models.rows import GrowthRow, ModelRow, StepRow
from sumpool.bench.results.machine import Machine
from sumpool.bench.results.result import SCHEMA, BenchReport
from sumpool.errors import DataError

LARGEST = 2**26
"""Bytes of a file; real ones have a thousandth of it."""


class _Saved(BaseModel):
    """A file, as `BenchReport.to_json` lays it out; what is not known here is not read."""

    schema_: Annotated[int, Field(alias="schema", ge=1)] = 1
    recipe: str
    suite: Literal["model"]
    machine: Machine
    versions: dict[str, str]
    device: str
    precision: str
    settings: dict[str, Any]
    models: tuple[ModelRow, ...]
    growth: tuple[GrowthRow, ...]
    generate: int
    beams: int
    steps: tuple[StepRow, ...] = ()
    rates: tuple[RateRow, ...] = ()
    seconds: float = 0.0


def load_saved(path: Path) -> BenchReport:
    """Read a benchmark of a model.

    Raises:
        DataError: If the file is missing, damaged, of another suite or of a later version.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise DataError(f"{path} must be a benchmark that --out wrote, got: {error.strerror}") from error
    if len(content) > LARGEST:
        raise DataError(f"{path} must be a benchmark that --out wrote, got more than {LARGEST / 2**20:.0f} MiB")
    try:
        saved = _Saved.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{path} must be a benchmark of a model that --out wrote, got {place and f'{place}: '}{first['msg']}"
        ) from error
    if saved.schema_ > SCHEMA:
        raise DataError(f"{path} must be of schema {SCHEMA} at most, got {saved.schema_}; a newer sumpool wrote it")
    timings = [*(row.timing for row in saved.models if row.timing), *(row.timing for row in saved.rates)]
    if not all(map(_is_possible, timings)):
        raise DataError(f"{path} must hold seconds above 0, got others; measure again")
    missing = {"bench", "model", "vocabulary"} - saved.settings.keys()
    if missing:
        raise DataError(f"{path} must hold settings of bench, model and vocabulary, got none of {min(missing)}")
    found = FoundModels(
        saved.models, saved.growth, saved.generate, saved.beams, saved.steps, saved.rates, saved.seconds
    )
    return BenchReport(
        saved.recipe,
        saved.suite,
        saved.machine,
        saved.versions,
        saved.device,
        saved.precision,
        saved.settings,
        found,
    )


def _is_possible(timing: Timing) -> bool:
    return bool(timing.seconds) and all(0 < seconds < math.inf for seconds in timing.seconds)
