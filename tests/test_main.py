import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.torture.figures import has_signal, wait


def has_handlers(process: "subprocess.Popen[str]") -> bool:
    """Whether the process has begun with the first line of sumpool."""
    return has_signal(process.pid, "SigCgt", signal.SIGTERM)


def has_libraries(process: "subprocess.Popen[str]") -> bool:
    """Whether the process is in the middle of its imports."""
    return has_handlers(process) and "_pydantic_core" in Path(f"/proc/{process.pid}/maps").read_text()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", [has_handlers, has_libraries])
def test_a_signal_during_the_imports_is_answered(
    number: signal.Signals, moment: Callable[["subprocess.Popen[str]"], bool]
) -> None:
    command = [sys.executable, "-m", "sumpool", "train", "missing.yaml"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait(lambda: moment(process), 60)
    os.kill(process.pid, number)
    shown, told = process.communicate()
    assert (process.returncode, shown) == (128 + number, "")
    assert told == f"stopped by {number.name}\n"


@pytest.mark.parametrize(
    ("command", "given", "spins"),
    [
        ("summarize", {}, "1000"),
        ("train", {}, "None"),
        ("summarize train", {}, "1000"),
        ("summarize", {"GOMP_SPINCOUNT": "7"}, "7"),
        ("summarize", {"OMP_WAIT_POLICY": "active"}, "None"),
    ],
)
def test_waiting_threads_sleep_soon_unless_the_user_decides(command: str, given: dict[str, str], spins: str) -> None:
    code = """
import os, sys
import sumpool.__main__, sumpool.cli.app
sumpool.cli.app.main = lambda: print(os.environ.get("GOMP_SPINCOUNT"), "torch" in sys.modules)
sumpool.__main__.main()
"""
    ours = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    words = [sys.executable, "-c", code, *command.split()]
    shown = subprocess.run(words, capture_output=True, text=True, check=True, env=environment | given)
    assert shown.stdout == f"{spins} False\n"


@pytest.mark.parametrize(
    ("thread", "shown"), [("", "ended\n"), ("Timer(0.2, print, ['waited']).start()", "waited\nended\ntorn down\n")]
)
def test_the_interpreter_does_not_tear_torch_down_once_all_is_done(thread: str, shown: str) -> None:
    code = f"""
import atexit, sys, types
from threading import Timer
import sumpool.__main__, sumpool.cli.app
class Kept:
    def __del__(self):
        print("torn down")
kept = Kept()
atexit.register(print, "ended")
sys.modules["torch"] = types.ModuleType("torch")
sumpool.cli.app.main = lambda: sys.exit(3)
{thread}
sumpool.__main__.main()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (3, shown)
