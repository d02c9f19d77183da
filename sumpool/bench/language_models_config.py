"""Settings of `sumpool bench language-models` and of `sumpool bench generation`."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from sumpool.settings import Settings

Study = Literal["boundaries", "pareto", "scaling", "prior"]
Prior = Annotated[float, Field(gt=0, lt=1)]


class LanguageModelsConfig(Settings):
    """Language models with several boundaries, trained for equal times; every other setting is one of the recipe."""

    study: Study = "boundaries"
    """`boundaries` is Table 1 of the paper, `pareto` Figure 3, `scaling` Figure 4; `prior` varies that of gumbel."""
    recipe: Path = Path("language-model")
    """Recipe of the model and the training; its boundaries and its middle block are replaced."""
    texts: tuple[Path, ...] = ()
    """Files of running text, one column each, named after the files; empty takes the text of the recipe."""
    seeds: tuple[Annotated[int, Field(ge=0, lt=2**31)], ...] = Field((1, 2, 3), min_length=1)
    """Seeds; every row is trained once per seed."""
    minutes: float | None = Field(None, gt=0, le=1_000_000)
    """Processor time of the training of each run, which determines its updates; null takes `train.steps`."""
    trial: int = Field(30, ge=1, le=100_000)
    """Updates of the trial in which the processor time of an update is measured."""
    rows: tuple[str, ...] = ()
    """Rows of the study by name, such as fixed-2; empty takes all."""
    fixed: tuple[Annotated[int, Field(ge=2, le=1000)], ...] = (2, 3, 4)
    """Lengths of fixed segments."""
    vocabularies: tuple[Annotated[int, Field(ge=100, le=1_000_000)], ...] = (200, 500, 1000, 3000, 5000, 10_000)
    """Unigram subwords of the study pareto."""
    vocabulary: int = Field(10_000, ge=100, le=1_000_000)
    """Unigram subwords of the other studies."""
    priors: tuple[Prior, ...] = (0.2, 0.25, 0.3, 0.37, 0.45)
    """Priors of gumbel in the studies pareto and prior."""
    prior: Prior = 0.2
    """Prior of gumbel in the other studies."""
    weights: tuple[Annotated[float, Field(ge=0, le=1000)], ...] = (0.0, 0.1, 10.0)
    """Weights of the loss of the prior in the study prior, beside 1."""
    middle: tuple[Annotated[int, Field(ge=0, le=1000)], ...] = (4, 8, 12, 16)
    """Layers of the middle block in the study scaling."""
    folder: Path = Path("language-models")
    """Folder of data, runs and tables."""


class GenerationBenchConfig(Settings):
    """Lengths at which the generation of text is timed."""

    lengths: tuple[Annotated[int, Field(ge=256, le=10_000_000)], ...] = Field((1024, 2048, 4096, 8192), min_length=1)
    """Tokens of the text."""
    repeats: int = Field(3, ge=1, le=10_000)
    """Texts, of which the median is shown."""
