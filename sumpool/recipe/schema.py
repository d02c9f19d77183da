"""Recipe schema, one section per package; only the command line and the workflows use it as a whole."""

from collections.abc import Callable, Sequence, Set
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field, model_validator

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.model.config import ModelConfig
from sumpool.data.config import DataConfig
from sumpool.evaluation.rouge import EvaluationConfig
from sumpool.ranking.content_selection import ContentSelectionConfig
from sumpool.ranking.ranker import FILE as RANKER
from sumpool.ranking.ranker import RankingConfig
from sumpool.settings import Settings
from sumpool.training.config import LAYER_LOSSES, TrainConfig

if TYPE_CHECKING:
    from sumpool.data.prepare import DocumentEncoder

DEFAULT = "summarization"
"""Task of a recipe that names none."""


class BaseRecipe(Settings):
    """Settings that the recipes of all tasks have."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    """Name of the run; also the default name of its folders."""
    task: str
    """What the model learns."""
    seed: int = Field(1, ge=0, lt=2**31)
    """Seed of all random numbers: initial weights, data order, dropout."""
    data: Any
    """Source of the data, and its preparation; a task defines the section."""
    model: Any
    """Architecture of the model; a task defines the section."""
    train: TrainConfig = TrainConfig()
    """Training: batches, optimizer, schedule, checkpoints."""

    selection_measures: ClassVar[tuple[str, ...]] = ("loss",)
    """Values of `train.select_by` that the task has."""

    @property
    def has_decoder(self) -> bool:
        """Whether the model writes summaries."""
        return False

    @property
    def prepared_folder(self) -> Path:
        """Folder for new prepared data: `data.prepared`, by default `prepared/<name>`; equal data may be elsewhere."""
        return Path(self.data.prepared or Path("prepared") / self.name)

    @model_validator(mode="after")
    def _measure_selects(self) -> Self:
        if self.train.select_by not in self.selection_measures:
            raise ValueError(
                f"train.select_by must be {' or '.join(self.selection_measures)} for task: {self.task}, got "
                f"{self.train.select_by}"
            )
        return self

    def _require_losses(self, losses: Set[str]) -> None:
        unknown = sorted(self.train.loss_weights.keys() - losses)
        if unknown:
            raise ValueError(
                f"train.loss_weights must name losses of the model ({', '.join(sorted(losses)) or 'it has none'}), "
                f"got {', '.join(unknown)}"
            )

    def _require_loss_weights(self, losses: Sequence[str], learner: str, advice: str) -> None:
        unweighted = [name for name in losses if name not in self.train.loss_weights]
        if unweighted:
            raise ValueError(
                f"train.loss_weights must name {' and '.join(unweighted)}, by which {learner}, got "
                f"{', '.join(self.train.loss_weights) or 'nothing'}; {advice}"
            )


RecipeOf = TypeVar("RecipeOf", bound=BaseRecipe)
"""Recipe of a task."""


class SummaryDataConfig(DataConfig):
    """Source and preparation of documents with summaries, for models that write them."""

    content_selection: ContentSelectionConfig | None = None
    """Reduction of documents that are longer than the input of the model; null keeps their beginning."""

    def described(self) -> dict[str, Any]:
        """Return the settings that the prepared data depends on; a setting that is not used is absent."""
        selection = self.content_selection
        if not selection:
            return super().described()
        path = selection.ranker_folder / RANKER
        digest = sha256(path.read_bytes()).hexdigest() if path.is_file() else ""  # loading reports a missing file
        return super().described() | {"content_selection": selection.model_dump(mode="json") | {"ranker": digest}}

    @property
    def encoder(self) -> "Callable[..., DocumentEncoder]":
        """Class that encodes documents with their summaries."""
        if not self.content_selection:
            return super().encoder
        from sumpool.recipe.selecting_encoder import SelectingEncoder

        return partial(SelectingEncoder, self.content_selection)


class Recipe(BaseRecipe):
    """Complete configuration of a run that learns to summarise documents."""

    task: Literal["summarization"] = "summarization"
    """What the model learns, here to summarise documents."""
    data: SummaryDataConfig
    """Source of the documents, and their preparation."""
    model: ModelConfig
    """Architecture of the model."""
    select: RankingConfig = RankingConfig()
    """Sentence ranker: its training after that of the model."""
    summarize: DecodingConfig = DecodingConfig()
    """Generation of summaries."""
    evaluate: EvaluationConfig = EvaluationConfig()
    """Scoring of summaries."""
    bench: dict[str, Any] | None = None
    """Settings of `sumpool bench`, which validates them."""

    selection_measures: ClassVar[tuple[str, ...]] = ("loss", "rouge1", "rouge2", "rougeLsum")

    @property
    def has_decoder(self) -> bool:
        """Whether the model writes summaries."""
        return True

    @model_validator(mode="after")
    def _boundaries_can_be_trained(self) -> Self:
        for number, layer in enumerate(self.model.encoder):
            path = f"model.encoder[{number}].pool.boundaries"
            if layer.pool and layer.pool.requires_phrases and not self.data.phrases:
                tokens = self.data.vocabulary
                raise ValueError(
                    f"data.phrases must be above data.vocabulary{f' = {tokens}' if tokens else ''}, got 0; they teach "
                    f"{path}, and {5 * tokens if tokens else 'five times as many'} are a good start"
                )
            if layer.pool:
                advice = f"{path} learn", "1 is usual, and 0 leaves a loss out"
                self._require_loss_weights(layer.pool.boundary_losses, *advice)
        return self

    @model_validator(mode="after")
    def _selections_can_be_trained(self) -> Self:
        advice = (
            "model.decoder.cross_attention.selection learns",
            "0.1 is a good start, and 0 leaves the loss out",
        )
        if self.has_decoder:
            self._require_loss_weights(self.model.decoder.cross_attention.selection_losses, *advice)
        return self

    @model_validator(mode="after")
    def _weights_name_losses(self) -> Self:
        losses = self.model.encoder_losses | (self.model.decoder_losses if self.has_decoder else frozenset())
        if self.train.distillation == "word":
            losses |= frozenset(LAYER_LOSSES)
        self._require_losses(losses)
        return self

    @model_validator(mode="after")
    def _summaries_have_room(self) -> Self:
        tokens, vocabulary = self.summarize.begin_with, self.data.vocabulary
        beyond = [token for token in tokens if vocabulary and token >= vocabulary]
        if beyond:
            raise ValueError(
                f"summarize.begin_with must hold ids below data.vocabulary = {vocabulary}, got {beyond[0]}"
            )
        longest, least = self.model.target_length, self.summarize.min_length
        if len(tokens) >= longest:
            raise ValueError(
                f"summarize.begin_with must be shorter than model.target_length = {longest}, EOS included, got "
                f"{len(tokens)} tokens"
            )
        if least != "auto" and least >= longest:
            raise ValueError(
                f"summarize.min_length must be below model.target_length = {longest}, EOS included, got {least}"
            )
        return self
