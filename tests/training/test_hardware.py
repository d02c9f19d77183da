from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from sumpool.core.nn.quantization import Precision
from sumpool.errors import RecipeError
from sumpool.training import hardware
from sumpool.training.hardware import (
    autocast,
    choose_device,
    choose_encoder_precision,
    choose_generation_precision,
    choose_precision,
    reproducible,
)

CPU = torch.device("cpu")


def test_a_missing_gpu_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == choose_device("cpu") == CPU
    with pytest.raises(RecipeError, match=r"train\.device must be 'cpu' or 'auto'"):
        choose_device("cuda")


@pytest.fixture
def cudnn_attention() -> Iterator[None]:
    """Let PyTorch choose cuDNN for attention, as it does by default."""
    enabled = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(True)
    yield
    torch.backends.cuda.enable_cudnn_sdp(enabled)


@pytest.mark.usefixtures("cudnn_attention")
@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_attention_on_a_gpu_is_not_computed_by_cudnn(
    name: Literal["auto", "cuda"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("cpu") == CPU
    assert torch.backends.cuda.cudnn_sdp_enabled()
    assert choose_device(name).type == "cuda"
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_auto_is_bf16_on_cpus_with_bf16_instructions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for flags, expected in (
        ("avx2 avx512_bf16", torch.bfloat16),
        ("amx_bf16", torch.bfloat16),
        ("avx2", torch.float32),
    ):
        (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags : fpu {flags} vme\n")
        monkeypatch.setattr(hardware, "CPUINFO", tmp_path / "cpuinfo")
        assert choose_precision("auto", CPU) == expected
        assert choose_precision("fp32", CPU) == torch.float32
        assert choose_precision("bf16", CPU) == torch.bfloat16
        monkeypatch.setattr(hardware, "CPUINFO", tmp_path / "missing")
        assert choose_precision("auto", CPU) == torch.float32


def test_auto_generation_precision_is_the_smallest_fast_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda _: True)
    monkeypatch.setattr(hardware, "has_int8", lambda: True)
    assert choose_generation_precision("auto", CPU) == "int8"
    assert choose_generation_precision("auto", torch.device("cuda")) == "bf16"
    assert choose_generation_precision("fp32", CPU) == "fp32"
    assert choose_generation_precision("bf16", CPU) == "bf16"
    monkeypatch.setattr(hardware, "has_int8", lambda: False)
    monkeypatch.setattr(hardware, "CPUINFO", Path("missing"))
    assert choose_generation_precision("auto", CPU) == "fp32"
    with pytest.raises(RecipeError, match=r"summarize\.precision must be 'auto', .* on this cpu, .* got 'int8'"):
        choose_generation_precision("int8", CPU)
    with pytest.raises(RecipeError, match=r"summarize\.precision must be 'auto', .* on this cuda, .* got 'int8'"):
        choose_generation_precision("int8", torch.device("cuda"))


@pytest.mark.parametrize(
    ("flags", "setting", "generation", "expected"),
    [
        ("avx512_bf16 amx_tile amx_bf16", "auto", "int8", "bf16"),
        ("avx512_bf16 avx512_vnni", "auto", "int8", "int8"),
        ("avx2", "auto", "int8", "int8"),
        ("amx_bf16", "int8", "int8", "int8"),
        ("amx_bf16", "auto", "fp32", "fp32"),
        ("amx_bf16", "bf16", "bf16", "bf16"),
    ],
)
def test_auto_encodes_in_bf16_on_cpus_with_amx(
    flags: str,
    setting: Precision,
    generation: Precision,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags : fpu {flags} vme\n")
    monkeypatch.setattr(hardware, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(hardware, "has_packed_bf16", lambda: True)
    assert choose_encoder_precision(setting, generation, CPU) == expected
    assert choose_encoder_precision(setting, generation, torch.device("cuda")) == generation
    monkeypatch.setattr(hardware, "has_packed_bf16", lambda: False)
    assert choose_encoder_precision(setting, generation, CPU) == generation


def test_autocast_sets_the_precision_of_matrix_products() -> None:
    for precision in (torch.bfloat16, torch.float32):
        with autocast(CPU, precision):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == precision


def test_reproducible_restores_the_global_state() -> None:
    deterministic: Any = torch.utils.deterministic
    before = deterministic.fill_uninitialized_memory
    with reproducible(CPU):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
    assert deterministic.fill_uninitialized_memory == before
    with reproducible(torch.device("cuda")):
        assert not torch.are_deterministic_algorithms_enabled()
