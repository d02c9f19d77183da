"""Recipes with damaged syntax, hostile YAML and wrong settings."""

import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sumpool.errors import RecipeError
from sumpool.recipe.files import parse, write
from sumpool.recipe.load import is_sweep, load_any_recipe, read_tree
from sumpool.workflows.sweep import load_sweep
from tests.recipe.test_load import mutate
from tests.torture.figures import Measured, change_value

ID: Final = "C1"
FIGURE: Final = "fuzzed recipes: no traceback; file, key path and allowed values in every refusal; p99 <= 50 ms"
NIGHT: Final = 10_000
QUICK: Final = 50
_SECONDS = 0.05
_RECIPES = Path(__file__).parents[2] / "recipes"
_EXPLANATIONS = re.compile(
    r"must (be|have|hold|name|match|divide|not|end|fit|ascend|start|stand|look|occur|leave|contain)\b|"
    r"is not a setting of .*(\(did you mean |; its settings are )|is missing|"
    r"^and \d+ more$|requires|differ"
)
_VALUES: tuple[object, ...] = (
    *(None, True, False, -1, 0, 0.5, 1, 10**31, -(10**31), 1e300, "", "5", "true", "\0", "\u2028", "x" * 5000),
    *([], [[]], {}, {"kind": "vanilla"}, {"kind": None}, {"kind": []}, {"": ""}, [1, 2, 3], float("inf"), "1e400"),
)
_DOCUMENTS = (
    "a: &a [x, x, x, x]\n"
    + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    "a: " + "[" * 200 + "]" * 200,
    "a: " + "{a: " * 200 + "1" + "}" * 200,
    "name: !!python/object/apply:os.system [id]",
    "name: !!python/name:os.system",
    "name: !include /etc/passwd",
    "name: x\nname: y",
    "train: {learning_rate: 1e400}",
    "a: &a {b: *a}",
    "<<: 5",
    "? {a: b}\n: 1",
    "%YAML 9.9\n---\nname: x",
    "--- a\n--- b",
    "\ufeffname: x",
    "- 1",
    "",
    "#",
    'name: "\\ud800"',
    "9" * 5000,
    "a: " + "9" * 5000,
    "[" * 100_000,
)


def measure(count: int, folder: Path) -> Measured:
    """Load `count` recipes, each damaged in one of five ways."""
    draw = random.Random(1)
    path = folder / "fuzzed.yaml"
    seconds, faults, refused = [], [], 0
    for content, known in _contents(draw, count):
        path.write_bytes(content)
        taken, error = _load(path)
        if taken > _SECONDS / 2:  # other processes may have disturbed it
            taken = min(taken, *(_load(path)[0] for _ in range(2)))
        seconds.append(taken)
        fault = ""
        if isinstance(error, RecipeError):
            refused += 1
            fault = _unexplained(str(error), path, known)
        elif error:
            fault = f"{type(error).__name__}: {error}"
        if fault:
            faults.append(f"{fault[:300]} for {content[:2000]!r}")
    slow = sorted(seconds)[int(0.99 * (count - 1))]
    text = f"{len(faults)} faults, {refused:,} refused, p99 {1000 * slow:.0f} ms"
    return Measured.by_faults(text, [*faults, *["too slow"] * (slow > _SECONDS)], count)


def _load(path: Path) -> tuple[float, Exception | None]:
    """Load a recipe; return the seconds of the processor, and the error."""
    start, raised = time.process_time(), None
    try:
        (load_sweep if is_sweep(read_tree(path)) else load_any_recipe)(path)
    except Exception as error:  # a traceback is what this figure counts
        raised = error
    return time.process_time() - start, raised


def _contents(draw: random.Random, count: int) -> Iterator[tuple[bytes, str]]:
    """Yield contents of files, and for a misspelt key the correct one."""
    texts = [path.read_text() for path in sorted(_RECIPES.rglob("*.yaml"))]
    for number in range(count):
        text = draw.choice(texts)
        if number < len(_DOCUMENTS):
            yield _DOCUMENTS[number].encode("utf-8", "surrogatepass"), ""
        elif number % 5 == 0:
            yield draw.randbytes(draw.randint(0, 300)), ""
        elif number % 5 == 1:
            content = bytearray(text.encode())
            for _ in range(draw.randint(1, 20)):
                content[draw.randrange(len(content))] = draw.randrange(256)
            yield bytes(content), ""
        elif number % 5 == 2:
            yield mutate(text, draw).encode(), ""
        elif number % 5 == 3:
            yield _with_other_values(draw, text), ""
        else:
            yield _with_misspelt_key(draw, text)


def _with_other_values(draw: random.Random, text: str) -> bytes:
    """Replace or remove one to three values of a recipe."""
    tree: Any = parse(text)
    for _ in range(draw.randint(1, 3)):
        change_value(tree, draw, _VALUES)
    return write(tree).encode()


def _with_misspelt_key(draw: random.Random, text: str) -> tuple[bytes, str]:
    """Misspell a key of the section `train`, or add one."""
    tree: Any = parse(text)
    sections = [tree] if "sweep" in tree or not isinstance(tree.get("train"), dict) else [tree["train"]]
    section = draw.choice(sections)
    key = draw.choice([name for name in section if len(name) > 4] or ["learning_rate"])
    place = draw.randrange(1, len(key) - 1)
    misspelt = key[:place] + key[place + 1 :]
    section[misspelt] = section.pop(key, 1)
    return write(tree).encode(), key


def _unexplained(message: str, path: Path, known: str) -> str:
    """Return a message that lacks the file, an explanation or a suggestion; otherwise an empty text."""
    if not message.startswith(str(path)) or "pydantic" in message or "Traceback" in message:
        return f"no file: {message}"
    problems = [line.strip().removeprefix("- ") for line in message.removeprefix(str(path)).split("\n")]
    listed = problems[1:] if len(problems) > 1 else problems
    for problem in listed:
        if not _EXPLANATIONS.search(problem):
            return f"no rule: {problem}"
    is_suggested = not known or "and 1 more" in message or f"did you mean {known}?" in message
    return "" if is_suggested else f"no suggestion of {known}: {message}"
