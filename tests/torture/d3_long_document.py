"""A document of a million tokens, summarised by a small and by the shipped model."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sumpool.io.manifest import SHIPPED
from tests.conftest import story, write_run
from tests.torture.figures import Measured

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


ID: Final = "D3"
FIGURE: Final = (
    "a document of that many tokens: a summary, at most 2 GB, and at most 1.3 times the memory of a quarter of it "
    "beside the text; small and shipped model"
)
NIGHT: Final = 1_000_000
QUICK: Final = 2_000
_GROWTH = 1.3
_MEGABYTES = 2000.0
_SENTENCES = 40


def measure(count: int, folder: Path) -> Measured:
    """Summarise a document of `count` tokens and a quarter of it, at night each in a process of its own."""
    models = {"small": write_run(folder / "run"), **({"shipped": SHIPPED} if count > QUICK else {})}
    told, is_met = [], True
    for name, model in models.items():
        documents = [folder / f"{tokens}.txt" for tokens in (count // 4, count)]
        for document in documents:
            document.write_text(_text(int(document.stem)))
        texts = [document.stat().st_size / 2**20 for document in documents]
        commands = [("summarize", str(document), "--model", str(model)) for document in documents]
        groups = [commands] if count <= QUICK else [[command] for command in commands]
        measured = [result for group in groups for result in peak_memory(*group)]
        peaks = [peak for peak, _ in measured]
        assert all(summary.strip() for _, summary in measured)
        is_met &= peaks[1] <= _MEGABYTES and peaks[1] <= _GROWTH * peaks[0] + texts[1]
        told.append(f"{name}: {peaks[0]:,.0f} MB, then {peaks[1]:,.0f} MB with {texts[1]:.1f} MB of text")
    return Measured("; ".join(told), is_met, count)


def _text(tokens: int) -> str:
    """Return paragraphs with about that many tokens, of which a word has at least one."""
    stories: list[str] = []
    words = 0
    while words < tokens:
        stories.append(story(len(stories), _SENTENCES))
        words += len(stories[-1].split())
    return "\n\n".join(stories)
