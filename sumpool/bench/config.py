"""What is measured: the `bench` section of a recipe, and the settings of each suite that needs no recipe."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sumpool.settings import Settings

Count = Annotated[int, Field(ge=1)]
WorkName = Literal["encode", "train", "generate"]
TwinName = Literal["blockwise", "vanilla"]
Suite = Literal["operators", "complexity", "tables", "shortening", "selection", "transformers"]


class BenchConfig(Settings):
    """Lengths, repetitions and sizes of a benchmark of one model."""

    lengths: tuple[Count, ...] = Field((1024, 2048, 4096, 8192, 16384), min_length=1)
    """Source tokens."""
    works: tuple[WorkName, ...] = Field(("encode", "train", "generate"), min_length=1)
    """What is measured."""
    twins: tuple[TwinName, ...] = ("blockwise", "vanilla")
    """Models without pooling that stand beside it, named after the attention of all their layers."""
    peers: tuple[str, ...] = ()
    """Names of the systems that `--peers` compares with, such as LED; all that are installed by default."""
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    """Precision of encoding and generation; auto is what is fast on the device. A training step has its own."""
    batch: int = Field(1, ge=1)
    """Documents at once."""
    beams: int = Field(2, ge=1)
    """Hypotheses of the generation."""
    generate: int = Field(64, ge=1)
    """Tokens that every generation writes, no fewer and no more."""
    target: int = Field(128, ge=1)
    """Summary tokens of a training step."""
    repeats: int = Field(5, ge=1)
    """Measured repetitions after one that is not counted; fewer where time ends."""
    seconds: Annotated[float, Field(gt=0)] | Literal["auto"] = "auto"
    """Time for everything; auto is nine minutes on a CPU, 100 seconds on a GPU, and six times as much with peers."""


class OperatorsConfig(Settings):
    """Which vectors are pooled, and how long that may take."""

    lengths: tuple[Annotated[int, Field(ge=4)], ...] = Field(
        (128, 256, 512, 1024, 2048, 4096, 8192, 16384), min_length=1
    )
    """Vectors before pooling; every power of two up to half of them is kept in turn."""
    batch: int = Field(16, ge=1)
    """Documents at once."""
    dim: int = Field(32, ge=1)
    """Features of a vector, as few as the paper's benchmark has."""
    wide: int = Field(512, ge=1)
    """Features of a model's vectors, with which the number kept is sought from which on halving is faster."""
    repeats: int = Field(20, ge=1)
    """Measured repetitions after one that is not counted; fewer where they take too long."""
    seconds: float = Field(0.25, gt=0)
    """After which an operator is not repeated again; one that would take four times as long even once is left out."""


class ComplexityConfig(Settings):
    """Sizes of the models whose operations are counted."""

    length: int = Field(8192, ge=2)
    """Source tokens."""
    keep: int = Field(512, ge=1)
    """Vectors that a pooling leaves."""
    block: int = Field(512, ge=1)
    """Tokens of a block."""
    target: int = Field(512, ge=1)
    """Summary tokens."""
    dim: int = Field(768, ge=2)
    """Features of a vector."""
    heads: int = Field(8, ge=1)
    """Attention heads; must divide dim."""
    feed_forward: int = Field(3072, ge=1)
    """Width of the feed-forward layers; dim must divide it."""
    layers: int = Field(6, ge=1)
    """Layers of the encoder and of the decoder."""

    @model_validator(mode="after")
    def _widths_divide(self) -> Self:
        _require_heads(self.dim, self.heads)
        if self.feed_forward % self.dim:
            raise ValueError(f"feed_forward must be a multiple of dim = {self.dim}, got {self.feed_forward}")
        return self


class TablesConfig(Settings):
    """Which table of the paper, and by how much everything is made smaller."""

    table: Literal[2, 7, 8, 10] = 2
    """Table of Pietruszka et al.; 10 has the rows of all others."""
    scale: float = Field(0.25, gt=0, le=1)
    """Factor of lengths: of the source, of blocks and poolings, of the summary, of the tokens that are written."""
    width: float = Field(0.25, gt=0, le=1)
    """Factor of widths: of vectors, feed-forward layers and the vocabulary; equal to scale keeps every proportion."""
    batch: int = Field(4, ge=1)
    """Documents of a training step; the paper has 64."""
    generate_batch: int = Field(8, ge=1)
    """Documents that are written about at once."""
    generate: tuple[Count, Count] = (256, 512)
    """Tokens that are written, before scale."""
    beams: int = Field(1, ge=1)
    """Hypotheses of a generation."""
    target: int = Field(512, ge=1)
    """Summary tokens of a training step, before scale."""
    repeats: int = Field(3, ge=1)
    """Measured repetitions after one that is not counted; fewer where they take too long."""
    seconds: float = Field(20.0, gt=0)
    """After which a row is not repeated again."""


class ShorteningConfig(Settings):
    """Sizes of the model that pools less and more."""

    factors: tuple[Count, ...] = Field((1, 2, 3, 4, 6, 8), min_length=1)
    """Vectors that one mean stands for; 1 pools nothing, is always measured, and is what the others are compared to."""
    attention: Literal["vanilla", "blockwise"] = "vanilla"
    """Attention of the encoder."""
    block: int = Field(512, ge=1)
    """Tokens of a block, where attention has blocks."""
    length: int = Field(2048, ge=1)
    """Source tokens."""
    target: int = Field(2048, ge=1)
    """Summary tokens."""
    batch: int = Field(1, ge=1)
    """Documents at once."""
    dim: int = Field(256, ge=2)
    """Features of a vector; the paper has 512."""
    heads: int = Field(8, ge=1)
    """Attention heads; must divide dim."""
    feed_forward: int = Field(1024, ge=1)
    """Width of the feed-forward layers; the paper has 2048."""
    vocabulary: int = Field(64, ge=8)
    """Pieces; the paper's are characters."""
    repeats: int = Field(3, ge=1)
    """Measured repetitions after one that is not counted."""

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> Self:
        _require_heads(self.dim, self.heads)
        return self


class SelectionConfig(Settings):
    """Sizes of the decoder that selects sentences; those of BART-base by default."""

    lengths: tuple[Count, ...] = Field((1024, 2048, 4096, 8192), min_length=1)
    """Source tokens."""
    sentence: int = Field(40, ge=1)
    """Tokens of a sentence."""
    sentences: tuple[Count, ...] = Field((5, 10, 20, 30), min_length=1)
    """Sentences that a token of the summary sees, in a step of one layer."""
    generate_sentences: int = Field(10, ge=1)
    """Sentences that it sees in whole generations, and where the choice is held."""
    holds: tuple[Count, ...] = Field((1, 2, 4, 8), min_length=1)
    """Steps for which a choice is held; 1 chooses at every step, is always measured, and what the others compare to."""
    apart: float = Field(0.1, ge=0)
    """How far the states of the hypotheses of a document, and of the steps of a hypothesis, stand from their centre, in
    proportion to its length. At 0.1 four hypotheses choose about 1.3 times as many sentences as one; in models of three
    layers and less that were trained on RFCs it were 1.04 to 1.26."""
    batch: int = Field(4, ge=1)
    """Documents at once."""
    beams: int = Field(4, ge=1)
    """Hypotheses of each document."""
    dim: int = Field(768, ge=2)
    """Features of a vector."""
    heads: int = Field(12, ge=1)
    """Attention heads; must divide dim."""
    feed_forward: int = Field(3072, ge=1)
    """Width of the feed-forward layers."""
    layers: int = Field(6, ge=1)
    """Decoder layers of whole generations; each keeps keys and values of all documents, for every selection."""
    generate: int = Field(256, ge=1)
    """Tokens of whole generations."""
    repeats: int = Field(9, ge=1)
    """Measured repetitions of a step after one that is not counted; generations take turns token by token instead."""

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> Self:
        _require_heads(self.dim, self.heads)
        return self


class TransformersConfig(Settings):
    """Sizes of a BART that is imported, those of BART-base, and of what it reads and writes."""

    length: int = Field(1024, ge=1)
    """Source tokens."""
    batch: int = Field(8, ge=1)
    """Documents at once."""
    beams: int = Field(4, ge=2)
    """Hypotheses of each document."""
    generate: int = Field(64, ge=1)
    """Tokens of a summary, no fewer and no more."""
    layers: int = Field(6, ge=1)
    """Layers of the encoder and of the decoder."""
    dim: int = Field(768, ge=2)
    """Features of a vector."""
    heads: int = Field(12, ge=1)
    """Attention heads; must divide dim."""
    feed_forward: int = Field(3072, ge=1)
    """Width of the feed-forward layers."""
    vocabulary: int = Field(50265, ge=16)
    """Pieces."""
    repeats: int = Field(3, ge=1)
    """Measured repetitions after one that is not counted."""

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> Self:
        _require_heads(self.dim, self.heads)
        return self


class SparsityConfig(Settings):
    """How much of a trained model's attention is looked at, and which lengths its shape is timed at."""

    documents: int = Field(50, ge=1)
    """Validation documents, evenly spread."""
    shown: tuple[Count, ...] = Field((1, 2, 3, 5, 10, 15, 20, 25, 30), min_length=1)
    """Numbers of sentences in the table; JSON and picture have all."""
    sentences: int = Field(5, ge=1)
    """Sentences that are seen where a choice is held."""
    seen: tuple[Count, ...] = Field((1, 5), min_length=1)
    """Numbers of sentences that are seen where selections are compared by their loss."""
    holds: tuple[Count, ...] = Field((2, 4, 8), min_length=1)
    """Steps for which a choice is held."""
    length: int = Field(1024, ge=1)
    """Source tokens where summaries grow alone."""
    targets: tuple[Count, ...] = Field((50, 100, 150, 200, 250, 300), min_length=3)
    """Summary tokens."""
    surface_lengths: tuple[Count, ...] = Field((256, 448, 640, 832, 1024), min_length=3)
    """Source tokens where both grow; with 6 targets they make the paper's 30 samples."""
    batch: int = Field(1, ge=1)
    """Documents at once."""
    repeats: int = Field(5, ge=1)
    """Measured repetitions after one that is not counted; the paper has 100."""


def _require_heads(dim: int, heads: int) -> None:
    """Refuse widths that no model can have.

    Raises:
        ValueError: If heads do not divide dim, or dim is odd.
    """
    if dim % heads:
        raise ValueError(f"heads must divide dim = {dim}, got {heads}")
    if dim % 2:
        raise ValueError(f"dim must be even, got {dim}")
