from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from sumpool.core.attention._base import AttentionConfig
from sumpool.recipe.rules import family, rule, section
from sumpool.settings import OneOf, Settings, kinds

Attention = Annotated[AttentionConfig, OneOf("sumpool.core.attention")]


def test_a_type_is_described() -> None:
    for annotation, expected in [
        (bool, "true or false"),
        (Annotated[int, Field(ge=1, lt=5)], "a whole number of at least 1 and below 5"),
        (Annotated[float, Field(gt=0)] | Literal["auto"], "a number above 0 or auto"),
        (Path | None, "a path or null"),
        (Literal["b", "a"], "one of a, b"),
        (tuple[float, float], "a list of 2 values, each a number"),
        (tuple[Annotated[int, Field(le=9)], ...], "a list of values, each a whole number of at most 9"),
        (tuple[Settings, ...], "a list of sections"),
        (dict[str, float], "a section of names and numbers"),
        (dict[str, Annotated[float, Field(ge=0)]], "a section of names and numbers"),
        (
            Annotated[tuple[Settings, ...], Field(min_length=1, max_length=3)],
            "a list of sections with at least 1 entry and at most 3 entries",
        ),
        (Annotated[str, Field(pattern="^a$")], "text that matches ^a$"),
        (Settings | None, "a section of settings or null"),
        (Attention, f"a section with a kind, one of {', '.join(kinds('sumpool.core.attention'))}"),
        (complex, "a value"),
    ]:
        assert rule(annotation) == expected


def test_families_and_sections_are_recognised_inside_other_types() -> None:
    union = family(tuple[Attention | None, ...])
    assert union
    assert union.package == "sumpool.core.attention"
    assert family(int) is None
    assert section(tuple[Settings, ...] | None) is Settings
    assert section(dict[str, int]) is None
