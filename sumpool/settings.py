"""Base class of all recipe sections."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Immutable, validated settings. Unknown keys and non-finite numbers are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
