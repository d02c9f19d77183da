import os
import signal
import subprocess
import sys

import pytest

from sumpool.errors import Interrupted
from sumpool.progress import interruptible


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_check_raises_after_a_signal(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with interruptible() as interruption:
        interruption.check()
        os.kill(os.getpid(), number)
        with pytest.raises(Interrupted, match=f"stopped by {number.name}; the work is saved"):
            interruption.check()
    assert signal.getsignal(number) is before


def test_second_signal_exits_at_once() -> None:
    program = (
        "import os, signal\n"
        "from sumpool.progress import interruptible\n"
        "with interruptible():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 143
