"""Benchmarks on an emulated GPU, which refuses tensors of the host; those that only time models are one, `models`."""

from collections.abc import Callable

import pytest
import torch

from sumpool.bench.models import measure_models
from sumpool.bench.workload import Conditions
from sumpool.core.model import cuda_graph
from sumpool.studies import operators
from sumpool.studies.attentions import measure_approximations, measure_attention_costs
from sumpool.studies.config import ApproximationConfig, AttentionsConfig, OperatorsConfig
from sumpool.studies.operators import measure_operators
from sumpool.studies.sparsity import measure_sparsity
from sumpool.studies.study import Steps
from sumpool.tasks.language_modeling.config import LanguageModelConfig
from sumpool.tasks.language_modeling.model import LanguageModel
from sumpool.training.update import Updater
from tests.bench.conftest import POOLED
from tests.bench.test_models import QUICK
from tests.core.emulated_gpu import CUDA, emulated_gpu
from tests.core.model.test_cuda_graph import EagerGraph
from tests.studies import test_sparsity as sparsity
from tests.tasks.language_modeling.test_model import SMALL
from tests.training import test_classification as classification

GPU = Conditions(vocabulary=320, device=CUDA, precision=torch.float32)
OPERATORS = OperatorsConfig(lengths=(4,), batch=1, repeats=1)
ATTENTIONS = AttentionsConfig(lengths=(8,), dim=8, heads=2, repeats=1, seconds=1000)
APPROXIMATION = ApproximationConfig(lengths=(48,), features=(8,), repeats=1, head_dim=8)
SPARSITY = sparsity.SETTINGS.model_copy(update={"targets": (1, 2, 3), "surface_lengths": (4, 5, 6), "length": 4})


@torch.inference_mode()
def text() -> object:
    model = LanguageModel(LanguageModelConfig.model_validate({**SMALL, "layers": [2]}), 11).to(CUDA).eval()
    ids = torch.arange(9)[None].to(CUDA)
    return model.logits(ids, torch.ones_like(ids, dtype=torch.bool)).size(1)


def updates() -> bool:
    model, data = classification.new_model(pairs=False).to(CUDA), classification.data(pairs=False)
    batch = data.batch(data.training, [0, 1])
    return bool(Updater(model, classification.CONFIG, CUDA).update([batch], rate=1e-3).read())


SUITES: dict[str, Callable[[], object]] = {
    "models": lambda: measure_models(POOLED, QUICK.model_copy(update={"baselines": ()}), GPU).rows["models"],
    "operators": lambda: measure_operators(OPERATORS, GPU, Steps()).rows["operators"],
    "attentions": lambda: measure_attention_costs(ATTENTIONS, GPU, Steps()).rows["attention_costs"],
    "approximation": lambda: measure_approximations(APPROXIMATION, GPU, Steps()).rows["approximation"],
    "sparsity": lambda: measure_sparsity(
        [[sparsity.SHORT], [sparsity.LONG]], sparsity.LOSSES, sparsity.MODEL, SPARSITY, GPU, Steps()
    ).rows["times"],
    "language model": text,
    "lra": updates,
}


@pytest.mark.filterwarnings("ignore:PyTorch was compiled without cuDNN")
@pytest.mark.usefixtures("small_probes")
@pytest.mark.parametrize("name", SUITES)
def test_suites_run_on_the_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_graph, "capture_graph", EagerGraph())
    monkeypatch.setattr(operators, "DRAWS", 1)
    with emulated_gpu():
        assert SUITES[name]()
