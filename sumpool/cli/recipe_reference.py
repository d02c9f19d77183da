"""`sumpool help recipe`: the settings of recipes, from the schema and the docstrings below its fields."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from sumpool.bench.config import BenchConfig, CorpusConfig
from sumpool.errors import RecipeError
from sumpool.recipe.files import write
from sumpool.recipe.load import family, hint, section, setting_docstring
from sumpool.recipe.schema import Recipe
from sumpool.recipe.task import DEFAULT, find_task
from sumpool.settings import Settings, config_class, kinds
from sumpool.studies import config as studies
from sumpool.workflows.sweep import Sweep

INTRODUCTION = """\
# Recipe reference

A recipe is one YAML file. Every setting below can also be changed for one run on the command line:

```sh
sumpool train quickstart --set train.steps=100 --set model.encoder[0].pool.keep=64
```

A setting without a value in the recipe has the default. An unknown setting is an error, and so is a value outside the
range. A setting with a `kind` is a choice of variants, each with its own settings. `sumpool recipes quickstart` prints
a complete recipe, `sumpool init` writes one for your documents, and `sumpool help recipe train` prints the section
`train` of this page, as `sumpool help recipe halving` does the variants of this kind.
"""

_TYPES: dict[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
}
_BOUNDS = {
    "ge": "of at least {}",
    "gt": "above {}",
    "le": "at most {}",
    "lt": "below {}",
    "min_length": "with at least {} entries",
    "max_length": "at most {} entries",
    "pattern": "that matches `{}`",
}


class Section(NamedTuple):
    """Section of a recipe, family of variants, or variant.

    Attributes:
        path: Path in a recipe without indices; that of a variant ends with its kind.
        heading: Line of Markdown.
        text: What it is for.
        settings: A line of each setting, by its path.
    """

    path: str
    heading: str
    text: str
    settings: dict[str, str]

    def __str__(self) -> str:
        """Return the section as Markdown."""
        settings = "\n".join(self.settings.values())
        return "\n\n".join(part for part in (self.heading, self.text, settings) if part)


def page() -> str:
    """Return the reference of all settings, as Markdown; a setting that several sections share is described once."""
    parts: list[str] = []
    described: dict[str, str] = {}  # heading of the section that describes it, by the line of a setting
    for one in sections():
        settings: dict[str, str] = {}
        shared: dict[str, list[str]] = {}
        for path, line in one.settings.items():
            if line in described:
                shared.setdefault(described[line], []).append(line.split(": ")[0].removeprefix("- "))
            else:
                described[line], settings[path] = one.heading.lstrip("# "), line
        settings |= {heading: f"- {', '.join(names)}: as in {heading}." for heading, names in shared.items()}
        parts.append(str(one._replace(settings=settings)))
    return "\n".join([INTRODUCTION, "\n\n".join(parts)])


def describe(name: str) -> str:
    """Return the sections, the variants or else the settings of a name, as Markdown.

    Raises:
        RecipeError: If the name is none of them.
    """
    wanted = re.sub(r"\[\w*\]", "", name)
    known = [*sections()]
    found = [one for one in known if f".{one.path}".endswith(f".{wanted}")]
    if not found:
        for one in known:
            lines = {path: line for path, line in one.settings.items() if f".{path}".endswith(f".{wanted}")}
            found += [one._replace(text="", settings=lines)] if lines else []
    if not found:
        paths = [path for one in known for path in (one.path, *one.settings)]
        raise RecipeError(f"SECTION must be a section, a kind or a setting of recipes, got {name}{hint(wanted, paths)}")
    return "\n\n".join(map(str, found))


def sections() -> Iterator[Section]:
    """All sections in the order of the schema: those of summarisers, of other tasks, of studies."""
    shown: set[object] = set()
    yield from _section(Recipe, "", shown, heading="## Recipe")
    yield from _section(BenchConfig, "bench", shown)
    for name in kinds("sumpool.tasks"):
        task = find_task(name)
        for one in () if name == DEFAULT else _section(task.recipe, "", shown, heading=f"## `task: {name}`"):
            yield one._replace(heading=one.heading.replace("# `", f"# {task.kind.capitalize()}: `", 1))
    yield _single(Sweep, "", "## Sweeps")
    yield _single(CorpusConfig, "bench", "## `bench corpus`")._replace(path="corpus")
    text = "`sumpool study NAME` takes these settings as `--set study.SETTING=VALUE`."
    yield Section("", "## Studies", text, {})
    for name, config in vars(studies).items():
        if name.endswith("Config"):
            study = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name.removesuffix("Config")).lower()
            yield _single(config, "study", f"### `study {study}`")._replace(path=study)


def _section(config: type[Settings], path: str, shown: set[object], heading: str = "") -> Iterator[Section]:
    """A section of the recipe, followed by the sections and families inside it.

    Args:
        config: Settings of the section.
        path: Its path in a recipe.
        shown: Names of the families, and paths and classes of the sections, that have been listed; extended.
        heading: Heading; by default the path.
    """
    yield _single(config, path, heading or f"## `{path}`")
    yield from _inside(config, path, shown)


def _inside(config: type[Settings], path: str, shown: set[object]) -> Iterator[Section]:
    """The sections and families of the settings of a section, each where it is first met."""
    for name, field in config.model_fields.items():
        listed = "[i]" if get_origin(field.annotation) is tuple else ""
        inner = f"{path}.{name}{listed}".removeprefix(".")
        variants, settings = family(field.rebuild_annotation()), section(field.annotation)
        known = variants.family if variants else (inner, settings)
        if (variants or settings) and known not in shown:
            shown.add(known)
            if variants:
                yield from _family(inner, variants.family, shown)
            elif settings:
                yield from _section(settings, inner, shown)


def _family(path: str, name: str, shown: set[object]) -> Iterator[Section]:
    """A family, its variants, and the families inside them."""
    one_of = f"One of {', '.join(f'`{kind}`' for kind in kinds(name))}."
    yield Section(_plain(path), f"## `{path}`", one_of, {})
    for kind in kinds(name):
        config = config_class(name, kind)
        module = sys.modules[config.__module__]  # of a large family it is that of one variant
        documented = config.__doc__ if config.__module__ == name else module.__doc__
        text = "\n\n".join(" ".join(part.split()) for part in (documented or "").split("\n\n")[:2])
        settings = _settings(config, path, variant=True)
        if not settings:
            text += "\n\nNo settings."
        heading = f"### `{path.rpartition('.')[2]}: {{kind: {kind}}}`"
        yield Section(f"{_plain(path)}.{kind}", heading, text, settings)
    for kind in kinds(name):
        yield from _inside(config_class(name, kind), path, shown)


def _single(config: type[Settings], path: str, heading: str) -> Section:
    text = (config.__doc__ or "").split("\n\n")[0].replace("\n    ", " ").strip()
    return Section(_plain(path), heading, text, _settings(config, path))


def _settings(config: type[Settings], path: str, *, variant: bool = False) -> dict[str, str]:
    """Lines of the settings of a section by their paths; those of a variant begin with the name alone."""
    lines = {}
    for name, field in config.model_fields.items():
        inner = f"{path}.{name}".removeprefix(".")
        about = " ".join(setting_docstring(config, name).split())
        if name != "kind" or not variant:
            accepted = _accepted(field.rebuild_annotation())
            lines[_plain(inner)] = f"- `{name if variant else inner}`: {accepted} ({_default(field)}). {about}"
    return lines


def _plain(path: str) -> str:
    return path.replace("[i]", "")


def _accepted(annotation: object) -> str:
    """Type and range of a setting, in words."""
    origin, inner = get_origin(annotation), get_args(annotation)
    union = family(annotation)
    if origin is Annotated and not union:
        marks = [part for mark in inner[1:] for part in getattr(mark, "metadata", [mark])]
        bounds = " and ".join(
            words.format(getattr(mark, name))
            for mark in marks
            for name, words in _BOUNDS.items()
            if getattr(mark, name, None) is not None
        )
        return f"{_accepted(inner[0])} {bounds}" if bounds else _accepted(inner[0])
    if origin is tuple:
        number = "" if inner[-1] is ... else f"{len(inner)} "
        return f"a list of {number}values, each {_accepted(inner[0])}"
    if origin is Literal:
        return str(inner[0]) if len(inner) == 1 else f"one of {', '.join(map(str, sorted(inner)))}"
    if origin in (Union, UnionType):
        return " or ".join(_accepted(member) for member in inner if member is not type(None))
    if union:
        return f"a section with a kind, one of {', '.join(kinds(union.family))}"
    return "a section" if section(annotation) or origin is dict else _TYPES.get(annotation, "a value")


def _default(field: FieldInfo) -> str:
    value: Any = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if value is None:
        return "default: none"
    if isinstance(value, Settings):
        kind = getattr(value, "kind", None)
        return f"default: `kind: {kind}`" if kind else "default: its defaults"
    return f"default: `{write((str(value) if isinstance(value, Path) else value,)).strip()[1:-1]}`"
