"""Training that is killed ten times: at step 0, at epoch ends, in validations, saves and rotations, and at random."""

import os
import random
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, Literal

import torch

from sumpool.data.batches import Batch, Epochs, ItemSource, TrainingData
from sumpool.progress import Progress
from sumpool.training import fit as training_loop
from sumpool.training.checkpoint import Checkpoint, Checkpoints
from tests.torture.figures import Measured, exit_code_of
from tests.training.toy import CONFIG, DATA, new_model, new_run, trace

Place = Literal["step 0", "epoch end", "evaluation", "save", "rotation", "anywhere", "nowhere"]
_DELAY = 0.004
"""Seconds between the place of a kill and the kill at most: as long as a save."""


class Recorder:
    """Record of what a process does, which survives its kill."""

    def __init__(self, path: Path, place: Place, seed: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._draw = random.Random(seed)
        self._place = place
        self._passed = self._draw.randint(0, 2) if place == "anywhere" else 0
        self.write("\nstart")  # behind a line that the kill of another process has cut

    def write(self, line: str) -> None:
        """Append a line, whole or not at all."""
        os.write(self._file, f"{line}\n".encode())

    def reach(self, place: Place) -> None:
        """Kill this process if it was to be killed there, at once or a little later."""
        if place == self._place:
            self._passed -= 1
            if self._passed < 0:
                threading.Timer(self._draw.uniform(0, _DELAY), os.kill, (os.getpid(), signal.SIGKILL)).start()

    def report(self, progress: Progress) -> None:
        """Record the end of a step, and the step that a run goes on from."""
        if progress.note.startswith("resuming from step "):
            self.write(f"resume {progress.done}")
        elif progress.task == "train" and progress.done and not progress.note:
            self.write(f"step {progress.done}")


@dataclass(frozen=True)
class RecordedData(TrainingData):
    """Training data that records the documents of each batch."""

    recorder: Recorder = field(kw_only=True)

    def epochs(self, batch_tokens: int) -> Epochs:
        """Batches of every epoch, whose ends are places."""
        batches, begun = super().epochs(batch_tokens), list[int]()

        def of_epoch(epoch: int) -> list[list[int]]:
            if begun:
                self.recorder.reach("epoch end")
            begun.append(epoch)
            return batches(epoch)

        return of_epoch

    def batch(self, documents: ItemSource, indices: Sequence[int]) -> Batch:
        """Collate documents; those of training are recorded first."""
        if documents is not self.training:
            self.recorder.reach("evaluation")
            return super().batch(documents, indices)
        self.recorder.write(f"batch {','.join(documents[index].id for index in indices)}")
        self.recorder.reach("step 0")
        self.recorder.reach("anywhere")
        return super().batch(documents, indices)


class _RecordedCheckpoints(Checkpoints):
    """Checkpoints whose saves and rotations are places."""

    recorder: Recorder

    def save(self, step: int, checkpoint: Checkpoint) -> None:
        """Write the checkpoint of a step."""
        self.recorder.reach("save")
        super().save(step, checkpoint)

    def _discard(self, path: Path) -> None:
        self.recorder.reach("rotation")
        super()._discard(path)


def train(run: Path, steps: int, place: Place, seed: int) -> None:
    """Start or resume a run until its end, or a place where it is killed; for a process of its own."""
    torch.set_num_threads(1)
    recorder = Recorder(record_of(run), place, seed)
    _RecordedCheckpoints.recorder = recorder
    training_loop.Checkpoints = _RecordedCheckpoints  # type: ignore[attr-defined]
    data = RecordedData(**{item.name: getattr(DATA, item.name) for item in fields(TrainingData)}, recorder=recorder)
    training_loop.fit(new_model(), CONFIG.model_copy(update={"steps": steps}), data, run, report=recorder.report)


def record_of(run: Path) -> Path:
    """Return the path of the record of a run, beside its folder."""
    return run.parent / f"{run.name}-consumed.txt"


def consumed(run: Path) -> list[list[str]]:
    """Return the documents of each step that the weights of a run come from, by its record.

    Raises:
        ValueError: If a step is repeated or skipped.
    """
    before: list[list[str]] = []
    steps: list[list[str]] = []
    batches: list[str] = []
    for line in record_of(run).read_text().split("\n"):
        kind, _, value = line.partition(" ")
        if kind == "start":
            before, steps, batches = steps, [], []
        elif kind == "resume":
            steps = before[: int(value)]
        elif kind == "batch":
            batches.append(value)
        elif kind == "step":
            steps.append(batches)
            batches = []
            if len(steps) != int(value):
                raise ValueError(f"step {value} must follow step {len(steps) - 1}")
    return steps


ID: Final = "A2"
FIGURE: Final = (
    "a run killed 10 times, also at step 0, at an epoch's end, in validation, save and rotation: byte-identical, and "
    "the list of consumed documents equal"
)
NIGHT: Final = 20
QUICK: Final = 1
_PLACES: tuple[Place, ...] = ("epoch end", "evaluation", "save", "rotation", *("anywhere",) * 5)
_KILLS = 1 + len(_PLACES)
_STEPS = 300
_FEW_STEPS = 48


def measure(count: int, folder: Path) -> Measured:
    """Kill each of `count` runs ten times, then let it end."""
    steps = _STEPS if count > QUICK else _FEW_STEPS
    whole = new_run(folder / "uninterrupted")
    _continue(whole, steps)
    expected, documents = trace(whole), consumed(whole)
    same = kills = 0
    for number in range(count):
        draw = random.Random(number)
        run = new_run(folder / str(number))
        for place in ("step 0", *draw.sample(_PLACES, len(_PLACES))):
            kills += _continue(run, steps, place, draw.randrange(2**32))
        _continue(run, steps)
        same += trace(run) == expected and consumed(run) == documents and len(documents) == steps
    total = sum(map(len, documents))
    text = f"{same:,} of {count:,} runs of {total:,} batches identical after {kills:,} kills"
    return Measured(text, same == count and kills == _KILLS * count, count)


def _continue(run: Path, steps: int, place: Place = "nowhere", seed: int = 0) -> bool:
    """Start or resume a run in a process of its own, and return whether it was killed."""
    code = exit_code_of(train, run, steps, place, seed)
    assert code in (0, -signal.SIGKILL)
    return code != 0
