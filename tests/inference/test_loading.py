import operator
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from sumpool.core.decoding.config import DecodingConfig, Lengths, choose_lengths
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.core.nn.quantization import Int8Linear, PackedLinear, has_int8, has_packed_bf16
from sumpool.data.report import DataReport, LengthStats
from sumpool.documents.document import Document
from sumpool.errors import CheckpointError, DataError, RecipeError
from sumpool.inference.loading import load_for_generation, load_model
from sumpool.inference.pipeline import Pipeline
from sumpool.inference.run_files import RunFiles
from sumpool.io.manifest import SHIPPED, Manifest
from sumpool.training import hardware
from sumpool.training.weights import export
from tests.conftest import relist, restored, story

INT8 = pytest.mark.skipif(not has_int8(), reason="needs fbgemm")


@pytest.fixture
def copy(run_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run_folder, tmp_path / "runs" / "copy"))


def test_a_loaded_model_is_ready_for_use(run_folder: Path) -> None:
    loaded = load_model(run_folder, ["summarize.beams=3"])
    assert loaded.recipe.summarize.beams == 3
    assert loaded.lengths == Lengths(6, 24)
    assert loaded.model.vocabulary == loaded.tokenizer.vocab_size
    assert not loaded.model.training
    assert not any(weights.requires_grad for weights in loaded.model.parameters())


@pytest.mark.parametrize("precision", ["fp32", "bf16", pytest.param("int8", marks=INT8)])
def test_a_model_for_generation_has_the_precision_of_its_settings(run_folder: Path, precision: str) -> None:
    plain, quantized = load_model(run_folder), load_for_generation(run_folder, [f"summarize.precision={precision}"])
    assert quantized.recipe.summarize.precision == precision
    widen = quantized.model.decoder.layers[0].get_submodule("feed_forward.widen")
    assert (
        type(widen)
        is {"fp32": PackedLinear, "bf16": PackedLinear if has_packed_bf16() else nn.Linear, "int8": Int8Linear}[
            precision
        ]
    )
    assert (quantized.model.embedding.weight.dtype == torch.bfloat16) == (precision == "bf16")
    stories = [Document(str(number), story(number, 12)) for number in range(10)]
    expected = [summary.text for summary in Pipeline.of(plain).summarize(stories)]
    found = [summary.text for summary in Pipeline.of(quantized).summarize(stories)]
    same = sum(map(operator.eq, found, expected))
    assert all(found)
    assert same == 10 if precision == "fp32" else same >= 5


@pytest.mark.skipif(not (has_int8() and has_packed_bf16()), reason="needs fbgemm and oneDNN with bf16")
def test_auto_chooses_for_encoder_and_decoder_apart(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cpuinfo").write_text("flags : avx512_bf16 amx_bf16 amx_int8")
    monkeypatch.setattr(hardware, "CPUINFO", tmp_path / "cpuinfo")
    with caplog.at_level("DEBUG", logger="sumpool"):
        mixed = load_for_generation(run_folder, ["summarize.device=cpu"])
    assert caplog.messages == ["summarize.precision=auto: encoder bf16, decoder int8 on cpu"]
    packed = {name: layer.dtype for name, layer in mixed.model.named_modules() if isinstance(layer, PackedLinear)}
    assert {name.split(".")[0] for name, dtype in packed.items() if dtype is torch.bfloat16} == {"encoder"}
    assert all(summary.text for summary in Pipeline.of(mixed).summarize([Document("1", story(1, 12))]))
    explicit = load_for_generation(run_folder, ["summarize.device=cpu", "summarize.precision=int8"])
    packed = {name: layer.dtype for name, layer in explicit.model.named_modules() if isinstance(layer, PackedLinear)}
    assert torch.bfloat16 not in packed.values()


def test_without_any_run_the_shipped_model_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_model().folder == load_model(Path("shipped")).folder == SHIPPED
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 30e6


def test_a_barely_trained_model_says_so(copy: Path) -> None:
    assert RunFiles.open(SHIPPED).training_note() == ""
    manifest = Manifest.read(copy)
    for step, said in ((99, "barely trained (99 updates)"), (100, "")):
        replace(manifest, facts={**manifest.facts, "step": step}).write(copy)
        assert said in RunFiles.open(copy).training_note()
        assert bool(RunFiles.open(copy).training_note()) == bool(said)


def test_folders_without_a_model_are_refused(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"must be a run folder with recipe\.yaml"):
        load_model(tmp_path)
    (copy / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="its training has saved no model yet"):
        load_model(copy)


def test_a_model_in_another_form_does_without_some_weights_but_invents_none(run_folder: Path) -> None:
    changed = load_model(run_folder, ["model.output={kind: tied}"])
    assert torch.equal(changed.model.embedding.weight, load_model(run_folder).model.embedding.weight)
    with pytest.raises(CheckpointError, match=r"decoder\.layers\.[1-9].* must be .* in this model, got absent"):
        load_model(run_folder, ["model.decoder.layers=9"])


def test_weights_that_are_no_numbers_are_refused(copy: Path) -> None:
    loaded = load_model(copy)
    broken = SummarizationModel(loaded.recipe.model, loaded.model.vocabulary)
    with torch.no_grad():
        broken.embedding.weight[9] = torch.nan
    export(copy, broken, {})
    with pytest.raises(CheckpointError, match=r"must hold finite weights, got others in embedding\.weight"):
        load_model(copy)


def test_lengths_come_from_the_training_summaries(copy: Path) -> None:
    report = DataReport.load(copy)
    train = replace(report.splits["train"], summary_tokens=LengthStats(10, 0, 0, 14, 0))
    replace(report, splits={**report.splits, "train": train}).save(copy)
    relist(copy, "report.json")
    automatic = ["summarize.min_length=auto", "summarize.max_length=auto"]
    assert load_model(copy, automatic).lengths == Lengths(8, 28, 10)
    assert load_model(copy, automatic[1:]).lengths == Lengths(6, 28, 10)
    (copy / "report.json").unlink()
    with pytest.raises((CheckpointError, DataError), match=r"report\.json must be"):
        load_model(copy, automatic)


def test_a_length_that_is_fixed_is_kept() -> None:
    for minimum, maximum, expected in (
        ("auto", "auto", Lengths(85, 240, 100)),
        (120, "auto", Lengths(120, 240, 120)),
        ("auto", 30, Lengths(30, 30)),
        (20, 30, Lengths(20, 30)),
        (0, 9999, Lengths(0, 255)),
    ):
        config = DecodingConfig.model_validate({"min_length": minimum, "max_length": maximum})
        assert choose_lengths(config, 100, 120, target_length=256) == expected
    config = DecodingConfig.model_validate({"min_length": 250, "max_length": "auto"})
    with pytest.raises(RecipeError, match=r"summarize\.min_length must be at most the longest length, 240, got 250"):
        choose_lengths(config, 100, 120, target_length=256)


def test_hostile_files_that_the_manifest_lists_are_refused(copy: Path) -> None:
    for name, content, problem in (
        ("recipe.yaml", b"name: [", "must be YAML, .*; if a newer version wrote it, update sumpool"),
        ("recipe.yaml", b"\xff", "'utf-8' codec can't decode byte 0xff"),
        ("recipe.yaml", b"model: {dimension: 9}", "dimension is not a setting.*; if a newer version wrote it, update"),
        ("report.json", b"[" * 100_000, "must be a data report"),
        ("report.json", b'{"read": []}', "must be a data report"),
        ("tokenizer.model", b"", "must begin with the tokens"),
        ("tokenizer.model", b"\x0a\x07\x0a\x02\xff\xfe\x18\x01", "must be a SentencePiece model"),
        ("model.safetensors", b"", "must be a safetensors file, got: Error while deserializing: header too small"),
        ("model.safetensors", b"\0\0\0\0\0\0\0\x80", "must be a safetensors file, got: a header of 9,223"),
        ("model.safetensors", b"\x02\0\0\0\0\0\0\0{}", r"must be .* in this model, got absent"),
    ):
        with restored(copy):
            (copy / name).write_bytes(content)
            relist(copy, name)
            with pytest.raises(CheckpointError, match=rf"{re.escape(name)}.*{problem}"):
                load_model(copy, ["summarize.min_length=auto"])


@pytest.mark.slow
def test_a_recipe_of_another_size_than_the_weights_takes_no_memory(copy: Path) -> None:
    path = copy / "recipe.yaml"
    changes = (("dim: 16", "dim: 8192"), ("feed_forward: 32", "feed_forward: 65536"), ("layers: 1", "layers: 64"))
    for before, now in changes:  # 270 GB
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, now))
    relist(copy, "recipe.yaml")
    with pytest.raises(CheckpointError, match=r"model\.safetensors: .* must be .* in this model, got"):
        load_model(copy)


def test_files_that_the_manifest_does_not_list_are_refused(copy: Path) -> None:
    for name in ("tokenizer.json", "ranker.safetensors"):
        with restored(copy):
            (copy / name).write_bytes(b"{}")
            with pytest.raises(CheckpointError, match=rf"{re.escape(name)} must be named in the manifest\.json"):
                load_model(copy)
