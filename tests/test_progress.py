import os
import signal
import subprocess
import sys

import pytest
import torch

from sumpool.errors import Interrupted, is_out_of_memory
from sumpool.progress import interruptible, told_when_stopped


def stop_by(number: signal.Signals) -> None:
    with interruptible(60) as interruption:
        interruption.check()
        os.kill(os.getpid(), number)
        interruption.check()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_check_raises_after_a_signal_and_says_what_became_of_the_work(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match=f"stopped by {number.name}; the work is saved"):
        stop_by(number)
    told = told_when_stopped("nothing was written")
    with pytest.raises(Interrupted, match=f"stopped by {number.name}; nothing was written"), told:
        stop_by(number)
    assert signal.getsignal(number) is before


def run_program(*lines: str) -> tuple[int, str]:
    """Return the exit code and the standard error of a program."""
    imports = "import os, signal, threading, time\nfrom sumpool.progress import finishing, interruptible\n"
    program = [sys.executable, "-c", imports + "\n".join(lines)]
    ended = subprocess.run(program, check=False, stderr=subprocess.PIPE, text=True, timeout=120)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(("first", "second"), [("SIGTERM", "SIGINT"), ("SIGINT", "SIGINT"), ("SIGTERM", "SIGTERM")])
def test_second_signal_ends_work_that_holds_the_interpreter(first: str, second: str) -> None:
    lines = [
        "import ctypes",
        "with interruptible(60) as interruption:",
        f"    os.kill(os.getpid(), signal.{first})",
        "    while interruption.number is None:",
        "        time.sleep(0.01)",
        "    if os.fork():",
        "        ctypes.PyDLL(None).sleep(60)  # holds the interpreter, as imports of C libraries",
        "        os._exit(1)",
        "    time.sleep(0.1)",
        f"    os.kill(os.getppid(), signal.{second})",
        "    os._exit(0)",
    ]
    code, told = run_program(*lines)
    assert (code, told) == (-getattr(signal, second), "")


def test_a_second_signal_of_another_number_ends_a_waiting_call() -> None:
    code, told = run_program(
        "import ctypes",
        "with interruptible(60):",
        "    if os.fork():",
        "        mutex = ctypes.create_string_buffer(128)",
        "        for _ in range(2):",
        "            ctypes.CDLL(None).pthread_mutex_lock(mutex)",
        "    for number in (signal.SIGTERM, signal.SIGINT):",
        "        time.sleep(0.1)",
        "        os.kill(os.getppid(), number)",
        "    os._exit(0)",
    )
    assert (code, told) == (130, "stopped by SIGINT; what was saved before is kept\n")


def test_the_grace_does_not_begin_before_the_signal() -> None:
    code, told = run_program(
        "with interruptible(0.5) as interruption:",
        "    time.sleep(1)",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "    time.sleep(0.1)",
        "    print('safe point', file=__import__('sys').stderr)",
    )
    assert "safe point" in told
    assert code == 1  # Interrupted at the end of the block
    assert "stopped by SIGINT; the work is saved" in told


def test_work_without_a_safe_point_ends_after_the_grace_or_when_it_is_finished() -> None:
    code, told = run_program(
        "with interruptible(0.1) as interruption:",
        "    time.sleep(0.2)  # the grace begins with the signal",
        "    with finishing():",
        "        os.kill(os.getpid(), signal.SIGINT)",
        "        time.sleep(0.5)",
        "        os.write(2, b'saved ')",
        "    threading.Event().wait()",
    )
    assert (code, told) == (130, "saved stopped by SIGINT; what was saved before is kept\n")


def test_out_of_memory_errors_are_recognised() -> None:
    with pytest.raises(RuntimeError) as failure:
        torch.empty(2**60)
    assert is_out_of_memory(failure.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert is_out_of_memory(RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported"))
    assert is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    assert is_out_of_memory(MemoryError())
    assert not is_out_of_memory(RuntimeError("shapes cannot be multiplied"))
