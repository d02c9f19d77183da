"""States of sentences that a language model has read in their document, as features of the ranker.

The mean state of a sentence after 18 of the 30 layers of SmolLM2-135M (Apache-2.0), read from a GGUF file of its
weights, tells more about its place in a summary than all features of structure and words. Numpy computes it, in
float32; the tokenizer is that of the file, in the library `tokenizers`.

GGUF is the format of llama.cpp: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

import mmap
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from sumpool.documents.document import Document, document_title
from sumpool.documents.source_sentences import SourceSentence
from sumpool.errors import DataError
from sumpool.ranking.ranker import Matrix

LAYERS: Final = 18
"""Layers that are computed; the states of later ones tell less (probes on 135 marked documents)."""
MAX_TOKENS: Final = 1536
"""Tokens of a document that are read, beginning with its title."""
_WINDOW = 768
"""Tokens that are read at once, sentences but the longest whole."""
_SENTENCE_TOKENS = 256
_NORM = 24.0
"""Length of a state; that of the model grows with the layer."""
_KINDS = ("heading", "paragraph", "list_item")

_NAMES: Final = (
    *("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output"),
    *("ffn_norm", "ffn_gate", "ffn_up", "ffn_down"),
)
"""Weights of a layer."""

_SCALARS: Final = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_BLOCK = 32
"""Weights of a block of quantised ones."""
_BLOCK_BYTES: Final = {0: 4 * _BLOCK, 1: 2 * _BLOCK, 2: 18, 3: 20, 8: 34}
"""Bytes of a block by type: float32, float16, and Q4_0, Q4_1 and Q8_0 with a scale, and a minimum, before them."""
_ALIGNMENT = 32

GgufTensor = tuple[tuple[int, ...], int, int]
"""Place of a tensor in a file: its sizes, rows first, the type of its numbers, and its first byte."""


@final
class SentenceStates:
    """The first layers of a Llama model in a GGUF file."""

    def __init__(self, path: Path) -> None:
        """Read the weights.

        Raises:
            DataError: If the file is missing, or no such model, or the library `tokenizers` is not installed.
        """
        try:
            self._read(path)
        except ImportError as error:
            raise DataError("a scorer needs tokenizers, which is not installed: pip install 'sumpool[hub]'") from error
        except (OSError, ValueError, LookupError, struct.error, OverflowError) as error:
            raise DataError(f"{path} must be SmolLM2-135M as a GGUF file, got: {error!r}") from error

    def _read(self, path: Path) -> None:
        from tokenizers import Tokenizer, models, pre_tokenizers  # an extra, which few need

        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            facts, tensors = parse_gguf(data)
            if facts["general.architecture"] != "llama" or facts["tokenizer.ggml.pre"] != "smollm":
                raise ValueError("another architecture or tokenizer")
            self._heads: int = facts["llama.attention.head_count"]
            self._groups: int = facts["llama.attention.head_count_kv"]
            self._base: float = facts["llama.rope.freq_base"]
            self._epsilon: float = facts["llama.attention.layer_norm_rms_epsilon"]
            wanted = {name for name in tensors if name.startswith(tuple(f"blk.{layer}." for layer in range(LAYERS)))}
            self._weights = {name: dequantised(data, tensors[name]) for name in sorted(wanted)}
            self._layers = min(LAYERS, facts["llama.block_count"])
            self._embedding = dequantised(data, tensors["token_embd.weight"])
        words: list[str] = facts["tokenizer.ggml.tokens"]
        merges = [tuple(merge.split(" ", 1)) for merge in facts["tokenizer.ggml.merges"]]
        self._tokenizer = Tokenizer(models.BPE(vocab={word: index for index, word in enumerate(words)}, merges=merges))
        digits = pre_tokenizers.Digits(individual_digits=True)
        spaces = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self._tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, spaces])

    def read(self, document: Document, sentences: Sequence[SourceSentence]) -> Matrix:
        """Return the state of each sentence, and what it differs by from the mean of the document.

        Args:
            document: The document.
            sentences: Its sentences.

        Returns:
            (sentences, 2 * dim); NaN for sentences behind those that are read, and those that are no text.
        """
        texts, indices = [f"{document_title(document)}\n\n"], [-1]
        for index, sentence in enumerate(sentences):
            if sentence.kind in _KINDS:
                continues = index + 1 < len(sentences) and sentences[index + 1].block == sentence.block
                texts.append(f"{sentence.text}{' ' if continues else 2 * chr(10)}")
                indices.append(index)
        ids: list[list[int]] = []
        for text in texts:
            if sum(map(len, ids)) > MAX_TOKENS:
                break
            ids.append(self._tokenizer.encode(text).ids[:_SENTENCE_TOKENS] or [0])
        sizes = np.array([len(part) for part in ids])
        means: list[Matrix] = []
        for start, end in _windows(sizes.tolist()):
            tokens = self.forward(np.concatenate([np.asarray(part, np.int64) for part in ids[start:end]]))
            window = sizes[start:end]
            sums = np.add.reduceat(tokens, np.cumsum(window) - window, axis=0)
            means.append(np.asarray(sums / window[:, None], np.float32))
        states = np.concatenate(means)
        states *= _NORM / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-9)
        rows = np.full((len(sentences) + 1, 2 * states.shape[1]), np.nan, np.float32)
        rows[indices[: len(ids)]] = np.hstack([states, states - states.mean(axis=0)])
        return rows[:-1]

    def forward(self, ids: NDArray[np.int64]) -> Matrix:
        """Return the state of each token after the last of the layers, (tokens, dim)."""
        states = self._embedding[ids]
        count, dim = states.shape
        size = dim // self._heads
        angles = np.arange(count)[:, None] * self._base ** (-np.arange(0, size, 2) / size)  # (tokens, size / 2)
        turns = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        future = np.triu(np.full((count, count), -np.inf, np.float32), 1)
        for layer in range(self._layers):
            weights = {name: self._weights[f"blk.{layer}.{name}.weight"] for name in _NAMES}
            inner = self._normalised(states, weights["attn_norm"])
            queries, keys, values = (
                (inner @ weights[name].T).reshape(count, -1, size).transpose(1, 0, 2)
                for name in ("attn_q", "attn_k", "attn_v")
            )  # (heads, tokens, size)
            queries, keys = _turned(queries, *turns), _turned(keys, *turns)
            mixed = np.empty_like(queries)
            for head in range(self._heads):
                group = head * self._groups // self._heads
                scores = queries[head] @ keys[group].T / np.sqrt(np.float32(size)) + future
                shares = np.exp(scores - scores.max(axis=1, keepdims=True))
                mixed[head] = shares @ values[group] / shares.sum(axis=1, keepdims=True)
            states = states + mixed.transpose(1, 0, 2).reshape(count, dim) @ weights["attn_output"].T
            inner = self._normalised(states, weights["ffn_norm"])
            gate = inner @ weights["ffn_gate"].T
            states = states + (gate / (1 + np.exp(-gate)) * (inner @ weights["ffn_up"].T)) @ weights["ffn_down"].T
        return states

    def _normalised(self, states: Matrix, weight: Matrix) -> Matrix:
        scale = np.sqrt(np.square(states).mean(axis=1, keepdims=True) + np.float32(self._epsilon))
        return np.asarray(states / scale * weight, np.float32)


def _windows(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return first and last index of parts that are read at once."""
    windows: list[tuple[int, int]] = []
    start = total = 0
    for index, size in enumerate(sizes):
        if index > start and total + size > _WINDOW:
            windows.append((start, index))
            start, total = index, 0
        total += size
    return [*windows, (start, len(sizes))]


def _turned(states: Matrix, cosine: Matrix, sine: Matrix) -> Matrix:
    """Rotate pairs of neighbouring numbers by their angles, as the layout of the file has them."""
    even, odd = states[..., 0::2], states[..., 1::2]
    return np.stack([even * cosine - odd * sine, even * sine + odd * cosine], axis=-1).reshape(states.shape)


def parse_gguf(data: mmap.mmap) -> tuple[Mapping[str, Any], Mapping[str, GgufTensor]]:
    """Return metadata and offsets of the tensors of a GGUF file.

    Raises:
        ValueError, LookupError, struct.error, OverflowError: If it is damaged or of another version.
    """
    position = 0

    def take(format: str) -> Any:  # noqa: ANN401 - a number of that format
        nonlocal position
        (value,) = struct.unpack_from(f"<{format}", data, position)
        position += struct.calcsize(f"<{format}")
        return value

    def text() -> str:
        nonlocal position
        size = take("Q")
        position += size
        return data[position - size : position].decode("utf-8")

    def value(kind: int) -> Any:  # noqa: ANN401 - whatever the file has
        if kind == _STRING:
            return text()
        if kind == _ARRAY:
            inner, count = take("I"), take("Q")
            return [value(inner) for _ in range(min(count, len(data)))]
        return take(_SCALARS[kind])

    if take("4s") != b"GGUF" or take("I") not in (2, 3):
        raise ValueError("no GGUF file of version 2 or 3")
    tensor_count, fact_count = take("Q"), take("Q")
    facts = {text(): value(take("I")) for _ in range(min(fact_count, len(data)))}
    found = []
    for _ in range(min(tensor_count, len(data))):
        name, axes = text(), take("I")
        shape = tuple(take("Q") for _ in range(axes))[::-1]
        found.append((name, shape, take("I"), take("Q")))
    start = -(-position // _ALIGNMENT) * _ALIGNMENT
    return facts, {name: (shape, kind, start + offset) for name, shape, kind, offset in found}


def dequantised(data: mmap.mmap, tensor: GgufTensor) -> NDArray[np.float32]:
    """Return the numbers of a tensor; quantised ones have a scale, and Q4_1 a minimum, for every 32."""
    shape, kind, start = tensor
    blocks = int(np.prod(shape)) // _BLOCK
    size = _BLOCK_BYTES[kind]
    raw = np.frombuffer(data, np.uint8, blocks * size, start).reshape(blocks, size)
    if kind in (0, 1):
        values = raw.copy().view(np.float32 if kind == 0 else np.float16)
    elif kind == 8:
        values = raw[:, 2:].view(np.int8) * raw[:, :2].view(np.float16).astype(np.float32)
    else:
        head = raw[:, : size - 16].copy().view(np.float16).astype(np.float32)  # scale, and minimum
        nibbles = np.hstack([raw[:, -16:] & 15, raw[:, -16:] >> 4])
        values = nibbles * head[:, :1] + (head[:, 1:] if kind == 3 else -8 * head[:, :1])
    return np.asarray(values, np.float32).reshape(shape)
