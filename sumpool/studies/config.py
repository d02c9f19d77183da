"""Settings of all studies, `--set study.SETTING=VALUE`."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sumpool.bench.config import Count
from sumpool.settings import Settings

LraTask = Literal["listops", "pathfinder32", "pathx128", "text", "retrieval", "image"]
LanguageModelTable = Literal["boundaries", "pareto", "scaling", "pooling"]
Prior = Annotated[float, Field(gt=0, lt=1)]


class Repeated(Settings):
    """Documents and repetitions of a timed suite."""

    batch: int = Field(1, ge=1, le=10_000_000)
    """Documents at once."""
    repeats: int = Field(3, ge=1, le=10_000_000)
    """Measured repetitions after one that is not counted; where time is limited, fewer if they take too long."""


class AttentionSizes(Settings):
    """Sizes of an attention; those of BART-base by default."""

    dim: int = Field(768, ge=2, le=10_000_000)
    """Features of a vector."""
    heads: int = Field(12, ge=1, le=10_000_000)
    """Attention heads; must divide dim."""

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> Self:
        if self.dim % self.heads:
            raise ValueError(f"heads must divide dim = {self.dim}, got {self.heads}")
        if self.dim % 2:
            raise ValueError(f"dim must be even, got {self.dim}")
        return self


class ModelSizes(AttentionSizes):
    """Sizes of the models of a suite; those of BART-base by default."""

    feed_forward: int = Field(3072, ge=1, le=10_000_000)
    """Width of the feed-forward layers."""


class OperatorsConfig(Repeated):
    """Vectors that are pooled, and the time for it."""

    lengths: tuple[Annotated[int, Field(ge=4, le=10_000_000)], ...] = Field(
        (128, 256, 512, 1024, 2048, 4096, 8192, 16384), min_length=1
    )
    """Vectors before pooling; every power of two up to half of them is kept in turn."""
    batch: Count = 16
    dim: int = Field(32, ge=1, le=10_000_000)
    """Features of a vector, as few as the paper's benchmark has."""
    repeats: Count = 20
    seconds: float = Field(0.25, gt=0, le=1_000_000)
    """After which an operator is not repeated again; one that would take four times as long even once is left out."""


class ComplexityConfig(ModelSizes):
    """Sizes of the models whose operations are counted."""

    length: int = Field(8192, ge=2, le=10_000_000)
    """Source tokens."""
    keep: int = Field(512, ge=1, le=10_000_000)
    """Vectors that a pooling leaves."""
    block: int = Field(512, ge=1, le=10_000_000)
    """Tokens of a block."""
    target: int = Field(512, ge=1, le=10_000_000)
    """Summary tokens."""
    heads: Count = 8
    layers: int = Field(6, ge=1, le=10_000_000)
    """Layers of the encoder and of the decoder."""

    @model_validator(mode="after")
    def _dim_divides_feed_forward(self) -> Self:
        if self.feed_forward % self.dim:
            raise ValueError(f"feed_forward must be a multiple of dim = {self.dim}, got {self.feed_forward}")
        return self


class TablesConfig(Repeated):
    """Table of the paper, and the factors by which everything is made smaller."""

    table: Literal[2, 7, 8, 10] = 2
    """Table of Pietruszka et al.; 10 has the rows of all others."""
    scale: float = Field(0.25, gt=0, le=1)
    """Factor of lengths: of the source, of blocks and poolings, of the summary, of the tokens that are written."""
    width: float = Field(0.25, gt=0, le=1)
    """Factor of widths: of vectors, feed-forward layers and the vocabulary; equal to scale keeps every proportion."""
    batch: int = Field(4, ge=1, le=10_000_000)
    """Documents of a training step; the paper has 64."""
    generate: tuple[Count, Count] = (256, 512)
    """Tokens that are written, before scale."""
    target: int = Field(512, ge=1, le=10_000_000)
    """Summary tokens of a training step, before scale."""
    seconds: float = Field(20.0, gt=0, le=1_000_000)
    """After which a row is not repeated again."""


class ShorteningConfig(Repeated, ModelSizes):
    """Sizes of the model that pools less and more; the paper has dim 512, feed_forward 2048 and characters."""

    factors: tuple[Count, ...] = Field((1, 2, 3, 4, 6, 8), min_length=1)
    """Vectors that one mean stands for; 1 pools nothing, is always measured, and is what the others are compared to."""
    length: int = Field(2048, ge=1, le=10_000_000)
    """Tokens of the text."""
    dim: int = Field(256, ge=2, le=10_000_000)
    heads: Count = 8
    feed_forward: int = Field(1024, ge=1, le=10_000_000)
    vocabulary: int = Field(64, ge=8, le=10_000_000)


class SparsityConfig(Repeated):
    """Documents whose attention is analysed, and lengths at which a model of the same shape is timed."""

    documents: int = Field(50, ge=1, le=10_000_000)
    """Validation documents, evenly spread."""
    loss_sentences: tuple[Count, ...] = Field((1, 5), min_length=1)
    """Sentences that a token sees where selections are compared by their loss."""
    length: int = Field(1024, ge=1, le=10_000_000)
    """Source tokens where summaries grow alone."""
    targets: tuple[Count, ...] = Field((50, 100, 150, 200, 250, 300), min_length=3)
    """Summary tokens."""
    surface_lengths: tuple[Count, ...] = Field((256, 448, 640, 832, 1024), min_length=3)
    """Source tokens where both grow; with 6 targets they make the paper's 30 samples."""
    repeats: int = Field(5, ge=1, le=10_000_000)
    """Measured repetitions after one that is not counted; the paper has 100."""


class HeadsConfig(Settings):
    """Documents of the importance of heads, training of their gates, and the share of heads that is masked."""

    documents: Count = 100
    """Validation documents, the first ones."""
    share: float = Field(0.3, ge=0, le=1)
    """Share of all heads to mask, the least important ones; every attention keeps one."""
    gates: int = Field(0, ge=0, le=10_000_000)
    """Updates that train a gate of every head, each with a training document; 0 trains none."""
    penalty: float = Field(0.01, ge=0, le=1_000_000)
    """Weight of the expected number of open gates in the loss that trains them, in nats per target token."""


class ApproximationConfig(Settings):
    """Lengths and numbers of features at which attentions are compared with what they approximate."""

    lengths: tuple[Count, ...] = Field((512, 1024, 2048, 4096), min_length=1)
    """Tokens of a document."""
    features: tuple[Count, ...] = Field((16, 32, 64, 128, 256, 512), min_length=1)
    """Features, landmarks, samples or projected keys; as many as tokens at most."""
    heads: Count = 2
    """Attention heads of random weights."""
    head_dim: Count = 32
    """Features of a head of random weights."""
    documents: Count = 4
    """Validation documents of a run, evenly spread."""
    repeats: Count = 3
    """Random weights and draws."""


class AttentionsConfig(AttentionSizes):
    """Lengths and sizes at which the costs of all self-attentions are measured."""

    lengths: tuple[Count, ...] = Field((1024, 2048, 4096, 8192, 16384), min_length=1)
    """Tokens of the document."""
    dim: int = Field(64, ge=2, le=10_000_000)
    heads: Count = 4
    repeats: Count = 3
    """Measured repetitions, of which the fastest counts."""
    seconds: float = Field(10, gt=0, le=1_000_000)
    """Longer documents are left out where a repetition would take longer than this."""
    sweep: bool = False
    """Whether to measure neighborhood attention by radius and convolutional attention by kernel and stride instead."""


class DepthConfig(Repeated, ModelSizes):
    """Depths and lengths of encoders whose training is timed; the sizes are those of the paper."""

    layers: tuple[Count, ...] = Field((2, 4, 8, 16), min_length=1)
    """Layers of the encoder."""
    lengths: tuple[Count, ...] = Field((2048, 4096, 8192), min_length=1)
    """Source tokens."""
    keep: int = Field(16, ge=2, le=10_000_000)
    """Source tokens for each vector that a pyramid leaves: 512 of 8,192."""
    block: int = Field(512, ge=1, le=10_000_000)
    """Tokens of a block."""
    target: int = Field(512, ge=1, le=10_000_000)
    """Summary tokens."""
    decoder: int = Field(2, ge=1, le=10_000_000)
    """Layers of the decoder."""
    dim: int = Field(512, ge=2, le=10_000_000)
    heads: Count = 8
    feed_forward: int = Field(2048, ge=1, le=10_000_000)
    vocabulary: int = Field(32_000, ge=8, le=10_000_000)
    """Tokens of the vocabulary."""
    seconds: float = Field(30, gt=0, le=1_000_000)
    """A model is left out where a step would take longer than this, as a shallower or shorter one shows."""


class LraConfig(Settings):
    """Attentions compared on a task of the Long Range Arena; every other setting is one of the task's recipe."""

    task: LraTask = "listops"
    """Task; the rows of listops, pathfinder32 and pathx128 are generated."""
    attentions: tuple[str, ...] = Field(("vanilla", "linear", "performer", "nystrom"), min_length=1)
    """Attentions of both layers, one row each; `all` takes every attention."""
    seeds: tuple[Annotated[int, Field(ge=0, lt=2**31)], ...] = Field((1,), min_length=1)
    """Seeds; every attention is trained once per seed."""
    rows: tuple[Count, Count, Count] | None = None
    """Rows of training, validation and test; null takes the published numbers, or all of
    your copy."""
    data: Path | None = None
    """Folder with your copy of text, retrieval or image in its published format."""
    folder: Path = Path("lra")
    """Folder of data, runs and tables."""


class LanguageModelsConfig(Settings):
    """Language models with several boundaries; every other setting is one of the recipe."""

    table: LanguageModelTable = "boundaries"
    """`boundaries` is Table 1 of the paper, `pooling` Table 2, `pareto` Figure 3, `scaling` Figure 4."""
    recipe: Path = Path("language-model")
    """Recipe of the model and the training; its boundaries and its middle block are replaced."""
    texts: tuple[Path, ...] = ()
    """Files of running text, one column each, named after the files; empty takes the text of the recipe."""
    seeds: tuple[Annotated[int, Field(ge=0, lt=2**31)], ...] = Field((1, 2, 3), min_length=1)
    """Seeds; every row is trained once per seed."""
    rows: tuple[str, ...] = ()
    """Rows of the table by name, such as fixed-2; empty takes all."""
    fixed: tuple[Annotated[int, Field(ge=2, le=1000)], ...] = (2, 3, 4)
    """Lengths of fixed segments."""
    vocabulary: int = Field(10_000, ge=100, le=1_000_000)
    """Unigram subwords of the other tables."""
    prior: Prior = 0.2
    """Prior of gumbel in the other tables."""
    middle: tuple[Annotated[int, Field(ge=0, le=1000)], ...] = (4, 8, 12, 16)
    """Layers of the middle block in the table scaling."""
    folder: Path = Path("language-models")
    """Folder of data, runs and tables."""
