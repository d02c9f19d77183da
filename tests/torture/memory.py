"""Peak of the memory of a command, in a process of its own."""

import subprocess
import sys
from collections.abc import Sequence

_CODE = """
import sys
from pathlib import Path
from sumpool.cli.app import main
try:
    main()
finally:
    (peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    sys.stderr.write(f"\\n{peak.split()[1]}")
"""


def peak_memory(arguments: Sequence[str]) -> tuple[float, str]:
    """Run `sumpool` with arguments.

    Returns:
        Peak of the resident memory in MB, without that of the calling process, which `ru_maxrss` would begin with; and
        standard output.
    """
    command = [sys.executable, "-c", _CODE, *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(finished.stderr.splitlines()[-1]) / 1024, finished.stdout
