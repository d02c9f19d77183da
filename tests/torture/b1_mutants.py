"""Damaged and hostile files of runs, exports, checkpoints, prepared data and the shipped model.

Half of the mutants change files that the manifest contradicts: bits, ends, blocks, names, and files of other steps. The
others change the manifest along, so that it vouches for deep JSON, values of wrong types and headers of other tensors.
"""

import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final

from sumpool.errors import SumpoolError
from sumpool.io.bounded import parse_json
from sumpool.io.manifest import NAME, FileDigest
from tests.torture.artefacts import Artefact, artefacts
from tests.torture.figures import Measured

ID: Final = "B1"
FIGURE: Final = (
    "mutants of run, export, checkpoints, prepared data, shipped model: no silent load, traceback or answer after 5 s; "
    "each error names a file; the older checkpoint is taken"
)
NIGHT: Final = 1000
QUICK: Final = 20
_SECONDS = 5.0
_DEADLINE = 20
_BLOCK = 512
_SHOWN = 3
"""Faults that are described."""
_JSON = (".json", ".jsonl")
_OTHER_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 3, 1e308, 1 << 70, "", "text", "\ud800", [], [[]], {}, {"a": 1}, float("nan"), "../../x",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a mutant led to, and after how many seconds."""

    kind: str
    seconds: float
    detail: str = ""


def measure(count: int, folder: Path) -> Measured:
    """Load `count` mutants, in turn of each artefact."""
    made = artefacts(folder / "originals")
    outcomes = []
    for number in range(count):
        artefact = made[number % len(made)]
        outcomes.append(_load_mutant(artefact, random.Random(number), folder / f"mutant-{number}"))
    kinds = Counter(outcome.kind for outcome in outcomes)
    faults = [outcome for outcome in outcomes if outcome.kind in _FAULTS]
    slowest = max(outcome.seconds for outcome in outcomes)
    text = ", ".join(f"{kinds[kind]:,} {kind}" for kind in sorted(kinds))
    examples = "".join(f"; {outcome.detail}" for outcome in faults[:_SHOWN])
    return Measured(f"{text}; slowest {slowest:.1f} s{examples}", not faults and slowest <= _SECONDS, count)


_FAULTS = ("silent", "tracebacks", "hangs", "without a name")


def _load_mutant(artefact: Artefact, draw: random.Random, folder: Path) -> Outcome:
    """Copy an artefact by hard links, change one file of the copy, and load it."""
    shutil.copytree(artefact.folder, folder, copy_function=os.link)
    mutate, vouches = draw.choice(_MUTATIONS)
    part = folder / draw.choice(artefact.parts)
    change = mutate(part, draw)
    if vouches and (part / NAME).exists():
        _vouch(part)
    start = time.perf_counter()
    outcome = _outcome(artefact, folder, change, vouches)
    shutil.rmtree(folder)
    return replace(outcome, seconds=time.perf_counter() - start)


def _outcome(artefact: Artefact, folder: Path, change: str, vouches: bool) -> Outcome:
    what = f"{artefact.name}: {change}"
    try:
        with _deadline():
            state = artefact.load(folder)
    except SumpoolError as error:
        is_named = folder.name in str(error) and "\n" not in str(error).strip()
        return Outcome("refused" if is_named else "without a name", 0, f"{what}: {error!s:.200}")
    except TimeoutError:
        return Outcome("hangs", 0, what)
    except Exception as error:
        return Outcome("tracebacks", 0, f"{what}: {error!r:.200}")
    if state == artefact.state:
        return Outcome("loaded as before", 0)
    if state in artefact.older_states:
        return Outcome("older checkpoint", 0)
    return Outcome("loaded as listed" if vouches else "silent", 0, what)


@contextmanager
def _deadline() -> Iterator[None]:
    """Raise a TimeoutError after some seconds, where signals exist."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_DEADLINE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _pick(folder: Path, draw: random.Random, *suffixes: str) -> Path:
    """Choose a file with something in it."""
    files = [path for path in _files(folder) if path.stat().st_size and (not suffixes or path.suffix in suffixes)]
    return draw.choice(files)


def _write(path: Path, content: bytes) -> None:
    """Replace a file, not the original that it is a link to."""
    path.unlink()
    path.write_bytes(content)


def _flip(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw)
    content = bytearray(path.read_bytes())
    place = draw.randrange(len(content)) if draw.random() < 0.5 else draw.randrange(min(len(content), 2000))
    content[place] ^= 1 << draw.randrange(8)
    _write(path, bytes(content))
    return f"bit {place} of {path.name}"


def _truncate(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw)
    size = draw.randrange(path.stat().st_size)
    _write(path, path.read_bytes()[:size])
    return f"{size} bytes of {path.name}"


def _zero(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw)
    content = path.read_bytes()
    place = draw.randrange(len(content))
    _write(path, content[:place] + bytes(min(_BLOCK, len(content) - place)) + content[place + _BLOCK :])
    return f"zeros at {place} of {path.name}"


def _swap_blocks(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw)
    content = path.read_bytes()
    size = min(_BLOCK, len(content) // 2)
    one, other = sorted((draw.randrange(len(content) - size + 1), draw.randrange(len(content) - size + 1)))
    first, second = content[one : one + size], content[other : other + size]
    mixed = bytearray(content)
    mixed[one : one + size], mixed[other : other + size] = second, first
    _write(path, bytes(mixed))
    return f"blocks {one} and {other} of {path.name}"


def _remove(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw)
    path.unlink()
    return f"no {path.name}"


def _add(folder: Path, draw: random.Random) -> str:
    name = draw.choice(("tokenizer.json", "vocabulary.json", "ranker.safetensors", "phrases.model", "report.json", "x"))
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_bytes(draw.randbytes(draw.randrange(40)))
    return f"other {name}"


def _rename(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw)
    target = _pick(folder, draw)
    path.rename(target if draw.random() < 0.5 else path.with_name(f"{path.name}x"))
    return f"{path.name} renamed to {target.name}"


def _swap_files(folder: Path, draw: random.Random) -> str:
    """Exchange a file with one of the same name in another folder, such as that of another step."""
    path = _pick(folder, draw)
    others = [other for other in _files(folder.parent) if other.name == path.name and other != path] or [path]
    other = draw.choice(others)
    first, second = path.read_bytes(), other.read_bytes()
    _write(path, second)
    _write(other, first)
    return f"{path.name} of {path.parent.name} and {other.parent.name}"


def _replace_by_special(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw)
    path.unlink()
    match draw.randrange(3):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to("/dev/zero")
        case _:
            path.mkdir()
    return f"{path.name} is no file"


def _edit_manifest(folder: Path, draw: random.Random) -> str:
    path = folder / NAME
    if not path.exists():
        return _flip(folder, draw)
    tree = json.loads(path.read_bytes())
    change = _change_value(tree, draw)
    _write(path, json.dumps(tree, sort_keys=True, indent=1).encode())
    return f"manifest: {change}"


def _edit_manifest_with_digest(folder: Path, draw: random.Random) -> str:
    path = folder / NAME
    if not path.exists():
        return _retype(folder, draw)
    tree = json.loads(path.read_bytes())
    change = _change_value(tree, draw)
    _write(path, _with_digest(tree))
    return f"manifest that fits itself: {change}"


def _deepen(folder: Path, draw: random.Random) -> str:
    path = _pick(folder, draw, *_JSON)
    opening = draw.choice((b"[", b'{"a":', b'{"files":['))
    _write(path, opening * 100_000)
    return f"100,000 levels in {path.name}"


def _retype(folder: Path, draw: random.Random) -> str:
    """Change a value of a JSON file, or of the header of a safetensors file, to one of another type."""
    path = _pick(folder, draw, *_JSON, ".safetensors")
    content = path.read_bytes()
    if path.suffix == ".safetensors":
        length = int.from_bytes(content[:8], "little")
        tree = json.loads(content[8 : 8 + length])
        change = _change_value(tree, draw)
        header = json.dumps(tree).encode()
        _write(path, len(header).to_bytes(8, "little") + header + content[8 + length :])
    elif path.suffix == ".jsonl":
        lines = content.split(b"\n")
        number = draw.randrange(max(1, len(lines) - 1))
        tree = json.loads(lines[number] or b"{}")
        change = _change_value(tree, draw)
        lines[number] = json.dumps(tree).encode()
        _write(path, b"\n".join(lines))
    else:
        tree = json.loads(content)
        change = _change_value(tree, draw)
        _write(path, json.dumps(tree).encode())
    return f"{path.name}: {change}"


def _change_value(tree: Any, draw: random.Random) -> str:  # noqa: ANN401 - any JSON
    """Replace, remove or rename a random value of a tree in place."""
    path = ""
    while isinstance(tree, dict | list) and tree:
        key = draw.choice(list(tree)) if isinstance(tree, dict) else draw.randrange(len(tree))
        path += f".{key!s:.20}"
        if isinstance(tree[key], dict | list) and tree[key] and draw.random() < 0.8:
            tree = tree[key]
            continue
        if draw.random() < 0.2:
            del tree[key]
        else:
            tree[key] = draw.choice(_OTHER_VALUES)
        break
    return path.encode("unicode_escape").decode()


def _with_digest(tree: dict[str, Any]) -> bytes:
    """Encode a manifest with the digest of its own content, as the package does."""
    from sumpool.io import manifest

    return manifest._render(tree)


def _vouch(folder: Path) -> None:
    """Let the manifest of a folder list its files as they are."""
    path = folder / NAME
    try:
        tree = parse_json(path.read_bytes())
        for name in tree["files"]:
            if (folder / name).is_file():
                tree["files"][name] = asdict(FileDigest.of(folder / name))
    except (ValueError, LookupError, TypeError, AttributeError, OSError):
        return  # the manifest is the file that changed
    _write(path, _with_digest(tree))


_MUTATIONS: tuple[tuple[Callable[[Path, random.Random], str], bool], ...] = (
    (_flip, False), (_truncate, False), (_zero, False), (_swap_blocks, False), (_remove, False), (_add, False),
    (_rename, False), (_swap_files, False), (_replace_by_special, False), (_edit_manifest, False),
    (_deepen, False), (_deepen, True), (_flip, True), (_truncate, True), (_zero, True),
    (_retype, True), (_retype, True), (_retype, True), (_edit_manifest_with_digest, True),
)  # fmt: skip
