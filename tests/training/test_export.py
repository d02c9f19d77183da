"""Exported weights of a run folder, also after interrupted exports."""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import CheckpointError, ResourceError
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.training.weights import export, load_weights, weights_of
from tests.training.toy import MODEL, VOCABULARY, new_model, new_run


def constant_model(value: float) -> SummarizationModel:
    model = new_model()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(value)
    return model


def value_in(run: Path) -> float:
    model = load_weights(run, new_model)
    values = {tensor.flatten()[-1].item() for tensor in weights_of(model).values() if tensor.is_floating_point()}
    assert len(values) == 1
    return values.pop()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Run folder with a recipe and weights of 1."""
    run = new_run(tmp_path / "run")
    (run / "recipe.yaml").write_text("name: toy\n")
    Manifest({"recipe.yaml": FileDigest.of(run / "recipe.yaml")}, {"fingerprint": "abc"}).write(run)
    export(run, constant_model(1.0), {"step": 10})
    return run


def test_exported_weights_and_facts_are_read_back(run: Path) -> None:
    assert value_in(run) == 1.0
    export(run, constant_model(2.0), {"step": 20})
    assert value_in(run) == 2.0
    assert Manifest.read(run).facts == {"fingerprint": "abc", "step": 20}
    assert not Manifest.read(run).incoming


def stopping(operation: Callable[..., None], countdown: Iterator[int]) -> Callable[..., None]:
    """Wrap an operation to fail after a number of calls."""

    def operate(*args: object) -> None:
        if next(countdown, None) is None:
            raise OSError(5, "Input/output error")
        operation(*args)

    return operate


@pytest.mark.parametrize("exist", [True, False])
def test_a_crash_between_any_two_operations_leaves_a_loadable_folder(
    exist: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail before every flush and every rename in turn, then export again, as a resumed run does."""
    stops = 0
    for turn in range(40):
        run = new_run(tmp_path / str(turn))
        if exist:
            export(run, constant_model(1.0), {})
        with monkeypatch.context() as patch:
            countdown = iter(range(turn))
            for name in ("replace", "fsync"):
                patch.setattr(os, name, stopping(getattr(os, name), countdown))
            try:
                export(run, constant_model(2.0), {})
            except ResourceError as error:
                assert "model.safetensors must be written completely" in str(error)  # noqa: PT017 - the last turn passes
                stops += 1
            else:
                break
        if exist:
            assert value_in(run) in (1.0, 2.0)
        export(run, constant_model(2.0), {})
        assert value_in(run) == 2.0
    assert stops == turn > 5


def test_a_flipped_bit_in_any_file_is_an_error_that_names_it(run: Path) -> None:
    draw = random.Random(1)
    for name in ["model.safetensors"] * 20 + ["recipe.yaml", "manifest.json"] * 10:
        content = (run / name).read_bytes()
        damaged = bytearray(content)
        damaged[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        (run / name).write_bytes(damaged)
        with pytest.raises(CheckpointError, match=name):
            value_in(run)
        (run / name).write_bytes(content)
    assert value_in(run) == 1.0


def test_missing_weights_or_manifest_are_an_error(run: Path) -> None:
    (run / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors must be readable, got: .*No such file"):
        value_in(run)
    with pytest.raises(CheckpointError, match=r"manifest\.json must be readable"):
        load_weights(run / "missing", new_model)


def test_weights_of_another_model_are_an_error(run: Path) -> None:
    devices = []

    def build() -> SummarizationModel:
        other = SummarizationModel(MODEL.model_copy(update={"dim": 32}), VOCABULARY)
        devices.append(other.embedding.weight.device.type)
        return other

    with pytest.raises(CheckpointError, match=r"model\.safetensors: .* must be .* in this model, got"):
        load_weights(run, build)
    assert devices == ["meta"]


def test_weights_replaced_while_loading_are_read_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Manifest.read(run)
    export(run, constant_model(2.0), {})
    after = Manifest.read(run)
    answers = iter([before, after])
    monkeypatch.setattr(Manifest, "read", lambda _: next(answers))
    assert value_in(run) == 2.0


def test_an_interrupted_export_does_not_validate_damaged_weights(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run / "model.safetensors").write_bytes(b"damaged")
    original = os.replace

    def stop(source: Path, target: Path) -> None:
        if target.name == "model.safetensors":
            raise OSError(5, "Input/output error")
        original(source, target)

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(ResourceError, match="Input/output error"):
        export(run, constant_model(2.0), {})
    with pytest.raises(CheckpointError, match=r"model\.safetensors must hold"):
        value_in(run)
