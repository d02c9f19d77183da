"""The settings of a suite that needs no recipe: what is measured, on which device, and from which seed."""

from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeVar

from pydantic import Field, ValidationError

from sumpool.bench.config import (
    ComplexityConfig,
    OperatorsConfig,
    SelectionConfig,
    ShorteningConfig,
    SparsityConfig,
    Suite,
    TablesConfig,
    TransformersConfig,
)
from sumpool.bench.peers.trainer import TrainerConfig
from sumpool.errors import RecipeError
from sumpool.recipe.overrides import override_all
from sumpool.recipe.problems import error_messages
from sumpool.settings import Settings

SuiteConfig = (
    OperatorsConfig | ComplexityConfig | TablesConfig | ShorteningConfig | SelectionConfig | TransformersConfig
)
Schema = TypeVar("Schema", bound=Settings)
Config = TypeVar("Config", bound=SuiteConfig | SparsityConfig)


class Hardware(Settings):
    """Where it is measured, as in a recipe."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the models run; auto takes a GPU if there is one."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Precision of matrix products; auto takes bf16 where it is fast."""


class SuiteSettings(Settings, Generic[Config]):
    """Everything that a suite depends on."""

    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of everything random."""
    train: Hardware = Hardware()
    """Where it is measured."""
    bench: Config
    """What is measured."""


class TrainerSettings(Settings):
    """Everything that the trainer of transformers depends on, but for the run."""

    bench: TrainerConfig
    """How it learns."""


_SCHEMAS: dict[Suite, type[SuiteSettings[Any]]] = {
    "operators": SuiteSettings[OperatorsConfig],
    "complexity": SuiteSettings[ComplexityConfig],
    "tables": SuiteSettings[TablesConfig],
    "shortening": SuiteSettings[ShorteningConfig],
    "selection": SuiteSettings[SelectionConfig],
    "transformers": SuiteSettings[TransformersConfig],
}


def load_suite(suite: Suite, overrides: Sequence[str] = ()) -> SuiteSettings[SuiteConfig]:
    """Make the settings of a suite.

    Args:
        suite: Its name.
        overrides: Settings to change, each like `bench.repeats=3` or `train.device=cuda`.

    Raises:
        RecipeError: If a setting is wrong; names all problems.
    """
    settings: SuiteSettings[SuiteConfig] = _load(suite, _SCHEMAS[suite], overrides)
    return settings


def load_sparsity(overrides: Sequence[str] = ()) -> SuiteSettings[SparsityConfig]:
    """Make the settings of what is measured of a trained model; see `load_suite`."""
    settings: SuiteSettings[SparsityConfig] = _load("sparsity", SuiteSettings[SparsityConfig], overrides)
    return settings


def load_trainer(overrides: Sequence[str] = ()) -> TrainerConfig:
    """Make the settings of the trainer of transformers; see `load_suite`."""
    settings: TrainerSettings = _load("trainer", TrainerSettings, overrides)
    return settings.bench


def _load(name: str, schema: type[Schema], overrides: Sequence[str]) -> Schema:
    tree: dict[str, Any] = {"bench": {}}
    problems = override_all(tree, overrides)
    try:
        settings = schema.model_validate(tree)
    except ValidationError as error:
        problems += error_messages(error, schema)
    if problems:
        raise RecipeError(f"bench {name}: {'; '.join(problems)}")
    return settings
