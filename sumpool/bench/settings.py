"""Settings of a benchmark from a recipe's `bench` section and from `--set`."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from pydantic import Field, ValidationError

from sumpool.errors import RecipeError
from sumpool.recipe.load import override_all
from sumpool.recipe.problems import error_messages
from sumpool.settings import Settings

Section = TypeVar("Section", bound=Settings)


class Hardware(Settings):
    """Device and precision, as in a recipe."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the models run; auto takes a GPU if there is one."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Precision of matrix products; auto takes bf16 where it is fast."""


class BenchSettings(Settings, Generic[Section]):
    """The `bench` section alone; everything else is that of a recipe or a run."""

    bench: Section
    """The benchmark."""


class SuiteSettings(BenchSettings[Section], Generic[Section]):
    """Everything that a suite depends on that needs no recipe."""

    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of everything random."""
    train: Hardware = Hardware()
    """Device and precision."""


def load_settings(
    name: str, schema: type[Section], overrides: Sequence[str] = (), section: Mapping[str, Any] | None = None
) -> Section:
    """Validate the settings of a benchmark, the `bench` section of a recipe with overrides; `name` is for the error.

    Raises:
        RecipeError: If a setting is wrong; names all problems.
    """
    tree: dict[str, Any] = {"bench": dict(section or {})}
    problems = override_all(tree, overrides)
    try:
        settings = schema.model_validate(tree)
    except ValidationError as error:
        problems += error_messages(error, schema)
    if problems:
        raise RecipeError(f"{name}: {'; '.join(problems)}")
    return settings


def split_overrides(overrides: Sequence[str], prefixes: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Overrides that begin with one of the prefixes, and all others."""
    chosen = [override for override in overrides if override.startswith(prefixes)]
    return chosen, [override for override in overrides if override not in chosen]
