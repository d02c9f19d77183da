"""The settings of training: the `train` section of a recipe."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from sumpool.settings import Settings


class ScheduleConfig(Settings):
    """How the learning rate moves after its linear warm-up."""

    kind: Literal["constant", "inverse_sqrt", "cosine", "linear"] = "cosine"
    """Shape of the decay."""
    warmup: int = Field(100, ge=0)
    """Steps of linear warm-up."""
    floor: float = Field(0.02, ge=0, le=1)
    """Where cosine and linear end, as a share of the peak."""


class TrainConfig(Settings):
    """One training run."""

    steps: int = Field(1000, ge=0)
    """Updates of the weights; with 0 they stay what `init_from` gives."""
    init_from: Path | Annotated[tuple[Path, ...], Field(min_length=1)] | None = None
    """Run folder, of the same vocabulary, whose weights are the first ones; by default they are random. Of several runs
    it is the mean of their weights, which fits where they began alike and learnt with other seeds."""
    trainable: tuple[str, ...] = Field(("*",), min_length=1)
    """Shell patterns of the names of weights that learn, such as `decoder.*`; the others stay as they are."""
    batch_tokens: int = Field(16384, ge=1)
    """Source tokens of a batch, padding included."""
    accumulate: int = Field(1, ge=1)
    """Batches per update; the loss is normalised over the target tokens of all of them."""
    learning_rate: float = Field(1e-3, gt=0)
    """Peak learning rate."""
    schedule: ScheduleConfig = ScheduleConfig()
    """How the learning rate moves."""
    betas: tuple[float, float] = (0.9, 0.98)
    """AdamW's decay rates."""
    weight_decay: float = Field(0.01, ge=0)
    """AdamW's weight decay; matrices only."""
    clip: float = Field(1.0, ge=0)
    """Largest norm of the gradient; 0 is off."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Share of the target's probability spread over the vocabulary."""
    loss_weights: dict[str, float] = Field(default_factory=dict)
    """Weights of auxiliary losses by name; one that is not named here weighs nothing."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """bf16 computes under autocast and keeps fp32 weights; auto is bf16 where the hardware has it."""
    checkpoint_activations: bool = False
    """Whether only what each layer was given is held on the way to a gradient, and the rest worked out again: less
    memory for more time, and the same weights to the last bit."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to train; auto takes a GPU if there is one."""
    compile: bool = False
    """Whether layers are compiled first, which takes a minute and a C++ compiler; for a GPU, on a CPU it loses."""
    validate_every: int = Field(500, ge=1)
    """Steps between validations."""
    validate_documents: int = Field(200, ge=1)
    """Validation documents whose loss is taken, the same ones every time."""
    rouge_documents: int = Field(20, ge=0)
    """Validation documents that are summarised and scored at a validation; 0 is off."""
    patience: int = Field(0, ge=0)
    """Validations without a better loss before training stops; 0 never stops early."""
    checkpoint_every: int = Field(200, ge=1)
    """Steps between checkpoints."""
    keep: int = Field(2, ge=2)
    """Newest checkpoints that stay on disk."""
