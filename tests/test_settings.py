import sys
from importlib import invalidate_caches
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from sumpool.settings import OneOf, Settings, config_class, first_problem, kinds, union_validator

BASE = """
from typing import Literal
from sumpool.settings import Settings

class PlantConfig(Settings):
    kind: str
"""
IMPORTS = """
from typing import Literal
from made_up_family._base import PlantConfig
"""
VARIANT = """
class {name}PlantConfig(PlantConfig):
    kind: Literal["{kind}"] = "{kind}"
    size: int = 1
"""


@pytest.fixture(params=["package", "module"])
def family(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A family of two variants, as a package with a private module or as one module."""
    folder = tmp_path / "made_up_family"
    plain, two_words = VARIANT.format(name="Plain", kind="plain"), VARIANT.format(name="TwoWords", kind="two_words")
    if request.param == "module":
        folder.with_suffix(".py").write_text(BASE + plain + two_words)
    else:
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "_base.py").write_text(BASE)
        (folder / "plain.py").write_text(IMPORTS + plain)
        (folder / "two_words.py").write_text(IMPORTS + two_words)
    monkeypatch.syspath_prepend(tmp_path)
    invalidate_caches()
    for module in [name for name in sys.modules if name.partition(".")[0] == folder.name]:
        monkeypatch.delitem(sys.modules, module)
    union_validator.cache_clear()
    return folder.name


def test_variants_have_the_names_of_their_files_or_kinds(family: str) -> None:
    assert kinds(family) == ["plain", "two_words"]
    assert config_class(family, "two_words").__name__ == "TwoWordsPlantConfig"


def test_a_field_takes_one_variant_by_its_kind(family: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Settings, OneOf(family)])
    chosen = adapter.validate_python({"kind": "two_words", "size": 3})
    assert type(chosen) is config_class(family, "two_words")
    assert adapter.dump_python(chosen) == {"kind": "two_words", "size": 3}
    for wrong in ({"kind": "three"}, {"size": 1}):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)
    config = config_class(family, "plain")()
    assert adapter.validate_python(config) is config
    several: TypeAdapter[Any] = TypeAdapter(dict[str, Annotated[Settings, OneOf(family)]])
    with pytest.raises(ValidationError) as caught:
        several.validate_python({"rose": {"kind": "plain", "size": "x", "length": 1}, "oak": {"kind": [1]}, "elm": 3})
    located = [(error["loc"], error["type"]) for error in caught.value.errors()]
    assert located == [
        (("rose", "plain", "size"), "int_type"),
        (("rose", "plain", "length"), "extra_forbidden"),
        (("oak",), "union_tag_invalid"),
        (("elm",), "model_attributes_type"),
    ]


@pytest.mark.parametrize("family", ["package"], indirect=True)
def test_only_the_module_of_the_kind_is_imported(family: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[Settings, OneOf(family)])
    adapter.validate_python({"kind": "plain"})
    assert f"{family}.plain" in sys.modules
    assert f"{family}.two_words" not in sys.modules


class Sizes(Settings):
    """Settings of each type that numbers convert to, and with bounds."""

    count: int = 1
    share: float = 0.5
    is_on: bool = False
    limits: tuple[int, ...] = ()
    auto: int | Literal["auto"] = "auto"
    low: int = Field(1, ge=1, lt=9)
    high: float = Field(1.0, gt=0, le=3)
    names: tuple[str, ...] = Field((), max_length=1)
    kind: Literal["a", "b"] = "a"


def test_texts_and_truth_values_are_no_numbers_but_whole_floats_are() -> None:
    wrong = {"count": [True, "5", 1.5], "share": [True, "0.5"], "is_on": [1, "yes"], "limits": [[True], ["1"]]}
    for name, values in {**wrong, "auto": [True, "5"]}.items():
        for value in values:
            with pytest.raises(ValidationError, match=name):
                Sizes.model_validate({name: value})
    sizes = Sizes.model_validate({"count": 1e3, "share": 1, "limits": [2.0], "auto": 3.0})
    assert (sizes.count, sizes.share, sizes.limits, sizes.auto) == (1000, 1.0, (2,), 3)
    assert isinstance(sizes.count, int)


def test_problems_are_described_in_our_words() -> None:
    """Neither words nor addresses of pydantic's are shown."""
    for settings, message in (
        ({"count": "x"}, "count must be a whole number, got 'x'"),
        ({"share": []}, "share must be a number, got []"),
        ({"is_on": 1}, "is_on must be true or false, got 1"),
        ({"limits": 3}, "limits must be a list, got 3"),
        ({"limits": [1, None]}, "limits.1 must be a whole number, got None"),
        ({"other": 3}, "other must be left out, got 3"),
        ([], "the content must be a mapping, got []"),
        ({"low": 0}, "low must be at least 1, got 0"),
        ({"low": 9}, "low must be below 9, got 9"),
        ({"high": 0}, "high must be above 0.0, got 0"),
        ({"high": 4}, "high must be at most 3.0, got 4"),
        ({"high": float("nan")}, "high must be a finite number, got nan"),
        ({"names": ["a", "b"]}, "names must be a list with at most 1 entries, got ['a', 'b']"),
        ({"names": [3]}, "names.0 must be text, got 3"),
        ({"kind": "c"}, "kind must be 'a' or 'b', got 'c'"),
    ):
        with pytest.raises(ValidationError) as caught:
            Sizes.model_validate(settings)
        assert first_problem(caught.value) == message
    with pytest.raises(ValidationError) as caught:
        Sizes.model_validate_json("{")
    assert first_problem(caught.value) == "the content must be JSON, got '{'"
