"""The base of every section of a recipe."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Frozen, typed, and closed: a key that is not a setting is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
