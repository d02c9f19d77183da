"""The commands on Windows, where the standard library lacks some modules."""

import subprocess
import sys

import pytest

BLOCKED = ("fcntl", "grp", "pwd", "resource", "termios")
IMPORTS = """\
import importlib, pkgutil, sys

for name in {blocked}:
    sys.modules[name] = None  # as on Windows, an import fails
import sumpool.cli, sumpool.workflows

packages = [sumpool.cli, sumpool.workflows]
for package in packages:
    for module in pkgutil.walk_packages(package.__path__, f"{{package.__name__}}."):
        importlib.import_module(module.name)
print(len([name for name in sys.modules if name.startswith("sumpool.")]))
"""


@pytest.mark.slow
def test_every_command_imports_without_modules_of_unix() -> None:
    code = IMPORTS.format(blocked=BLOCKED)
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert int(shown.stdout) > 100
