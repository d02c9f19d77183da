import sys
from importlib import invalidate_caches
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import TypeAdapter, ValidationError

from sumpool.settings import OneOf, Settings, config_class, kinds, union_validator

BASE = """
from sumpool.settings import Settings

class PlantConfig(Settings):
    kind: str
"""
VARIANT = """
from typing import Literal
from made_up_family._base import PlantConfig

class {name}PlantConfig(PlantConfig):
    kind: Literal["{kind}"] = "{kind}"
    size: int = 1
"""


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A family of two variants and a private module."""
    folder = tmp_path / "made_up_family"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "_base.py").write_text(BASE)
    (folder / "plain.py").write_text(VARIANT.format(name="Plain", kind="plain"))
    (folder / "two_words.py").write_text(VARIANT.format(name="TwoWords", kind="two_words"))
    monkeypatch.syspath_prepend(tmp_path)
    invalidate_caches()
    for module in [name for name in sys.modules if name.partition(".")[0] == folder.name]:
        monkeypatch.delitem(sys.modules, module)
    union_validator.cache_clear()
    return folder.name


def test_a_file_is_a_variant_by_its_name(family: str) -> None:
    assert kinds(family) == ["plain", "two_words"]
    assert config_class(family, "two_words").__name__ == "TwoWordsPlantConfig"


def test_a_field_takes_one_variant_by_its_kind(family: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Settings, OneOf(family)])
    chosen = adapter.validate_python({"kind": "two_words", "size": 3})
    assert type(chosen) is config_class(family, "two_words")
    assert adapter.dump_python(chosen) == {"kind": "two_words", "size": 3}
    for wrong in ({"kind": "three"}, {"size": 1}, {"kind": "plain", "length": 1}):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)


def test_only_the_module_of_the_kind_is_imported(family: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Settings, OneOf(family)])
    adapter.validate_python({"kind": "plain"})
    assert f"{family}.plain" in sys.modules
    assert f"{family}.two_words" not in sys.modules


def test_an_instance_passes_unchanged(family: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Settings, OneOf(family)])
    config = config_class(family, "plain")()
    assert adapter.validate_python(config) is config


def test_errors_are_located_below_field_and_kind(family: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(dict[str, Annotated[Settings, OneOf(family)]])
    with pytest.raises(ValidationError) as caught:
        adapter.validate_python({"rose": {"kind": "plain", "size": "x", "length": 1}, "oak": {"kind": [1]}, "elm": 3})
    located = [(error["loc"], error["type"]) for error in caught.value.errors()]
    assert located == [
        (("rose", "plain", "size"), "int_type"),
        (("rose", "plain", "length"), "extra_forbidden"),
        (("oak",), "union_tag_invalid"),
        (("elm",), "model_attributes_type"),
    ]


def test_the_json_schema_names_every_variant(family: str) -> None:
    schema = TypeAdapter(Annotated[Settings, OneOf(family)]).json_schema()
    assert [variant["title"] for variant in schema["oneOf"]] == ["PlainPlantConfig", "TwoWordsPlantConfig"]


class Sizes(Settings):
    """Settings of each type that numbers convert to."""

    count: int = 1
    share: float = 0.5
    is_on: bool = False
    limits: tuple[int, ...] = ()
    auto: int | Literal["auto"] = "auto"


@pytest.mark.parametrize(
    "settings",
    [
        *[{"count": True}, {"count": "5"}, {"count": 1.5}, {"share": True}, {"share": "0.5"}, {"is_on": 1}],
        *[{"is_on": "yes"}, {"limits": [True]}, {"limits": ["1"]}, {"auto": True}, {"auto": "5"}],
    ],
)
def test_texts_and_truth_values_are_no_numbers(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(settings))):
        Sizes.model_validate(settings)


def test_numbers_without_a_fraction_are_whole() -> None:
    sizes = Sizes.model_validate({"count": 1e3, "share": 1, "limits": [2.0], "auto": 3.0})
    assert (sizes.count, sizes.share, sizes.limits, sizes.auto) == (1000, 1.0, (2,), 3)
    assert isinstance(sizes.count, int)
