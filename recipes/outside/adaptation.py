"""Adapt the shipped model to corpora of this folder with few pairs, and compare it with others on the same documents.

python recipes/outside/adaptation.py OUT KIND ... [--pairs 100 300 1000] [--test 80]

Test and validation documents are those of the test half, which the shipped model has not seen. Training documents are
the rest of it, then those of the development half. Runs, logs and results are kept in OUT/adaptation; what is there is
not done again.
"""

import argparse
import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import monotonic

from common import HALVES, Row, read_corpus

VALIDATION = 30
SYSTEMS: dict[str, tuple[list[str], list[str]]] = {
    "ranker": ([], ["--set", "train.steps=0"]),
    "adapted": ([], []),
    "scratch": (["--from-scratch"], []),
}
"""Options of `init` and of `train` by the name of a system."""


def main() -> None:
    """Train the systems of each corpus and number of pairs, and print the tables of `sumpool evaluate`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("kinds", nargs="+")
    parser.add_argument("--pairs", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=[*SYSTEMS])
    parser.add_argument("--test", type=int, default=80, help="documents that all systems are scored on")
    arguments = parser.parse_args()
    for kind in arguments.kinds:
        folder = arguments.out.resolve() / "adaptation" / kind
        halves = {half: _shuffled(read_corpus(arguments.out / kind / f"{half}.jsonl")) for half in HALVES}
        rows = [*halves["test"], *halves["development"]]
        last = arguments.test + VALIDATION
        _write(folder / "test.jsonl", rows[: arguments.test])
        _write(folder / "validation.jsonl", rows[arguments.test : last])
        largest = len(rows) - last
        for pairs in sorted({min(pairs, largest) for pairs in arguments.pairs}):
            _write(folder / f"train-{pairs}.jsonl", rows[last : last + pairs])
            runs = [_train(folder, system, pairs) for system in arguments.systems]
            _sumpool(
                folder,
                f"evaluate-{pairs}",
                ["evaluate", *runs, "shipped", "--against", "shipped", "--out", f"evaluation-{pairs}"],
            )
            print(f"{kind}, {pairs} pairs\n{(folder / f'evaluate-{pairs}.txt').read_text()}", flush=True)


def _shuffled(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: sha256(row.id.encode()).digest())


def _write(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ({"id": row.id, "document": row.document, "summary": row.summary} for row in rows)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _train(folder: Path, system: str, pairs: int) -> str:
    """Train a system with a recipe that `init` writes, and return its run folder."""
    name, (of_init, of_train) = f"{system}-{pairs}", SYSTEMS[system]
    _sumpool(folder, f"init-{name}", ["init", f"train-{pairs}.jsonl", "--out", f"{name}.yaml", *of_init])
    files = {"path": "null", **{split: f"{split}.jsonl" for split in ("validation", "test")}}
    files["train"] = f"train-{pairs}.jsonl"
    sets = [word for key, value in files.items() for word in ("--set", f"data.source.{key}={value}")]
    run = f"runs/{name}"
    _sumpool(folder, f"train-{name}", ["train", f"{name}.yaml", "--out", run, *sets, *of_train])
    return run


def _sumpool(folder: Path, name: str, arguments: list[str]) -> None:
    """Run a command, keep its output and its log with its times, and pass over what is complete."""
    output = folder / f"{name}.txt"
    if output.is_file():
        return
    start, used = monotonic(), getrusage(RUSAGE_CHILDREN)
    with (folder / f"{name}.log").open("w") as log:
        command = [sys.executable, "-m", "sumpool", *arguments]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, check=True)
    now = getrusage(RUSAGE_CHILDREN)
    processor = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    print(f"{folder.name} {name}: {processor:.0f} s of processor time, {monotonic() - start:.0f} s", flush=True)
    output.write_text(done.stdout)


if __name__ == "__main__":
    main()
