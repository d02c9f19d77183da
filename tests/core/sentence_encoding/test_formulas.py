"""Sentence encoders, against naive implementations."""

import torch

from sumpool.core.nn.sentences import Sentences
from sumpool.core.sentence_encoding.attention import AttentionSentenceEncoder
from sumpool.core.sentence_encoding.gru import GruSentenceEncoder
from tests.core.batches import make_tokens


def test_gru_concatenates_final_states_of_both_directions() -> None:
    encoder = GruSentenceEncoder(16, 0.0).double()
    tokens = make_tokens(33, 12)
    sentences = Sentences.find(tokens)
    vectors = encoder(tokens, sentences)
    for document, index in sentences.mask.nonzero().tolist():
        words = tokens.states[document, tokens.mask[document] & (tokens.sentences[document] == index)]
        forwards, backwards = encoder.read(words)[0].split(16, dim=-1)
        expected = encoder.out(torch.cat([forwards[-1], backwards[0]]))
        torch.testing.assert_close(vectors[document, index], expected, atol=1e-12, rtol=0)


def test_attention_pooling_is_a_weighted_mean() -> None:
    encoder = AttentionSentenceEncoder(16).double()
    tokens = make_tokens(33, 12)
    sentences = Sentences.find(tokens)
    vectors = encoder(tokens, sentences)
    for document, index in sentences.mask.nonzero().tolist():
        words = tokens.states[document, tokens.mask[document] & (tokens.sentences[document] == index)]
        expected = encoder.out(encoder.weigh(words).softmax(0).T @ words)[0]
        torch.testing.assert_close(vectors[document, index], expected, atol=1e-12, rtol=0)
