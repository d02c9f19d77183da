"""Scripts of the repository, whose folders are no packages."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


def load_script(path: str) -> ModuleType:
    """Import a script, by its path from the root of the repository."""
    name = f"script_{Path(path).stem}"  # not that of an installed package, such as `wheel`
    specification = spec_from_file_location(name, ROOT / path)
    assert specification
    assert specification.loader
    sys.modules[name] = module = module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
