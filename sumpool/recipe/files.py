"""Files of recipes: those that come with the package, found by name, and YAML as plain data, bounded in size.

The core schema of YAML 1.2 applies, where PyYAML alone follows 1.1: `1e-4` is a number, `no` and `12:30` are text,
`010` is not octal. Tags are rejected, so the result consists of dicts, lists, text, numbers, booleans and null only.
Size, depth and aliases are limited, so that a kilobyte cannot expand to gigabytes.
"""

import re
from collections.abc import Hashable
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from sumpool.errors import RecipeError
from sumpool.io.manifest import RECIPE

SUFFIX = ".yaml"
MAX_CHARACTERS = 200_000
MAX_DEPTH = 32
MAX_VALUES = 20_000
"""Values of a file, with every alias counted as the values that it refers to."""

_NUMBERS = {
    "tag:yaml.org,2002:int": r"[-+]?(?:0|[1-9][0-9_]*)",
    "tag:yaml.org,2002:float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+|[-+]?\.(?:inf|Inf)|\.nan"
    ),
}
_WORDS = {
    "tag:yaml.org,2002:bool": ("true|True|TRUE|false|False|FALSE", "tTfF"),
    "tag:yaml.org,2002:null": ("~|null|Null|NULL|", ("~", "n", "N", "")),
    "tag:yaml.org,2002:merge": ("<<", "<"),
}


def recipes_folder() -> Path:
    """Folder of the packaged recipes: `sumpool/recipes` of a wheel, `recipes` beside `sumpool` in a checkout.

    Raises:
        RecipeError: If the installation has neither.
    """
    package = Path(str(files("sumpool")))
    for folder in (package / "recipes", package.parent / "recipes"):
        if (folder / f"quickstart{SUFFIX}").is_file():
            return folder
    raise RecipeError(f"{package / 'recipes'} must contain the recipes of the package, got none; install sumpool again")


def find_recipe(path: Path) -> Path:
    """Resolve the name of a packaged recipe to its file; every other path is returned unchanged.

    A file or a run folder of the same name takes precedence. A name has no suffix: `rfc.yaml` is always a file.
    """
    if path.suffix == SUFFIX or path.is_absolute() or path.is_file() or (path / RECIPE).is_file():
        return path
    packaged = recipes_folder() / f"{path.as_posix()}{SUFFIX}"
    return packaged if ".." not in path.parts and packaged.is_file() else path


def packaged_recipes() -> dict[str, str]:
    """Return the comments in the first lines of the packaged recipes and sweeps, without the final period.

    Their names are paths below the folder of recipes, without suffix: those at the top first, then by name.
    """
    folder = recipes_folder()
    paths = sorted(folder.rglob(f"*{SUFFIX}"), key=lambda path: (len(path.relative_to(folder).parts) > 1, path))
    comments = [path.read_text("utf-8").partition("\n")[0].strip("# ").removesuffix(".") for path in paths]
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in paths]
    return dict(zip(names, comments, strict=True))


class _Loader(yaml.SafeLoader):
    """Loader of plain data that counts depth and values while composing."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._sizes: dict[int, int] = {}  # values below each node, by identity

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) is not None:
            raise _error(event, "a tag (!...) is not allowed")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _error(event, f"values are nested more than {MAX_DEPTH} deep")
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent) and id(node) not in self._sizes:
            raise _error(event, f"the alias *{event.anchor} contains itself")
        children = node.value if isinstance(node, yaml.CollectionNode) else []
        if isinstance(node, yaml.MappingNode):
            children = [child for pair in children for child in pair]
        self._sizes[id(node)] = 1 + sum(self._sizes[id(child)] for child in children)
        if self._sizes[id(node)] > MAX_VALUES:
            raise _error(event, f"there are more than {MAX_VALUES} values")
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _error(key, "a key must be a word")
            if key.value in keys:
                raise _error(key, f"{key.value!r} occurs twice")
            keys.add(key.value)
        return super().construct_mapping(node, deep)


def _error(where: yaml.Event | yaml.Node, problem: str) -> yaml.YAMLError:
    line = f"line {where.start_mark.line + 1}: " if where.start_mark else ""
    return yaml.YAMLError(line + problem)


class _Dumper(yaml.SafeDumper):
    """Dumper that quotes text which either YAML 1.1 or the loader above would not read back as text."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern in _NUMBERS.items():
    for _kind in (_Loader, _Dumper):
        _kind.add_implicit_resolver(_tag, re.compile(f"^(?:{_pattern})$"), list("-+.0123456789"))
for _tag, (_pattern, _first) in _WORDS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(f"^(?:{_pattern})$"), list(_first))


class Inline(dict[str, Any]):
    """Mapping in flow style, on one line: `{kind: blockwise, block: 256}`."""


_Dumper.add_representer(
    Inline, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, flow_style=True)
)
_Dumper.add_representer(
    tuple, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)
)


def parse(text: str) -> object:
    """Parse YAML.

    Raises:
        ValueError: If the text is not YAML or exceeds a limit; names the line where known.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"must be at most {MAX_CHARACTERS} characters long, got {len(text)}")
    try:
        return _copy_aliases(_Loader(text).get_single_data())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"must be YAML, got {where}{error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:  # characters that YAML forbids
        raise ValueError(f"must be YAML, got {str(error).splitlines()[0]}") from error


def _copy_aliases(value: object) -> object:
    """Replace aliases by copies, so that an override changes one place only."""
    if isinstance(value, dict):
        return {key: _copy_aliases(inner) for key, inner in value.items()}
    return [_copy_aliases(inner) for inner in value] if isinstance(value, list) else value


def write(data: object) -> str:
    """Serialize plain data so that `parse` returns it; keys keep their order, tuples and `Inline` take one line."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=MAX_CHARACTERS)
