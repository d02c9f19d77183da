"""Train the stages of a pack one after the other, each from the weights of the one before.

    python recipes/gpu/train_packed.py gpu-pack --out OUT --work /tmp/gpu-run --minutes 9

stops after the given time and goes on from there when it is called again with the same `--work`; where that folder is
lost, `--weights` names what an earlier call left in OUT, and the stage that it had reached begins anew with those
weights. OUT receives files of at most 15 MiB: the weights of the newest stage in bf16 (weights-N.safetensors), the
metrics of each stage, and result.json.
"""

import argparse
import json
import logging
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from collect_run import read_weight_parts, write_weight_parts
from packed import PackedSplit, begin_run, stages

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.data.batches import TrainingData
from sumpool.errors import Interrupted
from sumpool.io.manifest import MODEL, Manifest
from sumpool.progress import Check, Progress
from sumpool.recipe.schema import Recipe
from sumpool.text.tokenizer import load_tokenizer
from sumpool.training.checkpoint import CHECKPOINTS, Checkpoints, TrainingState
from sumpool.training.fit import fit
from sumpool.training.journal import JOURNAL
from sumpool.training.weights import needed_weights, read_weights, set_weights, weights_of

_LOG = logging.getLogger(__name__)
_FINISHED = "finished.json"


def main(argv: Sequence[str] | None = None) -> None:
    """Train until the time is over or the last stage is finished."""
    arguments = _arguments(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    arguments.out.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    weights, reached = _returned_weights(arguments.weights)
    names = stages(arguments.pack)
    for name in names[names.index(reached) if reached else 0 :]:
        run = arguments.work / name
        recipe = _settings(begin_run(run, arguments.pack / name), arguments)
        if (run / _FINISHED).is_file():
            weights = read_weights(run)
            continue
        model, data = _set_up(recipe, arguments.pack / name)
        if weights:
            set_weights(model, weights_of(model) | needed_weights(model, weights), "the stage before")
        ended = _train(model, recipe, data, run, _deadline(begin + 60 * arguments.minutes))
        best = read_weights(run) if (run / MODEL).is_file() else weights_of(model)
        _hand_over(arguments, best, _result(run, ended, begin))
        if ended is None:
            _LOG.info("time is over in stage %s: call again to go on", name)
            return
        (run / _FINISHED).write_text(json.dumps({"step": ended.step}) + "\n")
        weights = best


def _train(
    model: SummarizationModel, recipe: Recipe, data: TrainingData, run: Path, check: Check
) -> TrainingState | None:
    """Train a stage; None if the time was over before its last step."""
    try:
        return fit(model, recipe.train, data, run, report=_report, check=check)
    except Interrupted:
        return None


def _set_up(recipe: Recipe, stage: Path) -> tuple[SummarizationModel, TrainingData]:
    tokenizer = load_tokenizer(stage)
    torch.manual_seed(recipe.seed)
    word_starts = torch.tensor(tokenizer.word_starts())
    model = SummarizationModel(recipe.model, tokenizer.vocab_size, word_starts, tokenizer.special_tokens)
    data = TrainingData(
        training=PackedSplit.read(stage, "train"),
        validation=PackedSplit.read(stage, "validation"),
        source_length=recipe.model.source_length,
        target_length=recipe.model.target_length,
        seed=recipe.seed,
        special_tokens=tokenizer.special_tokens,
    )
    parameters = sum(tensor.numel() for tensor in weights_of(model).values())
    _LOG.info("%s: %s parameters, %s documents", recipe.name, f"{parameters:,}", f"{len(data.training):,}")
    return model, data


def _settings(recipe: Recipe, arguments: argparse.Namespace) -> Recipe:
    changes: dict[str, Any] = {"device": arguments.device, "rouge_documents": 0}
    if arguments.steps:
        changes |= {"steps": arguments.steps, "validate_every": arguments.steps, "checkpoint_every": arguments.steps}
    if arguments.batch_tokens:
        changes["batch_tokens"] = arguments.batch_tokens
    return recipe.model_copy(update={"train": recipe.train.model_copy(update=changes)})


def _deadline(end: float) -> Check:
    def check() -> None:
        if time.perf_counter() > end:
            raise Interrupted(signal.SIGALRM, "the time is over; the work is saved")

    return check


def _report(progress: Progress) -> None:
    if progress.note or progress.done % 50 == 0:
        shown = " ".join(f"{name} {value}" for name, value in progress.metrics.items())
        _LOG.info("%s/%s %s %s", progress.done, progress.total, shown, progress.note)


def _result(run: Path, ended: TrainingState | None, begin: float) -> dict[str, Any]:
    """Return the figures of a stage: its best validation so far, time, memory and device."""
    facts = Manifest.read(run).facts
    cuda = torch.cuda.is_available()
    return {
        "stage": run.name,
        "finished": ended is not None,
        "checkpoints": Checkpoints(run / CHECKPOINTS, 2).steps(),
        "step": facts.get("step"),
        "validation_loss": facts.get("validation_loss"),
        "seconds": round(time.perf_counter() - begin, 1),
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "peak_mebibytes": round(torch.cuda.max_memory_allocated() / 2**20) if cuda else None,
        "torch": torch.__version__,
    }


def _hand_over(arguments: argparse.Namespace, weights: Mapping[str, torch.Tensor], result: Mapping[str, Any]) -> None:
    """Write weights, metrics and figures to the folder of results."""
    write_weight_parts(weights, arguments.out)
    (arguments.out / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    for metrics in sorted(arguments.work.glob(f"*/{JOURNAL}")):
        shutil.copyfile(metrics, arguments.out / f"metrics-{metrics.parent.name}.jsonl")
    _LOG.info("%s", json.dumps(result))


def _returned_weights(folder: Path | None) -> tuple[dict[str, torch.Tensor], str]:
    """Return the weights that an earlier call left, and the stage that it had reached; nothing without a folder."""
    if folder is None:
        return {}, ""
    return read_weight_parts(folder), str(json.loads((folder / "result.json").read_text())["stage"])


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=Path, help="folder that pack.py wrote")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--work", type=Path, required=True, help="folder of the checkpoints")
    parser.add_argument("--minutes", type=float, default=40, help="time after which training stops and saves")
    parser.add_argument("--weights", type=Path, help="results of an earlier call whose checkpoints are lost")
    parser.add_argument("--steps", type=int, help="updates of each stage instead of those of its recipe, for a trial")
    parser.add_argument("--batch-tokens", type=int, help="train.batch_tokens of every stage, for a trial")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="device of training")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
