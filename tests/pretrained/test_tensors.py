import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from sumpool.errors import CheckpointError
from sumpool.pretrained.weights import Tensors


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


def test_any_floating_point_becomes_float32(tmp_path: Path) -> None:
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        taken = Tensors(write(tmp_path, a=torch.tensor([0.5], dtype=dtype))).take("a", (1,))
        assert taken.dtype == torch.float32
        assert taken.item() == 0.5


def test_unsuitable_tensors_are_refused(tmp_path: Path) -> None:
    for tensor, sentence in (
        (torch.ones(3), r"a must be \(2,\), as config\.json has it, got \(3,\)"),
        (torch.ones(2, dtype=torch.int8), r"a must be of floating point, got torch\.int8; take weights not quantised"),
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


def test_sharded_files_equal_a_single_file(tmp_path: Path) -> None:
    save_file({"model.a": torch.ones(1)}, tmp_path / "model-00001-of-00002.safetensors")
    save_file({"model.b": torch.zeros(1)}, tmp_path / "model-00002-of-00002.safetensors")
    parts = {f"model.{name}": f"model-0000{number}-of-00002.safetensors" for number, name in ((1, "a"), (2, "b"))}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))
    tensors = Tensors(tmp_path)
    assert (tensors.take("a", (1,)).item(), tensors.take("b", (1,)).item()) == (1, 0)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model-00002-of-00002\.safetensors must be a safetensors file, got"):
        Tensors(tmp_path)


def test_an_index_that_names_no_parts_is_refused(tmp_path: Path) -> None:
    for index in ("{}", '{"weight_map": {}}', '{"weight_map": {"a": "../x"}}', '{"weight_map": {"a": 3}}'):
        (tmp_path / "model.safetensors.index.json").write_text(index)
        with pytest.raises(CheckpointError, match=r"index\.json must map the tensors to files beside it, got"):
            Tensors(tmp_path)


def test_pickles_are_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"anything")
    with pytest.raises(
        CheckpointError, match=r"must hold model\.safetensors, got pytorch_model\.bin, a pickle, .*convert"
    ):
        Tensors(tmp_path)


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"must hold model\.safetensors, or model\.safetensors\.index\.json and"):
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
