"""Losses and summaries as before on the same version of torch; `python -m tests.torture.e5_golden_values` writes them.

Losses are compared on every version, with those of the newest one that has a file; texts on the version of the file.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, Final

import torch

from sumpool.documents.document import Document
from sumpool.evaluation.rouge import Rouge
from sumpool.inference.loading import load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.training.fit import fit
from tests.conftest import story, write_run
from tests.torture.figures import Measured
from tests.training.toy import CONFIG, DATA, new_model, new_run

ID: Final = "E5"
FIGURE: Final = (
    "losses of 20 updates within 1e-4, 20 summaries equal and ROUGE of 50 pairs within 1e-9 of those on record"
)
NIGHT: Final = 20
QUICK: Final = 20
_FOLDER = Path(__file__).with_name("golden")
_SUMMARIES = 20
_PAIRS = 50
_LOSS_TOLERANCE, _ROUGE_TOLERANCE = 1e-4, 1e-9


def measure(count: int, folder: Path) -> Measured:
    """Compare the values of this machine with those on record; the count is fixed."""
    del count
    version = _version()
    path = _FOLDER / f"torch-{version}.json"
    is_recorded = path.exists()
    if not is_recorded:
        path = max(_FOLDER.glob("torch-*.json"), key=lambda file: [int(part) for part in file.stem[6:].split(".")])
    golden, values = json.loads(path.read_text("utf-8")), golden_values(folder)
    pairs = zip(golden["losses"], values["losses"], strict=True)
    loss = max(abs(actual - expected) / expected for expected, actual in pairs)
    same = sum(map(str.__eq__, golden["summaries"], values["summaries"]))
    rouge = max(abs(actual - expected) for expected, actual in zip(golden["rouge"], values["rouge"], strict=True))
    is_met = loss <= _LOSS_TOLERANCE and rouge <= _ROUGE_TOLERANCE and (same == _SUMMARIES or not is_recorded)
    text = f"losses within {loss:.0e}, {same} of {_SUMMARIES} summaries equal, ROUGE within {rouge:.0e} ({path.stem})"
    return Measured(text, is_met, len(golden["losses"]))


def golden_values(folder: Path) -> dict[str, Any]:
    """Train, summarise and score with fixed seeds."""
    run = new_run(folder / "toy")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        config = CONFIG.model_copy(update={"steps": 20, "checkpoint_every": 100, "validate_every": 100})
        fit(new_model(), config, DATA, run)
        loaded = load_model(write_run(folder / "random"), ["summarize.precision=fp32", "summarize.repair=false"])
        documents = [Document(str(number), story(number, 8)) for number in range(_SUMMARIES)]
        summaries = [summary.text for summary in Pipeline.of(loaded).summarize(documents)]
    finally:
        torch.set_num_threads(threads)
    records = map(json.loads, (run / "metrics.jsonl").read_text("utf-8").splitlines())
    rouge = Rouge()
    scores = [rouge.score(story(number, 3), story(number + 1, 4)) for number in range(_PAIRS)]
    return {
        "losses": [record["loss"] for record in records if record["kind"] == "step"],
        "summaries": summaries,
        "rouge": [score[name].f1 for score in scores for name in sorted(score)],
    }


def _version() -> str:
    """Return the minor version of torch, such as 2.13."""
    return ".".join(torch.__version__.split(".")[:2])


if __name__ == "__main__":
    _FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        text = json.dumps(golden_values(Path(temporary)), indent=1)
    (_FOLDER / f"torch-{_version()}.json").write_text(text + "\n", "utf-8")
