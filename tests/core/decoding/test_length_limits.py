"""Limits on words and sentences, against counting in the decoded text."""

import pytest
import torch
from torch import Tensor

from sumpool.core.decoding.beam import search
from sumpool.core.decoding.config import Lengths, LengthTarget, Ranking
from sumpool.core.decoding.constraints import (
    LengthLimits,
    NoRepeatWords,
    Rules,
    TokenSurfaces,
    length_limits,
)
from sumpool.special_tokens import EOS
from tests.core.decoding.random_steps import PrefixState

SURFACES = TokenSurfaces([b"", b"", b"", b"", b" a", b" B", b"c", b".", b" ", b'"', b" e.g", b" 3", b"\n"])
VOCAB = len(SURFACES.parts)


def step(last: Tensor, state: PrefixState) -> tuple[Tensor, PrefixState]:
    """Random distributions over all prefixes."""
    rows = tuple((*row, token) for row, token in zip(state.rows, last.tolist(), strict=True))
    generators = [torch.Generator().manual_seed(hash(row) % 2**60) for row in rows]
    logits = torch.stack([2 * torch.randn(VOCAB, generator=generator) for generator in generators])
    logits[:, :EOS] = -50.0
    return logits.log_softmax(-1), PrefixState(rows, state.beams)


def text_of(tokens: tuple[int, ...]) -> str:
    surfaces = [
        part if not starts else b" " + part for part, starts in zip(SURFACES.parts, SURFACES.starts, strict=True)
    ]
    return b"".join(surfaces[token] for token in tokens).decode()


def after(limits: LengthLimits, *tokens: int) -> LengthLimits:
    for token in tokens:
        limits = limits.after(token)
    return limits


@pytest.mark.parametrize(("minimum", "maximum"), [(3, 5), (4, 4), (0, 1), (9, 11)])
def test_written_summaries_have_as_many_words_as_asked(minimum: int, maximum: int) -> None:
    documents = list(range(20))
    limits = [[LengthLimits(minimum, maximum, SURFACES, EOS)] for _ in documents]
    hypotheses = search(
        step, PrefixState.start(documents, 4), [Lengths(0, 60, 12)] * 20, Ranking(4), Rules(), limits=limits
    )
    whole = 0
    for document in hypotheses:
        for hypothesis in document:
            words = text_of(hypothesis.tokens).split()
            assert minimum <= len(words) <= maximum
            assert after(limits[0][0], *hypothesis.tokens).count() == len(words)
            whole += words[-1:] != [] and words[-1].rstrip('"').endswith(".")
            if len(words) < maximum and words:
                assert words[-1].rstrip('"').endswith(".")
    assert whole > 20


def test_every_document_has_its_own_limits() -> None:
    sizes = [2, 5, 8]
    limits = [[LengthLimits(size, size, SURFACES, EOS)] for size in sizes]
    together = search(step, PrefixState.start([0, 1, 2], 2), [Lengths(0, 60)] * 3, Ranking(2), limits=limits)
    assert [len(text_of(document[0].tokens).split()) for document in together] == sizes
    for number in range(3):
        alone = search(step, PrefixState.start([number], 2), [Lengths(0, 60)], Ranking(2), limits=[limits[number]])
        assert alone == [together[number]]
    with pytest.raises(ValueError, match=r"zip\(\) argument 2 is shorter"):
        search(step, PrefixState.start([0, 1], 2), [Lengths(0, 60)] * 2, Ranking(2), limits=limits[:1])


def test_limits_stand_beside_other_constraints() -> None:
    rules = Rules(constraints=[NoRepeatWords(1, SURFACES)])
    (hypotheses,) = search(
        step,
        PrefixState.start([3], 4),
        [Lengths(0, 60)],
        Ranking(4),
        rules,
        limits=[[LengthLimits(3, 4, SURFACES, EOS)]],
    )
    words = text_of(hypotheses[0].tokens).split()
    assert 3 <= len(words) <= 4
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_written_summaries_have_as_many_sentences_as_asked(count: int) -> None:
    limits = LengthLimits(count, count, SURFACES, EOS, in_sentences=True)
    (hypotheses,) = search(step, PrefixState.start([1], 4), [Lengths(0, 200, 20)], Ranking(4), limits=[[limits]])
    for hypothesis in hypotheses:
        assert after(limits, *hypothesis.tokens).count() == count


def test_sentences_end_before_a_capital() -> None:
    surfaces = TokenSurfaces([*SURFACES.parts[:4], b" aa", b" B", *[b"c", b".", b" ", b'"', b" e.g", b" 3", b"\n"]])
    cases: list[tuple[tuple[int, ...], int, bool]] = [
        ((4, 7), 1, True),
        ((4, 7, 5, 6), 1, False),
        ((4, 7, 5, 6, 7), 2, True),
        ((4, 7, 4, 7), 1, True),  # a lower-case word goes on
        ((4, 7, 11, 7), 1, True),  # so does a number
        ((4, 7, 9, 5, 6, 7, 9), 2, True),
        ((10, 7, 5), 0, False),  # e.g.
        ((5, 7, 5), 0, False),  # an initial
        ((4, 6, 7, 8, 5, 6), 1, False),  # white space of its own
        ((4, 6, 7, 12, 5, 6), 1, False),
        ((), 0, False),
    ]
    for tokens, sentences, ends in cases:
        limits = after(LengthLimits(1, 9, surfaces, EOS, in_sentences=True), *tokens)
        assert (limits.count(), limits.ends_sentence()) == (sentences, ends), tokens


def test_limits_are_met_by_whole_sentences() -> None:
    limits = LengthLimits(2, 3, SURFACES, EOS)
    assert not after(limits, 4, 6, 7).is_met()
    assert not after(limits, 4, 4, 6).is_met()
    assert after(limits, 4, 4, 6, 7).is_met()
    assert not after(limits, 4, 4, 4, 4, 6, 7).is_met()
    assert limits.forbidden() == (EOS,)
    assert after(limits, 4, 4).forbidden() == (EOS,)
    assert after(limits, 4, 4, 6, 7).forbidden() == ()
    assert set(after(limits, 4, 4, 4).forbidden()) == {4, 5, 8, 10, 11, 12}


def test_targets_tolerate_a_tenth_of_the_words() -> None:
    words, sentences = LengthTarget(60, False, 80), LengthTarget(1, True, 30)
    assert (words.minimum, words.maximum, str(words)) == (54, 66, "60 words")
    assert (sentences.minimum, sentences.maximum, str(sentences)) == (1, 1, "1 sentence")
    assert not length_limits(words, SURFACES, EOS).in_sentences
    assert length_limits(sentences, SURFACES, EOS).in_sentences
