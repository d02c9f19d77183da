import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CAUGHT = 1 << (signal.SIGTERM - 1)


def wait_for_handlers(process: "subprocess.Popen[str]") -> None:
    """Wait until the process has begun with the first line of sumpool."""
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        mask = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt"))
        if int(mask.split()[1], 16) & CAUGHT:
            return
        time.sleep(0.001)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay", [0.0, 0.15])
def test_a_signal_during_the_imports_is_answered(number: signal.Signals, delay: float) -> None:
    command = [sys.executable, "-m", "sumpool", "train", "missing.yaml"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_handlers(process)
    time.sleep(delay)
    os.kill(process.pid, number)
    shown, told = process.communicate()
    assert (process.returncode, shown) == (128 + number, "")
    assert told == f"stopped by {number.name}\n"
