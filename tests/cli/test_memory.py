import re
import subprocess
import sys
from pathlib import Path

import pytest

from sumpool.cli.app import ADVICE, explain, require_address_space
from sumpool.errors import ResourceError
from sumpool.io.manifest import SHIPPED

pytestmark = pytest.mark.slow

resource = pytest.importorskip("resource")  # not on Windows
MEBIBYTE = 1 << 20


def run_limited(mebibytes: int, *words: str) -> tuple[int, str, list[str]]:
    """Return the exit code, the output and the lines on stderr of a command with a limit of address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MEBIBYTE, mebibytes * MEBIBYTE))

    ended = subprocess.run(
        [sys.executable, "-m", "sumpool", *words], capture_output=True, check=False, text=True, preexec_fn=limit
    )
    return ended.returncode, ended.stdout, ended.stderr.splitlines()


def test_a_limit_below_that_of_the_libraries_is_one_line() -> None:
    for command in ("summarize", "prepare", "train", "evaluate", "bench", "export", "import", "prune"):
        code, shown, told = run_limited(500, command, "x", "y")
        assert (code, shown, len(told)) == (6, "", 1)
        assert re.fullmatch(
            rf"error: the limit of address space must be at least .* for sumpool {command}, got .*", told[0]
        )


def test_what_needs_no_libraries_needs_no_memory(tmp_path: Path) -> None:
    document = tmp_path / "a.txt"
    document.write_text("Hosts send packets to gateways.")
    code, shown, _ = run_limited(500, "summarize", "--fast", "--model", str(SHIPPED), str(document))
    assert (code, shown) == (0, "Hosts send packets to gateways.\n")
    assert run_limited(200, "--help")[0] == 0


def test_every_thread_needs_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2048 * MEBIBYTE, -1))
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    require_address_space("train")
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    require_address_space("runs")
    with pytest.raises(ResourceError, match=r"at least 2,359,296 KiB for sumpool train, got 2,097,152 KiB: raise it"):
        require_address_space("train")


def test_advice_follows_the_command() -> None:
    told = explain(MemoryError("bad_alloc"), "prepare")[1]
    assert told.startswith("error: memory ran out in sumpool prepare (bad_alloc); prepare with fewer processes")
    assert explain(MemoryError("x"))[1] == "error: memory ran out (x); close other programs"
    assert "--fast" in ADVICE["summarize"]
    assert "--auto-batch" in ADVICE["train"]
