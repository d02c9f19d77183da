"""Adapt the shipped model to corpora of this folder with few pairs, and compare it with others on the same documents.

python recipes/outside/adaptation.py OUT KIND ... [--pairs 100 300 1000] [--test 80]

Test and validation documents are those of the test half, which the shipped model has not seen, at most as many as leave
300 pairs. Training documents are the rest of it, then those of the development half. Runs, logs and results are kept in
OUT/adaptation; what is there is not done again. Losses are comparable, as all systems have the shipped vocabulary.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import numpy as np
from common import HALVES, Row, read_corpus

from sumpool.evaluation.statistics import compare, holm

VALIDATION, LEFT = 30, 300
SYSTEMS = {
    "adapted": [],
    "ranker": ["train.steps=0"],
    "scratch": ["train.init_from=null", "train.learning_rate=1.2e-3"],
}
"""Settings by the name of a system that change the recipe of `init`."""
_MEASURES = ("rouge1", "rouge2", "rougeLsum")
_RESAMPLES = 10_000


def main() -> None:
    """Train the systems of each corpus and number of pairs, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("kinds", nargs="+")
    parser.add_argument("--pairs", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=[*SYSTEMS])
    parser.add_argument("--test", type=int, default=80, help="documents that all systems are scored on, at most")
    arguments = parser.parse_args()
    for kind in arguments.kinds:
        halves = [_shuffled(read_corpus(arguments.out / kind / f"{half}.jsonl")) for half in reversed(HALVES)]
        rows = [row for half in halves for row in half]
        test = min(arguments.test, len(halves[0]) - VALIDATION, len(rows) - VALIDATION - LEFT)
        last = test + VALIDATION
        folder = arguments.out.resolve() / "adaptation" / f"{kind}-{test}"
        _write(folder / "test.jsonl", rows[:test])
        _write(folder / "validation.jsonl", rows[test:last])
        for pairs in sorted({min(pairs, len(rows) - last) for pairs in arguments.pairs}):
            _write(folder / f"train-{pairs}.jsonl", rows[last : last + pairs])
            learnt = max(0, pairs - len(halves[0]) + last)
            print(f"\n{kind}, {pairs} pairs, {learnt} of them learnt by the shipped model; {test} test documents\n")
            for line in _table(folder, pairs, arguments.systems):
                print(line, flush=True)


def _shuffled(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: sha256(row.id.encode()).digest())


def _write(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ({"id": row.id, "document": row.document, "summary": row.summary} for row in rows)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _table(folder: Path, pairs: int, systems: Sequence[str]) -> Iterator[str]:
    """Train and evaluate systems, and yield the lines of their table; p-values are Holm's over all tests of it."""
    seconds = {system: _train(folder, system, pairs) for system in systems}
    names, out = [*systems, "shipped"], f"evaluation-{pairs}-{'-'.join(systems)}"
    runs = [f"runs/{system}-{pairs}" for system in systems]
    _sumpool(folder, out, ["evaluate", *runs, "shipped", "--out", out, "--set", "evaluate.baselines=[lead]"])
    files = [next((folder / out).glob(f"*-{Path(run).name}")) / "documents.jsonl" for run in [*runs, "shipped"]]
    scores = {name: _scores(file, "model") for name, file in zip(names, files, strict=True)}
    scores["LEAD, 60 words"] = _scores(files[0], "lead")
    tests = [(system, other) for system in systems for other in ("shipped", "LEAD, 60 words")]
    results = [compare(scores[first][:, :1], scores[second][:, :1], _RESAMPLES)[0] for first, second in tests]
    p_values = dict(zip(tests, holm([result.permutation for result in results]), strict=True))
    losses = {system: _losses(folder / f"runs/{system}-{pairs}") for system in systems}
    yield "| system | validation loss | ROUGE-1 / 2 / Lsum | p against shipped | p against LEAD | processor time |"
    yield "|---|---|---|---|---|---|"
    for name, values in scores.items():
        means = " / ".join(f"{100 * mean:.1f}" for mean in values.mean(axis=0))
        tested = [f"{p_values[name, other]:.3f}" if name in systems else "" for _, other in tests[:2]]
        loss = f"{min(losses[name]):.3f}" if name in systems else ""
        time = f"{seconds[name]:.0f} s" if name in systems else ""
        yield f"| {name} | {loss} | {means} | {' | '.join(tested)} | {time} |"


def _scores(file: Path, system: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """ROUGE (documents, measures) of a system in a file of `evaluate`."""
    rows = (json.loads(line)["systems"][system]["rouge"] for line in file.read_text().splitlines())
    return np.array([[row[name]["f1"] for name in _MEASURES] for row in rows])


def _losses(run: Path) -> list[float]:
    rows = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [row["nats"] for row in rows if row["kind"] == "validation"]


def _train(folder: Path, system: str, pairs: int) -> float:
    """Train a system with the recipe that `init` writes, and return the seconds of processor time."""
    name = f"{system}-{pairs}"
    seconds = _sumpool(folder, f"init-{name}", ["init", f"train-{pairs}.jsonl", "--out", f"{name}.yaml"])
    files = {"path": "null", **{split: f"{split}.jsonl" for split in ("validation", "test")}}
    files["train"] = f"train-{pairs}.jsonl"
    settings = [*(f"data.source.{key}={value}" for key, value in files.items()), *SYSTEMS[system]]
    sets = [word for setting in settings for word in ("--set", setting)]
    return seconds + _sumpool(folder, f"train-{name}", ["train", f"{name}.yaml", "--out", f"runs/{name}", *sets])


def _sumpool(folder: Path, name: str, arguments: list[str]) -> float:
    """Run a command unless it is complete, keep its output and its seconds of processor time, and return these."""
    seconds = folder / f"{name}.seconds"
    if not seconds.is_file():
        before = getrusage(RUSAGE_CHILDREN)
        with (folder / f"{name}.log").open("w") as log:
            command = [sys.executable, "-m", "sumpool", *arguments]
            subprocess.run(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, check=True)
        after = getrusage(RUSAGE_CHILDREN)
        seconds.write_text(str(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return float(seconds.read_text())


if __name__ == "__main__":
    main()
