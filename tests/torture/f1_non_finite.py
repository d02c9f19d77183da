"""Weights, gradients and inputs that become infinite or not a number at random steps of a run."""

import random
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import NonFiniteError
from sumpool.progress import Progress
from sumpool.training.checkpoint import Checkpoints
from sumpool.training.fit import fit
from tests.torture.figures import Measured
from tests.training.toy import CONFIG, DATA, new_model, new_run

ID: Final = "F1"
FIGURE: Final = (
    "NaN and infinity in a weight or gradient at a random step: stopped before the update, checkpoints finite"
)
NIGHT: Final = 200
QUICK: Final = 3
_VALUES = (float("nan"), float("inf"), float("-inf"))


def measure(count: int, folder: Path) -> Measured:
    """Inject `count` values, each into a run of its own."""
    draw = random.Random(1)
    stopped = sum(_stops(draw, new_run(folder / str(number))) for number in range(count))
    return Measured(f"{stopped:,} of {count:,} stopped", stopped == count, count)


def _stops(draw: random.Random, run: Path) -> bool:
    model = new_model(dropout=0.0)
    step, value, part = draw.randint(1, CONFIG.steps), draw.choice(_VALUES), draw.choice(("gradient", "weight"))
    before: dict[str, Tensor] = {}

    def report(progress: Progress) -> None:
        if progress.done == step - 1 and not progress.note and not before:
            _inject(model, value, part)
            before.update({name: tensor.clone() for name, tensor in model.state_dict().items()})

    if step == 1:
        report(Progress("train", 0))
    try:
        fit(model, CONFIG, DATA, run, report=report)
    except NonFiniteError as error:
        is_unchanged = all(
            torch.equal(tensor.nan_to_num(), before[name].nan_to_num()) for name, tensor in model.state_dict().items()
        )
        saved = Checkpoints(run / "checkpoints", 2).steps()
        named = (f"step {step} must be finite", f"validation loss after step {step - 1} must be finite")
        return any(name in str(error) for name in named) and is_unchanged and all(other < step for other in saved)
    return False


def _inject(model: SummarizationModel, value: float, part: str) -> None:
    """Let the gradients of the embeddings, or the embeddings of all tokens, become a value."""
    weight = model.get_parameter("embedding.weight")
    if part == "gradient":
        weight.register_hook(lambda gradient: gradient * value)
    else:
        with torch.no_grad():
            weight[5:] = value
