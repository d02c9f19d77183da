"""Settings of training: the `train` section of a recipe."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from sumpool.settings import Settings

SELECTION_DOCUMENTS = 100
"""Documents that are summarised by default to select by ROUGE."""
MIN_SELECTION_DOCUMENTS = 50
"""Documents below which the choice by ROUGE is mostly noise: the standard error of a mean is then about 2 points."""

LAYER_LOSSES = ("hidden_states", "attention_maps")
"""Losses that compare the layers of an encoder with those of a teacher, in distillation by word."""


class ScheduleConfig(Settings):
    """Learning-rate schedule after the linear warm-up."""

    kind: Literal["constant", "inverse_sqrt", "cosine", "linear"] = "cosine"
    """Decay after the warm-up: none, proportional to 1 / sqrt(step), half a cosine, or linear."""
    warmup: int = Field(100, ge=0, le=1_000_000_000)
    """Updates of linear warm-up."""
    floor: float = Field(0.02, ge=0, le=1)
    """Final learning rate of cosine and linear, as a fraction of the peak."""


class TrainConfig(Settings):
    """Settings of a training run."""

    steps: int = Field(1000, ge=0, le=1_000_000_000)
    """Optimizer updates; with 0 the weights of `init_from` are kept."""
    init_from: Path | Annotated[tuple[Path, ...], Field(min_length=1)] | None = None
    """Run folder whose weights initialise the model; random by default. Tokens of another vocabulary are
    initialised with the mean of their subtokens. The weights of several runs are averaged (a model soup), which works
    for runs of the same initialisation with different seeds."""
    teacher: Path | None = None
    """Run folder of a trained model that this one imitates; none by default."""
    distillation: Literal["word", "sequence"] | None = None
    """What the model learns from `teacher`: word, its distribution of every reference token, over the same vocabulary;
    sequence, the summaries that it writes of the training documents, in place of the references."""
    distillation_temperature: float = Field(1.0, gt=0, le=100)
    """Temperature of both distributions in distillation by word; above 1, unlikely tokens count more."""
    distillation_weight: float = Field(0.5, ge=0, le=1)
    """Weight of the divergence from the teacher in distillation by word; the references have the rest."""
    trainable: tuple[str, ...] = Field(("*",), min_length=1)
    """Shell patterns of the parameters to train, such as `decoder.*`; all others are frozen."""
    batch_tokens: int = Field(16384, ge=1, le=1_000_000_000)
    """Source tokens per batch, padding included."""
    auto_batch: bool = False
    """Divide batches that memory cannot hold into halves, down to single documents, with the same sums of losses and
    gradients; with false they end the training with an error. Dropout draws other numbers for the halves."""
    accumulate: int = Field(1, ge=1, le=1_000_000)
    """Batches per update (gradient accumulation); the loss is normalised over the target tokens of all of them."""
    learning_rate: float = Field(1e-3, gt=0, le=1000)
    """Peak learning rate."""
    schedule: ScheduleConfig = ScheduleConfig()
    """Learning-rate schedule."""
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (0.9, 0.98)
    """Decay rates of AdamW's moments."""
    weight_decay: float = Field(0.01, ge=0, le=10)
    """Weight decay of AdamW, on matrices only."""
    clip: float = Field(1.0, ge=0, le=1_000_000)
    """Gradient norm above which gradients are scaled down; 0 disables clipping."""
    clip_value: float = Field(0.0, ge=0, le=1_000_000)
    """Largest absolute value of an entry of a gradient, after `clip`; larger ones are cut off; 0 disables this."""
    allow_shared_texts: bool = False
    """Whether validation and test documents may have the text of a training document, which makes scores too high."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Fraction of the target probability spread uniformly over the vocabulary."""
    loss_weights: dict[str, Annotated[float, Field(ge=0, le=1_000_000)]] = Field(default_factory=dict)
    """Weights of auxiliary losses by name; losses that are not listed have weight 0. In distillation by word,
    `hidden_states` and `attention_maps` compare the encoder with that of the teacher layer by layer (TinyBERT)."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Precision of training: bf16 uses autocast with fp32 weights; auto is bf16 on hardware with fast bf16, else
    fp32."""
    parallel: Literal["auto", "ddp", "fsdp"] = "auto"
    """Several processes: ddp, each holds the whole model; fsdp, each holds a part of the weights, gradients and moments
    between updates; auto is fsdp where the whole model with its moments takes half of the memory. One process ignores
    it."""
    checkpoint_activations: bool = False
    """Activation checkpointing: keep only the inputs of each layer and recompute its activations in the backward pass.
    Less memory for more time, with bitwise equal results."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device for training; auto uses a GPU if available."""
    validate_every: int = Field(500, ge=1, le=1_000_000_000)
    """Updates between validations."""
    validate_documents: int = Field(200, ge=1, le=1_000_000_000)
    """Validation documents used for the validation loss, the same ones every time."""
    rouge_documents: int = Field(20, ge=0, le=1_000_000_000)
    """Validation documents that are summarised and scored with ROUGE at each validation; 0 disables this. 100 by
    default if `select_by` is a ROUGE."""
    select_by: Literal["loss", "rouge1", "rouge2", "rougeLsum", "accuracy"] = "loss"
    """Measure of a validation that chooses the best weights and stops early: the lowest loss, the highest ROUGE of the
    summaries of `rouge_documents` documents, or the highest accuracy of a classifier."""
    log: tuple[Literal["tensorboard"], ...] = ()
    """Views of the metrics in the run folder beside `metrics.jsonl` and the curves; `tensorboard` requires the extra of
    that name."""
    patience: int = Field(0, ge=0, le=1_000_000_000)
    """Validations that are not the best by `select_by` before training stops early; 0 disables early stopping."""
    checkpoint_every: int = Field(200, ge=1, le=1_000_000_000)
    """Updates between checkpoints."""
    keep: int = Field(2, ge=2, le=1_000_000)
    """Number of newest checkpoints kept on disk, beside the best one."""

    @model_validator(mode="before")
    @classmethod
    def _default_rouge_documents(cls, tree: Any) -> Any:  # noqa: ANN401 - any YAML
        if isinstance(tree, dict) and str(tree.get("select_by", "")).startswith("rouge"):
            return {"rouge_documents": SELECTION_DOCUMENTS, **tree}
        return tree

    @model_validator(mode="after")
    def _require_what_settings_need(self) -> Self:
        if self.teacher and not self.distillation:
            raise ValueError("distillation must be word or sequence to learn from a teacher, got none")
        if self.distillation and not self.teacher:
            raise ValueError(f"teacher must be a run folder for distillation by {self.distillation}, got none")
        if self.select_by.startswith("rouge") and not self.rouge_documents:
            raise ValueError(
                f"rouge_documents must be at least 1 to select by {self.select_by}, got 0; "
                f"{SELECTION_DOCUMENTS} are a good start"
            )
        return self
