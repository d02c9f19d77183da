"""YAML as recipes use it: plain data, small, without surprises.

The core schema of YAML 1.2 applies, where PyYAML alone follows 1.1: `1e-4` is a number, `no` and `12:30` are text,
`010` is no octal. Tags are refused, so nothing but dicts, lists, text, numbers, booleans and null can come out, and
size, depth and aliases have limits, so that a kilobyte cannot grow into gigabytes.
"""

import re
from collections.abc import Hashable
from typing import Any

import yaml

CHARACTERS = 200_000
DEPTH = 32
NODES = 20_000
"""Values in all, each alias counted as everything that it stands for."""

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


class _Loader(yaml.SafeLoader):
    """Builds plain data and counts while it does."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._sizes: dict[int, int] = {}  # values below each node, by identity

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None) is not None:
            raise _refusal(event, "a tag (!...) is not allowed")
        self._depth += 1
        if self._depth > DEPTH:
            raise _refusal(event, f"values are nested more than {DEPTH} deep")
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent) and id(node) not in self._sizes:
            raise _refusal(event, f"the alias *{event.anchor} contains itself")
        self._sizes[id(node)] = 1 + sum(self._sizes[id(child)] for child in _children(node))
        if self._sizes[id(node)] > NODES:
            raise _refusal(event, f"there are more than {NODES} values")
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refusal(key, "a key must be a word")
            if key.value in seen:
                raise _refusal(key, f"{key.value!r} stands there twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _children(node: yaml.Node | None) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _refusal(where: yaml.Event | yaml.Node, problem: str) -> yaml.YAMLError:
    line = f"line {where.start_mark.line + 1}: " if where.start_mark else ""
    return yaml.YAMLError(line + problem)


class _Dumper(yaml.SafeDumper):
    """Quotes whatever either YAML 1.1 or the loader above would not read back as text."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def _teach(kind: type[_Loader] | type[_Dumper]) -> None:
    for tag, pattern in _NUMBERS.items():
        kind.add_implicit_resolver(tag, re.compile(f"^(?:{pattern})$"), list("-+.0123456789"))
    if kind is _Loader:
        for tag, (pattern, first) in _WORDS.items():
            kind.add_implicit_resolver(tag, re.compile(f"^(?:{pattern})$"), list(first))


_Loader.yaml_implicit_resolvers = {}
_teach(_Loader)
_teach(_Dumper)


class Inline(dict[str, Any]):
    """A mapping that is written on one line: `{kind: blockwise, block: 256}`."""


_Dumper.add_representer(
    Inline, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data, flow_style=True)
)
_Dumper.add_representer(
    tuple, lambda dumper, data: dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=True)
)


def parse(text: str) -> object:
    """Read YAML text.

    Raises:
        ValueError: If it is not YAML, or holds more than a recipe may; names the line where it can.
    """
    if len(text) > CHARACTERS:
        raise ValueError(f"must be at most {CHARACTERS} characters long, got {len(text)}")
    try:
        return _unshared(_Loader(text).get_single_data())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"must be YAML, got {where}{error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:  # characters that YAML forbids; integers of thousands of digits
        raise ValueError(f"must be YAML, got {str(error).splitlines()[0]}") from error


def _unshared(value: object) -> object:
    """Give every alias a copy of its own, so that changing one place changes one place."""
    if isinstance(value, dict):
        return {key: _unshared(inner) for key, inner in value.items()}
    return [_unshared(inner) for inner in value] if isinstance(value, list) else value


def write(data: object) -> str:
    """Write plain data so that `parse` returns it: keys keep their order, tuples and `Inline` stand on one line."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=CHARACTERS)
