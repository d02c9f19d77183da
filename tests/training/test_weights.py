import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import CheckpointError, RecipeError, ResourceError
from sumpool.io.manifest import FileDigest, Manifest
from sumpool.training.initial_weights import select_by_words
from sumpool.training.update import Updater, freeze
from sumpool.training.weights import export, load_weights, needed_weights, set_weights, weights_of
from tests.training.toy import CONFIG, DATA, MODEL, VOCABULARY, are_finite, new_model, new_run


def test_a_shared_tensor_is_saved_once_and_stays_shared() -> None:
    model = new_model()
    weights = {name: tensor.clone() for name, tensor in weights_of(model).items()}
    assert len(weights) == len({id(parameter) for parameter in model.parameters()})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    set_weights(model, weights, "here")
    assert all(torch.equal(tensor, weights[name]) for name, tensor in weights_of(model).items())
    assert model.encoder.embed.embedding.weight is model.embedding.weight


def test_weights_of_another_model_are_an_error() -> None:
    whole = {"weight": torch.zeros(2, 3), "bias": torch.zeros(2)}
    for name, tensor, message in (
        ("bias", None, "here: bias must be (2,) float32 in this model, got absent"),
        ("weight", torch.zeros(2, 4), "weight must be (2, 3) float32 in this model, got (2, 4)"),
        ("bias", torch.zeros(2).half(), "bias must be (2,) float32 in this model, got (2,) float16"),
        ("zoom", torch.zeros(1), "zoom must be absent"),
    ):
        model = nn.Linear(3, 2)
        before = model.weight.clone()
        saved = {key: value for key, value in {**whole, name: tensor}.items() if value is not None}
        with pytest.raises(CheckpointError, match=re.escape(message)):
            set_weights(model, saved, "here")
        assert torch.equal(model.weight, before)


def test_matching_weights_of_another_model_are_copied() -> None:
    model = nn.Linear(3, 2)
    bias = model.bias.clone()
    saved = {"weight": torch.ones(2, 3), "zoom": torch.zeros(1)}
    set_weights(model, weights_of(model) | needed_weights(model, saved), "here")
    assert torch.equal(model.weight, saved["weight"])
    assert torch.equal(model.bias, bias)


def test_selections_are_initialised_from_word_projections() -> None:
    full = new_model()
    settings = full.config.model_dump()
    settings["decoder"]["cross_attention"] = {"kind": "sentence", "selection": {"kind": "approximate"}}
    config = ModelConfig.model_validate(settings)
    model, saved = SummarizationModel(config, VOCABULARY), weights_of(full)
    own = weights_of(model)
    weights = select_by_words(own, saved)
    assert sorted(own.keys() - weights.keys()) == [
        f"decoder.memory_encoder.encoder.{name}.{part}" for name in ("out", "weigh") for part in ("bias", "weight")
    ]
    assert not weights.keys() - own.keys()
    set_weights(model, own | weights, "here")
    cross_attention = full.decoder.layers[0].get_submodule("cross_attention")
    states = torch.randn(3, config.dim)
    selection = model.decoder.layers[0].get_submodule("cross_attention.selection")
    key = cross_attention.get_submodule("key_value")(states).chunk(2, dim=-1)[0]
    torch.testing.assert_close(selection.get_submodule("query")(states), cross_attention.get_submodule("query")(states))
    torch.testing.assert_close(selection.get_submodule("key")(states), key)


def test_saved_selections_are_kept() -> None:
    saved = {f"a.{name}.weight": torch.zeros(2) for name in ("query", "key_value", "selection.query")}
    weights = select_by_words(["a.selection.query.weight", "a.selection.weigh.weight", "b.selection.key.weight"], saved)
    assert weights == saved


def trainable(model: torch.nn.Module) -> set[str]:
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def test_patterns_select_the_trainable_parameters() -> None:
    model = new_model()
    all_names = trainable(model)
    freeze(model, ("decoder.*",))
    assert trainable(model) == {name for name in all_names if name.startswith("decoder.")}
    freeze(model, ("embedding.weight", "*.out.bias"))
    assert trainable(model) == {"embedding.weight", *(name for name in all_names if name.endswith(".out.bias"))}
    freeze(model, ("*",))
    assert trainable(model) == all_names


def test_a_pattern_without_matches_is_an_error() -> None:
    for pattern, hint in (
        ("decoder.raeder.*", r" \(did you mean .*decoder\..*\?\)"),
        ("*.cross_atention.*", r" \(did you mean decoder\.layers\.0\.cross_attention\.\*"),
        ("encoder.norm.wieght", r" \(did you mean encoder\.norm\.weight"),
        ("zzz", r" \(did you mean embedding\.weight"),
    ):
        model = new_model()
        before = trainable(model)
        message = rf"^train\.trainable must match names of weights, got {pattern.replace('*', '.')}{hint}"
        with pytest.raises(RecipeError, match=message):
            freeze(model, ("embedding.weight", pattern))
        assert trainable(model) == before


def test_frozen_parameters_neither_change_nor_decay_nor_have_moments() -> None:
    model = new_model()
    before = {name: tensor.clone() for name, tensor in weights_of(model).items()}
    config = CONFIG.model_copy(update={"trainable": ("decoder.*norm*", "*.feed_forward.*.weight"), "weight_decay": 0.5})
    updater = Updater(model, config, torch.device("cpu"))
    updater.update([DATA.batch(DATA.training, [0, 1])], rate=0.1)
    changed = {name for name, tensor in weights_of(model).items() if not torch.equal(tensor, before[name])}
    assert changed == trainable(model) == {name.partition(":")[0] for name in updater.moments()}
    assert 4 <= len(changed) < len(before)


def test_trainable_parameters_without_a_loss_are_an_error() -> None:
    cross_attention = {"kind": "sentence", "selection": {"kind": "approximate"}}
    settings = {**MODEL.model_dump(), "decoder": {"layers": 1, "cross_attention": cross_attention}}
    model = SummarizationModel(ModelConfig.model_validate(settings), VOCABULARY)
    config = CONFIG.model_copy(update={"trainable": ("*.selection.*",)})
    batch = DATA.batch(DATA.training, [0])
    updater = Updater(model, config, torch.device("cpu"))
    message = r"^train\.trainable must match weights that a loss depends on, got \*\.selection\.\*: match more weights,"
    with pytest.raises(RecipeError, match=message):
        updater.update([batch], rate=0.1)
    weighted = config.model_copy(update={"loss_weights": {"selection": 0.1}})
    updater = Updater(model, weighted, torch.device("cpu"))
    assert are_finite(updater.update([batch], rate=0.1).read())


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


def test_a_crash_between_any_two_operations_leaves_a_loadable_folder(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail before every flush and every rename in turn, then export again, as a resumed run does."""
    stops = 0
    for turn in range(40):
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


def test_exported_weights_of_another_model_are_an_error(run: Path) -> None:
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
