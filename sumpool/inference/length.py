"""Length of summaries in tokens: of the training summaries, predicted, or asked for."""

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from sumpool.core.decoding.config import DecodingConfig
from sumpool.core.decoding.ranking import Lengths, LengthTarget
from sumpool.core.model.summarizer import DecoderState
from sumpool.data.shards import Item
from sumpool.errors import RecipeError

_MIN_OF_PREDICTED, _MAX_OF_PREDICTED = 0.8, 1.25
"""Shortest and longest summary relative to a predicted length."""
_MIN_OF_MEAN = 0.85
"""Shortest summary relative to the mean training summary. Without a minimum greedy search stops after 10 to 25 words
and loses 7 points of ROUGE-1."""
_MAX_OF_P90 = 2
"""Longest summary relative to the 90th percentile of the training summaries."""


def choose_lengths(config: DecodingConfig, mean: float, p90: float, target_length: int) -> Lengths:
    """Resolve lengths of "auto" by the lengths of the training summaries.

    Args:
        config: The settings; a fixed length stays.
        mean: Mean tokens of the training summaries.
        p90: 90th percentile of the tokens of the training summaries.
        target_length: Most tokens of a summary, EOS included.

    Raises:
        RecipeError: If the shortest length exceeds the longest.
    """
    maximum = round(_MAX_OF_P90 * p90) if config.max_length == "auto" else config.max_length
    maximum = max(1, min(maximum, target_length - 1))
    minimum = min(round(_MIN_OF_MEAN * mean), maximum) if config.min_length == "auto" else config.min_length
    if minimum > maximum:
        raise RecipeError(f"summarize.min_length must be at most the longest length, {maximum}, got {minimum}")
    likely = max(minimum, min(round(mean), maximum)) if config.max_length == "auto" else None
    return Lengths(minimum, maximum, likely)


def choose_bounds(
    predicted: Tensor | None,
    chunks: Sequence[Item],
    targets: Sequence[LengthTarget | None],
    config: DecodingConfig,
    lengths: Lengths,
    target_length: int,
) -> list[Lengths]:
    """Choose the bounds of summaries in tokens: around the target or the predicted length if any, within the chunk.

    Args:
        predicted: (batch,), tokens with EOS that the model predicts; None if it does not.
        chunks: What is summarised.
        targets: Length of each summary; None if it is the usual one.
        config: The settings; of the lengths only whether they are "auto".
        lengths: Bounds where nothing is predicted, as fixed by the settings or chosen by the training summaries.
        target_length: Most tokens of a summary, EOS included.
    """
    if predicted is None:
        usual = [lengths] * len(chunks)
    else:
        usual = [_around(length, config, lengths) for length in predicted.tolist()]
    bounds = [
        Lengths(0, target_length - 1, target.tokens) if target else limits
        for target, limits in zip(targets, usual, strict=True)
    ]
    return [limits.clip(len(chunk.ids)) for limits, chunk in zip(bounds, chunks, strict=True)]


def widen_bounds(
    bounds: Sequence[Lengths], chunks: Sequence[Item], targets: Sequence[LengthTarget | None], target_length: int
) -> list[Lengths]:
    """Return the bounds of samples: half the shortest to twice the longest summary, or around the target."""
    around = [
        Lengths(target.tokens, target.tokens) if target else limits
        for target, limits in zip(targets, bounds, strict=True)
    ]
    wide = [Lengths(shortest // 2, min(2 * longest, target_length - 1)) for shortest, longest, _ in around]
    return [limits.clip(len(chunk.ids)) for limits, chunk in zip(wide, chunks, strict=True)]


def with_targets(state: DecoderState, targets: Sequence[LengthTarget | None]) -> DecoderState:
    """Condition the decoder on the target lengths, EOS included, if the model predicts lengths."""
    predicted = state.predicted_lengths
    if predicted is None or not any(targets):
        return state
    tokens = [target.tokens + 1 if target else 0 for target in targets]
    return replace(
        state, predicted_lengths=predicted.where(predicted.new_tensor(tokens) == 0, predicted.new_tensor(tokens))
    )


def _around(predicted: float, config: DecodingConfig, lengths: Lengths) -> Lengths:
    """Bounds around a predicted length in tokens with EOS, within the lengths that the settings fix."""
    least, most, _ = lengths
    minimum = min(round(_MIN_OF_PREDICTED * predicted), most) if config.min_length == "auto" else least
    maximum = max(minimum, min(round(_MAX_OF_PREDICTED * predicted), most)) if config.max_length == "auto" else most
    likely = max(minimum, min(round(predicted), maximum)) if config.max_length == "auto" else None
    return Lengths(minimum, maximum, likely)
