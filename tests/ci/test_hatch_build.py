import ctypes
import platform
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch  # noqa: F401 - loads OpenMP
from hatchling.bridge.app import Application
from hatchling.builders.config import BuilderConfig
from hatchling.metadata.core import ProjectMetadata

from tests.scripts import load_script

ROOT = Path(__file__).parents[2]
SOURCE = "sumpool/core/nn/kernels.cpp"


def build(folder: Path) -> dict[str, Any]:
    """Run the build hook in a folder that has the source."""
    (folder / SOURCE).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / SOURCE, folder / SOURCE)
    module = load_script(".ci/hatch_build.py")
    build_data: dict[str, Any] = {"artifacts": [], "pure_python": True}
    metadata: ProjectMetadata[Any] = ProjectMetadata(str(folder), None)
    config: BuilderConfig = None  # type: ignore[assignment]  # the hook reads none
    hook = module.KernelsBuildHook(str(folder), {}, config, metadata, str(folder), "wheel", Application())
    hook.initialize("standard", build_data)
    return build_data


@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64") or not shutil.which("c++"),
    reason="needs a C++ compiler for Linux on x86-64",
)
def test_wheels_have_kernels_where_a_compiler_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    library = (tmp_path / SOURCE).with_name("libkernels.so.1")
    built = build(tmp_path)
    assert built["artifacts"] == ["sumpool/core/nn/libkernels.so.1"]
    assert (built["tag"], built["pure_python"]) == ("py3-none-manylinux2014_x86_64", False)
    compiled = ctypes.CDLL(str(library))
    for kernel in ("int8_linear", "small_linear", "decode", "pointer_log_probs", "draw"):
        assert hasattr(compiled, kernel)
    monkeypatch.setenv("CXX", "false")
    assert build(tmp_path) == {"artifacts": [], "pure_python": True}
    assert "kernels will be those of torch, as false failed" in capfd.readouterr().err
    assert not library.exists()
