"""Settings of `sumpool bench lra`."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sumpool.bench.config import Count
from sumpool.settings import Settings

LraTask = Literal["listops", "pathfinder32", "pathx128", "text", "retrieval", "image"]
Length = Annotated[int, Field(ge=10, le=100_000)]


class LraConfig(Settings):
    """Attentions compared on a task of the Long Range Arena; every other setting is one of the task's recipe."""

    task: LraTask = "listops"
    """Task; the rows of listops, pathfinder32 and pathx128 are generated."""
    attentions: tuple[str, ...] = Field(("vanilla", "linear", "performer", "nystrom"), min_length=1)
    """Attentions of both layers, one row each; `all` takes every attention."""
    seeds: tuple[Annotated[int, Field(ge=0, lt=2**31)], ...] = Field((1,), min_length=1)
    """Seeds; every attention is trained once per seed."""
    minutes: float | None = Field(None, gt=0, le=1_000_000)
    """Training time of each run, which determines its updates; null takes `train.steps` of the recipe."""
    rows: tuple[Count, Count, Count] | None = None
    """Rows of training, validation and test; null takes the published numbers, or all of
    your copy."""
    lengths: tuple[Length, Length] | None = None
    """Symbols that an expression of listops exceeds and stays below; null takes the published 500 and 2,000. Shorter
    ones are another, easier task, for small budgets."""
    data: Path | None = None
    """Folder with your copy of text, retrieval or image in its published format."""
    folder: Path = Path("lra")
    """Folder of data, runs and tables."""
    memory: float = Field(16, gt=0, le=1_000_000)
    """GiB that the divided batches of an update must fit into, for the column accumulation."""

    @model_validator(mode="after")
    def _lengths_are_those_of_listops(self) -> Self:
        if self.lengths is not None and self.task != "listops":
            raise ValueError(f"bench.lengths must be left out of bench.task={self.task}")
        if self.lengths is not None and self.lengths[1] < 2 * self.lengths[0]:
            raise ValueError(f"bench.lengths must end at twice its start or later, got {list(self.lengths)}")
        return self
