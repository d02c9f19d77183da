import errno
import inspect
import logging
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from sumpool import __version__
from sumpool.cli import app as module
from sumpool.cli.app import ADVICE, COMMANDS, explain, load_command, main, require_address_space
from sumpool.errors import CheckpointError, DataError, Interrupted, NonFiniteError, RecipeError, ResourceError
from sumpool.io.manifest import SHIPPED
from tests.cli.conftest import run


class OutOfMemoryError(RuntimeError):
    """Looks like torch's."""


def test_every_error_has_an_exit_code_and_a_message() -> None:
    many_files = OSError(errno.EMFILE, "Too many open files", "a.txt")
    many_threads = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    for error, code, sentence in (
        (RecipeError("r.yaml: a must b"), 2, "error: r.yaml: a must b"),
        (DataError("d"), 3, "error: d"),
        (CheckpointError("c"), 4, "error: c"),
        (NonFiniteError("n"), 5, "error: n"),
        (ResourceError("r"), 6, "error: r"),
        (Interrupted(2), 130, "stopped by SIGINT; the work is saved"),
        (Interrupted(15), 143, "stopped by SIGTERM; the work is saved"),
        (OSError(errno.ENOSPC, "No space left on device", "x.bin"), 6, "error: x.bin: No space left on device; free"),
        (OSError(errno.ENOSPC, "No space left on device"), 6, "error: No space left on device; free some"),
        (PermissionError(errno.EACCES, "Permission denied", "out"), 3, "error: out: Permission denied"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "aaa"), 2, "error: aaa must be a shorter name"),
        (many_files, 6, "error: [Errno 24] Too many open files: 'a.txt'; raise"),
        (many_threads, 6, "raise the limits of this process (ulim"),
        (RuntimeError("can't start new thread"), 6, "error: can't start new thread; raise the limits of this process"),
        (MemoryError(), 6, "error: memory ran out (MemoryError); close other programs"),
        (OSError(errno.ENOMEM, "Cannot allocate memory", "x"), 6, "error: memory ran out ([Errno 12] Cannot allocate"),
        (RuntimeError("std::bad_alloc"), 6, "error: memory ran out (std::bad_alloc)"),
        (RuntimeError("could not create a primitive"), 6, "error: memory ran out"),
        (RuntimeError("Resource temporarily unavailable"), 6, "error: memory ran out"),
        (ImportError("x.so: failed to map segment from shared object"), 6, "error: memory ran out"),
        (OutOfMemoryError("CUDA out of memory. Tried"), 6, "error: memory ran out (CUDA out of memory. Tried)"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 6, "error: memory ran out"),
        (KeyError("x"), 1, "error: KeyError: 'x'; this is a bug in sumpool, run again with --debug"),
        (OSError("odd"), 1, "this is a bug in sumpool"),
    ):
        exit_code, told = explain(error)
        assert exit_code == code
        assert told.startswith(sentence) or sentence in told
        assert "\n" not in told


def test_help_describes_each_command_as_the_command_does() -> None:
    for name, line in COMMANDS.items():
        described = " ".join((inspect.getdoc(load_command(name)) or "").split())
        assert described.startswith(line.removesuffix(".")), name


def run_main(monkeypatch: pytest.MonkeyPatch, error: Exception, *words: str) -> None:
    """Run `main` with a command line that fails."""
    monkeypatch.setattr(module, "app", Mock(side_effect=error))
    monkeypatch.setattr(sys, "argv", ["sumpool", *words])
    main()


def test_failure_is_one_line_on_stderr(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for error, words, code, told in (
        (RecipeError("bad[0].x must be \x1b[31m"), ("train", "bad.yaml"), 2, "error: bad[0].x must be \\u001b[31m\n"),
        (KeyError("x"), ("summarize", "--", "--debug"), 1, "error: KeyError: 'x'; this is a bug in sumpool"),
        (KeyError("not reached"), ("summarize", ""), 2, "error: no argument must be empty, got ''"),
    ):
        with pytest.raises(SystemExit) as stopped:
            run_main(monkeypatch, error, *words)
        shown = capsys.readouterr()
        assert (stopped.value.code, shown.out, shown.err.count("\n")) == (code, "", 1)
        assert shown.err.startswith(told)


def test_debug_shows_what_the_package_logs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("sumpool")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logging.WARNING)
    with pytest.raises(SystemExit):
        run_main(monkeypatch, KeyError("x"), "train", "bad.yaml")
    assert not logger.handlers
    with pytest.raises(KeyError):
        run_main(monkeypatch, KeyError("x"), "train", "bad.yaml", "--debug")
    capsys.readouterr()
    logging.getLogger("sumpool.inference.loading").debug("encoder %s", "int8")
    assert capsys.readouterr().err == "encoder int8\n"


def test_a_mistyped_command_gets_a_suggestion() -> None:
    result = run("trian")
    assert result.exit_code == 2
    assert "train" in result.stderr


def test_version_is_shown() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"sumpool {__version__}\n")


MEBIBYTE = 1 << 20


def run_limited(mebibytes: int, *words: str) -> tuple[int, str, list[str]]:
    """Return the exit code, the output and the lines on stderr of a command with a limit of address space."""

    resource = pytest.importorskip("resource")  # not on Windows

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MEBIBYTE, mebibytes * MEBIBYTE))

    ended = subprocess.run(
        [sys.executable, "-m", "sumpool", *words], capture_output=True, check=False, text=True, preexec_fn=limit
    )
    return ended.returncode, ended.stdout, ended.stderr.splitlines()


@pytest.mark.slow
def test_a_limit_below_that_of_the_libraries_is_one_line() -> None:
    for command in ("summarize", "prepare", "train", "evaluate", "bench", "export", "import"):
        code, shown, told = run_limited(500, command, "x", "y")
        assert (code, shown, len(told)) == (6, "", 1)
        assert re.fullmatch(
            rf"error: the limit of address space must be at least .* for sumpool {command}, got .*", told[0]
        )


@pytest.mark.slow
def test_what_needs_no_libraries_needs_no_memory(tmp_path: Path) -> None:
    document = tmp_path / "a.txt"
    document.write_text("Hosts send packets to gateways.")
    code, shown, _ = run_limited(500, "summarize", "--fast", "--model", str(SHIPPED), str(document))
    assert (code, shown) == (0, "Hosts send packets to gateways.\n")
    assert run_limited(200, "--help")[0] == 0


def test_every_thread_needs_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
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
