"""Weights that stay as they are while others learn."""

import shutil
from pathlib import Path

import pytest
import torch

from sumpool.core.model.config import ModelConfig
from sumpool.core.model.summarizer import SummarizationModel
from sumpool.errors import RecipeError
from sumpool.progress import Progress
from sumpool.training.fit import fit
from sumpool.training.optimizer import build_optimizer, moments_of
from sumpool.training.trainable import freeze
from sumpool.training.update import Updater
from sumpool.training.weights import weights_of
from tests.training.toy import CONFIG, MATERIAL, MODEL, VOCABULARY, new_model, new_run, trace

LEARNS = ("decoder.*norm*", "*.feed_forward.*.weight")
PARTLY = CONFIG.model_copy(update={"trainable": LEARNS})


def learning(model: torch.nn.Module) -> set[str]:
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def test_patterns_say_what_learns() -> None:
    model = new_model()
    everything = learning(model)
    freeze(model, ("decoder.*",))
    assert learning(model) == {name for name in everything if name.startswith("decoder.")}
    freeze(model, ("embedding.weight", "*.out.bias"))
    assert learning(model) == {"embedding.weight", *(name for name in everything if name.endswith(".out.bias"))}
    freeze(model, ("*",))
    assert learning(model) == everything


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("decoder.raeder.*", r" \(did you mean .*decoder\..*\?\)"),
        ("*.cross_atention.*", r" \(did you mean \*\.cross_attention\.\*"),
        ("encoder.norm.wieght", r" \(did you mean encoder\.norm\.weight"),
        ("zzz", r"; names are such as embedding\.weight"),
    ],
)
def test_a_pattern_that_matches_nothing_is_refused(pattern: str, hint: str) -> None:
    model = new_model()
    before = learning(model)
    message = rf"^train\.trainable must match names of weights, got {pattern.replace('*', '.')}{hint}"
    with pytest.raises(RecipeError, match=message):
        freeze(model, ("embedding.weight", pattern))
    assert learning(model) == before


def test_what_is_frozen_neither_moves_nor_decays_nor_has_moments(tmp_path: Path) -> None:
    model = new_model()
    before = {name: tensor.clone() for name, tensor in weights_of(model).items()}
    run = new_run(tmp_path / "run")
    fit(model, PARTLY.model_copy(update={"weight_decay": 0.5}), MATERIAL, run)
    moved = {name for name, tensor in weights_of(model).items() if not torch.equal(tensor, before[name])}
    assert moved == learning(model)
    assert 4 <= len(moved) < len(before)
    optimizer = build_optimizer(new_model(), PARTLY)
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(moved)


def test_moments_are_kept_of_what_learns() -> None:
    model = new_model()
    optimizer = build_optimizer(model, PARTLY)
    batch = MATERIAL.batch(MATERIAL.training, [0, 1])
    Updater(model, optimizer, PARTLY, torch.device("cpu")).update([batch], rate=0.1)
    assert {name.partition(":")[0] for name in moments_of(optimizer, model)} == learning(model)


def test_a_stopped_run_ends_in_the_same_bytes(tmp_path: Path) -> None:
    whole = new_run(tmp_path / "whole")
    fit(new_model(), PARTLY, MATERIAL, whole)
    run = new_run(tmp_path / "run")

    def stop(progress: Progress) -> None:
        if progress.done == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(new_model(), PARTLY, MATERIAL, run, report=stop)
    assert any((run / "checkpoints").iterdir())
    shutil.copytree(run, tmp_path / "copy")
    for folder in (run, tmp_path / "copy"):
        fit(new_model(), PARTLY, MATERIAL, folder)
        assert trace(folder) == trace(whole)


def test_weights_that_no_loss_depends_on_are_refused() -> None:
    cross_attention = {"kind": "sentence", "selection": {"kind": "approximate"}}
    settings = {**MODEL.model_dump(), "decoder": {"layers": 1, "cross_attention": cross_attention}}
    model = SummarizationModel(ModelConfig.model_validate(settings), VOCABULARY)
    config = CONFIG.model_copy(update={"trainable": ("*.selection.*",)})
    batch = MATERIAL.batch(MATERIAL.training, [0])
    updater = Updater(model, build_optimizer(model, config), config, torch.device("cpu"))
    message = (
        r"^train\.trainable must match weights that a loss depends on, got \*\.selection\.\*: match more of them, or"
    )
    with pytest.raises(RecipeError, match=message):
        updater.update([batch], rate=0.1)
    config = config.model_copy(update={"loss_weights": {"selection": 0.1}})
    updater = Updater(model, build_optimizer(model, config), config, torch.device("cpu"))
    assert updater.update([batch], rate=0.1).read().are_finite()
