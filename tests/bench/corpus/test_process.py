import os
import sys
from pathlib import Path

import pytest

from sumpool.bench.corpus.process import run_process
from sumpool.bench.measures.machine import EnergyMeter
from sumpool.progress import no_op

LINES = """\
print('{"id": 1}', flush=True)
block = bytearray(b"1") * 100_000_000
print('{"id": 2}', flush=True)
"""


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_a_process_is_timed_from_its_start(tmp_path: Path) -> None:
    run = run_process(python(LINES), EnergyMeter(tmp_path), no_op)
    assert (run.problem, [row["id"] for row in run.rows], run.joules) == ("", [1, 2], None)
    assert 0 < run.first < run.seconds
    if Path("/proc/self/status").exists():
        assert run.memory
        assert 100e6 < run.memory < 200e6


def test_energy_is_that_of_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "intel-rapl:0"
    folder.mkdir()
    for name, value in (("name", "package-0"), ("energy_uj", "0"), ("max_energy_range_uj", "100000000")):
        (folder / name).write_text(value)
    meter = EnergyMeter(tmp_path)
    write = f"open({str(folder / 'energy_uj')!r}, 'w').write('{{}}')"
    runs = [run_process(python(write.format(energy)), meter, no_op) for energy in (3_000_000, 4_000_000)]
    assert [run.joules for run in runs] == pytest.approx([3, 1])


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("import sys; sys.exit('error: no such model')", "error: no such model"),
        ("import sys; sys.exit(5)", "it ended with exit code 5"),
        ("import signal; signal.pause()", "it took more than 1 s"),
    ],
)
def test_a_run_that_fails_has_a_reason(tmp_path: Path, program: str, problem: str) -> None:
    assert run_process(python(program), EnergyMeter(tmp_path), no_op, timeout=1).problem == problem


def test_an_interrupted_process_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "process"
    file.touch()

    def stop() -> None:
        if file.read_text().endswith("\n"):
            raise KeyboardInterrupt

    program = f"import os, signal; open({str(file)!r}, 'w').write(f'{{os.getpid()}}\\n'); signal.pause()"
    with pytest.raises(KeyboardInterrupt):
        run_process(python(program), EnergyMeter(tmp_path), stop)
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)
