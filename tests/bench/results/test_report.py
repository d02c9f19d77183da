import json
from dataclasses import asdict

import torch

from sumpool import __version__
from sumpool.bench.results.report import describe, versions


def test_this_machine() -> None:
    machine = describe(torch.device("cpu"))
    assert machine.processor
    assert machine.cores >= 1
    assert machine.threads == torch.get_num_threads()
    assert machine.memory > 2**28
    assert machine.accelerator == ""
    json.dumps(asdict(machine))


def test_versions() -> None:
    assert versions()["sumpool"] == __version__
    assert versions()["torch"] == torch.__version__
