import re
from typing import Any

import pytest

from sumpool.recipe.overrides import override


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("a.b=2", {"a": {"b": 2}, "l": [{"x": 1}, {"x": 2}]}),
        ("n.m.o=1e-3", {"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}], "n": {"m": {"o": 1e-3}}}),
        ("l[1].x=null", {"a": {"b": 1}, "l": [{"x": 1}, {"x": None}]}),
        ("l.0.x={kind: tied}", {"a": {"b": 1}, "l": [{"x": {"kind": "tied"}}, {"x": 2}]}),
        ("l[0]=y", {"a": {"b": 1}, "l": ["y", {"x": 2}]}),
        ("a.b=", {"a": {"b": None}, "l": [{"x": 1}, {"x": 2}]}),
        ("a.b=c=d", {"a": {"b": "c=d"}, "l": [{"x": 1}, {"x": 2}]}),
    ],
)
def test_one_value_changes(assignment: str, expected: dict[str, Any]) -> None:
    tree: dict[str, Any] = {"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}]}
    override(tree, assignment)
    assert tree == expected


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("train.steps", "--set must look like section.setting=value, got 'train.steps'"),
        ("=3", "--set must look like section.setting=value, got '=3'"),
        ("a..b=3", "--set must look like section.setting=value, got 'a..b=3'"),
        ("a.b=[", "--set a.b: must be YAML, got line 1"),
        ("a.b.c=3", "--set a.b.c: a.b must be a section to have a setting c, got 1"),
        ("a[0]=3", "--set a[0]: a must be a list to have an entry 0, got {'b': 1}"),
        ("l[2].x=3", "--set l[2].x: l must have an entry 2, got 2 counted from 0"),
        ("m[0]=3", "--set m[0]: m must be written out in the recipe before one entry can change"),
    ],
)
def test_invalid_paths_are_refused(assignment: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        override({"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}]}, assignment)
