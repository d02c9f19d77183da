"""Data of two training stages, packed once for all tests of the folder."""

import json
import random
from pathlib import Path

import pack
import pytest

WORDS = ("router", "packet", "address", "network", "sends", "receives", "drops", "header", "field", "server")
RECIPE = """\
name: {name}
data:
  source: {{kind: jsonl, path: {folder}/rows.jsonl}}
  prepared: {folder}/{name}
  workers: 1
  {vocabulary}
model:
  dim: 16
  heads: 2
  feed_forward: 16
  source_length: 48
  target_length: 16
  encoder: [{{attention: {{kind: blockwise, block: 16}}, pool: {{kind: halving, keep: 16}}}}]
  decoder: {{layers: 1, predict_length: true}}
  output: {{kind: pointer}}
train:
  steps: 20
  batch_tokens: 256
  schedule: {{warmup: 2}}
  validate_every: 10
  checkpoint_every: 10
  loss_weights: {{length: 0.2}}
"""


@pytest.fixture(scope="session")
def packed_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the pack `pack`, and the recipes and prepared data that it was made of."""
    folder = tmp_path_factory.mktemp("gpu")
    draw = random.Random(1)
    with (folder / "rows.jsonl").open("w") as file:
        for number in range(60):
            sentences = [" ".join(draw.choices(WORDS, k=8)).capitalize() + "." for _ in range(draw.randint(3, 12))]
            row = {"id": f"d{number}", "document": " ".join(sentences), "summary": sentences[0]}
            file.write(json.dumps(row) + "\n")
    for name, vocabulary in (("first", "vocabulary: 320"), ("second", f"tokenizer: {folder}/first")):
        (folder / f"{name}.yaml").write_text(RECIPE.format(name=name, folder=folder, vocabulary=vocabulary))
        if name == "first":
            pack.main([str(folder / "first.yaml"), "--out", str(folder / "single")])
    pack.main([str(folder / "first.yaml"), str(folder / "second.yaml"), "--out", str(folder / "pack")])
    return folder
