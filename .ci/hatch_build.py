"""Compile the kernels of inference into a wheel, or into the tree of an editable installation.

On Linux with x86-64, if there is a C++ compiler; a wheel without them works everywhere, more slowly. The compiled file
needs no library of a distribution.
"""

import os
import platform
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILE = (
    *("-std=c++17", "-O3", "-fno-exceptions", "-fopenmp", "-fPIC"),
    "-march=cascadelake",  # the first with AVX-512 VNNI; `load_kernels` tests for it
    "-ffp-contract=off",  # rounds as the operators of torch do
    "-fno-tree-pre",  # with which GCC 12 keeps sums in memory, and large products take 1.6 times as long
)


class KernelsBuildHook(BuildHookInterface[Any]):
    """Adds `sumpool/core/nn/libkernels.so.1` to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile and link, or warn."""
        del version
        if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
            return
        source = Path(self.root, "sumpool/core/nn/kernels.cpp")
        library = source.with_name("libkernels.so.1")  # no name of an extension module
        # Moved into place: a process that has loaded the previous file keeps it.
        temporary = library.with_suffix(".tmp")
        compiler = os.environ.get("CXX", "c++")
        with tempfile.TemporaryDirectory() as folder:
            compiled = Path(folder, "kernels.o")
            try:
                subprocess.run([compiler, *COMPILE, "-c", source, "-o", compiled], check=True)
                # Without -fopenmp, which would load a second OpenMP beside that of torch.
                subprocess.run([compiler, "-shared", "-nostdlib", compiled, "-o", temporary], check=True)
            except (OSError, subprocess.CalledProcessError) as error:
                self.app.display_warning(f"kernels will be those of torch, as {compiler} failed: {error}")
                library.unlink(missing_ok=True)
                return
        temporary.replace(library)
        build_data["artifacts"].append(str(library.relative_to(self.root)))
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-manylinux2014_x86_64"
