"""Training that is killed at a random moment, every second time within a save, and resumed.

Every fifth run is that of a language model with sampled boundaries, whose epochs begin at random tokens.
"""

import multiprocessing
import random
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

import torch

from sumpool.progress import no_op
from sumpool.recipe.files import write
from sumpool.recipe.load import load_any_recipe
from sumpool.runs.training_setup import set_up_training
from sumpool.tasks.language_modeling.config import LanguageModelRecipe
from sumpool.training.fit import fit
from tests.torture.c2_valid_recipes import write_text
from tests.torture.figures import Measured
from tests.training.toy import CONFIG, DATA, new_model, new_run, trace

ID: Final = "A1"
FIGURE: Final = "kill -9 and resume: weights, optimizer, random state and metrics byte-identical"
NIGHT: Final = 200
QUICK: Final = 2
_STEPS = 300
_FEW_STEPS = 24
_TEXT_TRAINING = {"rotate": 1.0, "loss_weights": {"boundaries": 1.0}}
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch._dynamo", "tests.training.toy"])


def measure(count: int, folder: Path) -> Measured:
    """Kill and resume `count` runs."""
    steps = _STEPS if count > QUICK else _FEW_STEPS
    recipes = (None, write_language_model(folder))
    whole = [uninterrupted(folder / f"task-{number}", steps, recipe) for number, recipe in enumerate(recipes)]
    same = 0
    for number in range(count):
        draw, task = random.Random(number), number % 5 == 1
        expected, seconds = whole[task]
        run = new_run(folder / str(number))
        process = start(run, steps, recipes[task])
        if number % 2:
            step = CONFIG.checkpoint_every * draw.randint(1, steps // CONFIG.checkpoint_every)
            wait_until((run / "checkpoints" / f".tmp-step-{step:08d}").exists, process)
            time.sleep(draw.uniform(0, 0.004))
        else:
            time.sleep(draw.uniform(0, seconds))
        kill(process)
        resumed = start(run, steps, recipes[task])
        resumed.join()
        same += trace(run) == expected
    return Measured(f"{same:,} of {count:,} runs of {steps} steps identical", same == count, count)


def train(run: Path, steps: int, recipe: Path | None) -> None:
    """Start or resume a run of the toy model, or of the recipe of a language model; for a process of its own."""
    torch.set_num_threads(1)
    if recipe is None:
        fit(new_model(), CONFIG.model_copy(update={"steps": steps}), DATA, run)
        return
    loaded = load_any_recipe(recipe)
    assert isinstance(loaded, LanguageModelRecipe)
    setup = set_up_training(loaded, no_op, no_op)
    config = CONFIG.model_copy(update={"steps": steps, **_TEXT_TRAINING})
    fit(setup.model, config, setup.data, run)


def write_language_model(folder: Path) -> Path:
    """Write the recipe of a small language model, and its text, which is prepared once."""
    boundaries = [{"kind": "gumbel", "rate": 0.3, "hidden": 8}]
    model = {"dim": 16, "heads": 2, "feed_forward": 16, "layers": [1, 1, 1], "boundaries": boundaries, "length": 16}
    tree = {"name": "text", "task": "language_modeling", "data": write_text(folder), "model": model}
    tree |= {"train": _TEXT_TRAINING}
    path = folder / "text.yaml"
    path.write_text(write(tree))
    loaded = load_any_recipe(path)
    assert isinstance(loaded, LanguageModelRecipe)
    set_up_training(loaded, no_op, no_op)
    return path


def start(run: Path, steps: int, recipe: Path | None = None) -> BaseProcess:
    """Start or resume a run in a process."""
    process = PROCESSES.Process(target=train, args=(run, steps, recipe))
    process.start()
    return process


def kill(process: BaseProcess) -> None:
    """Kill a process and wait for its end."""
    process.kill()
    process.join()


def wait_until(condition: Callable[[], bool], process: BaseProcess) -> None:
    """Wait for a condition, or the end of the process."""
    while process.is_alive() and not condition():
        time.sleep(0.0005)


def uninterrupted(folder: Path, steps: int, recipe: Path | None = None) -> tuple[dict[str, str], float]:
    """Return the content of an uninterrupted run, and its seconds without the start of the fork server."""
    folder.mkdir()
    for name in ("first", "uninterrupted"):
        run = new_run(folder / name)
        begin = time.monotonic()
        start(run, steps, recipe).join()
    return trace(run), time.monotonic() - begin
