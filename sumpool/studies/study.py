"""What all studies share: their settings, and the tables of `tables.toml`."""

from collections.abc import Sequence
from functools import partial
from typing import Generic, Literal

from pydantic import Field

from sumpool.bench import results
from sumpool.bench.config import Section, load_settings
from sumpool.settings import Settings

make_table = partial(results.make_table, package=__package__)
"""`make_table` of the tables of studies."""


class Hardware(Settings):
    """Device and precision, as in a recipe."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the models run; auto takes a GPU if there is one."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Precision of matrix products; auto takes bf16 where it is fast."""


class StudySettings(Settings, Generic[Section]):
    """Everything that a study depends on; where it has a recipe, device, precision and seed are those of the recipe."""

    study: Section
    """Settings of the study."""
    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of everything random."""
    train: Hardware = Hardware()
    """Device and precision."""


def load_study(name: str, section: type[Section], overrides: Sequence[str] = ()) -> StudySettings[Section]:
    """Validate the settings of a study.

    Raises:
        RecipeError: If a setting is wrong; names all problems.
    """
    return load_settings(f"study {name}", StudySettings[section], overrides, {"study": {}})  # type: ignore[valid-type]
