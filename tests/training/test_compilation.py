from functools import partialmethod
from pathlib import Path

import pytest
import torch
from torch import nn

from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.encoder_layer import EncoderLayer
from sumpool.errors import RecipeError
from sumpool.training import fit as fitting
from sumpool.training.compilation import compile_layers
from sumpool.training.optimizer import build_optimizer
from sumpool.training.update import Updater
from tests.training.toy import CONFIG, MATERIAL, new_model, new_run

pytestmark = pytest.mark.filterwarnings("default")  # torch hides some of its own, which it cannot hide from an error


@pytest.fixture
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trace, and leave out what takes a C++ compiler most of a minute."""
    monkeypatch.setattr(nn.Module, "compile", partialmethod(nn.Module.compile, backend="eager"))


def learn(compiled: bool) -> tuple[list[float], list[str]]:
    """Learn from documents of one length, since every new kind of shape is traced anew."""
    model = new_model(dropout=0.0)
    if compiled:
        compile_layers(model)
    updater = Updater(model, build_optimizer(model, CONFIG), CONFIG, torch.device("cpu"))
    long = [number for number, length in enumerate(MATERIAL.training.lengths) if length >= MATERIAL.source_length]
    batches = [MATERIAL.batch(MATERIAL.training, numbers) for numbers in (long[:3], long[3:6])]
    return [updater.update([batch], rate=0.01).read().loss for batch in batches], list(model.state_dict())


@pytest.mark.usefixtures("_quickly")
def test_compiled_layers_learn_the_same_under_the_same_names() -> None:
    losses, names = learn(compiled=True)
    expected, expected_names = learn(compiled=False)
    assert losses == pytest.approx(expected, abs=1e-5)
    assert names == expected_names


def test_every_layer_is_compiled_and_nothing_else() -> None:
    model = new_model()
    compile_layers(model)
    compiled = [type(module) for module in model.modules() if module._compiled_call_impl]
    assert compiled == [EncoderLayer, DecoderLayer]


def test_a_compiler_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RecipeError, match=r"train\.compile must be false where there is no C\+\+ compiler g\+\+"):
        compile_layers(new_model())
    monkeypatch.setenv("CXX", "other++")
    with pytest.raises(RecipeError, match=r"no C\+\+ compiler other\+\+, got true: install it"):
        compile_layers(new_model())


@pytest.mark.parametrize("wanted", [False, True])
def test_a_run_compiles_where_its_recipe_says_so(wanted: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[nn.Module] = []
    monkeypatch.setattr(fitting, "compile_layers", given.append)
    model = new_model()
    fitting.fit(model, CONFIG.model_copy(update={"compile": wanted, "steps": 1}), MATERIAL, new_run(tmp_path / "run"))
    assert given == [model] * wanted
