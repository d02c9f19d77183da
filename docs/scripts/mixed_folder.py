"""Check of `sumpool summarize FOLDER --out-dir` on 1,000 mixed files, 50 of them broken, killed and continued.

    python docs/scripts/mixed_folder.py PACKAGES [--files 1000] [--broken 50]

PACKAGES is a folder of unpacked Debian packages and source archives. Real files of every format are drawn by a fixed
seed and copied together with broken ones: empty, truncated, of random bytes, of another format than their suffix says.
The command is killed by SIGKILL in the middle and started again. Afterwards every readable file must have one summary,
every broken one an error that names it, the exit code must be 3, and no summary may have been written twice. Among the
files of test suites some are empty, encrypted or scans; they are listed with their errors.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

SEED = 20261122
MAX_BYTES = 60_000
"""Size of a file at most, compressed; the check is of files and not of long documents."""
MIN_BYTES = 2_000
WITHOUT_TEXT = ("must hold text, got none", "must have a text layer", "must be open to everyone, got an encrypted")
"""Errors of files that are as they should be, but have no text to summarise."""
SUFFIXES = (".txt", ".md", ".rst", ".html", ".pdf", ".docx", ".odt", ".epub", ".eml", ".7.gz", ".txt.gz")

BROKEN: Mapping[str, Callable[[bytes], bytes]] = {
    "empty.txt": lambda _: b"",
    "zeros.txt": lambda _: bytes(4096),
    "picture.txt": lambda _: b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(4000),
    "truncated.pdf": lambda pdf: pdf[: len(pdf) // 3],
    "text.pdf": lambda _: b"This is not a PDF file.",
    "noise.docx": lambda _: random.Random(2).randbytes(4000),
    "cut.docx": lambda _: b"PK\x03\x04" + random.Random(3).randbytes(400),
    "noise.epub": lambda _: random.Random(4).randbytes(4000),
    "noise.txt.gz": lambda _: b"\x1f\x8b\x08\x00" + random.Random(5).randbytes(400),
    "spaces.html": lambda _: b"<html><body><script>var x = 1;</script>  </body></html>",
}
"""Broken files: their names, and their content made from a readable PDF file."""


def main() -> None:
    """Make the folder, run the command twice, and check what it wrote."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--broken", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder, out = Path(work) / "files", Path(work) / "summaries"
        broken = make_folder(arguments.packages, folder, arguments.files, arguments.broken)
        command = [sys.executable, "-m", "sumpool", "summarize", str(folder), "--out-dir", str(out)]
        command += ["--jobs", str(arguments.jobs), "--mode", "extractive"]
        start = time.perf_counter()
        kill_after(command, out, (arguments.files - arguments.broken) // 2)
        before = written(out)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        check(done, folder, out, broken, before)
        print(f"{seconds / 60:.1f} minutes in all, {arguments.files / seconds:.1f} files/s")  # noqa: T201


def make_folder(packages: Path, folder: Path, files: int, broken: int) -> set[str]:
    """Copy files drawn by the seed, add broken ones, and return the names of the broken ones."""
    draw = random.Random(SEED)
    kinds: list[list[Path]] = []
    for suffix in SUFFIXES:
        candidates = sorted(path for path in packages.rglob(f"*{suffix}") if is_usable(path))
        draw.shuffle(candidates)
        kinds.append(candidates)
    chosen: list[Path] = []
    while len(chosen) < files - broken and any(kinds):
        chosen += [kind.pop() for kind in kinds if kind]
    for number, path in enumerate(chosen[: files - broken]):
        target = folder / f"{number % 20:02}" / f"{number:04}-{path.name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    pdf = next(path for path in sorted(packages.rglob("*.pdf")) if is_usable(path)).read_bytes()
    names = set()
    for number in range(broken):
        name, make = list(BROKEN.items())[number % len(BROKEN)]
        target = folder / f"{number % 20:02}" / f"broken-{number:02}-{name}"
        target.write_bytes(make(pdf))
        names.add(str(target))
    return names


def is_usable(path: Path) -> bool:
    """Return whether a file is neither a link nor tiny nor large."""
    return path.is_file() and not path.is_symlink() and MIN_BYTES <= path.stat().st_size <= MAX_BYTES


def kill_after(command: Sequence[str], out: Path, files: int) -> None:
    """Run a command and kill it as soon as it has written a number of files."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(written(out)) < files:
            time.sleep(0.5)
        process.send_signal(signal.SIGKILL)


def written(out: Path) -> dict[str, int]:
    """Return the modification times of the summaries by name."""
    return {str(path): path.stat().st_mtime_ns for path in out.rglob("*.txt") if not path.name.startswith(".")}


def check(
    done: subprocess.CompletedProcess[str], folder: Path, out: Path, broken: set[str], before: Mapping[str, int]
) -> None:
    """Print the figures, and stop with an error if one is wrong."""
    rows = [json.loads(line) for line in (out / "summaries.jsonl").read_text("utf-8").splitlines()]
    files = {str(path) for path in folder.rglob("*") if path.is_file()}
    failed = {row["id"] for row in rows if row["reason"]}
    after = written(out)
    again = [path for path, changed in before.items() if after.get(path) != changed]
    repeated = [id for id, count in Counter(row["id"] for row in rows).items() if count > 1]
    figures = {
        "files": len(files),
        "summaries": len(after),
        "named errors": len(failed),
        "errors of files that are not broken": len(failed - broken),
        "broken files with a summary": len(broken - failed),
        "files without a row": len(files - {row["id"] for row in rows}),
        "exit code": done.returncode,
        "written before the kill": len(before),
        "written again": len(again),
        "rows written twice": len(repeated),
    }
    for name, figure in figures.items():
        print(f"{figure:6,}  {name}")  # noqa: T201
    for row in rows:
        if row["reason"] and row["id"] not in broken:
            print(f"        {row['id']}: {row['reason']}")  # noqa: T201
    sys.stderr.write(done.stderr[-300:])
    others = [row["reason"] for row in rows if row["id"] in failed - broken]
    explained = all(any(error in reason for error in WITHOUT_TEXT) for reason in others)
    if (
        done.returncode != 3
        or not broken <= failed
        or not explained
        or again
        or repeated
        or files != {row["id"] for row in rows}
    ):
        sys.exit(1)


if __name__ == "__main__":
    main()
