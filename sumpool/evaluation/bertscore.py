"""BERTScore (Zhang et al., 2020, arXiv:1904.09675): greedy matching of contextual embeddings by cosine similarity.

Precision is the mean over the tokens of the summary of the highest similarity with a token of the reference, recall the
reverse, without idf weights and without baseline rescaling. As in the released code, special tokens can be matched
but do not count. Departure: padding is never matched, so a score does not depend on its batch.

The model is a folder on disk; nothing is downloaded.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from sumpool.errors import RecipeError
from sumpool.evaluation.rouge import Score

if TYPE_CHECKING:
    from torch import Tensor

_NO_LIMIT = 1_000_000
"""Length above which a tokenizer's maximum stands for none."""
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert"}
"""Models whose first positions are those of padding."""


@final
class BertScorer:
    """BERTScore with a model of transformers.

    Attributes:
        signature: Settings that the scores depend on.
    """

    def __init__(self, folder: Path, layer: int | None = None) -> None:
        """Load the model and its tokenizer.

        Args:
            folder: Folder with configuration, tokenizer and safetensors weights.
            layer: Layer whose states are compared, from 1; None takes the one at three quarters.

        Raises:
            RecipeError: If transformers is missing, the folder holds no model, or the model has no such layer.
        """
        if find_spec("transformers") is None:
            raise RecipeError("BERTScore must have transformers, which is not installed: pip install 'sumpool[peers]'")
        if not (folder / "config.json").is_file():
            raise RecipeError(
                "evaluate.bertscore_model must be the folder of a model of transformers, with config.json, tokenizer "
                f"and model.safetensors, got {folder}; copy one there, such as bert-base-uncased"
            )
        self._tokenizer, self._model = _load(folder)
        layers = int(self._model.config.num_hidden_layers)
        self._layer = round(0.75 * layers) if layer is None else layer
        if not 1 <= self._layer <= layers:
            raise RecipeError(f"evaluate.bertscore_layer must be at most {layers} for {folder}, got {layer}")
        self._max_tokens = int(self._tokenizer.model_max_length)
        if self._max_tokens >= _NO_LIMIT:
            settings = self._model.config
            reserved = settings.pad_token_id + 1 if settings.model_type in _OFFSET_POSITIONS else 0
            self._max_tokens = int(settings.max_position_embeddings) - reserved
        self.signature = f"BERTScore F1 of {folder.name}, layer {self._layer} of {layers}, no idf, no rescaling"

    def score(self, summaries: Sequence[str], reference: str) -> list[Score]:
        """Score summaries of the same reference; 0 for a text without tokens."""
        import torch

        encoded = self._tokenizer(
            [text.strip() for text in (*summaries, reference)],
            padding=True,
            truncation=True,
            max_length=self._max_tokens,
            return_tensors="pt",
            return_special_tokens_mask=True,
        )
        special = encoded.pop("special_tokens_mask").bool()
        mask = encoded["attention_mask"].bool()  # (texts, length)
        with torch.inference_mode():
            output = self._model(**encoded, output_hidden_states=True)
        states = torch.nn.functional.normalize(output.hidden_states[self._layer], dim=-1)  # (texts, length, dim)
        real = [vectors[kept] for vectors, kept in zip(states, mask, strict=True)]
        counted = [~marks[kept] for marks, kept in zip(special, mask, strict=True)]
        *texts, target = zip(real, counted, strict=True)
        return [_match(*text, *target) for text in texts]


def _match(summary: "Tensor", summary_counts: "Tensor", reference: "Tensor", reference_counts: "Tensor") -> Score:
    """Match unit vectors (length, dim) of two texts greedily, with masks (length) of the tokens that count."""
    if not summary_counts.any() or not reference_counts.any():
        return Score(0.0, 0.0, 0.0)
    similarity = summary @ reference.T  # (summary length, reference length)
    precision = float(similarity.amax(1)[summary_counts].double().mean())
    recall = float(similarity.amax(0)[reference_counts].double().mean())
    total = precision + recall
    return Score(precision, recall, 2 * precision * recall / total if total > 0 else 0.0)


def _load(folder: Path) -> tuple[Any, Any]:
    """Load tokenizer and model from the disk; weights in pickles are refused."""
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, add_prefix_space=True)
        model = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    except (OSError, ValueError, KeyError) as error:
        raise RecipeError(
            f"evaluate.bertscore_model must be the folder of a model of transformers that can be loaded, got {folder}: "
            f"{str(error).splitlines()[0] if str(error) else error!r}"
        ) from error
    return tokenizer, model.eval()
