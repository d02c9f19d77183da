from functools import partialmethod
from pathlib import Path

import pytest
import torch
from torch import nn

from sumpool.core.model.decoder import DecoderLayer
from sumpool.core.model.encoder import EncoderLayer
from sumpool.errors import RecipeError
from sumpool.training import fit as fitting
from sumpool.training.compilation import compile_layers
from sumpool.training.update import Updater
from tests.training.toy import CONFIG, DATA, new_model, new_run

pytestmark = pytest.mark.filterwarnings(
    "default"
)  # torch suppresses warnings of its own, which an error filter would raise


@pytest.fixture
def _eager_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trace without code generation, which takes most of a minute."""
    monkeypatch.setattr(nn.Module, "compile", partialmethod(nn.Module.compile, backend="eager"))


def train(compiled: bool) -> tuple[list[float], list[str]]:
    """Train on documents of one length: a new shape would be traced again."""
    model = new_model(dropout=0.0)
    if compiled:
        compile_layers(model)
    updater = Updater(model, CONFIG, torch.device("cpu"))
    long = [index for index, length in enumerate(DATA.training.lengths) if length >= DATA.source_length]
    batches = [DATA.batch(DATA.training, indices) for indices in (long[:3], long[3:6])]
    return [updater.update([batch], rate=0.01).read().loss for batch in batches], list(model.state_dict())


@pytest.mark.slow
@pytest.mark.usefixtures("_eager_backend")
def test_compiled_layers_train_equally_with_the_same_parameter_names() -> None:
    losses, names = train(compiled=True)
    expected, expected_names = train(compiled=False)
    assert losses == pytest.approx(expected, abs=1e-5)
    assert names == expected_names


@pytest.mark.slow
def test_exactly_the_layers_are_compiled() -> None:
    model = new_model()
    compile_layers(model)
    compiled = [type(module) for module in model.modules() if module._compiled_call_impl]
    assert compiled == [EncoderLayer, DecoderLayer]


def test_a_missing_compiler_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RecipeError, match=r"train\.compile must be false where there is no C\+\+ compiler g\+\+"):
        compile_layers(new_model())
    monkeypatch.setenv("CXX", "other++")
    with pytest.raises(RecipeError, match=r"no C\+\+ compiler other\+\+, got true: install it"):
        compile_layers(new_model())


@pytest.mark.parametrize("enabled", [False, True])
def test_fit_compiles_on_request(enabled: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiled: list[nn.Module] = []
    monkeypatch.setattr(fitting, "compile_layers", compiled.append)
    model = new_model()
    fitting.fit(model, CONFIG.model_copy(update={"compile": enabled, "steps": 1}), DATA, new_run(tmp_path / "run"))
    assert compiled == [model] * enabled
