"""What holds for all variants: padding and batch mates change no document, and gradients are finite."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sumpool.core.attention.vanilla import VanillaAttention, VanillaAttentionConfig
from sumpool.core.nn.layers import split_heads
from sumpool.core.nn.masking import zero_padding
from sumpool.core.nn.sentences import Sentences
from sumpool.core.tokens import Tokens
from sumpool.settings import config_class, kinds
from sumpool.special_tokens import PAD
from tests.core.batches import alone, in_sentences, make_tokens

DIM, HEADS, TARGET, VOCAB = 16, 4, 6, 50
SETTINGS: dict[str, list[dict[str, Any]]] = {
    **{
        f"attention/{kind}": [{"positions": positions} for positions in ("none", "rotary", "relative")]
        for kind in ("vanilla", "blockwise", "dilated", "sliding_window")
    },
    "cross_attention/sentence": [
        {"sentences": 3, "selection": {"kind": kind}} for kind in kinds("sumpool.core.selection")
    ],
    "pooling/halving": [
        {"keep": 24, **case}
        for case in ({}, {"sort": "once"}, {"sort": "never"}, {"inference": "hard"}, {"peak": {"kind": "plain"}})
    ]
    + [{"keep": 0.25}],
    "pooling/hard": [{"keep": 24}, {"keep": 0.25, "gradient": "none"}],
    "pooling/iterative": [{"keep": 24}, {"keep": 0.25, "sharpness": 100}],
    "pooling/funnel": [
        {"combine": combine, "window": window, "stride": stride}
        for combine, (window, stride) in product(("mean", "max"), ((4, 4), (1, 3), (5, 2)))
    ],
    "pooling/segments": [
        {"boundaries": {"kind": kind}, "combine": combine}
        for kind, combine in product(kinds("sumpool.core.boundaries"), ("mean", "last"))
    ],
}
"""Settings under test by family and kind; the defaults, shortened, for others."""
SHORT = ("block", "bucket", "features", "landmarks", "length", "radius", "rank", "samples", "stride", "window")
"""Settings that are numbers of tokens, or stand for tokens; a quarter where they are large."""
FAMILIES = ("attention", "pooling", "scoring", "selection", "sentence_encoding", "cross_attention", "output")
FAST = ("vanilla", "blockwise", "sliding_window", "performer", "lsh")
"""Attentions that are tested without --slow, each different in kind: scores of all tokens, blocks as documents of a
batch, a band, sums over a kernel without scores, and tokens sorted by their content."""
LENGTHS = (64, 150, 37, 1)


def shortened(family: str, kind: str) -> dict[str, Any]:
    """Defaults of the settings `SHORT`, shorter where they are large: documents with several blocks, or longer than a
    window, need be no longer than that."""
    fields = config_class(f"sumpool.core.{family}", kind).model_fields
    usual = {name: fields[name].default for name in SHORT if name in fields}
    return {name: value // 4 for name, value in usual.items() if value and value >= 64}


def cases() -> list[Any]:
    """Every variant with its settings."""
    listed = []
    for family in FAMILIES:
        for kind in kinds(f"sumpool.core.{family}"):
            for settings in SETTINGS.get(f"{family}/{kind}", [{}]):
                marks = [pytest.mark.slow] if family == "attention" and kind not in FAST else []
                name = ",".join([family, kind, *map(str, settings.values())])
                listed.append(pytest.param(family, kind, shortened(family, kind) | settings, marks=marks, id=name))
    return listed


every_variant = pytest.mark.parametrize(("family", "kind", "settings"), cases())


class Variant(nn.Module):
    """A variant with what it needs around it; its input is documents, its output what it makes of each document."""

    def __init__(self, family: str, kind: str, settings: dict[str, Any]) -> None:
        super().__init__()
        torch.manual_seed(1)
        config: Any = config_class(f"sumpool.core.{family}", kind).model_validate(settings)
        self.family = family
        arguments: dict[str, tuple[Any, ...]] = {
            **dict.fromkeys(("attention", "selection", "cross_attention"), (DIM, HEADS)),
            **dict.fromkeys(("scoring", "sentence_encoding"), (DIM,)),
            **dict.fromkeys(("pooling", "output"), (nn.Embedding(VOCAB, DIM, padding_idx=PAD),)),
        }
        self.variant: Any = config.build(*arguments[family])
        self.encoder: Any = None
        if family == "selection" and hasattr(config, "encoder"):
            self.encoder = config.encoder.build(DIM)
        elif family == "cross_attention":
            self.encoder = config.build_memory_encoder(DIM)
        for name, parameter in self.variant.named_parameters():
            if name.startswith("positions."):
                nn.init.normal_(parameter)
        self.around = nn.ModuleList([nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)]).requires_grad_(False)
        self.attention = VanillaAttention(VanillaAttentionConfig(), DIM, HEADS).requires_grad_(False)
        self.losses: list[Tensor] = []

    def forward(self, tokens: Tokens, documents: Sequence[int]) -> list[Tensor]:
        """Return the result for each document; `documents` are their numbers, which decide on what else is read."""
        generator = torch.Generator().manual_seed(9)
        drawn = 4 * torch.randn(len(LENGTHS), TARGET, DIM, generator=generator, dtype=torch.float64)
        queries = drawn[list(documents)].to(tokens.states.dtype)
        match self.family:
            case "attention":  # reads any padding that is finite
                return self._rows(self.variant(tokens.with_states(tokens.states.nan_to_num(1e3))), tokens.mask)
            case "scoring":
                states = zero_padding(tokens.states, tokens.mask)
                received = partial(self.attention.attention_received, tokens.with_states(states))
                scores = self.variant(replace(tokens, states=states, attention_received=received))
                assert ((scores >= 0) & (scores <= 1))[tokens.mask].all()
                return self._rows(scores, tokens.mask)
            case "pooling":
                pooled = self.variant(replace(tokens, phrases=tokens.positions // 3)).tokens
                self.losses = list(pooled.losses.values())
                origins = self._rows(pooled.positions, pooled.mask)
                assert all(torch.equal(part, part.sort().values) for part in origins)
                return self._rows(pooled.states, pooled.mask)
            case "selection":
                exists = Sentences.find(tokens).mask
                log_weights = self.log_weights(queries, tokens)
                return [part[..., real] for part, real in zip(log_weights, exists, strict=True)]
            case "sentence_encoding":
                sentences = Sentences.find(tokens)
                return self._rows(self.variant(tokens, sentences), sentences.mask)
            case "cross_attention":
                output = self.variant(queries, self.variant.precompute(tokens, self.encoder(tokens)))
                self.losses = list(output.losses.values())
                return list(output.states)
            case _:
                ids = tokens.ids.masked_fill(~tokens.mask, PAD)
                states = self.variant.project_source(zero_padding(tokens.states, tokens.mask))
                source = replace(tokens, states=states, ids=ids)
                history = torch.randint(5, VOCAB, (len(LENGTHS), TARGET, 2), generator=generator)[list(documents)]
                precomputed = self.variant.precompute(source, tokens, ())
                scores = self.variant.score(queries, history, precomputed, history[..., 1])
                self.losses = [scores.nll]
                return list(scores.log_prob)

    def log_weights(self, queries: Tensor, memory: Tokens) -> Tensor:
        """Log-weights of a selection, (batch, heads, target, sentences), as a cross-attention computes them."""
        sentences = Sentences.find(memory)
        vectors = self.encoder(memory, sentences) if self.encoder else None
        key = split_heads(self.around[0](zero_padding(memory.states, memory.mask)), HEADS)
        precomputed = self.variant.precompute(key, memory.mask, sentences, vectors)
        log_weights: Tensor = self.variant(queries, split_heads(self.around[1](queries), HEADS), precomputed)
        return log_weights

    def _rows(self, values: Tensor, mask: Tensor) -> list[Tensor]:
        return [part[real] for part, real in zip(values, mask, strict=True)]


@every_variant
def test_documents_are_independent_of_padding_and_batch_mates(family: str, kind: str, settings: dict[str, Any]) -> None:
    variant = Variant(family, kind, settings).double()
    tokens = in_sentences(make_tokens(*LENGTHS, length=200, pad=torch.nan))
    for training in (False, True) if family == "attention" else (False,):  # some draw noise, the same for all documents
        variant.train(training)
        torch.manual_seed(3)
        together = variant(tokens.with_lengths(LENGTHS), range(len(LENGTHS)))
        for number, result in enumerate(together):
            single = alone(tokens, number)
            for document in (single, single.with_lengths()):  # which has no padding, as far as the host knows
                torch.manual_seed(3)
                (expected,) = variant(document, [number])
                torch.testing.assert_close(result, expected, atol=1e-10, rtol=0)


@every_variant
def test_values_in_the_padding_change_no_bit(family: str, kind: str, settings: dict[str, Any]) -> None:
    variant = Variant(family, kind, settings).double()
    for training in (False, True):
        results = []
        for pad in (0.0, torch.nan):
            torch.manual_seed(3)
            tokens = in_sentences(make_tokens(*LENGTHS, 0, length=160, pad=pad))
            results.append([*variant.train(training)(tokens, [0, 1, 2, 3, 0]), *variant.losses])
        assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))
        assert all(part.isfinite().all() for part in results[0])


@every_variant
def test_every_parameter_gets_a_finite_gradient(family: str, kind: str, settings: dict[str, Any]) -> None:
    variant = Variant(family, kind, settings).double().train()
    tokens = in_sentences(make_tokens(*LENGTHS, length=160, pad=torch.nan))
    states = tokens.states.requires_grad_()
    results = variant(tokens.with_states(states), range(len(LENGTHS)))
    total = torch.stack([part.square().sum() for part in results] + variant.losses).sum()
    (total + 0 * states.nan_to_num().sum()).backward()  # some variants do not read the states
    assert states.grad is not None
    assert states.grad.isfinite().all()
    assert not states.grad[~tokens.mask].any()
    for name, parameter in variant.named_parameters():
        if parameter.requires_grad and settings.get("gradient") != "none":
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            assert "bias" in name or parameter.grad.any(), name
