from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from sumpool.text.sentencepiece_tokenizer import SentencePieceTokenizer
from sumpool.text.tokenizer import Tokenizer
from sumpool.training.vocabulary_transfer import split_tokens, transfer_vocabulary

BIRDS = ["The owl hoots at night in the wood.", "The crows caw, and the wood is full of owls."] * 20
GATES = ["The gateway forwards packets at night.", "The gateways forward the packets of the hosts."] * 20


class Tokens(Tokenizer):
    """Vocabulary of given bytes behind the five special tokens."""

    def __init__(self, *tokens: bytes) -> None:
        self._tokens = [b"", b"", b"", b"", b"\n", *tokens]

    @property
    def vocab_size(self) -> int:
        return len(self._tokens)

    def token_bytes(self) -> list[bytes]:
        return self._tokens

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        raise NotImplementedError

    def split_sentences(self, text: str, splitter: object) -> list[str]:
        raise NotImplementedError

    def _decode(self, ids: list[int]) -> str:
        raise NotImplementedError

    def word_starts(self) -> list[bool]:
        raise NotImplementedError


def test_tokens_are_split_by_longest_match() -> None:
    old = Tokens(b" gate", b" gat", b"way", b"e", b"s")
    new = Tokens(b" gateway", b" gate", b"xways", b"z")
    assert split_tokens(old, new) == [[0], [1], [2], [3], [4], [5, 7], [5], [7, 9], []]


def test_rows_are_means_of_the_old_rows() -> None:
    old, new = Tokens(b"a", b"b"), Tokens(b"ab", b"b", b"z")
    rows = torch.randn(old.vocab_size, 3, dtype=torch.float64)
    bias, other = torch.randn(old.vocab_size), torch.randn(old.vocab_size, 2)
    saved = {"embedding.weight": rows, "output.bias": bias, "layer.weight": other, "scale": torch.tensor(1.0)}
    expected = {
        "embedding.weight": torch.empty(new.vocab_size, 3),
        "output.bias": torch.empty(new.vocab_size),
        "layer.weight": torch.empty_like(other),
        "scale": torch.tensor(2.0),
    }
    moved = transfer_vocabulary(saved, expected, old, new)
    want = torch.stack([*rows[:5], (rows[5] + rows[6]) / 2, rows[6], rows.mean(0)])
    assert torch.allclose(moved["embedding.weight"], want, rtol=0, atol=1e-15)
    assert moved["output.bias"].shape == (new.vocab_size,)
    assert moved["output.bias"].dtype == torch.float32
    assert moved["output.bias"][6] == bias[6]
    assert moved["layer.weight"] is other
    assert moved["scale"] is saved["scale"]


def test_other_layers_of_the_size_of_the_vocabulary_are_kept() -> None:
    old, new = Tokens(b"a", b"b"), Tokens(b"b", b"a")
    saved = {"embedding.weight": torch.randn(7, 3), "layers.0.linear.weight": torch.randn(7, 3)}
    moved = transfer_vocabulary(saved, saved, old, new)
    assert torch.equal(moved["embedding.weight"], saved["embedding.weight"][[0, 1, 2, 3, 4, 6, 5]])
    assert moved["layers.0.linear.weight"] is saved["layers.0.linear.weight"]


@pytest.mark.parametrize("text", ["the owl", "gateways"])
def test_subtokens_have_the_bytes_of_the_token(tmp_path: Path, text: str) -> None:
    old = SentencePieceTokenizer.train(BIRDS, tmp_path / "old", 300)
    new = SentencePieceTokenizer.train(GATES, tmp_path / "new", 300)
    subtokens, known = split_tokens(old, new), old.token_bytes()
    assert [subtokens[token] for token in range(5)] == [[token] for token in range(5)]
    for token, content in enumerate(new.token_bytes()):
        if content:
            assert b"".join(known[subtoken] for subtoken in subtokens[token]) == content
    assert all(subtokens[token] for token in new.encode(text))
