"""Contract of sentence encoders, tested on every variant in the folder."""

import pytest
import torch

from sumpool.core.nn.sentences import Sentences
from sumpool.core.sentence_encoding import (
    AttentionSentenceEncoder,
    GruSentenceEncoder,
    SentenceEncoder,
    SentenceEncoderConfig,
)
from sumpool.settings import config_class, kinds
from tests.core.batches import in_sentences, make_tokens

KINDS = kinds("sumpool.core.sentence_encoding")
every_kind = pytest.mark.parametrize("kind", KINDS)


def build(kind: str) -> SentenceEncoder:
    config = config_class("sumpool.core.sentence_encoding", kind)()
    assert isinstance(config, SentenceEncoderConfig)
    return config.build(16).double().eval()


@every_kind
def test_documents_without_tokens_have_no_sentences(kind: str) -> None:
    tokens = make_tokens(0, 0, length=4, pad=torch.nan)
    vectors = build(kind)(tokens, Sentences.find(tokens))
    assert vectors.shape[::2] == (2, 16)
    assert vectors.isfinite().all()


@every_kind
def test_half_precision_gives_finite_vectors(kind: str) -> None:
    tokens = make_tokens(40, 13, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert build(kind).float()(tokens, Sentences.find(tokens)).isfinite().all()


@every_kind
def test_vectors_are_those_of_the_paper_and_of_its_cheaper_form(kind: str) -> None:
    """Final states of both directions of a GRU, or a weighted mean."""
    encoder, tokens = build(kind), in_sentences(make_tokens(60, 12))
    sentences = Sentences.find(tokens)
    vectors = encoder(tokens, sentences)
    for document, index in sentences.mask.nonzero().tolist():
        words = tokens.states[document, tokens.mask[document] & (sentences.index[document] == index)]
        if isinstance(encoder, GruSentenceEncoder):
            forwards, backwards = encoder.read(words)[0].split(16, dim=-1)
            expected = encoder.out(torch.cat([forwards[-1], backwards[0]]))
        else:
            assert isinstance(encoder, AttentionSentenceEncoder)
            expected = encoder.out(encoder.weigh(words).softmax(0).T @ words)[0]
        torch.testing.assert_close(vectors[document, index], expected, atol=1e-12, rtol=0)
