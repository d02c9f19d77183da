"""States of sentences, by a tiny Llama model in a GGUF file that the test writes."""

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tokenizers.pre_tokenizers import ByteLevel

from sumpool.documents.document import Document, ParsedDocument, TextBlock
from sumpool.documents.source_sentences import source_sentences
from sumpool.errors import DataError
from sumpool.ranking.sentence_states import LAYERS, MAX_TOKENS, SentenceStates
from sumpool.text.sentences import SentenceSplitter
from tests.conftest import story

DIM, INNER, HEADS, GROUPS, SIZE = 64, 96, 4, 2, 16
TOKENS = [*sorted(ByteLevel.alphabet()), "in", "th"]
SHAPES = {
    "attn_norm": (DIM,),
    "attn_q": (DIM, DIM),
    "attn_k": (GROUPS * SIZE, DIM),
    "attn_v": (GROUPS * SIZE, DIM),
    "attn_output": (DIM, DIM),
    "ffn_norm": (DIM,),
    "ffn_gate": (INNER, DIM),
    "ffn_up": (INNER, DIM),
    "ffn_down": (DIM, INNER),
}
Arrays = dict[str, NDArray[np.float32]]


def weights(layers: int = LAYERS + 1) -> Arrays:
    generator = np.random.default_rng(1)
    arrays = {"token_embd.weight": generator.normal(size=(len(TOKENS), DIM))}
    for layer in range(layers):
        for name, shape in SHAPES.items():
            values = generator.normal(size=shape) / DIM**0.5
            arrays[f"blk.{layer}.{name}.weight"] = 1 + values / 4 if len(shape) == 1 else values
    return {name: values.astype(np.float32) for name, values in arrays.items()}


def quantised(values: NDArray[np.float32], kind: int) -> tuple[bytes, NDArray[np.float32]]:
    """Return the bytes of a tensor of a type, and the numbers that they stand for."""
    blocks = values.reshape(-1, 32)
    if kind == 0:
        return blocks.tobytes(), values
    if kind == 1:
        return blocks.astype("<f2").tobytes(), values.astype(np.float16).astype(np.float32)
    least = blocks.min(axis=1, keepdims=True) if kind == 3 else np.zeros((len(blocks), 1), np.float32)
    span = np.abs(blocks).max(axis=1, keepdims=True) / {2: 7, 8: 127}.get(kind, 1)
    scale = (blocks.max(axis=1, keepdims=True) - least) / 15 if kind == 3 else span
    scale, least = scale.astype(np.float16), least.astype(np.float16)
    steps = np.rint((blocks - least) / scale)
    stored = (scale.astype(np.float32) * steps + least).astype(np.float32).reshape(values.shape)
    if kind == 8:
        packed = steps.astype(np.int8).view(np.uint8)
    else:
        nibbles = (steps + (8 if kind == 2 else 0)).astype(np.uint8)
        packed = nibbles[:, :16] | nibbles[:, 16:] << 4
    heads = [scale, least] if kind == 3 else [scale]
    return np.hstack([*(head.view(np.uint8) for head in heads), packed]).tobytes(), stored


def write_gguf(path: Path, arrays: Arrays, kinds: Mapping[str, int], **changes: object) -> Arrays:
    """Write a model, and return the numbers that the file holds."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    def fact(name: str, value: object) -> bytes:
        if isinstance(value, list):
            return text(name) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
        if isinstance(value, str):
            return text(name) + struct.pack("<I", 8) + text(value)
        kind, code = (6, "f") if isinstance(value, float) else (4, "I")
        return text(name) + struct.pack(f"<I{code}", kind, value)

    facts = {
        "general.architecture": "llama",
        "llama.block_count": LAYERS + 1,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": GROUPS,
        "llama.rope.freq_base": 10_000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.merges": ["i n", "t h"],
        **changes,
    }
    head, body, stored = b"", b"", {}
    for name, values in arrays.items():
        kind = kinds.get(name.split(".")[-2], 0)
        content, stored[name] = quantised(values, kind)
        shape = values.shape[::-1]
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(body))
        body += content + bytes(-len(content) % 32)
    start = (
        b"GGUF" + struct.pack("<IQQ", 3, len(arrays), len(facts)) + b"".join(map(fact, facts, facts.values())) + head
    )
    path.write_bytes(start + bytes(-len(start) % 32) + body)
    return stored


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SentenceStates:
    path = tmp_path_factory.mktemp("scorer") / "model.gguf"
    write_gguf(path, weights(), {})
    return SentenceStates(path)


KINDS: dict[str, int] = {"token_embd": 8, "attn_q": 2, "attn_v": 3, "ffn_up": 8, "ffn_down": 1}


@pytest.mark.slow
def test_states_are_those_of_transformers(tmp_path: Path) -> None:
    from transformers import LlamaConfig, LlamaModel

    stored = write_gguf(tmp_path / "model.gguf", weights(), KINDS)
    config = LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=DIM,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS + 1,
        num_attention_heads=HEADS,
        num_key_value_heads=GROUPS,
        rms_norm_eps=1e-5,
    )
    reference = LlamaModel(config).eval()
    names = {
        "attn_norm": "input_layernorm",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        **{f"attn_{part}": f"self_attn.{part}_proj" for part in "qkv"},
        **{f"ffn_{part}": f"mlp.{part}_proj" for part in ("gate", "up", "down")},
    }
    state = {"embed_tokens.weight": stored["token_embd.weight"], "norm.weight": np.ones(DIM, np.float32)}
    for layer in range(LAYERS + 1):
        for name, other in names.items():
            values = stored[f"blk.{layer}.{name}.weight"]
            if name in ("attn_q", "attn_k"):  # a head's pairs are neighbours in the file, and half a head apart there
                values = values.reshape(-1, SIZE // 2, 2, DIM).transpose(0, 2, 1, 3).reshape(values.shape)
            state[f"layers.{layer}.{other}.weight"] = values
    reference.load_state_dict({name: torch.from_numpy(values.copy()) for name, values in state.items()})
    ids = np.random.default_rng(2).integers(0, len(TOKENS), 70)
    with torch.no_grad():
        expected = reference(torch.from_numpy(ids)[None], output_hidden_states=True).hidden_states[LAYERS][0].numpy()
    found = SentenceStates(tmp_path / "model.gguf").forward(ids)
    assert np.abs(found - expected).max() < 1e-3 < np.abs(expected).max()


def test_a_sentence_has_the_mean_state_of_its_tokens_in_the_document(model: SentenceStates) -> None:
    blocks = (TextBlock("Gateways", "heading"), TextBlock("x = y", "code"), TextBlock(story(1, 3)))
    document = Document.from_parsed("a", ParsedDocument(blocks, "Packets"))
    sentences = source_sentences(document, SentenceSplitter())
    rows = model.read(document, sentences)
    assert rows.shape == (len(sentences), 2 * DIM)
    assert np.isnan(rows[1]).all()
    read = rows[[0, *range(2, len(sentences))]]
    np.testing.assert_allclose(np.linalg.norm(read[:, :DIM], axis=1), 24, rtol=1e-4)
    first = sentences[2].text
    before = model._tokenizer.encode("Packets\n\nGateways\n\n").ids
    ids = model._tokenizer.encode(f"{first} ").ids
    states = model.forward(np.array([*before, *ids]))[len(before) :].mean(axis=0)
    np.testing.assert_allclose(rows[2, :DIM], 24 * states / np.linalg.norm(states), atol=1e-3)
    assert np.abs(rows[2, :DIM] - model.read(Document("b", first), sentences[2:3])[0, :DIM]).max() > 0.1


def test_the_beginning_of_a_long_document_is_read(model: SentenceStates) -> None:
    document = Document("a", story(1, 200))
    sentences = source_sentences(document, SentenceSplitter())
    is_read = ~np.isnan(model.read(document, sentences)[:, 0])
    assert 0 < is_read.sum() < len(sentences)
    assert not is_read[int(is_read.sum()) :].any()
    assert len(" ".join(item.text for item, read in zip(sentences, is_read, strict=True) if read)) < 3 * MAX_TOKENS


def test_tokens_are_bytes_merges_and_single_digits(model: SentenceStates) -> None:
    assert model._tokenizer.encode("thin 12").tokens == ["th", "in", "\u0120", "1", "2"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    for content in (b"", b"GGUF", b"PK\x03\x04 and so on, for some bytes more"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"model.gguf must be SmolLM2-135M as a GGUF file, got: "):
            SentenceStates(path)
    with pytest.raises(DataError, match="must be SmolLM2-135M"):
        SentenceStates(tmp_path / "missing.gguf")
    write_gguf(path, weights(1), {}, **{"general.architecture": "gpt2"})
    with pytest.raises(DataError, match="another architecture or tokenizer"):
        SentenceStates(path)
    write_gguf(path, weights(1), {})
    path.write_bytes(path.read_bytes()[:-4000])
    with pytest.raises(DataError, match="must be SmolLM2-135M"):
        SentenceStates(path)
