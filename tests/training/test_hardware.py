import subprocess
import sys
from pathlib import Path
from typing import Any, Literal
from unittest.mock import Mock, call

import pytest
import torch

from sumpool.core.nn.quantization import Precision
from sumpool.errors import RecipeError
from sumpool.training import hardware
from sumpool.training.hardware import (
    OUT_OF_MEMORY,
    autocast,
    available,
    choose_device,
    choose_encoder_precision,
    choose_generation_precision,
    choose_precision,
    fits,
    peak,
    physical,
    reproducible,
    try_peak,
)

CPU = torch.device("cpu")


def test_a_missing_gpu_is_an_error_and_attention_on_one_is_not_computed_by_cudnn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cudnn = Mock()
    monkeypatch.setattr(torch.backends.cuda, "enable_cudnn_sdp", cudnn)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == choose_device("cpu") == CPU
    with pytest.raises(RecipeError, match=r"train\.device must be 'cpu' or 'auto'"):
        choose_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("cpu") == CPU
    cudnn.assert_not_called()
    assert choose_device("auto").type == choose_device("cuda").type == "cuda"
    assert cudnn.call_args_list == [call(False), call(False)]


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


def test_auto_encodes_in_bf16_on_cpus_with_amx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "CPUINFO", tmp_path / "cpuinfo")
    table: tuple[tuple[str, Literal["auto"] | Precision, Precision, Precision], ...] = (
        ("avx512_bf16 amx_tile amx_bf16", "auto", "int8", "bf16"),
        ("avx512_bf16 avx512_vnni", "auto", "int8", "int8"),
        ("amx_bf16", "int8", "int8", "int8"),
        ("amx_bf16", "auto", "fp32", "fp32"),
    )
    for flags, setting, generation, expected in table:
        (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags : fpu {flags} vme\n")
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


MEBI = 2**20
linux = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux keeps a mark to reset")


FRESH = """
import torch
from sumpool.training.hardware import peak

held = torch.ones(64 * 2**20 // 4)  # what was there before does not count

def work():
    first = torch.ones(64 * 2**20 // 4)
    del first
    second = torch.ones(48 * 2**20 // 4)
    torch.cat([second[: 4 * 2**20], second[: 4 * 2**20]])

print(*(peak(work, torch.device("cpu")) for _ in range(3)))
"""


@pytest.mark.slow
@linux
def test_peak_is_what_was_held_at_once() -> None:
    """In a fresh process: a heap that other tests left large serves these blocks, and keeps the pages of the first."""
    printed = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True).stdout
    assert all(abs(int(one) - 80 * MEBI) < 4 * MEBI for one in printed.split()), printed
    assert len(printed.split()) == 3


@pytest.mark.slow
@linux
def test_memory_kept_by_the_c_library_is_seen_again() -> None:
    """Blocks of 100 kB come from the heap, which keeps them when they are freed."""

    def work() -> None:
        kept = [torch.ones(25_000) for _ in range(400)]
        del kept

    measured = [peak(work, CPU) for _ in range(3)]
    assert all(one is not None and one > 36 * MEBI for one in measured), measured


def test_peak_is_unknown_where_no_mark_can_be_reset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hardware, "gc", Mock())
    monkeypatch.setattr(hardware, "_RESET", tmp_path / "missing")
    work = Mock()
    assert peak(work, CPU) is None
    work.assert_called_once_with()


def test_what_does_not_fit_is_a_note_and_other_errors_are_raised() -> None:
    work = Mock(side_effect=MemoryError)
    assert not fits(work)
    assert try_peak(work, CPU, Mock(side_effect=MemoryError)) == (None, OUT_OF_MEMORY)
    assert try_peak(work, CPU, Mock(return_value=3)) == (3, "")
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        fits(Mock(side_effect=RuntimeError("shapes do not fit")))


def test_available_keeps_within_the_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hardware, "_CONTAINER", tmp_path)
    assert 0 < available(CPU) <= physical()
    (tmp_path / "memory.current").write_text("600\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert available(CPU) > 1000
    (tmp_path / "memory.max").write_text("1000\n")
    assert available(CPU) == 400


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_peak_is_exact() -> None:
    device = torch.device("cuda")
    assert peak(lambda: torch.ones(MEBI, device=device), device) == 4 * MEBI


FREED = """
import ctypes
from pathlib import Path
from sumpool.training.hardware import keep_freed_memory

SIZE = 16 * 2**20
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p

def faults():
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[7])

for keeps in (False, True):
    if keeps:
        keep_freed_memory()
    for number in range(8):
        if number == 4:
            before = faults()
        held = [libc.malloc(ctypes.c_size_t(SIZE)) for _ in range(8)]
        for block in held:
            libc.memset(ctypes.c_void_p(block), 1, ctypes.c_size_t(SIZE))
        while held:  # the last one first, as a backward pass does
            libc.free(ctypes.c_void_p(held.pop()))
    print(faults() - before)
"""


@pytest.mark.slow
@linux
def test_freed_memory_is_kept_for_the_next_update() -> None:
    """The kernel clears a page at the first access to it, which it counts as a fault."""
    freed, kept = map(int, subprocess.check_output([sys.executable, "-c", FREED], text=True).split())
    assert kept < 1000 < freed
