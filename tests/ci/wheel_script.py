"""The script `.ci/wheel.py`, whose folder is no package."""

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def load_wheel_script() -> ModuleType:
    """Import the script that installs the wheel and runs the commands of the README."""
    specification = importlib.util.spec_from_file_location("wheel", ROOT / ".ci/wheel.py")
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
