"""Run folders whose files look like those of real runs, made without training."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from sumpool.io.manifest import FileDigest, Manifest

RECIPE = """\
name: {name}
seed: 3
data: {{source: {{kind: csv, path: rows.csv}}, prepared: prepared/rows}}
model:
  dim: 16
  source_length: 64
  target_length: 16
  encoder:
    - {{attention: {{kind: blockwise, block: 16}}, pool: {{kind: halving, keep: 8}}}}
    - {{attention: {{kind: vanilla}}}}
  decoder: {{layers: 1}}
  output: {{kind: pointer}}
train: {{steps: 20, schedule: {{kind: constant}}, init_from: [runs/a, runs/b]}}
"""
LOSSES = (3.0, 2.0, 2.5)


def make_run(run: Path, **facts: object) -> Path:
    """A run of 20 steps that was validated after 5, 10 and 15, with the weights of step 10."""
    run.mkdir(parents=True)
    (run / "recipe.yaml").write_text(RECIPE.format(name=run.name))
    save_file({"a.weight": torch.zeros(3, 5), "b": torch.zeros(7)}, run / "model.safetensors")
    records: list[dict[str, Any]] = [{"kind": "step", "step": step, "nats": 3.0} for step in range(1, 18)]
    for number, loss in enumerate(LOSSES, 1):
        scores = {"rouge1": 30.0 + number, "rouge2": 10.0 + number, "rougeLsum": 20.0 + number}
        records.append({"kind": "validation", "step": 5 * number, "nats": loss, **scores, "best": loss < 2.5})
    (run / "metrics.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    files = {name: FileDigest.of(run / name) for name in ("recipe.yaml", "model.safetensors")}
    Manifest(files, {"data": "x", "step": 10, "validation_loss": 2.0, **facts}).write(run)
    return run


def add_evaluation(run: Path, split: str, rouge1: float) -> None:
    scores = {name: {"mean": rouge1, "low": 0.0, "high": 1.0} for name in ("rouge1", "rouge2", "rougeL", "rougeLsum")}
    rows = [
        {"slice": slice_name, "system": system, "rouge": scores}
        for slice_name in ("all", "low-leak")
        for system in ("toy", "LEAD-60")
    ]
    folder = run / "evaluation" / split
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(json.dumps({"rows": rows}))
