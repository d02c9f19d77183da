"""The sweeps of the papers from end to end, with their rows, on small models and few documents."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sumpool.pretrained.config import ImportOptions
from sumpool.recipe.packaged import recipes_folder
from sumpool.recipe.sweep import LoadedSweep, load_sweep
from sumpool.workflows.import_model import import_model
from sumpool.workflows.sweep import SweepTable, sweep
from tests.conftest import BARE, story, write_rows
from tests.pretrained.originals import random_bart
from tests.text.bart import learn

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_probes")]

SMALL = (
    "source_tokens=100",
    "data.source={kind: jsonl, path: rows.jsonl}",
    "data.vocabulary=320",
    "data.workers=1",
    "model.source_length=64",
    "model.target_length=16",
    "train.batch_tokens=256",
    "train.validate_documents=2",
    "train.device=cpu",
    "train.precision=fp32",
    "evaluate.resamples=100",
    *BARE,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with documents as JSON lines."""
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "rows.jsonl", seed=1, count=40)
    return tmp_path


def load(name: str, *overrides: str) -> LoadedSweep:
    return load_sweep(recipes_folder() / "papers" / f"{name}.yaml", [*SMALL, *overrides])


def assert_finished(table: SweepTable, loaded: LoadedSweep) -> None:
    assert [system.name for system in table.systems] == [row.name for row in loaded.rows]
    assert [system.failures for system in table.systems] == [{}] * len(loaded.rows)


def test_small_models_learn_from_the_teacher_of_the_same_sweep(folder: Path) -> None:
    loaded = load("distillation")
    assert_finished(sweep(loaded), loaded)
    assert (folder / "runs" / "distillation" / "sequence-seed1").is_dir()


def test_hepos_trains_from_an_imported_bart_on_rows_of_govreport(folder: Path) -> None:
    texts = [story(number, 20) for number in range(20)]
    vocabulary = learn(texts, Path("vocabulary"))
    tokens = len(json.loads((vocabulary / "vocab.json").read_text()))
    layers = {"encoder_layers": 12, "decoder_layers": 1}
    random_bart(1, vocab_size=tokens, **layers).save_pretrained("bart")
    for path in vocabulary.iterdir():
        (Path("bart") / path.name).write_bytes(path.read_bytes())
    options = ImportOptions("sliding_window", 256, 64, "last", "hepos")
    import_model("bart", Path("runs/bart-hepos"), options)
    for split, part in (("train", texts[:12]), ("validation", texts[12:16]), ("test", texts[16:])):
        path = Path(f"govreport/document/{split}-00000-of-00001.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"report": part, "summary": [" ".join(text.split()[:9]) for text in part]}), path)
    sizes = ("model.dim=16", "model.heads=2", "model.feed_forward=24", "model.decoder.layers=1")
    settings = ("data.workers=1", "train.batch_tokens=256", "train.accumulate=1", "train.device=cpu", *BARE)
    loaded = load_sweep(
        recipes_folder() / "papers" / "govreport-hepos.yaml",
        [
            *sizes,
            *settings,
            "source_tokens=600",
            "model.source_length=64",
            "model.target_length=48",
            "train.precision=fp32",
            "summarize.max_length=12",
            "evaluate.resamples=100",
        ],
    )
    assert_finished(sweep(loaded), loaded)
    for row in loaded.rows:
        journal = (folder / "runs" / "govreport-hepos" / f"{row.name}-seed1" / "metrics.jsonl").read_text()
        records = [json.loads(line) for line in journal.splitlines()]
        assert [record["step"] for record in records if record["kind"] == "step"][:3] == [1, 2, 3]
