from pathlib import Path
from typing import Any

import pytest
import torch

from sumpool.errors import RecipeError
from sumpool.training import hardware
from sumpool.training.hardware import autocast, choose_device, choose_precision, choose_writing, reproducible

CPU = torch.device("cpu")


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == choose_device("cpu") == CPU
    with pytest.raises(RecipeError, match=r"train\.device must be 'cpu' or 'auto'"):
        choose_device("cuda")


def test_a_gpu_that_is_there_is_taken_unless_the_recipe_says_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == choose_device("cuda").type == "cuda"
    assert choose_device("cpu") == CPU


@pytest.mark.parametrize(
    ("flags", "expected"), [("avx2 avx512_bf16", torch.bfloat16), ("amx_bf16", torch.bfloat16), ("avx2", torch.float32)]
)
def test_auto_takes_bf16_where_the_processor_multiplies_it(
    flags: str, expected: torch.dtype, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags : fpu {flags} vme\n")
    monkeypatch.setattr(hardware, "CPU_INFORMATION", tmp_path / "cpuinfo")
    assert choose_precision("auto", CPU) == expected
    assert choose_precision("fp32", CPU) == torch.float32
    assert choose_precision("bf16", CPU) == torch.bfloat16
    monkeypatch.setattr(hardware, "CPU_INFORMATION", tmp_path / "missing")
    assert choose_precision("auto", CPU) == torch.float32


def test_summaries_are_written_with_the_fewest_bytes_that_the_device_multiplies_fast(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda _: True)
    monkeypatch.setattr(hardware, "has_int8", lambda: True)
    assert choose_writing("auto", CPU) == "int8"
    assert choose_writing("auto", torch.device("cuda")) == "bf16"
    assert choose_writing("fp32", CPU) == "fp32"
    assert choose_writing("bf16", CPU) == "bf16"
    monkeypatch.setattr(hardware, "has_int8", lambda: False)
    monkeypatch.setattr(hardware, "CPU_INFORMATION", Path("missing"))
    assert choose_writing("auto", CPU) == "fp32"
    with pytest.raises(RecipeError, match=r"summarize\.precision must be 'auto', .* on this cpu, .* got 'int8'"):
        choose_writing("int8", CPU)


def test_whole_numbers_are_not_multiplied_on_a_gpu() -> None:
    with pytest.raises(RecipeError, match=r"summarize\.precision must be 'auto', .* on this cuda, .* got 'int8'"):
        choose_writing("int8", torch.device("cuda"))


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float32])
def test_autocast_computes_matrix_products_in_the_precision(precision: torch.dtype) -> None:
    with autocast(CPU, precision):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == precision


def test_reproducible_leaves_the_process_as_it_was() -> None:
    memory: Any = torch.utils.deterministic
    before = memory.fill_uninitialized_memory
    with reproducible(CPU):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
    assert memory.fill_uninitialized_memory == before
    with reproducible(torch.device("cuda")):
        assert not torch.are_deterministic_algorithms_enabled()
