"""Training with frozen parameters."""

import shutil
from pathlib import Path

import pytest
import torch

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import RecipeError
from sumpool.progress import Progress
from sumpool.training.fit import fit
from sumpool.training.update import Updater, freeze, moments_of
from sumpool.training.weights import weights_of
from tests.training.toy import CONFIG, DATA, MODEL, VOCABULARY, are_finite, new_model, new_run, trace

TRAINABLE = ("decoder.*norm*", "*.feed_forward.*.weight")
PARTIAL = CONFIG.model_copy(update={"trainable": TRAINABLE})


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
        ("*.cross_atention.*", r" \(did you mean \*\.cross_attention\.\*"),
        ("encoder.norm.wieght", r" \(did you mean encoder\.norm\.weight"),
        ("zzz", r"; names are such as embedding\.weight"),
    ):
        model = new_model()
        before = trainable(model)
        message = rf"^train\.trainable must match names of weights, got {pattern.replace('*', '.')}{hint}"
        with pytest.raises(RecipeError, match=message):
            freeze(model, ("embedding.weight", pattern))
        assert trainable(model) == before


@pytest.mark.slow
def test_frozen_parameters_neither_change_nor_decay_nor_have_moments(tmp_path: Path) -> None:
    model = new_model()
    before = {name: tensor.clone() for name, tensor in weights_of(model).items()}
    run = new_run(tmp_path / "run")
    fit(model, PARTIAL.model_copy(update={"weight_decay": 0.5}), DATA, run)
    changed = {name for name, tensor in weights_of(model).items() if not torch.equal(tensor, before[name])}
    assert changed == trainable(model)
    assert 4 <= len(changed) < len(before)
    updater = Updater(new_model(), PARTIAL, torch.device("cpu"))
    assert sum(len(group["params"]) for group in updater.optimizer.param_groups) == len(changed)


def test_only_trainable_parameters_have_moments() -> None:
    model = new_model()
    updater = Updater(model, PARTIAL, torch.device("cpu"))
    updater.update([DATA.batch(DATA.training, [0, 1])], rate=0.1)
    assert {name.partition(":")[0] for name in moments_of(updater.optimizer, model)} == trainable(model)


@pytest.mark.slow
def test_a_stopped_run_resumes_bitwise(tmp_path: Path) -> None:
    uninterrupted = new_run(tmp_path / "uninterrupted")
    fit(new_model(), PARTIAL, DATA, uninterrupted)
    run = new_run(tmp_path / "run")

    def stop(progress: Progress) -> None:
        if progress.done == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(new_model(), PARTIAL, DATA, run, report=stop)
    assert any((run / "checkpoints").iterdir())
    shutil.copytree(run, tmp_path / "copy")
    for folder in (run, tmp_path / "copy"):
        fit(new_model(), PARTIAL, DATA, folder)
        assert trace(folder) == trace(uninterrupted)


def test_trainable_parameters_without_a_loss_are_an_error() -> None:
    cross_attention = {"kind": "sentence", "selection": {"kind": "approximate"}}
    settings = {**MODEL.model_dump(), "decoder": {"layers": 1, "cross_attention": cross_attention}}
    model = SummarizationModel(ModelConfig.model_validate(settings), VOCABULARY)
    config = CONFIG.model_copy(update={"trainable": ("*.selection.*",)})
    batch = DATA.batch(DATA.training, [0])
    updater = Updater(model, config, torch.device("cpu"))
    message = (
        r"^train\.trainable must match weights that a loss depends on, got \*\.selection\.\*: match more weights, or"
    )
    with pytest.raises(RecipeError, match=message):
        updater.update([batch], rate=0.1)
    config = config.model_copy(update={"loss_weights": {"selection": 0.1}})
    updater = Updater(model, config, torch.device("cpu"))
    assert are_finite(updater.update([batch], rate=0.1).read())
