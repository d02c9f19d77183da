"""Peak of the memory of commands, in a process of their own."""

import json
import subprocess
import sys
from collections.abc import Sequence

_CODE = """
import json, sys
from pathlib import Path
from sumpool.cli.app import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["sumpool", *words]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    (peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(f"\\0{peak.split()[1]}\\0", end="")
"""


def peak_memory(*commands: Sequence[str]) -> list[tuple[float, str]]:
    """Run `sumpool` with the arguments of each command, one after another.

    Returns:
        By command, the peak of the resident memory until its end in MB, without that of the calling process, which
        `ru_maxrss` would begin with; and its standard output.
    """
    command = [sys.executable, "-c", _CODE, json.dumps(commands)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    outputs, peaks = finished.stdout.split("\0")[:-1:2], finished.stdout.split("\0")[1::2]
    assert len(peaks) == len(commands), finished.stderr
    return [(int(peak) / 1024, output) for peak, output in zip(peaks, outputs, strict=True)]
