"""Beam search with the settings of transformers, against its `generate`.

Both use the same tiny random BART, so that only the search is compared.
"""

import itertools
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration, GenerationConfig

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Hypothesis, Lengths, Ranking
from sumpool.core.decoding.constraints import NoRepeatTokens, Rules

VOCAB = 40
BOS, PAD, EOS, UNK = 0, 1, 2, 3
THEIRS = torch.tensor([PAD, UNK, EOS, EOS, BOS, *range(4, VOCAB)])
"""Token id of BART for each token id of the search; BART starts with EOS."""
FIRST = THEIRS.tolist().index(BOS)
"""Id of `<s>` in the search."""


def random_model(seed: int) -> BartForConditionalGeneration:
    """A BART with uneven probabilities, in which EOS is likely enough for beams to end at different times."""
    torch.manual_seed(seed)
    sizes = {f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in SIZES.items()}
    model = BartForConditionalGeneration(
        BartConfig(vocab_size=VOCAB, d_model=16, max_position_embeddings=64, init_std=0.4, **sizes)
    )
    model.final_logits_bias[:, [PAD, UNK]] = -torch.inf
    model.final_logits_bias[:, EOS] = 2.5
    model.generation_config = GenerationConfig()  # without the settings of the model, which would replace every None
    return model.eval()


SIZES = {"layers": 1, "attention_heads": 2, "ffn_dim": 16}


@dataclass(frozen=True)
class BartState:
    """State of a search over BART without a cache."""

    model: BartForConditionalGeneration
    source: Tensor
    mask: Tensor
    tokens: Tensor
    beams: int

    def step(self, last: Tensor, state: "BartState") -> tuple[Tensor, "BartState"]:
        state = replace(state, tokens=torch.cat([state.tokens, THEIRS[last][:, None]], dim=1))
        output = self.model(
            encoder_outputs=(state.source,), attention_mask=state.mask, decoder_input_ids=state.tokens, use_cache=False
        )
        return output.logits[:, -1].log_softmax(-1)[:, THEIRS], state

    def reorder(self, rows: Tensor) -> "BartState":
        return replace(self, source=self.source[rows], mask=self.mask[rows], tokens=self.tokens[rows])

    def select(self, documents: Tensor) -> "BartState":
        return self.reorder((documents[:, None] * self.beams + torch.arange(self.beams)).flatten())


@dataclass(frozen=True)
class Case:
    """A model, a batch, and settings by their names in transformers."""

    seed: int
    beams: int
    length_penalty: float
    early_stopping: bool
    no_repeat: int
    forced_bos: bool
    forced_eos: bool
    min_length: int
    max_length: int


def cases() -> list[Case]:
    """Every beams x stopping x n-gram, each with its own penalty, lengths and forced tokens; and greedy search."""
    penalties = itertools.cycle((0.0, 1.0, 2.0))
    products = itertools.product((2, 3, 4), (False, True), (0, 3))
    choices = [(beams, next(penalties), stopping, ngram) for beams, stopping, ngram in products]
    greedy = [(1, 1.0, False, ngram) for ngram in (0, 3)]
    forced = itertools.cycle([(True, True), (False, True), (True, False), (False, False), (True, True)])
    lengths = itertools.cycle([(0, 20), (5, 12), (0, 6), (9, 30), (6, 6), (0, 30), (14, 18)])
    return [Case(seed, *choice, *next(forced), *next(lengths)) for seed, choice in enumerate([*choices, *greedy])]


def generate(model: BartForConditionalGeneration, ids: Tensor, mask: Tensor, case: Case) -> list[list[Hypothesis]]:
    """Search by transformers."""
    settings = GenerationConfig(
        num_beams=case.beams,
        num_return_sequences=case.beams,
        length_penalty=case.length_penalty,
        early_stopping=case.early_stopping,
        no_repeat_ngram_size=case.no_repeat,
        forced_bos_token_id=BOS if case.forced_bos else None,
        forced_eos_token_id=EOS if case.forced_eos else None,
        min_length=case.min_length,
        max_length=case.max_length,
        decoder_start_token_id=EOS,
        eos_token_id=EOS,
        pad_token_id=PAD,
        return_dict_in_generate=True,
        output_scores=True,
    )
    output = model.generate(ids, attention_mask=mask, generation_config=settings)
    scores = output.sequences_scores.tolist() if case.beams > 1 else [0.0] * len(ids)
    ended = [
        Hypothesis(tuple(itertools.takewhile(lambda token: token not in (EOS, PAD), row[1:])), score, 0.0)
        for row, score in zip(output.sequences.tolist(), scores, strict=True)
    ]
    return [
        [
            hypothesis for hypothesis in ended[first : first + case.beams] if hypothesis.score > -1e8
        ]  # others are unfinished
        for first in range(0, len(ended), case.beams)
    ]


def ours(model: BartForConditionalGeneration, ids: Tensor, mask: Tensor, case: Case) -> list[list[Hypothesis]]:
    """Search with the same settings; lengths of transformers include the start token and EOS."""
    rows = torch.arange(len(ids)).repeat_interleave(case.beams)
    with torch.inference_mode():
        source = model.get_encoder()(ids, attention_mask=mask).last_hidden_state
    state = BartState(model, source[rows], mask[rows], torch.empty(len(rows), 0, dtype=torch.long), case.beams)
    maximum = case.max_length - (2 if case.forced_eos else 1)
    results = search(
        state.step,
        state,
        [Lengths(min(max(0, case.min_length - 1), maximum), maximum)] * len(ids),
        Ranking(case.beams, case.length_penalty, "transformers", case.early_stopping, case.forced_eos),
        Rules(
            prefix=[FIRST] if case.forced_bos else [],
            constraints=[NoRepeatTokens(case.no_repeat)] if case.no_repeat else [],
        ),
    )
    return [
        [replace(one, tokens=tuple(THEIRS[list(one.tokens)].tolist())) for one in hypotheses] for hypotheses in results
    ]


@pytest.mark.parametrize("case", cases())
def test_equals_generate(case: Case) -> None:
    model = random_model(case.seed)
    ids = torch.randint(4, VOCAB, (4, 9))
    mask = torch.arange(9) < torch.tensor([[9], [5], [1], [7]])
    expected = generate(model, ids, mask.long(), case)
    for actual, theirs in zip(ours(model, ids, mask.long(), case), expected, strict=True):
        assert [one.tokens for one in actual] == [one.tokens for one in theirs]
        if case.beams > 1:
            assert [one.score for one in actual] == pytest.approx([one.score for one in theirs], abs=1e-5)
