import math
from typing import cast

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from sumpool.core.output import Scores
from sumpool.progress import Check, no_op
from sumpool.tasks.language_modeling.config import TextEvaluationConfig
from sumpool.tasks.language_modeling.evaluate import (
    TextWindow,
    overlapping_windows,
    released_windows,
    score_text,
)
from sumpool.tasks.language_modeling.measures import ScoredWindow, score_language_model
from sumpool.tasks.language_modeling.model import LanguageModel

CPU = torch.device("cpu")
VOCABULARY = 9


class Recurrent(nn.Module):
    """Causal model of one recurrent layer, whose segments end at a token."""

    def __init__(self, vocabulary: int = VOCABULARY, end: int = 6) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.embedding = nn.Embedding(vocabulary, 8)
        self.layer = nn.GRU(8, 16, batch_first=True)
        self.out = nn.Linear(16, vocabulary)
        self.end = end
        self.double().eval().requires_grad_(False)

    def forward(
        self, ids: Tensor, mask: Tensor, sentences: Tensor, target: Tensor
    ) -> tuple[Scores, dict[str, Tensor], dict[str, Tensor]]:
        assert mask.all()
        assert sentences.shape == ids.shape
        log_probs = self.out(self.layer(self.embedding(ids))[0]).log_softmax(2)
        log_prob = log_probs.gather(2, target[:, :, None]).squeeze(2)
        return Scores(-log_prob.sum(), log_prob), {}, {}

    def boundaries_of(self, ids: Tensor, mask: Tensor) -> Tensor:
        return (ids == self.end) & mask


def text(tokens: int = 300) -> np.ndarray:
    return np.random.default_rng(1).integers(1, 7, tokens).astype(np.uint16)


def scored(
    ids: np.ndarray,
    length: int = 32,
    step: int = 8,
    batch_tokens: int = 100,
    check: Check = no_op,
) -> list[ScoredWindow]:
    windows = overlapping_windows(len(ids), length, step)
    return list(
        score_text(
            cast(LanguageModel, Recurrent()),
            ids,
            windows,
            batch_tokens=batch_tokens,
            device=CPU,
            check=check,
        )
    )


def test_every_prediction_is_that_of_the_window_read_alone() -> None:
    ids, model = text(100), Recurrent()
    for window, result in zip(overlapping_windows(100, 32, 8), scored(ids), strict=True):
        nats = 0.0
        for place in range(window.scored, window.end):
            context = torch.tensor(ids[window.start : place].astype(np.int64))[None]
            logits = model.out(model.layer(model.embedding(context))[0][0, -1])
            nats -= float(logits.log_softmax(0)[int(ids[place])])
        assert result.nats == pytest.approx(nats, abs=1e-12)


@pytest.mark.parametrize("batch_tokens", [1, 64, 10_000])
def test_batch_mates_change_nothing(batch_tokens: int) -> None:
    expected, batched = scored(text(), batch_tokens=33), scored(text(), batch_tokens=batch_tokens)
    assert [window.start for window in batched] == [window.start for window in expected]
    assert [window.nats for window in batched] == pytest.approx([window.nats for window in expected], abs=1e-12)


def test_boundaries_and_lengths_are_those_of_the_whole_text() -> None:
    ids = text()
    windows = scored(ids, length=64)
    ends = np.flatnonzero(ids[:-1] == 6)
    assert sum(window.boundaries for window in windows) == len(ends)
    lengths = np.diff(ends, prepend=-1)
    counted = [length for window in windows for length, count in window.lengths.items() for _ in range(count)]
    assert sorted(counted) == sorted(lengths.tolist())


def test_a_model_that_knows_nothing_needs_the_bits_of_its_vocabulary() -> None:
    model = Recurrent()
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    windows = overlapping_windows(50, 16, 4)
    results = list(score_text(cast(LanguageModel, model), text(50), windows, batch_tokens=64, device=CPU))
    assert score_language_model(("", "", ""), (16, 4), results, 100).bpc.mean == pytest.approx(math.log2(VOCABULARY))


def test_a_signal_stops_between_batches() -> None:
    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scored(text(), batch_tokens=1, check=check)


def test_every_token_but_the_first_is_predicted_once() -> None:
    for tokens in (0, 1, 2, 7, 8, 9, 40, 41):
        for length, step in ((8, 3), (8, 8), (8, 1), (64, 16)):
            windows = overlapping_windows(tokens, length, step)
            predicted = [token for window in windows for token in range(window.scored, window.end)]
            assert predicted == list(range(1, tokens))


def test_every_prediction_sees_as_much_as_a_window_holds() -> None:
    for window in overlapping_windows(1000, 64, 16):
        assert window.length <= 64
        assert window.start == 0 or window.length == 64
        assert window.scored - window.start >= min(window.scored, 64 - 16 + 1)
        assert window.end - window.scored == window.tokens <= 16


def test_the_paper_windows_have_1536_earlier_characters_at_least() -> None:
    windows = overlapping_windows(10_000, 2048, 512)
    assert windows[:2] == [TextWindow(0, 1, 513), TextWindow(0, 513, 1025)]
    assert windows[3:5] == [TextWindow(0, 1537, 2049), TextWindow(512, 2049, 2561)]
    assert windows[-1] == TextWindow(9999 - 2048, 9729, 10_000)


def test_the_released_protocol_scores_82_percent_of_text8() -> None:
    windows = released_windows(5_000_000, 2048, 512)
    assert len(windows) == 16 * 500
    assert sum(window.tokens for window in windows) / 5_000_000 == pytest.approx(0.8192)
    assert windows[500].start == 312_500


def test_the_released_protocol_drops_the_remainder() -> None:
    windows = released_windows(16 * 10 + 15, 8, 4)
    assert max(window.end for window in windows) == 160
    assert sum(window.tokens for window in windows) == 16 * 9


def test_windows_that_leave_tokens_out_are_refused() -> None:
    with pytest.raises(ValidationError, match="step must be at most window = 64, got 65"):
        TextEvaluationConfig(window=64, step=65)
    assert TextEvaluationConfig(window=64, step=64).step == 64
