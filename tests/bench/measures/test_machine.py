from pathlib import Path

import pytest
import torch

from sumpool.bench.measures import machine
from sumpool.bench.measures.machine import NOT_READABLE, NOT_SHOWN, EnergyMeter, probes

CPU = torch.device("cpu")


@pytest.mark.usefixtures("small_probes")
def test_probes_of_the_machine() -> None:
    found = probes(CPU, ["fp32", "bf16", "int8", "fp32"])
    assert list(found) == ["fp32 products", "bf16 products", "int8 products", "memory read", "memory copied"]
    assert found["fp32 products"].amount == 2 * 8**3
    assert (found["memory read"].amount, found["memory copied"].amount) == (1024, 2048)
    for probe in found.values():
        probe.work()


def test_every_device_has_sizes() -> None:
    assert set(machine.SIDE) == set(machine.BUFFER) == {"cpu", "cuda"}


def domain(powercap: Path, folder: str, name: str, energy: int, largest: int = 1_000_000_000) -> Path:
    path = powercap / folder
    path.mkdir(parents=True)
    for file, value in (("name", name), ("energy_uj", energy), ("max_energy_range_uj", largest)):
        (path / file).write_text(f"{value}\n")
    return path / "energy_uj"


def test_packages_are_summed_and_their_parts_are_not(tmp_path: Path) -> None:
    first = domain(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    second = domain(tmp_path, "intel-rapl:1", "package-1", 0)
    names = {"intel-rapl:0:0": "core", "intel-rapl:2": "psys", "intel-rapl-mmio:0": "package-0"}
    others = [domain(tmp_path, folder, name, 0) for folder, name in names.items()]
    meter = EnergyMeter(tmp_path)
    assert meter.sample() == 0
    first.write_text("7500000\n")
    second.write_text("1000000\n")
    for other in others:
        other.write_text("900000000\n")
    assert meter.sample() == pytest.approx(3.5)
    assert not meter.problem


def test_a_counter_that_wraps_around_goes_on(tmp_path: Path) -> None:
    energy = domain(tmp_path, "intel-rapl:0", "package-0", 9_000_000, largest=10_000_000)
    meter = EnergyMeter(tmp_path)
    energy.write_text("2000000\n")
    assert meter.sample() == pytest.approx(3)
    energy.write_text("1000000\n")
    assert meter.sample() == pytest.approx(12)


def test_a_machine_without_counters_says_so(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        meter = EnergyMeter(folder)
        if meter.problem:  # not on a machine with a GPU
            assert (meter.sample(), meter.problem) == (None, NOT_SHOWN)


def test_an_unreadable_domain_is_left_out(tmp_path: Path) -> None:
    energy = domain(tmp_path, "intel-rapl:0", "package-0", 1)
    energy.chmod(0)
    try:
        energy.read_text()
    except PermissionError:
        assert EnergyMeter(tmp_path).problem in (NOT_READABLE, "")
    energy.chmod(0o600)
    energy.write_text("")  # a disabled domain
    assert EnergyMeter(tmp_path).sample() is None or not EnergyMeter(tmp_path).problem
