"""Imported models compute what the originals compute."""

from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import CheckpointError
from sumpool.pretrained.config import ImportOptions
from sumpool.pretrained.weights import Extension, Tensors, extend_positions
from tests.pretrained.originals import (
    CLASSES,
    EOS,
    PAD,
    VOCABULARY,
    Batch,
    Theirs,
    both,
    imported,
    random_batch,
    random_model,
)

SHAPES: list[dict[str, Any]] = [
    {},
    {"d_model": 32, **both(attention_heads=4, ffn_dim=64, layers=3)},
    {"d_model": 8, **both(attention_heads=1, ffn_dim=6, layers=1)},
]
CHANGES: dict[str, list[dict[str, Any]]] = {
    "bart": [{}, {"scale_embedding": True}, {"activation_function": "relu"}],
    "led": [{}, {"attention_window": 12, "scale_embedding": True}, {"attention_window": 32}],
}
"""Other settings of each shape, for the families in which they differ from those below."""
OTHER_CHANGES: list[dict[str, Any]] = [{}, {"scale_embedding": False}, {"activation_function": "gelu"}]
LENGTHS = ((17,), (40, 3, 21))
LEARNED = torch.arange(3.0)[:, None]


def encode(model: SummarizationModel, batch: Batch) -> tuple[Tensor, Tensor]:
    """Encoder states (batch, length, dim) of ours, and log-probabilities (batch, target, vocab)."""
    with torch.inference_mode():
        memory = model.encode(batch.ids, batch.mask, torch.zeros_like(batch.ids))
        decoded = model.decoder(batch.inputs, model.decoder.precompute(memory.tokens))
        return memory.tokens.states, model.output(decoded.states, torch.empty(0), {})


def encode_theirs(model: Theirs, batch: Batch) -> tuple[Tensor, Tensor]:
    """The same of theirs."""
    first = {"global_attention_mask": torch.zeros_like(batch.ids)} if model.config.model_type == "led" else {}
    for mask in first.values():
        mask[:, 0] = 1
    with torch.inference_mode():
        output = model(input_ids=batch.ids, attention_mask=batch.mask.long(), decoder_input_ids=batch.inputs, **first)
    return output.encoder_last_hidden_state, output.logits.log_softmax(-1)


def farthest(ours: SummarizationModel, theirs: Theirs, batch: Batch) -> float:
    """The largest difference at real tokens, of states and log-probabilities."""
    states, log_probs = encode(ours, batch)
    their_states, their_log_probs = encode_theirs(theirs, batch)
    assert torch.equal(log_probs.isneginf(), their_log_probs.isneginf())
    assert their_states[batch.mask].std() > 0.3
    assert their_log_probs[their_log_probs.isfinite()].std() > 0.3
    differences = (log_probs - their_log_probs).nan_to_num()
    return max(float((states - their_states)[batch.mask].abs().max()), float(differences.abs().max()))


def test_hepos_is_a_mask_of_each_head_of_the_original(tmp_path: Path) -> None:
    """Head h of cross-attention attends to the positions p with p mod 4 = h mod 4."""
    theirs = random_model("bart", 4, **SHAPES[1], scale_embedding=True)
    theirs.save_pretrained(tmp_path)
    batch = random_batch(4, (40, 30, 21))
    offsets = torch.arange(40) % 4 == torch.arange(4)[:, None] % 4  # (heads, length)
    hidden = ~(offsets[None, :, None] & batch.mask[:, None, None])

    def mask_heads(
        _: object, args: tuple[Tensor, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
        bias = torch.zeros(hidden.shape, dtype=args[0].dtype if args else kwargs["hidden_states"].dtype)
        return args, {**kwargs, "attention_mask": bias.masked_fill(hidden, -torch.inf)}

    for layer in theirs.model.decoder.layers:
        layer.encoder_attn.register_forward_pre_hook(mask_heads, with_kwargs=True)
    ours = imported(tmp_path, ImportOptions(cross_attention="hepos"))
    assert farthest(ours, theirs, batch) < 1e-4
    assert farthest(ours.double(), theirs.double(), batch) < 1e-11
    assert farthest(imported(tmp_path).double(), theirs, batch) > 0.1


STARTS = {"mbart": VOCABULARY - 1, "pegasus": PAD, "marian": PAD}


@pytest.mark.parametrize("shape", range(3))
@pytest.mark.parametrize("family", CLASSES)
def test_models_are_imported_exactly(tmp_path: Path, shape: int, family: str) -> None:
    changes = CHANGES.get(family, OTHER_CHANGES)[shape]
    theirs = random_model(family, shape, **SHAPES[shape], **changes)
    theirs.save_pretrained(tmp_path)
    ours, start = imported(tmp_path), STARTS.get(family, EOS)
    batches = [random_batch(shape, lengths, start=start) for lengths in (*LENGTHS, (48, 1))]
    assert all(farthest(ours, theirs, batch) < 1e-4 for batch in batches)
    # LED of transformers rounds its weights to float32, and Marian its positions.
    rounding = {"led": 1e-4, "marian": 1e-6}.get(family, 1e-11)
    assert all(farthest(ours.double(), theirs.double(), batch) < rounding for batch in batches)


@pytest.mark.parametrize("family", ["pegasus", "marian"])
def test_sinusoidal_positions_are_those_of_transformers(tmp_path: Path, family: str) -> None:
    theirs = random_model(family, 1, d_model=32)
    theirs.save_pretrained(tmp_path)
    expected = theirs.model.encoder.embed_positions.weight
    ours = imported(tmp_path, ImportOptions(positions=60))
    for embed in (ours.encoder.embed, ours.decoder.embed):
        assert embed.positions is not None
        torch.testing.assert_close(embed.positions.weight[:48], expected, atol=1e-7, rtol=0)
    longer = random_model(family, 1, d_model=32, max_position_embeddings=60).model.encoder.embed_positions.weight
    torch.testing.assert_close(ours.state_dict()["encoder.embed.positions.weight"], longer, atol=1e-7, rtol=0)
    shorter = imported(tmp_path, ImportOptions(positions=20)).state_dict()["encoder.embed.positions.weight"]
    torch.testing.assert_close(shorter, expected[:20], atol=1e-7, rtol=0)


def test_stored_positions_are_taken_as_they_are(tmp_path: Path) -> None:
    theirs = random_model("pegasus", 2)
    with torch.no_grad():
        theirs.model.encoder.embed_positions.weight.normal_()
    theirs.save_pretrained(tmp_path)
    assert farthest(imported(tmp_path), theirs, random_batch(2, (40, 7), start=PAD)) < 1e-4


def test_suppressed_tokens_keep_their_bias(tmp_path: Path) -> None:
    theirs = random_model("marian", 3)
    theirs.final_logits_bias[0, PAD] = -torch.inf
    theirs.save_pretrained(tmp_path)
    assert farthest(imported(tmp_path), theirs, random_batch(3, (40, 7), start=PAD)) < 1e-4


@pytest.mark.parametrize("family", CLASSES)
def test_sharded_weights_equal_a_single_file(tmp_path: Path, family: str) -> None:
    theirs = random_model(family, 5)
    theirs.save_pretrained(tmp_path / "whole")
    theirs.save_pretrained(tmp_path / "parts", max_shard_size="8KB")
    first, *others = (tmp_path / "parts").glob("model-*.safetensors")
    assert len(others) > 1
    whole, parts = (imported(tmp_path / name).state_dict() for name in ("whole", "parts"))
    assert all(torch.equal(tensor, parts[name]) for name, tensor in whole.items())
    first.unlink()
    with pytest.raises(CheckpointError, match=rf"{first.name} must be a safetensors file, got"):
        imported(tmp_path / "parts")


def test_a_model_saved_without_its_head_is_the_same(tmp_path: Path) -> None:
    theirs = random_model("bart", 6)
    theirs.final_logits_bias.zero_()
    theirs.save_pretrained(tmp_path / "whole")
    theirs.model.save_pretrained(tmp_path / "bare")
    whole, bare = (imported(tmp_path / name).state_dict() for name in ("whole", "bare"))
    assert all(torch.equal(tensor, bare[name]) for name, tensor in whole.items())


@pytest.mark.parametrize("extend", ["repeat", "flip"])
def test_extended_positions_change_nothing_for_short_documents(tmp_path: Path, extend: Any) -> None:  # noqa: ANN401
    theirs = random_model("bart", 7)
    theirs.save_pretrained(tmp_path)
    ours = imported(tmp_path, ImportOptions(positions=150, extend=extend))
    assert farthest(ours, theirs, random_batch(7, (48, 20))) < 1e-4
    states, log_probs = encode(ours, random_batch(7, (150,)))
    assert states.isfinite().all()
    assert not log_probs.isnan().any()
    learned = theirs.model.encoder.embed_positions.weight[2:]
    extended = ours.encoder.embed.positions
    assert extended is not None
    second = learned if extend == "repeat" else learned.flip(0)
    assert torch.equal(extended.weight[:96], torch.cat([learned, second]))


def test_lobart_equals_bart_within_half_a_window(tmp_path: Path) -> None:
    """Every vector of a document no longer than half a window and one sees all others."""
    theirs = random_model("bart", 8)
    theirs.save_pretrained(tmp_path)
    ours = imported(tmp_path, ImportOptions("sliding_window", 20, positions=96))
    assert farthest(ours, theirs, random_batch(8, (11, 3, 8))) < 1e-4
    batch = random_batch(8, (40,))
    assert (encode(ours, batch)[0] - encode_theirs(theirs, batch)[0]).abs().max() > 0.01
    blocks = imported(tmp_path, ImportOptions("blockwise", 11))
    assert farthest(blocks, theirs, random_batch(8, (11, 3, 8))) < 1e-4


def test_tensors_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for family, sizes, sentence in (
        ("bart", {"model.decoder.layers.1.fc1.bias": None}, r"tensor decoder\.layers\.1\.fc1\.bias \(24,\), but it"),
        ("bart", {"model.shared.weight": (60, 8)}, r"shared\.weight must be \(60, 16\), as config\.json has it"),
        ("bart", {"lm_head.weight": (60, 16)}, r"lm_head\.weight must be the same matrix as shared\.weight, got"),
        ("bart", {"x": (3,)}, r"must hold the weights of BART with its language head and no others, got x"),
        ("bart", {"model.encoder.layers.2.fc1.bias": (3,), "x": (1,)}, r"got encoder\.layers\.2\.fc1\.bias and 1"),
        ("pegasus", {"model.decoder.embed_positions.weight": (47, 16)}, r"weight must be \(48, 16\), as config"),
        ("mbart", {"model.encoder.embed_positions.weight": None}, r"encoder\.embed_positions\.weight \(50, 16"),
        ("marian", {"model.encoder.layer_norm.bias": (16,)}, r"weights of Marian .* others, got encoder\.layer_n"),
    ):
        random_model(family, 11).save_pretrained(tmp_path)
        change = {name: None if size is None else torch.ones(size) for name, size in sizes.items()}
        tensors = {**load_file(tmp_path / "model.safetensors"), **change}
        save_file(
            {name: tensor for name, tensor in tensors.items() if tensor is not None}, tmp_path / "model.safetensors"
        )
        with pytest.raises(CheckpointError, match=sentence):
            imported(tmp_path)


def places(length: int, how: Extension) -> list[float]:
    return extend_positions(LEARNED, length, how).flatten().tolist()


def test_positions_are_copied_or_truncated() -> None:
    assert places(8, "repeat") == [0, 1, 2, 0, 1, 2, 0, 1]
    assert places(8, "flip") == [0, 1, 2, 2, 1, 0, 0, 1]
    assert places(8, "last") == [0, 1, 2, 2, 2, 2, 2, 2]
    for how in get_args(Extension):
        assert places(3, how) == [0, 1, 2]
        assert places(2, how) == [0, 1]


def write(folder: Path, **tensors: Tensor) -> Path:
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_tensors_are_taken_once_by_their_names_in_the_bare_model(tmp_path: Path) -> None:
    save_file(
        {"model.a": torch.ones(2), "led.b": torch.ones(1), "lm_head.c": torch.ones(1)}, tmp_path / "model.safetensors"
    )
    tensors = Tensors(tmp_path)
    assert tensors.names() == ["a", "b", "lm_head.c"]
    assert torch.equal(tensors.take("a", (2,)), torch.ones(2))
    assert "a" not in tensors
    with pytest.raises(CheckpointError, match=r"must hold the tensor a \(2,\), but it is missing"):
        tensors.take("a", (2,))


def test_any_floating_point_becomes_float32_and_unsuitable_tensors_are_refused(tmp_path: Path) -> None:
    for dtype in (torch.float64, torch.bfloat16):
        taken = Tensors(write(tmp_path, a=torch.tensor([0.5], dtype=dtype))).take("a", (1,))
        assert (taken.dtype, taken.item()) == (torch.float32, 0.5)
    for tensor, sentence in (
        (torch.ones(3), r"a must be \(2,\), as config\.json has it, got \(3,\)"),
        (torch.ones(2, dtype=torch.int8), r"a must be of floating point, got torch\.int8; take unquantised weights"),
        (torch.tensor([1.0, torch.nan]), r"a must hold finite numbers, got others"),
        (torch.tensor([1.0, -torch.inf]), r"a must hold finite numbers, got others"),
    ):
        with pytest.raises(CheckpointError, match=sentence):
            Tensors(write(tmp_path, a=tensor)).take("a", (2,))


def test_minus_infinity_is_allowed_on_request(tmp_path: Path) -> None:
    write(tmp_path, a=torch.tensor([1.0, -torch.inf]), b=torch.tensor([torch.inf]))
    tensors = Tensors(tmp_path)
    assert tensors.take("a", (2,), allow_minus_inf=True)[1] == -torch.inf
    with pytest.raises(CheckpointError, match="b must hold finite numbers"):
        tensors.take("b", (1,), allow_minus_inf=True)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, a=torch.ones(1000)) / "model.safetensors"
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:6], b"", b"\xff" * 100):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"model\.safetensors must be a safetensors file, got: .*; download"):
            Tensors(tmp_path)


def test_folders_without_weights_that_can_be_read_are_refused(tmp_path: Path) -> None:
    index, beside = "model.safetensors.index.json", r"index\.json must map the tensors to files beside it, got"
    for name, content, sentence in (
        ("empty", "", r"must hold model\.safetensors, or model\.safetensors\.index\.json and"),
        ("pytorch_model.bin", "x", r"must hold model\.safetensors, got pytorch_model\.bin, a pickle, .*convert"),
        (index, "{}", beside),
        (index, '{"weight_map": {}}', beside),
        (index, '{"weight_map": {"a": "../x"}}', beside),
        (index, '{"weight_map": {"a": 3}}', beside),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(CheckpointError, match=sentence):
            Tensors(tmp_path)


def test_a_tensor_that_can_no_longer_be_read_is_refused(tmp_path: Path) -> None:
    tensors = Tensors(write(tmp_path, a=torch.ones(2)))
    file, name, shape = tensors._files["a"]
    del file

    class Broken:
        def get_tensor(self, name: str) -> Tensor:
            raise OSError(f"no {name}")

    tensors._files["a"] = (Broken(), name, shape)
    with pytest.raises(CheckpointError, match="a must be readable, got: no a; download it again"):
        tensors.take("a", (2,))
