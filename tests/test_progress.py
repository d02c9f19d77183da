import os
import signal
import subprocess
import sys
import time

import pytest

from sumpool.errors import Interrupted
from sumpool.progress import interruptible, told_when_stopped


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_check_raises_after_a_signal(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with interruptible() as interruption:
        interruption.check()
        os.kill(os.getpid(), number)
        with pytest.raises(Interrupted, match=f"stopped by {number.name}; the work is saved"):
            interruption.check()
    assert signal.getsignal(number) is before


def run_program(*lines: str) -> tuple[int, str, float]:
    """Return the exit code, the standard error and the seconds of a program."""
    program = "import os, signal, time\nfrom sumpool.progress import finishing, interruptible\n" + "\n".join(lines)
    start = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", program], check=False, stderr=subprocess.PIPE, text=True)
    return ended.returncode, ended.stderr, time.monotonic() - start


@pytest.mark.parametrize("grace", [None, 60])
def test_second_signal_exits_at_once(grace: float | None) -> None:
    code, told, _ = run_program(
        f"with interruptible({grace}):",
        "    os.kill(os.getpid(), signal.SIGTERM)",
        "    os.kill(os.getpid(), signal.SIGTERM)",
        "    time.sleep(60)",
    )
    assert (code, told) == (143, "stopped by SIGTERM; what was saved before is kept\n")


def test_work_without_a_safe_point_ends_after_the_grace() -> None:
    code, told, seconds = run_program(
        "with interruptible(0.1) as interruption:",
        "    time.sleep(0.2)  # the grace begins with the signal",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "    time.sleep(60)",
    )
    assert (code, told) == (130, "stopped by SIGINT; what was saved before is kept\n")
    assert seconds < 30


def test_the_grace_does_not_begin_before_the_signal() -> None:
    code, told, _ = run_program(
        "with interruptible(0.5) as interruption:",
        "    time.sleep(1)",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "    time.sleep(0.1)",
        "    print('safe point', file=__import__('sys').stderr)",
    )
    assert "safe point" in told
    assert code == 1  # Interrupted at the end of the block
    assert "stopped by SIGINT; the work is saved" in told


def test_work_that_is_finishing_is_waited_for() -> None:
    code, told, _ = run_program(
        "with interruptible(0.1) as interruption:",
        "    with finishing():",
        "        os.kill(os.getpid(), signal.SIGINT)",
        "        time.sleep(0.5)",
        "        os.write(2, b'saved ')",
        "    time.sleep(60)",
    )
    assert (code, told) == (130, "saved stopped by SIGINT; what was saved before is kept\n")


def test_the_message_says_what_became_of_the_work() -> None:
    with (
        pytest.raises(Interrupted, match="stopped by SIGTERM; nothing was written"),
        told_when_stopped("nothing was written"),
    ):
        raise Interrupted(15)
